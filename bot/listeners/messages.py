"""What a person's message says to the harness: plain words and photos."""

from __future__ import annotations

from collections.abc import Iterable
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
        photos=photos_of(message.files),
        first=message.is_root,
    )
    event_id = f"msg:{team_id}:{channel}:{message.ts}"
    return Event(event_id=event_id, ts=time_of(message.ts, now), fact=fact)


def words(message: SlackMessage) -> str:
    """The text as its author saw it; files that are no photos are named in it."""
    return with_files_named(message)


def with_files_named(message: SlackMessage, *, without: str = "") -> str:
    """`without` is left out of Slack's text before it is decoded."""
    text = plain(message.text.replace(without, "") if without else message.text)
    if without:
        text = text.strip()
    lines = [text] if text else []
    lines += [
        f"[attached file: {file.name or 'without a name'}]"
        for file in message.files
        if not is_photo(file) and file.mode != "tombstone"
    ]
    return "\n".join(lines)


def photos_of(files: Iterable[SlackFile]) -> tuple[Photo, ...]:
    """Those that the model can look at."""
    return tuple(
        Photo(
            file_id=file.id,
            url=file.url_private_download or file.url_private,
            name=file.name or "photo",
            link=file.permalink,
        )
        for file in files
        if is_photo(file)
    )


def is_photo(file: SlackFile) -> bool:
    return file.mimetype in PICTURES and file.mode not in ("tombstone", "external")
