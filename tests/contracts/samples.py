"""Small records for the contract suites, with just enough in them to tell them apart."""

from __future__ import annotations

from typing import Any

from agent.case import Case, Event, Line, Message, Post, ts_of
from agent.ports import CaseStore, Change, Lease, Record
from agent.run import Run, Status

CASE_ID = "T1:C1:1700000000.000100"


def event(event_id: str = "e1", *, at: float = 1.0, text: str = "Hello") -> Event:
    return Event(
        event_id=event_id,
        ts=ts_of(at),
        fact=Message(message_id=event_id, author="U1", text=text),
    )


def case(case_id: str = CASE_ID, **fields: Any) -> Case:
    return Case(case_id=case_id, agent="refunds", opened_at=1.0, **fields)


def run(run_id: str = "r1", case_id: str = CASE_ID, **fields: Any) -> Run:
    values: dict[str, Any] = {
        "customer_id": "cus_1",
        "agent": "refunds",
        "model": "claude-opus-5-5",
        "frozen": "sha256:1",
        "status": Status.RUNNING,
        "opened_at": 1.0,
    }
    return Run(run_id=run_id, case_id=case_id, **(values | fields))


def post(post_id: str = "p1", text: str = "A line") -> Post:
    return Post(post_id=post_id, content=Line(text=text))


async def owned(
    store: CaseStore, owner: str = "worker", *, case_id: str = CASE_ID, seconds: float = 8
) -> Lease:
    """A lease on a case that nobody owns."""
    claim = await store.claim(case_id, owner, seconds=seconds)
    assert claim is not None
    return claim.lease


async def claimed(store: CaseStore, case_id: str = CASE_ID) -> Lease:
    """A lease on a case with one event, which is applied already."""
    await store.deliver(case_id, event("first"))
    lease = await owned(store, case_id=case_id)
    await store.save(lease, Change(case=case(case_id), run=None, applied=("first",)))
    return lease


async def record_of(store: CaseStore, case_id: str = CASE_ID) -> Record:
    record = await store.case(case_id)
    assert record is not None
    return record


async def inbox_ids(store: CaseStore, lease: Lease) -> list[str]:
    return [stored.event.event_id for stored in await store.inbox(lease)]


async def outbox_ids(store: CaseStore, lease: Lease) -> list[str]:
    return [entry.post.post_id for entry in await store.outbox(lease)]
