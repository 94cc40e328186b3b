from __future__ import annotations

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.text import cut, escape, plain, split, visible, weight

FAMILY = "👨\u200d👩\u200d👧"

PIECES = ["a", " ", "\n", "\n\n", ". ", "&", "<", "👩\u200d🦰", "é", "न्हो", "🇮🇳", "```\n", "\u0301"]
odd_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=2_000) | st.lists(
    st.sampled_from(PIECES), max_size=600
).map("".join)


@pytest.mark.parametrize(
    ("slack", "said"),
    [
        ("Tom &amp; Jerry &lt;3", "Tom & Jerry <3"),
        ("&amp;lt;!channel&amp;gt;", "&lt;!channel&gt;"),
        ("<mailto:asha@example.com|asha@example.com>", "asha@example.com"),
        ("<tel:+919812345678|+91 98123 45678>", "+91 98123 45678"),
        ("<http://example.com|example.com>", "example.com"),
        ("<https://example.com/a?b=1&amp;c=2>", "https://example.com/a?b=1&c=2"),
        ("see <https://example.com/x|the photo>", "see the photo (https://example.com/x)"),
        ("<@U0RAVI0001> look", "@U0RAVI0001 look"),
        ("<@U0MEENA001>", "@Meena"),
        ("<@U0MEENA001|meena>", "@Meena"),
        ("in <#C0SUPPORT1|support-cases>", "in #support-cases"),
        ("in <#C0SUPPORT1>", "in #C0SUPPORT1"),
        ("<!here> and <!channel|@channel>", "@here and @channel"),
        ("<!subteam^S0LEADS001|@leads>", "@leads"),
        ("<!date^1700000000^{date}|14 Nov 2023>", "14 Nov 2023"),
    ],
)
def test_each_form_of_slack_is_decoded_to_what_the_person_saw(slack: str, said: str):
    assert plain(slack, names={"U0MEENA001": "Meena"}) == said


@given(odd_text)
def test_escaped_text_has_no_markup_and_decodes_to_itself(text: str):
    assert not set("<>") & set(escape(text))
    assert plain(escape(text)) == text


@given(odd_text, st.integers(1, 300))
def test_a_cut_text_is_a_whole_beginning_within_the_limit(text: str, limit: int):
    shown = cut(text, limit)
    assert weight(shown) <= limit
    if shown != text:
        assert shown.endswith("…")
        graphemes = regex.findall(r"\X", text)
        beginnings = {"".join(graphemes[:n]).rstrip() for n in range(len(graphemes))}
        assert shown[:-1] in beginnings


def test_a_text_that_fits_is_not_cut():
    assert cut("a < b", 8) == "a < b"
    assert cut("a < b", 7) == "a <…"


def test_an_emoji_of_many_parts_is_never_cut_in_half():
    assert cut(f"ok {FAMILY} ok", 8) == "ok…"
    assert cut(f"ok {FAMILY} ok", 12) == f"ok {FAMILY}…"


@given(odd_text, st.integers(200, 400))
def test_a_split_text_keeps_every_word_in_order_within_the_limit(text: str, limit: int):
    bare = text.replace("`", "'")
    pieces = split(bare, limit)
    assert all(0 < weight(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(bare.split())


@given(odd_text, st.integers(200, 400))
def test_no_piece_ends_inside_a_grapheme(text: str, limit: int):
    bare = text.replace("`", "'")
    graphemes = regex.findall(r"\X", bare)
    assume(all(weight(grapheme) < 150 for grapheme in graphemes))
    position = 0
    ends = {match.end() for match in regex.finditer(r"\X", bare)}
    for piece in split(bare, limit):
        position = bare.index(piece, position) + len(piece)
        assert position in ends


def test_a_long_text_is_split_between_paragraphs_before_anything_smaller():
    text = "\n\n".join(["A line of a paragraph. " * 5] * 6)
    pieces = split(text, 300)
    assert len(pieces) > 1
    assert all(piece.endswith("paragraph.") for piece in pieces)


def test_a_code_fence_that_is_cut_is_closed_and_opened_again():
    code = "\n".join(f"line {number}" for number in range(100))
    pieces = split(f"Run this:\n\n```sh\n{code}\n```\n\nDone.", 300)
    assert len(pieces) > 2
    assert all(piece.count("```") % 2 == 0 for piece in pieces)
    assert all(piece.startswith("```sh\n") for piece in pieces[1:-1])
    lines = "\n".join(pieces).split("\n")
    assert [line for line in lines if line.startswith("line ")] == code.split("\n")


def test_one_grapheme_longer_than_the_limit_is_split_rather_than_lost():
    heavy = "e" + "\u0301" * 1_000
    assert "".join(split(heavy, 300)) == heavy


def test_an_empty_text_gives_no_piece():
    assert split(" \n ", 300) == []


def test_what_a_reader_cannot_see_is_taken_out():
    assert visible("a\u202eb\x00c\r\nd\ud800") == "abc\nd\ufffd"
    assert visible(f"{FAMILY} क्\u200dष") == f"{FAMILY} क्\u200dष"
