"""What a person's message says to the harness: plain words and photos."""

from __future__ import annotations

from typing import Final

from agent.case import Event, Message, Photo
from bot.listeners.payloads import SlackFile, SlackMessage, time_of
from bot.text import plain

PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What the model can look at."""


def event_of(message: SlackMessage, *, team_id: str, channel: str, now: float) -> Event:
    """What a person wrote, as an event; the same from an event of Slack and from a read thread.

    `message` and `app_mention` of one message have the same id, too.
    """
    fact = Message(
        message_id=message.ts,
        author=message.user or "",
        text=words(message),
        photos=photos(message),
        first=message.is_root,
    )
    event_id = f"msg:{team_id}:{channel}:{message.ts}"
    return Event(event_id=event_id, ts=time_of(message.ts, now), fact=fact)


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
            link=file.permalink,
        )
        for file in message.files
        if _is_photo(file)
    )


def _is_photo(file: SlackFile) -> bool:
    return file.mimetype in PICTURES and file.mode not in ("tombstone", "external")
