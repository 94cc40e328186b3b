"""A run: one request of one customer, worked on by one agent, as one record.

The messages themselves are appended beside this record and never rewritten. A person can read it
as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal

from agent.approval import Card
from agent.case import FetchedPhoto, Words

SCHEMA_VERSION = 1

Json = dict[str, Any]


class Status(StrEnum):
    RUNNING = "running"
    """The model or a tool is at work, or a retry is due."""
    WAITING_CUSTOMER = "waiting_customer"
    """A question is in the thread."""
    WAITING_APPROVAL = "waiting_approval"
    """A card is open."""
    DONE = "done"
    """The final reply is in the outbox."""
    HANDED_OFF = "handed_off"
    """A person has the case."""


FINAL = frozenset({Status.DONE, Status.HANDED_OFF})

TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.RUNNING: frozenset(
        {Status.WAITING_CUSTOMER, Status.WAITING_APPROVAL, Status.DONE, Status.HANDED_OFF}
    ),
    Status.WAITING_CUSTOMER: frozenset({Status.RUNNING, Status.HANDED_OFF}),
    Status.WAITING_APPROVAL: frozenset({Status.RUNNING, Status.HANDED_OFF}),
    Status.DONE: frozenset(),
    Status.HANDED_OFF: frozenset(),
}


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens as the API counts them. All input is `uncached + cache_read + cache_write`."""

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            uncached=self.uncached + other.uncached,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            output=self.output + other.output,
        )


@dataclass(frozen=True, kw_only=True)
class Pending:
    """What a run waits for: the waited call with its exact arguments and their digest.

    The results of the step's other calls are in `Run.results`.
    """

    kind: Literal["customer", "approval"]
    call_id: str
    tool: str
    input: Json
    digest: str
    post_id: str
    """The outbox entry of the question or card."""
    since: float
    card: Card | None = None
    reminded_at: float | None = None
    """When somebody was reminded: when that was saved and, once it is known, when it was posted."""
    reminder_post: str | None = None
    """The outbox entry of a reminder that isn't known to be posted."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Counters never go back: no restart, retry or resume resets them."""

    run_id: str
    case_id: str
    customer_id: str
    agent: str
    model: str
    frozen: str
    """Digest of the system prompt, tools and request settings this run was started with."""
    status: Status
    opened_at: float
    schema_version: int = SCHEMA_VERSION
    waiting_since: float | None = None
    ended_at: float | None = None
    steps: int = 0
    """Model calls with a usable answer."""
    usage: Usage = Usage()
    cost_usd: Decimal = Decimal(0)
    working_seconds: float = 0.0
    message_count: int = 0
    results: tuple[Json, ...] = ()
    """`tool_result` blocks of the open step's calls that have one."""
    pending: Pending | None = None
    decided: Pending | None = None
    """The request that was decided last; its call is carried out or has its result."""
    started: str | None = None
    """Id of the effect call that is under way: it is carried through before anything else."""
    stop_reason: str | None = None
    """Of the last turn that was appended."""
    heard: tuple[Words, ...] = ()
    """Words that came meanwhile; they go to the model with the next user message."""
    nudges: int = 0
    """Nudges in a row; a usable turn sets it back."""
    cuts: int = 0
    """Turns cut at `max_tokens` in a row."""
    last_cost_usd: Decimal = Decimal(0)
    """Of the latest step; what a lost call is charged by."""
    estimated_step: int = -1
    """The step for which a lost call was already charged by estimate."""
    failures: int = 0
    """Attempts in a row that failed for a temporary reason."""
    failing_since: float | None = None
    told_trouble: bool = False
    retry_at: float | None = None
    later_since: float | None = None
    """Since when a tool's outcome is awaited (`Later`)."""
    later_receipt: str = ""
    """What the customer is told of it should the run be handed off meanwhile."""
    photos: tuple[FetchedPhoto, ...] = ()
    """Photos that the messages refer to and that were fetched, or given up, once and for all."""
    photo_tries: int = 0
    """Tries in a row of a photo that couldn't be had for a temporary reason."""
    repaired: bool = False
    """The API once said that the history was changed: from then on it drops what it can't verify.
    """
    crashed: bool = False
    """A tool failed by our fault: the run will not end as done."""
    proposed: bool = False
    """An effect was asked for: the customer can't be exchanged any more."""
    receipts: tuple[str, ...] = ()
    """What was paid, in words for the customer, from our records."""
    first_words: str = ""
    last_words: str = ""
    photo_links: tuple[str, ...] = ()
    reply: str | None = None
    reason: str | None = None
    """Why it was handed off; for staff."""
