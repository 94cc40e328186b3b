"""The rules for blocks, views and options, one row a rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from bot.local.slack.blocks import (
    RefusedError,
    check_message_blocks,
    check_options,
    check_view,
)
from tests.bot.local.slack_bench import actions, button, modal, mrkdwn, note_input, plain, section

Json = dict[str, Any]


@pytest.fixture
def mint() -> Callable[[str], str]:
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}{next(numbers)}"


def option(text: str = "one", value: str = "1") -> Json:
    return {"text": plain(text), "value": value}


def select(count: int) -> Json:
    options = [option(f"option {n}", str(n)) for n in range(count)]
    return {"type": "static_select", "action_id": "pick", "options": options}


TOO_LONG = "must be less than {} characters"
BROKEN_BLOCKS: dict[str, tuple[list[Json], str, str]] = {
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50 items", "/blocks"),
    "section text of 3,001": ([section("x" * 3001)], TOO_LONG.format(3001), "/blocks/0/text/text"),
    "section field of 2,001": (
        [{"type": "section", "fields": [plain("x" * 2001)]}],
        TOO_LONG.format(2001),
        "/blocks/0/fields/0",
    ),
    "empty section": ([{"type": "section"}], "one of text and fields", "/blocks/0"),
    "empty text": ([section("")], "must be more than 0 characters", "/blocks/0/text/text"),
    "header of 151": (
        [{"type": "header", "text": plain("x" * 151)}],
        TOO_LONG.format(151),
        "/blocks/0/text",
    ),
    "header in mrkdwn": (
        [{"type": "header", "text": mrkdwn("x")}],
        "plain_text",
        "/blocks/0/text/type",
    ),
    "button text of 76": (
        [actions(button("x" * 76))],
        TOO_LONG.format(76),
        "/blocks/0/elements/0/text",
    ),
    "button value of 2,001": (
        [actions(button("x", value="x" * 2001))],
        TOO_LONG.format(2001),
        "/blocks/0/elements/0/value",
    ),
    "action_id of 256": (
        [actions(button("x", "a" * 256))],
        TOO_LONG.format(256),
        "/blocks/0/elements/0/action_id",
    ),
    "block_id of 256": (
        [{"type": "divider", "block_id": "b" * 256}],
        TOO_LONG.format(256),
        "/blocks/0/block_id",
    ),
    "the same action_id twice in a block": (
        [actions(button("x"), button("y"))],
        "`action_id` `press` already exists",
        "/blocks/0",
    ),
    "the same block_id twice": (
        [{"type": "divider", "block_id": "b"}, {"type": "divider", "block_id": "b"}],
        "`block_id` must be unique",
        "/blocks/1/block_id",
    ),
    "11 context elements": (
        [{"type": "context", "elements": [mrkdwn("x")] * 11}],
        "no more than 10 items",
        "/blocks/0/elements",
    ),
    "26 buttons": (
        [actions(*(button("x", f"a{n}") for n in range(26)))],
        "no more than 25 items",
        "/blocks/0/elements",
    ),
    "101 options": (
        [actions(select(101))],
        "no more than 100 items",
        "/blocks/0/elements/0/options",
    ),
    "6 overflow options": (
        [actions({"type": "overflow", "options": [option()] * 6})],
        "no more than 5 items",
        "/blocks/0/elements/0/options",
    ),
    "option text of 76": (
        [actions({"type": "overflow", "options": [option("x" * 76)]})],
        TOO_LONG.format(76),
        "/blocks/0/elements/0/options/0/text",
    ),
    "select without options": (
        [actions({"type": "static_select"})],
        "exactly one of options",
        "/blocks/0/elements/0",
    ),
    "unknown block type": ([{"type": "sectoin"}], "unsupported type: sectoin", "/blocks/0"),
    "unknown element type": (
        [actions({"type": "buton"})],
        "unsupported type: buton",
        "/blocks/0/elements/0",
    ),
    "unknown field": (
        [actions(button("x", colour="red"))],
        "unsupported field: colour",
        "/blocks/0/elements/0/colour",
    ),
    "missing field": ([{"type": "header"}], "missing required field: text", "/blocks/0"),
    "wrong style": (
        [actions(button("x", style="green"))],
        "'primary' or 'danger'",
        "/blocks/0/elements/0/style",
    ),
    "two markdown blocks of 12,002 together": (
        [{"type": "markdown", "text": "x" * 6001}] * 2,
        "less than 12001 characters",
        "/blocks",
    ),
    "an e-mail field outside of a modal": (
        [{"type": "input", "label": plain("x"), "element": {"type": "email_text_input"}}],
        "unsupported type: email_text_input",
        "/blocks/0/element/type",
    ),
}


@pytest.mark.parametrize("name", BROKEN_BLOCKS)
def test_blocks_that_break_a_rule_are_refused_with_the_place(
    name: str, mint: Callable[[str], str]
) -> None:
    blocks, words, pointer = BROKEN_BLOCKS[name]
    with pytest.raises(RefusedError) as refusal:
        check_message_blocks(blocks, mint=mint)
    assert refusal.value.error == "invalid_blocks"
    assert words in refusal.value.details[0]
    assert refusal.value.details[0].endswith(f"[json-pointer:{pointer}]")


def test_blocks_that_are_long_together_are_too_long(mint: Callable[[str], str]) -> None:
    with pytest.raises(RefusedError, match="msg_blocks_too_long"):
        check_message_blocks([section("x" * 3000)] * 5, mint=mint)


def test_blocks_must_be_a_list(mint: Callable[[str], str]) -> None:
    with pytest.raises(RefusedError, match="invalid_blocks_format"):
        check_message_blocks({"type": "divider"}, mint=mint)


def test_blocks_at_every_limit_are_accepted_and_get_ids(mint: Callable[[str], str]) -> None:
    blocks = [
        section("x" * 3000),
        {"type": "header", "text": plain("x" * 150)},
        actions(*(button("x" * 75, f"a{n}", value="v" * 2000) for n in range(25))),
        {"type": "context", "elements": [mrkdwn("x")] * 10},
        actions({"type": "button", "text": plain("x")}, {"type": "button", "text": plain("y")}),
        *[{"type": "divider"}] * 45,
    ]
    checked = check_message_blocks(blocks, mint=mint)
    assert len({block["block_id"] for block in checked}) == 50
    first, second = checked[4]["elements"]
    assert first["action_id"] != second["action_id"]
    assert checked[1]["text"] == {"type": "plain_text", "text": "x" * 150, "emoji": True}


BROKEN_VIEWS: dict[str, tuple[Json, str]] = {
    "title of 25": (modal(section("x"), title=plain("x" * 25)), "/view/title"),
    "submit of 25": (modal(section("x"), submit=plain("x" * 25)), "/view/submit"),
    "close of 25": (modal(section("x"), close=plain("x" * 25)), "/view/close"),
    "private_metadata of 3,001": (
        modal(section("x"), private_metadata="x" * 3001),
        "/view/private_metadata",
    ),
    "callback_id of 256": (modal(section("x"), callback_id="x" * 256), "/view/callback_id"),
    "101 blocks": (modal(*[{"type": "divider"}] * 101), "/view/blocks"),
    "no blocks": (modal(), "/view/blocks"),
    "input without submit": (modal(note_input(), submit=None), "/view"),
    "markdown block": (modal({"type": "markdown", "text": "x"}), "/view/blocks/0/type"),
    "unknown field": (modal(section("x"), colour="red"), "/view/colour"),
    "unknown type": ({"type": "dialog"}, "/view/type"),
}


@pytest.mark.parametrize("name", BROKEN_VIEWS)
def test_views_that_break_a_rule_are_refused_with_the_place(
    name: str, mint: Callable[[str], str]
) -> None:
    view, pointer = BROKEN_VIEWS[name]
    with pytest.raises(RefusedError, match="invalid_arguments") as refusal:
        check_view(view, mint=mint)
    assert f"[json-pointer:{pointer}]" in refusal.value.details[0]


def test_a_view_may_not_be_larger_than_250_kilobytes(mint: Callable[[str], str]) -> None:
    blocks = [{"type": "section", "text": plain("x" * 3000)}] * 90
    with pytest.raises(RefusedError, match="view_too_large"):
        check_view(modal(*blocks), mint=mint)


@pytest.mark.parametrize(
    "answer",
    [
        {"options": [option()] * 101},
        {"options": [option("x" * 76)]},
        {"options": [{"text": plain("x")}]},
        {},
        {"options": [], "option_groups": []},
    ],
)
def test_options_that_slack_would_not_show_are_refused(answer: Json) -> None:
    with pytest.raises(RefusedError, match="invalid_options"):
        check_options(answer)
