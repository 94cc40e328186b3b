"""Whatever people and the model write, Slack takes the card and nobody is misled or notified."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import count
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.approval import CardFact, CardOutcome
from agent.case import Content, DecisionLine, Handoff, Line, Picker, PrivateLine, Question, Reply
from bot.actions import CardRef
from bot.cards.draw import draw
from bot.cards.line import notice, outcome_line
from bot.cards.message import BLOCKS_LIMIT, TEXT_LIMIT, Message, size
from bot.cards.modals import change_amount_modal, decline_modal
from bot.cards.trace import trace_modal
from bot.local.slack.blocks import check_message_blocks, check_view
from bot.text import plain
from tests.bot import card_samples as samples

_numbers = count()
NASTY = [
    "<!channel> ",
    "<@U0OMAR0001> ",
    "<!subteam^S0LEADS001>",
    "&amp;",
    "\n",
    '"\\',
    "👩\u200d🦰",
    "\ud800",
    "\u202e",
    "*b* _i_ `c` ",
    "```\n",
    "<https://evil.example|your bank>",
    "",
    "{person}",
]


def repeated(piece: str, times: int, rest: str) -> str:
    return piece * times + rest


def many_facts(label: str, value: str, times: int) -> tuple[CardFact, ...]:
    return (CardFact(label=label, value=value),) * times


def status_line(name: str, customer_id: str) -> Content:
    return replace(samples.STATUS_LINE, customer_name=name, customer_id=customer_id)


odd: st.SearchStrategy[str] = st.builds(
    repeated,
    st.sampled_from(NASTY) | st.text(max_size=30),
    st.sampled_from([0, 1, 3, 200, 20_000]),
    st.text(st.characters(), max_size=50),
)
facts = st.builds(many_facts, odd, odd, st.sampled_from([0, 1, 9, 3_000]))
outcomes = st.builds(
    CardOutcome,
    verdict=st.sampled_from(["approved", "declined", "expired", "withdrawn", "refused"]),
    by=st.sampled_from([None, samples.PRIYA]),
    at=st.sampled_from([None, 1790000600.0]),
    note=odd,
    detail=odd,
)


@st.composite
def approvals(draw_value: st.DrawFn) -> Content:
    return samples.carded(
        title=draw_value(odd),
        facts=draw_value(facts),
        explanation=draw_value(odd),
        first_words=draw_value(odd),
        last_words=draw_value(odd),
        added=(draw_value(odd),) * draw_value(st.sampled_from([0, 1, 500])),
        photos=(draw_value(odd), "https://files.example.com/1")
        * draw_value(st.sampled_from([1, 40])),
        amount_paise=draw_value(st.sampled_from([None, 1, 100])),
        needs_approvals=draw_value(st.sampled_from([1, 2])),
        approved_by=(samples.PRIYA,) * draw_value(st.sampled_from([0, 1])),
        outcome=draw_value(st.none() | outcomes),
    )


contents: st.SearchStrategy[Content] = st.one_of(
    approvals(),
    st.builds(Picker, words=odd),
    st.builds(status_line, odd, odd),
    st.builds(Question, text=odd, to=st.just((samples.RAVI,) * 30)),
    st.builds(Reply, text=odd, run_id=st.just(samples.RUN_ID)),
    st.builds(
        Handoff,
        text=odd,
        reason=odd,
        run_id=st.just(samples.RUN_ID),
        openers=st.just((samples.RAVI,)),
    ),
    st.builds(
        DecisionLine, verdict=st.just("approved"), title=odd, by=st.just(samples.PRIYA), detail=odd
    ),
    st.builds(Line, text=odd, to=st.just(())),
    st.builds(
        PrivateLine, user=st.just(samples.RAVI), place=st.just("C1:"), text=odd, person=st.just("")
    ),
)


def mint(prefix: str) -> str:
    return f"{prefix}{next(_numbers)}"


def shown(content: Content, audience: Any = samples.NOBODY) -> list[Message]:
    return draw(content, case_id=samples.CASE_ID, audience=audience, link=samples.LINK)


def check(cards: Sequence[Message]) -> None:
    assert cards
    for card in cards:
        assert check_message_blocks([*card.blocks], mint=mint)
        assert 0 < len(card.text.encode("utf-16-le")) // 2 <= TEXT_LIMIT
        assert size(card.blocks) <= BLOCKS_LIMIT
        json.dumps([*card.blocks], ensure_ascii=False).encode()


@given(contents)
@settings(max_examples=150)
def test_slack_takes_every_card_whatever_is_in_it(content: Content):
    check(shown(content))


@given(odd)
@settings(max_examples=30)
def test_slack_takes_what_is_told_outside_the_thread(text: str):
    check([notice(text, channel="C0SUPPORT1", to=(samples.RAVI,))])
    check([outcome_line(text, replace(samples.APPROVED, detail=text, note=text))])


@given(odd, odd, st.sampled_from([0, 1, 500]))
@settings(max_examples=40)
def test_slack_takes_every_modal_whatever_is_in_it(text: str, other: str, times: int):
    ref = CardRef(case_id=samples.CASE_ID, key=samples.CARD.key, version=1, digest="9f" * 32)
    entries: list[dict[str, Any]] = [
        {"kind": "step", "calls": [{"id": "1", "tool": text, "input": {"a": other}}] * 30},
        {"kind": text, "note": other, "amount": 3, "nothing": None},
    ] * times
    run = replace(samples.RUN, model=text, cost_usd=Decimal("0.5"))
    for view in (
        decline_modal(ref, text),
        change_amount_modal(ref, text, 249900),
        trace_modal(run, entries),
    ):
        assert check_view(view, mint=mint)


@given(st.sampled_from([*NASTY, "@channel", "https://evil.example"]))
def test_what_others_wrote_stands_in_blocks_only_as_literal_text(words: str):
    """Rich-text and plain-text elements are literal; only these hold what others wrote."""
    told = f"marker {words} marker"
    content = samples.carded(
        title=told,
        facts=(CardFact(label=told, value=told),),
        explanation=told,
        first_words=told,
        last_words=told + "!",
        added=(told,),
        outcome=replace(samples.APPROVED, note=told, detail=told),
    )
    others = (replace(samples.REPLY, text=told), replace(samples.HANDOFF, text=told))
    for card in (card for each in (content, *others) for card in shown(each)):
        kinds = {
            found["type"]
            for found in objects(card.blocks)
            if "marker" in str(found.get("text", "")) and "type" in found
        }
        assert "text" in kinds
        assert kinds <= {"text", "plain_text", "header"}


@given(st.sampled_from(NASTY))
def test_what_others_wrote_is_escaped_in_the_fallback_text(words: str):
    told = f"marker {words} marker"
    card = shown(replace(samples.REPLY, text=told))[0]
    assert not set("<>") & set(card.text)
    assert "marker" in plain(card.text)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every JSON object in there."""
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        found = cast(dict[str, Any], value)
        yield found
        inner = found.values()
    elif isinstance(value, list | tuple):
        inner = cast(Sequence[Any], value)
    for item in inner:
        yield from objects(item)
