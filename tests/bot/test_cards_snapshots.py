"""What every card looks like, as Slack gets it. `UPDATE_SNAPSHOTS=1` writes the files anew."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agent.case import Content
from bot.actions import CardRef, Draft, FileRef
from bot.cards.draw import draw
from bot.cards.line import notice, outcome_line
from bot.cards.message import Message
from bot.cards.modals import change_amount_modal, decline_modal
from bot.cards.new_case import new_case_modal, notice_modal, offer, open_case_modal, opened
from bot.cards.overview import help_text, home, home_of_an_outsider, status
from bot.cards.trace import trace_modal
from bot.listeners.desk import GUEST
from bot.local.slack.blocks import check_message_blocks, check_view
from tests.bot import card_samples as samples

_numbers = count()
SNAPSHOTS = Path(__file__).parent / "snapshots"
REF = CardRef(
    case_id=samples.CASE_ID, key=samples.CARD.key, version=1, digest=samples.CARD.digest, place="C:"
)

DRAFT = Draft(channel="C0SUPPORT1", place="C0SUPPORT1:")


def drawn(content: Content, *, elsewhere: bool = True) -> list[Message]:
    return draw(
        content,
        case_id=samples.CASE_ID,
        audience=samples.LEADS_ELSEWHERE if elsewhere else samples.NOBODY,
        link=samples.LINK if elsewhere else None,
    )


CARDS = {
    "picker": drawn(samples.PICKER),
    "status_line": drawn(samples.STATUS_LINE),
    "approval_reminder": drawn(samples.APPROVAL_REMINDER),
    "status_line_not_a_case": drawn(replace(samples.STATUS_LINE, status="not_a_case")),
    "question": drawn(samples.QUESTION),
    "approval_open": drawn(samples.APPROVAL),
    "approval_in_thread_nobody_can_decide": drawn(samples.APPROVAL, elsewhere=False),
    "approval_one_of_two": drawn(
        samples.carded(needs_approvals=2, approved_by=(samples.PRIYA,), added=("And hurry!",))
    ),
    "approval_approved": drawn(samples.carded(outcome=samples.APPROVED)),
    "decision_line": drawn(samples.DECISION_LINE),
    "outcome_line": [outcome_line(samples.CARD.title, samples.APPROVED)],
    "reply": drawn(samples.REPLY),
    "handoff": drawn(samples.HANDOFF),
    "handoff_without_words_for_the_customer": drawn(replace(samples.HANDOFF, text="")),
    "line": drawn(samples.LINE),
    "notice": [notice("run_01HZX: taken over.", channel="C0SUPPORT1", to=(samples.RAVI,))],
    "private_line": drawn(samples.PRIVATE_LINE),
    "opening": drawn(samples.OPENING),
    "opening_from_elsewhere": drawn(
        replace(samples.OPENING, asked=replace(samples.OPENING.asked, source=samples.LINK))
    ),
    "opened": [opened(samples.OPENED, channel="C0SUPPORT1", link=samples.LINK)],
    "opened_nowhere": [opened(samples.OPENED, channel="C0SUPPORT1", link=None)],
    "offer": [offer(samples.OFFER)],
    "offer_directly": [offer(replace(samples.OFFER, place=""))],
    "offer_refused": [offer(replace(samples.OFFER, refusal=GUEST))],
    "status": [status(samples.OVERVIEW)],
    "status_of_nothing": [status(samples.EMPTY_OVERVIEW)],
    "help": [help_text(unknown="<!channel>")],
}
VIEWS = {
    "decline_modal": decline_modal(REF, samples.CARD.title),
    "change_amount_modal": change_amount_modal(REF, samples.CARD.title, 249900),
    "trace_modal": trace_modal(samples.RUN, samples.ENTRIES),
    "trace_modal_from_elsewhere": trace_modal(
        samples.RUN, samples.ENTRIES, customer_name="Asha Rao", link=samples.LINK
    ),
    "new_case_modal": new_case_modal(DRAFT),
    "new_case_modal_with_words": new_case_modal(
        DRAFT.model_copy(update={"files": (FileRef(file_id="F1", name="box.png"),)}),
        text=samples.PICKER.words,
    ),
    "open_case_modal": open_case_modal(samples.CASE_ID, text=samples.PICKER.words),
    "notice_modal": notice_modal("New case", GUEST),
    "home": home(samples.OVERVIEW),
    "home_empty": home(samples.EMPTY_OVERVIEW),
    "home_of_an_outsider": home_of_an_outsider(known=True),
    "home_of_somebody_unknown": home_of_an_outsider(known=False),
}


def mint(prefix: str) -> str:
    return f"{prefix}{next(_numbers)}"


def compare(name: str, shown: Any) -> None:
    path = SNAPSHOTS / f"{name}.json"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(json.dumps(shown, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    assert shown == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CARDS)
def test_each_card_is_what_it_was(name: str):
    compare(name, [{"text": card.text, "blocks": [*card.blocks]} for card in CARDS[name]])


@pytest.mark.parametrize("name", VIEWS)
def test_each_modal_is_what_it_was(name: str):
    compare(name, VIEWS[name])


@pytest.mark.parametrize("name", CARDS)
def test_slack_takes_each_card(name: str):
    for card in CARDS[name]:
        assert check_message_blocks([*card.blocks], mint=mint)


@pytest.mark.parametrize("name", VIEWS)
def test_slack_takes_each_modal(name: str):
    assert check_view(VIEWS[name], mint=mint)


def test_every_snapshot_belongs_to_a_card():
    assert {path.stem for path in SNAPSHOTS.iterdir()} == {*CARDS, *VIEWS}
