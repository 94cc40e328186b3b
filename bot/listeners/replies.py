"""What is said in a case channel: first messages, replies, edits, deletions."""

from __future__ import annotations

from agent.case import Addressed, Deleted, Edited, Event
from bot.listeners.desk import GUEST, FrontDesk
from bot.listeners.messages import event_of, words
from bot.listeners.payloads import MessageEvent, SlackMessage, time_of
from bot.thread import Place, Thread


async def said(desk: FrontDesk, event: MessageEvent) -> None:
    """Sort out what happened to which message. In case channels every person's counts; elsewhere
    only what is said to us."""
    if event.channel not in desk.settings.case_channels:
        await _said_elsewhere(desk, event)
        return
    if event.subtype in ("message_changed", "message_deleted"):
        if event.previous_message and await _counts(desk, event.channel, event.previous_message):
            await _changed(desk, event, event.previous_message)
    elif _is_persons(desk, event) and not await _is_about_a_card(desk, event):
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


async def _said_elsewhere(desk: FrontDesk, event: MessageEvent) -> None:
    """A mention is offered a case from its thread, a direct message is told how to open one."""
    direct = event.channel_type == "im"
    if not (direct or event.type == "app_mention") or not _is_persons(desk, event):
        return
    place = "" if direct else str(Place(channel=event.channel, thread_ts=event.root_ts))
    key = f"{desk.identity.team_id}:{event.channel}:{event.ts}"
    request = Thread.to_come(
        team=desk.identity.team_id, channel=event.channel, request=f"at-{event.ts}"
    )
    user = event.user or ""
    # Who can't be asked about gets the offer: its button looks again.
    outsider = await desk.people.standing(user) == "outsider"
    fact = Addressed(by=user, place=place, refusal=GUEST if outsider else "")
    heard = Event(event_id=f"to-us:{key}", ts=time_of(event.ts, desk.now()), fact=fact)
    await desk.deliver(request.case_id, heard)


async def _counts(desk: FrontDesk, channel: str, message: SlackMessage) -> bool:
    """A person's message, or the first one of a thread that we began for a case."""
    if _is_persons(desk, message):
        return True
    ours = message.is_root and desk.is_ours(message)
    return ours and await desk.store.case(desk.case_id(channel, message)) is not None


def _is_persons(desk: FrontDesk, message: SlackMessage) -> bool:
    return message.is_spoken_by_a_person(desk.identity.bot_user_id)


async def _is_about_a_card(desk: FrontDesk, event: MessageEvent) -> bool:
    """Staff talk below a card where the approvals channel is a case channel, too."""
    below_ours = (
        event.channel == desk.settings.approvals_channel
        and event.parent_user_id == desk.identity.bot_user_id
    )
    return below_ours and await desk.store.case(desk.case_id(event.channel, event)) is None
