"""What a person's message says to the harness: plain words and photos."""

from __future__ import annotations

from typing import Final

from agent.case import Event, Message, Photo
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import MessageEvent, SlackFile, SlackMessage, time_of
from bot.text import plain
from bot.thread import Thread

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What the model can look at."""


def spoken(desk: FrontDesk, event: MessageEvent, *, first: bool) -> Event:
    """The message as an event. `message` and `app_mention` of one message have the same id."""
    fact = Message(
        message_id=event.ts,
        author=event.user or "",
        text=words(event),
        photos=photos(event),
        first=first,
    )
    event_id = f"msg:{desk.identity.team_id}:{event.channel}:{event.ts}"
    return Event(event_id=event_id, ts=time_of(event.ts, desk.now()), fact=fact)


def words(message: SlackMessage) -> str:
    """The text as its author saw it; files that are no photos are named in it."""
    lines = [plain(message.text)] if message.text else []
    lines += [
        f"[attached file: {file.name or 'without a name'}]"
        for file in message.files
        if not _is_photo(file) and file.mode != "tombstone"
    ]
    return "\n".join(lines)


def photos(message: SlackMessage) -> tuple[Photo, ...]:
    return tuple(
        Photo(
            file_id=file.id,
            url=file.url_private_download or file.url_private,
            name=file.name or "photo",
        )
        for file in message.files
        if _is_photo(file)
    )


def thread_of(desk: FrontDesk, channel: str, message: SlackMessage) -> Thread:
    # Always our own team: in a shared channel an event may name its author's.
    return Thread(team=desk.identity.team_id, channel=channel, ts=message.root_ts)


def _is_photo(file: SlackFile) -> bool:
    return file.mimetype in PICTURES and file.mode not in ("tombstone", "external")
