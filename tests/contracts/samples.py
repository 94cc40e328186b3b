"""Small records for the contract suites, with just enough in them to tell them apart."""

from __future__ import annotations

from typing import Any

from agent.case import Case, Event, Line, Message, Post, ts_of
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
