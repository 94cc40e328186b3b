"""What is said in a case channel: first messages, replies, edits, deletions."""

from __future__ import annotations

from agent.case import Deleted, Edited, Event
from bot.listeners.desk import FrontDesk
from bot.listeners.messages import event_of, words
from bot.listeners.payloads import MessageEvent, SlackMessage, time_of


async def said(desk: FrontDesk, event: MessageEvent) -> None:
    """Sort out what happened to which message; only persons' in case channels count."""
    if event.channel not in desk.settings.case_channels:
        return
    if event.subtype in ("message_changed", "message_deleted"):
        if event.previous_message and _is_persons(desk, event.previous_message):
            await _changed(desk, event, event.previous_message)
    elif _is_persons(desk, event) and not _is_about_a_card(desk, event):
        case_id = desk.case_id(event.channel, event)
        team_id = desk.identity.team_id
        heard = event_of(event, team_id=team_id, channel=event.channel, now=desk.now())
        await desk.deliver(case_id, heard)


async def _changed(desk: FrontDesk, event: MessageEvent, before: SlackMessage) -> None:
    after = event.message
    case_id = desk.case_id(event.channel, before)
    key = f"{desk.identity.team_id}:{event.channel}:{before.ts}"
    if after is None or after.is_tombstone:
        happened = Event(
            event_id=f"del:{key}",
            ts=time_of(event.ts, desk.now()),
            fact=Deleted(message_id=before.ts, first=before.is_root),
        )
    elif after.text != before.text:  # Slack sends the same text again when it unfurls a link
        edited_ts = after.edited.ts if after.edited else event.ts
        happened = Event(
            event_id=f"edit:{key}:{edited_ts}",
            ts=time_of(edited_ts, desk.now()),
            fact=Edited(message_id=before.ts, text=words(after)),
        )
    else:
        return
    await desk.deliver(case_id, happened)


def _is_persons(desk: FrontDesk, message: SlackMessage) -> bool:
    return message.is_spoken_by_a_person(desk.identity.bot_user_id)


def _is_about_a_card(desk: FrontDesk, event: MessageEvent) -> bool:
    """Staff talk below a card where the approvals channel is a case channel, too."""
    return (
        event.channel == desk.settings.approvals_channel
        and event.parent_user_id == desk.identity.bot_user_id
    )
