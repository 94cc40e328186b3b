from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agent.case import Picker, Question, Reply
from bot.actions import FEEDBACK_BAD, FEEDBACK_GOOD, SHOW_TRACE, CaseRef
from bot.cards.case import picker, status_line
from bot.cards.message import Message
from bot.cards.question import question
from bot.cards.reply import reply
from tests.bot import card_samples as samples

LONG = "A sentence of a long text. " * 300


def pressable(message: Message) -> list[dict[str, Any]]:
    return [e for block in message.blocks if block["type"] == "actions" for e in block["elements"]]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("Order 4471 is broken", "4471"),
        ("I'm asha.rao@example.com, order 4471", "asha.rao@example.com"),
        ("Call me: +91 98123 45678", "+91 98123 45678"),
        ("It arrived broken in 3 days", ""),
    ],
)
def test_the_picker_carries_what_may_name_the_customer(words: str, hint: str):
    [actions] = [
        block
        for block in picker(Picker(words=words), case_id=samples.CASE_ID).blocks
        if block["type"] == "actions"
    ]
    ref = CaseRef.model_validate_json(actions["block_id"])
    assert (ref.case_id, ref.hint) == (samples.CASE_ID, hint)


@pytest.mark.parametrize("can_mend", [True, False])
@pytest.mark.parametrize("can_take_over", [True, False])
def test_the_status_line_has_the_buttons_that_can_be_pressed(can_mend: bool, can_take_over: bool):
    content = replace(samples.STATUS_LINE, can_mend_customer=can_mend, can_take_over=can_take_over)
    shown = pressable(status_line(content, case_id=samples.CASE_ID))
    assert ("Wrong customer" in [button["text"]["text"] for button in shown]) == can_mend
    assert ("Take over" in [button["text"]["text"] for button in shown]) == can_take_over


def test_the_last_part_of_a_reply_has_the_buttons_of_its_run():
    parts = reply(Reply(text=LONG, run_id=samples.RUN_ID), case_id=samples.CASE_ID)
    assert len(parts) == 3
    assert [len(pressable(part)) for part in parts] == [0, 0, 3]
    ids = [button["action_id"] for button in pressable(parts[-1])]
    assert ids == [FEEDBACK_GOOD, FEEDBACK_BAD, SHOW_TRACE]
    ref = CaseRef.model_validate_json(pressable(parts[-1])[0]["value"])
    assert (ref.case_id, ref.run_id) == (samples.CASE_ID, samples.RUN_ID)


def test_every_part_of_a_long_reply_says_which_it_is():
    parts = reply(Reply(text=LONG, run_id=samples.RUN_ID), case_id=samples.CASE_ID)
    headings = [part.text.splitlines()[0] for part in parts]
    assert headings == [f"Reply to pass to the customer ({number} of 3):" for number in (1, 2, 3)]


def test_a_long_question_mentions_people_once_and_explains_itself_last():
    parts = question(Question(text=LONG, to=(samples.RAVI,)))
    assert len(parts) == 3
    assert [f"<@{samples.RAVI}>" in part.text for part in parts] == [True, False, False]
    assert ["internal note" in part.text for part in parts] == [False, False, True]
