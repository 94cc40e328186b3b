"""The case is a person's now: what to tell the customer, why, and who is on duty."""

from __future__ import annotations

from collections.abc import Sequence

from agent.case import Handoff
from bot.actions import GIVE_BACK, CaseRef
from bot.cards.message import (
    Element,
    Message,
    actions,
    button,
    mentions,
    message,
    named,
    note,
    quote,
    rich_text,
    section,
    spoken,
    words,
)
from bot.text import cut, visible

_TEXT_LIMIT = 2_000
_REASON_LIMIT = 1_000


def handoff(content: Handoff, *, case_id: str, on_duty: Sequence[str]) -> Message:
    """In the case's thread. The text for the customer is left out when there is none."""
    heading = "This case needs a person."
    text = cut(visible(content.text), _TEXT_LIMIT)
    reason = cut(visible(content.reason), _REASON_LIMIT)
    quiet = "The agent keeps quiet here until you give the case back."
    passed_on: list[Element] = (
        [section(words("To pass to the customer:", bold=True)), quote(text)] if text else []
    )
    return message(
        [
            " ".join([*map(named, on_duty), heading]),
            f"To pass to the customer: {spoken(text, _TEXT_LIMIT)}" if text else "",
            f"Why, for staff: {spoken(reason)}",
            quiet,
        ],
        [
            rich_text(
                section(*mentions(on_duty), words(heading, bold=True)),
                *passed_on,
                section(words("Why, for staff: ", bold=True), words(reason)),
            ),
            actions(button("Give back to the agent", GIVE_BACK, CaseRef(case_id=case_id).encode())),
            note(quiet),
        ],
    )
