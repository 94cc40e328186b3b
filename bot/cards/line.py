"""Single lines: plain ones, what was decided, and what one person alone is told."""

from __future__ import annotations

from typing import Final

from agent.approval import CardOutcome
from agent.case import DecisionLine, Line
from bot.cards.message import (
    Element,
    Message,
    mention,
    mentions,
    message,
    named,
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


def line_elsewhere(content: Line, *, channel: str) -> Message:
    """For staff, outside a thread that has lost its first message."""
    text = cut(visible(content.text), _LINE_LIMIT)
    where: Element = {"type": "channel", "channel_id": channel}
    return message(
        [f"A case in <#{channel}> that has lost its first message: {spoken(text, _LINE_LIMIT)}"],
        [
            rich_text(
                section(
                    words("A case in "),
                    where,
                    words(" that has lost its first message: "),
                    words(text),
                )
            )
        ],
    )


def private_line(text: str) -> Message:
    shown = cut(visible(text), _LINE_LIMIT)
    return message([spoken(shown, _LINE_LIMIT)], [rich_text(section(words(shown)))])


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
            detail=" ".join(filter(None, [outcome.detail, "The card above could not be changed."])),
        )
    )
