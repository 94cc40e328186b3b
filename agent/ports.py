"""What the harness needs from outside: a store for cases, a clock, people, photos.

Times are Unix seconds (UTC).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.case import Case, Event, Image, Photo, Post
from agent.run import Json, Run, Status


class Clock(Protocol):
    def __call__(self) -> float:
        """Unix seconds."""
        ...


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to write a case. `token` only ever grows: a save with an older one is refused."""

    case_id: str
    owner: str
    token: int
    expires_at: float


@dataclass(frozen=True, kw_only=True)
class StoredEvent:
    """An event in the inbox. `seq` counts arrivals in this case."""

    seq: int
    event: Event


@dataclass(frozen=True, kw_only=True)
class OutboxEntry:
    """A post that isn't known to be sent. `token` is the lease's that saved it."""

    seq: int
    token: int
    post: Post


@dataclass(frozen=True, kw_only=True)
class Posted:
    """Where a sent post is: opaque channel and message id; both "" when it left no message.

    A message's id is also when it was posted, in the form of `Event.ts`.
    """

    channel: str
    message_id: str


@dataclass(frozen=True, kw_only=True)
class Record:
    """A case as it stands: its latest run whole. `case` is None until an event was applied."""

    case: Case | None
    run: Run | None
    messages: tuple[Json, ...] = ()
    inbox: tuple[StoredEvent, ...] = ()
    """As by `CaseStore.inbox`, at the same moment; only a claim fills it."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A case in its new owner's hands, as it stood when it was claimed."""

    lease: Lease
    record: Record
    has_posts: bool
    """The outbox isn't empty: a former owner left posts there."""
    interrupted: bool
    """Its last owner neither released it nor handed it over: it died, or stood still for too long,
    in the middle of whatever it did."""


@dataclass(frozen=True, kw_only=True)
class Mail:
    """What came into a case and what went out, done or not, oldest first; for people to read."""

    events: Sequence[tuple[StoredEvent, bool]]
    """With whether it is applied."""
    posts: Sequence[tuple[OutboxEntry, Posted | None]]
    """With where it is; None: not known to be sent."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """One atomic write. Everything in it is saved, or nothing."""

    case: Case
    run: Run | None
    messages: tuple[Json, ...] = ()
    """Appended to the run's; `run.message_count` already counts them."""
    trace: tuple[Json, ...] = ()
    """Appended to the run's trace."""
    applied: tuple[str, ...] = ()
    """Ids of events that are done with."""
    posts: tuple[Post, ...] = ()
    """Appended to the outbox; a post whose id is known there already is left alone."""
    images: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    due_at: float | None = None
    """When the case wants attention next without any event."""
    inbox_seen: int | None = None
    """Refuse with `InboxChanged` when an unapplied event has a higher seq than this."""


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run as lists show it."""

    run: Run
    case: Case


class CaseStore(Protocol):
    """Where cases live. Saves are atomic and fenced by the lease; deliveries need no lease.

    The store is the truth: `ready` finds every case with work, whoever died.
    """

    async def deliver(self, case_id: str, event: Event) -> bool:
        """Keep an event durably before it is acknowledged; makes the case's row if needed.

        False when its id was delivered before: nothing changes then. A new event makes the case
        ready at once.
        """
        ...

    async def claim(self, case_id: str, owner: str, *, seconds: float) -> Claim | None:
        """Own the case until the lease ends; None while another owner's lease lasts."""
        ...

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        """The same lease, later end. Raises `LeaseLost`."""
        ...

    async def inbox(self, lease: Lease) -> Sequence[StoredEvent]:
        """Events not yet applied, in the order of their `ts` (then of arrival)."""
        ...

    async def save(self, lease: Lease, change: Change) -> Sequence[StoredEvent]:
        """Write it, and look into the inbox (as by `inbox`) in the same moment.

        Raises `LeaseLost` or `InboxChanged`; then nothing was written.
        """
        ...

    async def outbox(self, lease: Lease) -> Sequence[OutboxEntry]:
        """Posts not known to be sent, oldest first."""
        ...

    async def sent(self, lease: Lease, posted: Mapping[str, Posted]) -> None:
        """These posts, by id, are out. Raises `LeaseLost`."""
        ...

    async def posted(self, case_id: str, post_id: str) -> Posted | None:
        """Where a sent post is; None when it isn't known to be sent."""
        ...

    async def release(self, lease: Lease, *, due_at: float | None) -> bool:
        """Give the case up; `due_at` is when it is ready again.

        False, and still owned, when an unapplied event is there: one atomic look and release. A
        lease already lost is no error: True.
        """
        ...

    async def hand_over(self, lease: Lease) -> None:
        """Give the case up at a save, with work left to do: it is ready at once.

        A lease already lost is no error.
        """
        ...

    async def ready(self, *, limit: int) -> Sequence[str]:
        """Cases due by now that nobody owns, the longest waiting first."""
        ...

    async def images(self, digests: Sequence[str]) -> Mapping[str, bytes]: ...

    async def freeze(self, digest: str, frozen: Json) -> None:
        """Keep a prompt with its tools under its digest, once and for ever."""
        ...

    async def frozen(self, digest: str) -> Json | None: ...

    async def remember(self, name: str, value: str) -> str:
        """Keep a small fact of this installation; whoever came first wins and is returned."""
        ...

    async def case(self, case_id: str) -> Record | None:
        """A case to look at (messages included); None when the store does not know it."""
        ...

    def runs(
        self, *, status: Status | None = None, since: float | None = None
    ) -> AsyncIterator[RunLine]:
        """All runs, or those with this status and opened at this time or later; newest first.

        They are read as they are asked for, however many there are.
        """
        ...

    async def run(self, run_id: str) -> RunLine | None: ...

    async def trace(self, run_id: str) -> Sequence[Json]:
        """A run's trace entries, oldest first; empty for an unknown run."""
        ...

    async def mail(self, case_id: str, *, limit: int = 200) -> Mail:
        """The newest `limit` events and posts of a case; empty for one the store does not know."""
        ...

    async def close(self) -> None: ...


class Approvers(Protocol):
    async def __call__(self, user: str) -> Literal["approver", "stranger", "unknown"]:
        """Whether this person may decide, asked afresh. `unknown`: it can't be asked just now."""
        ...


class Customers(Protocol):
    async def __call__(self, customer_id: str) -> str | None:
        """A customer's name; None when there is no such customer."""
        ...


class FetchPhoto(Protocol):
    async def __call__(self, photo: Photo) -> tuple[Image, bytes] | Literal["later", "never"]:
        """A photo scaled for the model, with its digest; else whether trying again may help."""
        ...
