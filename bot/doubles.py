"""A message that stands twice: one stays, and all choose the same one.

Doubles are found when a place is read back, and by a process that stood still for longer than its
lease. Its send may go out only when it moves again, after the next owner looked for it and posted.
Nobody would look again; so the process itself does, once it knows that its lease was lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.ports import CaseStore, Posted
from bot.sends import Spot, post_of
from bot.slack_calls import Identity, OwnMessage, SlackCalls


async def keep_one(
    calls: SlackCalls, channel: str, same: Sequence[OwnMessage], place: Posted | None
) -> OwnMessage:
    """Of a message's several (oldest first), delete all but the one that the records have, else
    the first. Returns the one that stays. Raises `TryLater` and `Refused`."""
    recorded = place.message_id if place is not None else None
    kept = next((each for each in same if each.ts == recorded), same[0])
    for each in same:
        if each is not kept:
            await calls.delete(channel, each.ts)
    return kept


async def delete_doubles(
    calls: SlackCalls,
    store: CaseStore,
    case_id: str,
    message_ids: Collection[str],
    *,
    identity: Identity,
    spots: Sequence[Spot],
    oldest: float,
) -> bool:
    """Of these messages, keep one each.

    False when they don't have all of them yet: a new owner may still be about to post or note one.
    Raises `TryLater`, `Refused` and the store's.
    """
    noted = {each: await store.posted(case_id, post_of(each)) for each in message_ids}
    for spot in spots:
        messages = await calls.own_messages(identity, spot.channel, spot.thread_ts, oldest=oldest)
        for message_id, place in noted.items():
            same = [
                each for each in messages if (each.case_id, each.post_id) == (case_id, message_id)
            ]
            if place is not None and same:
                await keep_one(calls, spot.channel, same, place)
    return None not in noted.values()
