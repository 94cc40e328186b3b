"""Single lines: plain ones, what was decided, and what one person alone is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.approval import CardOutcome
from agent.case import ApprovalReminder, DecisionLine, Line, PrivateLine
from bot.cards.message import (
    Element,
    Message,
    mention,
    mentions,
    message,
    named,
    note,
    rich_text,
    section,
    spoken,
    words,
)
from bot.text import cut, visible

_LINE_LIMIT = 3_000
_DETAIL_LIMIT = 500

VERDICTS: Final = {
    "approved": ("approved", ""),
    "declined": ("declined", ""),
    "expired": ("expired", ", because nobody answered"),
    "withdrawn": ("withdrawn", ", no decision is needed any more"),
    "refused": ("approved", ", but not carried out"),
}
"""How a request ended: the word, and what comes after the name of who decided."""


def line(content: Line) -> Message:
    text = cut(visible(content.text), _LINE_LIMIT)
    people = content.to[:10]
    return message(
        [" ".join([*map(named, people), spoken(text, _LINE_LIMIT)])],
        [rich_text(section(*mentions(people), words(text)))],
    )


def approval_reminder(
    content: ApprovalReminder, *, leads: Sequence[str], link: str | None
) -> Message:
    """To the leads; `link` leads to the case's thread where this is posted elsewhere."""
    text = f"Still waiting for a decision: {cut(visible(content.title), 150)}"
    people = leads[:10]
    return message(
        [
            " ".join([*map(named, people), spoken(text)]),
            f"<{link}|Open the case's thread>" if link else "",
        ],
        [
            rich_text(section(*mentions(people), words(text))),
            note(f"<{link}|Open the case's thread>") if link else None,
        ],
    )


def notice(text: str, *, channel: str, to: Sequence[str]) -> Message:
    """For staff, outside the thread: that one, in `channel`, has lost its first message."""
    shown = cut(visible(text), _LINE_LIMIT)
    where: Element = {"type": "channel", "channel_id": channel}
    before, after = "A thread in ", " has lost its first message, so this is told here."
    return message(
        [
            " ".join([*map(named, to), f"{before}<#{channel}>{after}"]),
            spoken(shown, _LINE_LIMIT),
        ],
        [rich_text(section(*mentions(to), words(before), where, words(f"{after}\n{shown}")))],
    )


def private_line(content: PrivateLine) -> Message:
    """Seen by one person; `{person}` in its text becomes a name."""
    said: list[str] = []
    elements: list[Element] = []
    for number, part in enumerate(content.text.split("{person}")):
        if number and content.person:
            said.append(named(content.person))
            elements.append(mention(content.person))
        elif number:
            said.append("somebody")
            elements.append(words("somebody"))
        if part:
            shown = cut(visible(part), _LINE_LIMIT)
            said.append(spoken(shown, _LINE_LIMIT))
            elements.append(words(shown))
    return message(["".join(said)], [rich_text(section(*elements[:20]))])


def decision_line(content: DecisionLine) -> Message:
    """What was decided and by whom, with the word "approved" or "declined"."""
    verdict, after = VERDICTS[content.verdict]
    title = cut(visible(content.title), 150)
    detail = cut(visible(content.detail), _DETAIL_LIMIT)
    by: list[Element] = [words(" by "), mention(content.by)] if content.by else []
    end = f"{after}. {detail}" if detail else f"{after}."
    return message(
        [
            f"{spoken(title)}: {verdict}"
            + (f" by {named(content.by)}" if content.by else "")
            + spoken(end)
        ],
        [rich_text(section(words(f"{title}: "), words(verdict, bold=True), *by, words(end)))],
    )


def outcome_line(title: str, outcome: CardOutcome) -> Message:
    """In place of a card that Slack would not change."""
    return decision_line(
        DecisionLine(
            verdict=outcome.verdict,
            title=title,
            by=outcome.by,
            detail=" ".join(filter(None, [outcome.detail, "Its card could not be changed."])),
        )
    )
