"""Slack's text ⇄ plain text: decode what people wrote once, escape what they read, cut and split.

Words of customers and of the model are shown in blocks as rich-text or plain-text elements, which
Slack renders literally: `*`, `_`, `~`, backticks, `@channel` and links in them are only characters.
`escape` is for the one place where such words stand in Slack's markup: a message's `text`, which
only notifications and screen readers take.

Lengths are counted as Slack may count them at worst: in UTF-16 units of the escaped text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

ELLIPSIS = "…"

_TOKEN = regex.compile(r"<(?P<target>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")
_ENTITY = regex.compile(r"&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}

# What a reader can't see or what turns the order of letters around: control characters (but line
# breaks and tabs), lone surrogates, bidirectional overrides and isolates.
_INVISIBLE = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONE_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_LINE_BREAK = regex.compile(r"\r\n?|\u2028|\u2029")

_GRAPHEME = regex.compile(r"\X")
_FENCE = regex.compile(r"^[ \t]*```.*$", regex.MULTILINE)
# Where a long text is best cut, best first: after a paragraph, a line, a sentence, a word.
_SEAMS = (
    regex.compile(r"\n[ \t]*\n"),
    regex.compile(r"\n"),
    regex.compile(r"(?<=[.!?…])[ \t](?!\p{M})|(?<=[。！？।])(?!\p{M})"),
    regex.compile(r"[ \t](?!\p{M})"),
)
_LONGEST_FENCE_LINE = 40


# From Slack ------------------------------------------------------------------------------------


def plain(slack_text: str, *, names: Mapping[str, str] | None = None) -> str:
    """What a person saw when they wrote it, from the text of Slack's message.

    Every token and entity is decoded exactly once, so that words that only look like one after
    decoding stay words. `names` gives names for user ids; others are shown as "@U…".
    """
    pieces: list[str] = []
    position = 0
    for token in _TOKEN.finditer(slack_text):
        pieces.append(_decoded(slack_text[position : token.start()]))
        pieces.append(_said(_decoded(token["target"]), _decoded(token["label"] or ""), names or {}))
        position = token.end()
    pieces.append(_decoded(slack_text[position:]))
    return "".join(pieces)


def _said(target: str, label: str, names: Mapping[str, str]) -> str:
    kind, rest = target[:1], target[1:]
    match kind:
        case "@":
            return f"@{names.get(rest) or label or rest}"
        case "#":
            return f"#{label or rest}"
        case "!" if rest.startswith("date^"):
            return label
        case "!":
            return f"@{(label or rest).removeprefix('@')}"
        case _:
            return _link(target, label)


def _link(url: str, label: str) -> str:
    address = url.removeprefix("mailto:").removeprefix("tel:")
    if not label or address == label:
        return address
    # Slack makes links of bare domains and of numbers as they were typed: show what was typed.
    if url.startswith("tel:") or url.split("://", 1)[-1].rstrip("/") == label.rstrip("/"):
        return label
    return f"{label} ({address})"


def _decoded(text: str) -> str:
    return _ENTITY.sub(lambda entity: _CHARACTERS[entity[1]], text)


# To Slack --------------------------------------------------------------------------------------


def visible(text: str) -> str:
    """The text without what a reader can't see and Slack won't take; line breaks are `\\n`."""
    return _LONE_SURROGATE.sub("\ufffd", _INVISIBLE.sub("", _LINE_BREAK.sub("\n", text)))


def escape(text: str) -> str:
    """Words that came from elsewhere, for a message's `text`: no mention, broadcast, channel link
    or labelled link comes of them."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def weight(text: str) -> int:
    """How long Slack may find this text, once escaped."""
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return units + 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def cut(text: str, limit: int) -> str:
    """The text, or its beginning with "…", no heavier than `limit` and whole to the last grapheme.

    The result isn't escaped yet. `limit` is at least 1.
    """
    head, rest = _head(text, limit)
    if not rest:
        return text
    head, _ = _head(head, limit - 1)
    return head.rstrip() + ELLIPSIS


def split(text: str, limit: int) -> list[str]:
    """A long text in pieces no heavier than `limit`, cut between paragraphs, lines, sentences or
    words, in this order, and never inside a grapheme that fits.

    Nothing but white space at the cuts is lost. A code fence that a cut runs through is closed and
    opened again. `limit` is at least 200; an empty text gives no piece.
    """
    pieces: list[str] = []
    fence, rest = "", text.strip()
    while rest:
        again = f"{fence}\n" if fence else ""
        if not _head(again + rest, limit)[1]:
            pieces.append(again + rest)
            break
        head, rest = _at_seam(rest, limit - weight(again) - len("\n```"))
        fence = _open_fence(again + head)
        if head:
            pieces.append(again + head + ("\n```" if fence else ""))
    return pieces


def _at_seam(text: str, limit: int) -> tuple[str, str]:
    """A beginning no heavier than `limit`, ending at the best seam in its second half."""
    head, _ = _head(text, limit)
    if not head:  # one grapheme heavier than the limit: nobody can read it, but nothing is lost
        head = _hard_head(text, limit)
        return head, text[len(head) :]
    for seam in _SEAMS:
        # A seam may lie right behind what fits.
        found = seam.finditer(text, len(head) // 2 + 1, len(head) + 1)
        last = max((match.span() for match in found if match.start() <= len(head)), default=None)
        if last:
            return text[: last[0]].rstrip(), text[last[1] :].lstrip("\n")
    return head, text[len(head) :]


def _head(text: str, limit: int) -> tuple[str, str]:
    """The most graphemes no heavier than `limit`, and the rest."""
    if len(text) * 5 <= limit or (len(text) <= limit and weight(text) <= limit):
        return text, ""
    end = used = 0
    for grapheme in _graphemes(text):
        used += weight(grapheme)
        if used > limit:
            break
        end += len(grapheme)
    return text[:end], text[end:]


def _hard_head(text: str, limit: int) -> str:
    end = used = 0
    for character in text:
        used += weight(character)
        if used > limit:
            break
        end += 1
    return text[:end]


def _graphemes(text: str) -> Iterator[str]:
    for match in _GRAPHEME.finditer(text):
        yield match[0]


def _open_fence(text: str) -> str:
    """The line that opened a code fence which isn't closed; "" when none is open."""
    fence = ""
    for line in _FENCE.finditer(text):
        fence = "" if fence else line[0].strip()
    return fence if len(fence) <= _LONGEST_FENCE_LINE else fence[:3]
