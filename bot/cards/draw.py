"""From what an outbox entry holds to the messages that show it."""

from __future__ import annotations

from agent.case import (
    Approval,
    ApprovalReminder,
    Content,
    DecisionLine,
    Handoff,
    Line,
    Notice,
    Offer,
    Opened,
    Opening,
    Picker,
    PrivateLine,
    Question,
    Reaction,
    Reply,
    StatusLine,
)
from bot.cards.approval import approval
from bot.cards.case import picker, status_line
from bot.cards.handoff import handoff
from bot.cards.line import approval_reminder, decision_line, line, private_line
from bot.cards.message import Audience, Message
from bot.cards.new_case import opening
from bot.cards.question import question
from bot.cards.reply import reply


def draw(
    content: Content, *, case_id: str, audience: Audience, link: str | None, post_id: str = ""
) -> list[Message]:
    """One message for most, several for a long question or reply, none for a reaction.

    None either for what is drawn where its sender knows more: a notice (`line.notice`), and what
    is said about a new case (`new_case.opened`, `new_case.offer`).
    `link` leads to the case's thread, for what is posted elsewhere. `post_id` is the outbox entry
    that is drawn: a card's buttons carry it.
    """
    match content:
        case Picker():
            return [picker(content, case_id=case_id)]
        case StatusLine():
            return [status_line(content, case_id=case_id)]
        case Question():
            return question(content)
        case Approval():
            return [
                approval(content, case_id=case_id, audience=audience, link=link, post_id=post_id)
            ]
        case ApprovalReminder():
            leads = audience.approvers or audience.on_duty(())
            return [approval_reminder(content, leads=leads, link=link)]
        case DecisionLine():
            return [decision_line(content)]
        case Reply():
            return reply(content, case_id=case_id)
        case Handoff():
            on_duty = audience.on_duty(content.openers)
            return [handoff(content, case_id=case_id, on_duty=on_duty)]
        case Line():
            return [line(content)]
        case PrivateLine():
            return [private_line(content)]
        case Opening():
            return [opening(content)]
        case Reaction() | Notice() | Opened() | Offer():
            return []
