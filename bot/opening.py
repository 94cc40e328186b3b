"""From a request for a case to the case: what the new thread's case is told of it."""

from __future__ import annotations

from agent.case import Asked, CustomerChosen, Event, Message
from agent.ports import CaseStore, Posted
from bot.thread import Place, Thread


async def open_case(store: CaseStore, asked: Asked, root: Posted, *, team: str) -> None:
    """Give the case of the thread with this root its words and its customer.

    As often as one likes: the events' ids follow from the root. Who asked is the author, since the
    root itself is ours.
    """
    thread = Thread(team=team, channel=root.channel, ts=root.message_id)
    place = Place(channel=thread.channel, thread_ts=thread.ts)
    key = f"{team}:{thread.channel}:{thread.ts}"
    words = Message(
        message_id=thread.ts, author=asked.by, text=asked.text, photos=asked.photos, first=True
    )
    chosen = CustomerChosen(customer_id=asked.customer_id, by=asked.by, place=str(place))
    # Of one time, so they are taken in this order.
    await store.deliver(thread.case_id, Event(event_id=f"msg:{key}", ts=thread.ts, fact=words))
    await store.deliver(thread.case_id, Event(event_id=f"asked:{key}", ts=thread.ts, fact=chosen))
