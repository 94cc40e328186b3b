"""The final reply, to pass to the customer: shown literally, so that it can be copied as it is."""

from __future__ import annotations

from agent.case import Reply
from bot.actions import FEEDBACK_BAD, FEEDBACK_GOOD, SHOW_TRACE, CaseRef
from bot.cards.message import (
    Message,
    actions,
    button,
    message,
    quote,
    rich_text,
    section,
    spoken,
    words,
)
from bot.text import split, visible

PART_LIMIT = 3_000
"""How much of a customer's text stands in one message."""

_HEADING = "Reply to pass to the customer"


def reply(content: Reply, *, case_id: str) -> list[Message]:
    """One message, more for a long reply; the buttons are on the last."""
    value = CaseRef(case_id=case_id, run_id=content.run_id).encode()
    parts = split(visible(content.text), PART_LIMIT) or ["(no words)"]
    buttons = actions(
        button("👍", FEEDBACK_GOOD, value, spoken="Good reply"),
        button("👎", FEEDBACK_BAD, value, spoken="Bad reply"),
        button("Trace", SHOW_TRACE, value, spoken="How the agent got there"),
    )
    found: list[Message] = []
    for number, part in enumerate(parts, start=1):
        heading = _HEADING if len(parts) == 1 else f"{_HEADING} ({number} of {len(parts)})"
        found.append(
            message(
                [f"{heading}:", spoken(part, PART_LIMIT)],
                [
                    rich_text(section(words(heading, bold=True)), quote(part)),
                    buttons if number == len(parts) else None,
                ],
            )
        )
    return found
