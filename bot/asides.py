"""What leaves no message of ours in a thread: the one reaction, and lines for one person alone.

Repeatable or best effort, so nothing is read back.
"""

from __future__ import annotations

import logging

from agent.case import PrivateLine, Reaction
from bot.cards.case import REACTIONS
from bot.cards.line import private_line
from bot.cards.message import Message
from bot.slack_calls import Refused, SlackCalls, TryLater
from bot.thread import Place, Thread

log = logging.getLogger(__name__)

_AS_IT_SHOULD_BE = frozenset({"already_reacted", "no_reaction", "message_not_found"})


async def react(calls: SlackCalls, thread: Thread, content: Reaction) -> None:
    """Change the reaction on the thread's first message."""
    before, after = REACTIONS.get(content.previous), REACTIONS.get(content.status)
    if before and before != after:
        await _set_reaction(calls, thread, "reactions.remove", before)
    if after:
        await _set_reaction(calls, thread, "reactions.add", after)


async def _set_reaction(calls: SlackCalls, thread: Thread, method: str, name: str) -> None:
    try:
        await calls.call(method, channel=thread.channel, timestamp=thread.ts, name=name)
    except Refused as refused:
        if refused.error not in _AS_IT_SHOULD_BE:
            log.warning("reaction %s on %s: %s", name, thread.case_id, refused.error)


async def tell_privately(calls: SlackCalls, content: PrivateLine, *, case_id: str) -> None:
    """Answer a click in case `case_id`."""
    if not await whisper(calls, content.user, content.place, private_line(content)):
        log.warning("a private line in case %s is lost", case_id)


async def whisper(calls: SlackCalls, user: str, place: str, message: Message) -> bool:
    """Show it to one person at a place; shown at most now. False when it may not have been.

    Only a rate limit, which shows nothing, is waited for: it raises `TryLater`.
    """
    try:
        at = Place.parse(place)
        await calls.call(
            "chat.postEphemeral",
            channel=at.channel,
            user=user,
            thread_ts=at.thread_ts,
            text=message.text,
            blocks=list(message.blocks),
        )
    except (Refused, ValueError) as failed:
        log.info("nothing private can be shown at %s: %s", place, failed)
        return False
    except TryLater as later:
        if later.at is not None:
            raise
        log.info("nothing private was shown at %s: %s", place, later)
        return False
    return True
