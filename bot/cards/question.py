"""A question for the customer, to whoever relays it."""

from __future__ import annotations

from agent.case import Question
from bot.cards.message import (
    Message,
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
from bot.cards.reply import PART_LIMIT
from bot.text import split

_HEADING = "Question for the customer"
_HOW = (
    "The next reply in this thread is the customer's answer."
    " Start a reply with // for an internal note."
)


def question(content: Question) -> list[Message]:
    """One message; more when the question is very long."""
    parts = split(content.text, PART_LIMIT) or ["(no words)"]
    people = content.to[:10]
    found: list[Message] = []
    for number, part in enumerate(parts, start=1):
        first, last = number == 1, number == len(parts)
        heading = _HEADING if first else f"{_HEADING}, continued"
        who = people if first else ()
        found.append(
            message(
                [
                    " ".join([*map(named, who), heading + ":"]),
                    spoken(part, PART_LIMIT),
                    _HOW if last else "",
                ],
                [
                    rich_text(
                        section(*mentions(who), words(heading, bold=True)),
                        quote(part),
                    ),
                    note(_HOW) if last else None,
                ],
            )
        )
    return found
