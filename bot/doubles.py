"""Doubles that a process leaves which stood still for longer than its lease.

Its send may go out only when it moves again, after the next owner looked for it and posted. Nobody
would look again; so the process itself does, once it knows that its lease was lost.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.ports import CaseStore
from bot.sends import Spot
from bot.slack_calls import Identity, SlackCalls


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
    """Of these messages, delete each one that stands a second time, and keep what the records have.

    False when they don't have all of them yet: a new owner may still be about to post or note one.
    Raises `TryLater`, `Refused` and the store's.
    """
    # A post of several messages is noted as a whole.
    noted = {each: await store.posted(case_id, each.partition("#")[0]) for each in message_ids}
    for spot in spots:
        messages = await calls.own_messages(identity, spot.channel, spot.thread_ts, oldest=oldest)
        for message_id, place in noted.items():
            times = [
                message.ts
                for message in messages
                if (message.case_id, message.post_id) == (case_id, message_id)
            ]
            if place is None or len(times) < 2:
                continue
            kept = place.message_id if place.message_id in times else times[0]
            for ts in times:
                if ts != kept:
                    await calls.delete(spot.channel, ts)
    return None not in noted.values()
