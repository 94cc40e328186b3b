"""The approval card: what our records say, then the customer's words, then the agent's.

The order is on purpose: a lead decides on records first. What the customer and the model wrote is
quoted, cut and marked as theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.approval import Card, CardFact, CardOutcome
from agent.case import Approval
from bot.actions import APPROVE, CHANGE_AMOUNT, DECLINE, CardRef
from bot.cards.line import VERDICTS
from bot.cards.message import (
    BLOCKS_LIMIT,
    Audience,
    Block,
    Element,
    Message,
    actions,
    button,
    header,
    mentions,
    message,
    moment,
    mrkdwn,
    named,
    note,
    quote,
    rich_text,
    section,
    size,
    spoken,
    words,
)
from bot.text import cut, visible

_MOST_FACTS = 30
_MOST_PHOTOS = 10
_MOST_LEADS = 10
_PHOTO = re.compile(r"https?://[^\s<>|]{1,500}")
_YOURS = "This waits for your decision."
_EXPLANATION = "The agent's explanation (its own words, not checked):"
_LABEL_LIMIT = 60
_SMALLEST_CHANGEABLE_PAISE = 2


@dataclass(frozen=True, kw_only=True)
class _Room:
    """How much of each part is shown."""

    fact: int = 400
    quoted: int = 900
    additions: int = 5
    explanation: int = 900
    note: int = 900
    detail: int = 500


# The second is for cards whose every part is as long as it may be.
_ROOMS = (_Room(), _Room(fact=150, quoted=400, additions=3, explanation=500, note=500, detail=300))


def approval(
    content: Approval, *, case_id: str, audience: Audience, link: str | None, post_id: str = ""
) -> Message:
    """The card as it stands: with buttons while it is open, with the outcome once it is decided.

    `link` leads to the case's thread, for a card that is posted elsewhere. `post_id` is the outbox
    entry, by which a click on a copy is told from one on the card.
    """
    card = content.card
    ref = CardRef(
        case_id=case_id, key=card.key, version=card.version, digest=card.digest, post_id=post_id
    )
    roomy, tight = (_card(content, ref, audience, link, room) for room in _ROOMS)
    return roomy if size(roomy.blocks) <= BLOCKS_LIMIT else tight


def _card(
    content: Approval, ref: CardRef, audience: Audience, link: str | None, room: _Room
) -> Message:
    card = content.card
    lines: list[str] = [spoken(card.title, 150)]
    blocks: list[Block | None] = [header(card.title)]
    if card.outcome:
        lines += _outcome_lines(card.outcome, room)
        blocks += _outcome_blocks(card.outcome, room)
    else:
        state = _state(card)
        if state:
            lines.append(state)
            blocks.append(mrkdwn(state))
    facts = _facts(card.facts, room)
    lines += [f"{spoken(label)}: {spoken(value)}" for label, value in facts]
    blocks.append(_records(facts, len(card.facts) - len(facts)))
    for heading, text in _customers_words(card, room):
        lines.append(f"{heading} {spoken(text)}")
        blocks.append(_quoted(heading, text))
    if links := [link for link in card.photos if _PHOTO.fullmatch(link)][:_MOST_PHOTOS]:
        lines.append(f"The customer's photos: {len(links)}")
        blocks.append(_photos(links))
    if card.explanation:
        text = cut(visible(card.explanation), room.explanation)
        lines.append(f"{_EXPLANATION} {spoken(text)}")
        blocks.append(_quoted(_EXPLANATION, text))
    if not card.outcome:
        if not audience.approvers:
            on_duty = audience.on_duty(content.openers)
            nobody = "Nobody can decide this: no approvers are set up (CASETHREAD_APPROVERS)."
            lines.insert(1, " ".join([*map(named, on_duty), nobody]))
            blocks.append(rich_text(section(*mentions(on_duty), words(nobody))))
        elif link is None:
            # In the case's own thread nobody watches for cards: tell who can decide.
            leads = audience.approvers[:_MOST_LEADS]
            lines.insert(1, " ".join([*map(named, leads), _YOURS]))
            blocks.append(rich_text(section(*mentions(leads), words(_YOURS))))
        blocks.append(_buttons(card, ref.encode()))
    run = f"Run {spoken(content.run_id, 100)}"
    blocks.append(note(f"<{link}|Open the case's thread> · {run}" if link else run))
    lines.append(f"<{link}|Open the case's thread>" if link else "")
    return message(lines, blocks)


# How it stands ---------------------------------------------------------------------------------


def _state(card: Card) -> str:
    """Words about the second approval; "" when one lead is enough."""
    if card.needs_approvals < 2:
        return ""
    if not card.approved_by:
        return f"*Needs {card.needs_approvals} leads.* Two different people must approve."
    leads = ", ".join(map(named, card.approved_by[:5]))
    return (
        f"*{len(card.approved_by)} of {card.needs_approvals}:* {leads} approved."
        " Another lead must approve too."
    )


def _outcome_blocks(outcome: CardOutcome, room: _Room) -> Iterator[Block]:
    yield mrkdwn(_verdict(outcome))
    parts: list[Element] = []
    if outcome.detail:
        parts.append(section(words(cut(visible(outcome.detail), room.detail))))
    if outcome.note:
        parts += [
            section(words("Note:", bold=True)),
            quote(cut(visible(outcome.note), room.note)),
        ]
    if parts:
        yield rich_text(*parts)


def _outcome_lines(outcome: CardOutcome, room: _Room) -> Iterator[str]:
    yield _verdict(outcome)
    if outcome.detail:
        yield spoken(outcome.detail, room.detail)
    if outcome.note:
        yield f"Note: {spoken(outcome.note, room.note)}"


def _verdict(outcome: CardOutcome) -> str:
    word, after = VERDICTS[outcome.verdict]
    by = f" by {named(outcome.by)}" if outcome.by else ""
    when = f" · {moment(outcome.at)}" if outcome.at is not None else ""
    return f"*{word.capitalize()}*{by}{after}{when}"


# What it says ----------------------------------------------------------------------------------


def _facts(facts: Sequence[CardFact], room: _Room) -> list[tuple[str, str]]:
    """As many as fit, each label and value cut."""
    found: list[tuple[str, str]] = []
    left = room.fact * 10
    for fact in facts[:_MOST_FACTS]:
        label = cut(visible(fact.label), _LABEL_LIMIT)
        value = cut(visible(fact.value), room.fact)
        left -= len(label) + len(value)
        if left < 0:
            break
        found.append((label, value))
    return found


def _records(facts: Sequence[tuple[str, str]], left_out: int) -> Block | None:
    elements = [
        element
        for label, value in facts
        for element in (words(f"{label}: ", bold=True), words(f"{value}\n"))
    ]
    if left_out:
        elements.append(words(f"{left_out} more records are not shown here.", italic=True))
    return rich_text(section(*elements)) if elements else None


def _customers_words(card: Card, room: _Room) -> Iterator[tuple[str, str]]:
    """Headings with what the customer wrote, cut."""
    first, last = visible(card.first_words), visible(card.last_words)
    if first:
        yield "The customer wrote:", cut(first, room.quoted)
    if last and last != first:
        yield "The customer's last answer:", cut(last, room.quoted)
    # The latest matter most; a lead who wants the rest opens the thread.
    for added in card.added[-room.additions :]:
        yield "The customer added:", cut(visible(added), room.quoted // 2)


def _quoted(heading: str, text: str) -> Block:
    return rich_text(section(words(heading, bold=True)), quote(text))


def _photos(links: Sequence[str]) -> Block:
    elements = [
        element
        for number, url in enumerate(links, start=1)
        for element in ({"type": "link", "url": url, "text": f"Photo {number}"}, words("  "))
    ]
    return rich_text(section(words("The customer's photos: ", bold=True), *elements))


def _buttons(card: Card, value: str) -> Block | None:
    can_change = card.amount_paise is not None and card.amount_paise >= _SMALLEST_CHANGEABLE_PAISE
    return actions(
        button("Approve", APPROVE, value, style="primary"),
        button("Change amount", CHANGE_AMOUNT, value) if can_change else None,
        button("Decline", DECLINE, value, style="danger"),
    )
