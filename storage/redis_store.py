"""`CaseStore` in one Redis, for several processes.

Each method of the port is one round trip. What happens in Redis stands in `redis_scripts`; the
connection and what is tried again in `redis_link`; what a Redis must be like in `redis_start`.

Keys begin with `casethread:`. Those of one case begin with `casethread:{CASE_ID}`, which is the
case's head itself: a hash with its record, lease and due time. The others are indexes over all
cases, so this is one Redis and no cluster. No key has a time to live.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.case import Event
from agent.errors import InboxChanged, LeaseLost, StoreError
from agent.ports import (
    Change,
    Claim,
    Clock,
    Lease,
    Mail,
    OutboxEntry,
    Posted,
    Record,
    RunLine,
    StoredEvent,
)
from agent.run import Json, Status
from storage import codec, redis_records
from storage.redis_link import Link, Value, read_script
from storage.redis_start import examine

logger = logging.getLogger(__name__)

SCRIPTS = {
    "deliver": ("case", "deliver"),
    "claim": ("case", "events", "whole", "claim"),
    "renew": ("case", "renew"),
    "release": ("case", "release"),
    "hand_over": ("case", "hand_over"),
    "save": ("case", "events", "save"),
    "sent": ("case", "sent"),
    "look": ("whole", "look"),
    "inbox": ("events", "inbox"),
    "outbox": ("outbox",),
    "mail": ("mail",),
    "ready": ("ready",),
    "lines": ("lines",),
    "trace": ("trace",),
    "remember": ("remember",),
}
"""The files that make up each script."""

DUE = tuple(f"casethread:due:{version}" for version in range(1, codec.VERSION + 1))
"""The indexes of due cases whose records this code knows."""

RUNS_AT_ONCE = 50
"""So many runs of a list are read in one go: a longer look would hold up everybody else."""


class RedisStore:
    """See `CaseStore`. What this store adds to its words:

    - The first call looks at Redis first, and raises `ConfigurationError` when that is not as it
      must be; `open` does only that.
    - Any call raises `StoreAway` when Redis is away or refuses for a while, after trying for some
      seconds. Each call is repeated then as it was, and takes effect once: a save, a claim and a
      delivery find that they were there before.
    - Times are by Redis' own clock, also due times, which are given by the caller's: what counts
      is how long from now. So clocks that differ between machines lengthen or shorten no lease. A
      clock other than the system's that is given as `now` counts instead, for tests. Writes don't
      depend on either: a token that isn't the newest is refused whatever the time.
    - A lease is lost at its end, whether or not somebody else took the case since. A claim gets
      None while any lease on the case lasts, its own owner's too, and for a case that the store
      doesn't know.
    - A claimed case stays due, so that it is ready as soon as the lease of an owner that died is
      over; among those that wait it counts from then. A save sets another time only when it names
      one and leaves no event unapplied and no post unsent; a release always sets its own, None
      included.
    - A lease is for the store object that claimed it: the order of its writes is kept there.
    - Events keep their ids after they are applied, for as long as the case is kept.
    - A case with a record of a newer schema version than this code knows is never `ready`, can't
      be claimed (logged once as an error), is left out of `runs`, and raises `StoreError` where it
      is read by name. Events for it are kept.
    """

    def __init__(self, url: str, *, now: Clock, read_only: bool = False) -> None:
        """`read_only` looks on beside others; then whatever writes raises `StoreError`."""
        self._link = Link(url)
        self._now = now
        self._by_redis = int(now is time.time)
        self._read_only = read_only
        self._opened = False
        self._opening = asyncio.Lock()
        self._warned: set[str] = set()
        self.scripts = {name: read_script(*parts) for name, parts in SCRIPTS.items()}
        self._name = secrets.token_hex(6)
        self._calls = itertools.count()
        self._number = 0

    async def open(self) -> Sequence[str]:
        """Look whether this Redis is fit; returns what the operator is warned of, logged too.

        Raises `ConfigurationError` and `StoreAway`.
        """
        warnings = await examine(self._link, read_only=self._read_only)
        for warning in warnings:
            self._say_once(logging.WARNING, warning)
        self._opened = True
        return warnings

    async def deliver(self, case_id: str, event: Event) -> bool:
        raw = codec.encode_event(event)
        return bool(
            await self._change("deliver", case_id, codec.VERSION, event.event_id, self._mark(), raw)
        )

    async def claim(self, case_id: str, owner: str, *, seconds: float) -> Claim | None:
        # Before Redis is asked: the lease is never over there before it is here.
        expires_at = self._now() + seconds
        answer = await self._change(
            "claim", case_id, codec.VERSION, owner, self._mark(), repr(seconds)
        )
        if answer is None:
            return None
        token, *found = answer
        if not found:
            self._say_once(
                logging.ERROR,
                f"case {case_id} holds records of schema version {int(token)}, and this version "
                f"of Casethread knows up to {codec.VERSION}: it is left alone; run the newer "
                "Casethread",
            )
            return None
        whole, inbox, posts, interrupted = found
        record = redis_records.record(whole, case_id)
        return Claim(
            lease=Lease(case_id=case_id, owner=owner, token=token, expires_at=expires_at),
            record=replace(record, inbox=tuple(redis_records.events(inbox))),
            has_posts=posts > 0,
            interrupted=interrupted == b"1",
        )

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        expires_at = self._now() + seconds
        if not await self._change("renew", lease.case_id, lease.token, lease.owner, repr(seconds)):
            raise _lost(lease)
        return replace(lease, expires_at=expires_at)

    async def inbox(self, lease: Lease) -> Sequence[StoredEvent]:
        return redis_records.events(await self._run("inbox", (_head(lease.case_id),)))

    async def save(self, lease: Lease, change: Change) -> Sequence[StoredEvent]:
        arguments = redis_records.save_arguments(lease, change, self._next_number())
        outcome, *more = await self._change("save", lease.case_id, *arguments)
        if outcome == b"saved":
            return redis_records.events(more[0])
        if outcome == b"lost":
            raise _lost(lease)
        if outcome == b"inbox":
            raise InboxChanged(f"{lease.case_id} has an event after number {change.inbox_seen}")
        raise _misfit(change, more)

    async def outbox(self, lease: Lease) -> Sequence[OutboxEntry]:
        return redis_records.entries(await self._run("outbox", (_head(lease.case_id),)))

    async def sent(self, lease: Lease, posted: Mapping[str, Posted]) -> None:
        places = redis_records.place_arguments(posted)
        answer = await self._change(
            "sent", lease.case_id, lease.token, lease.owner, len(posted), *places
        )
        if answer == 0:
            raise _lost(lease)
        if answer != 1:
            unknown = sorted(post_id.decode() for post_id in answer)
            raise StoreError(f"{lease.case_id} doesn't have the posts {unknown}")

    async def posted(self, case_id: str, post_id: str) -> Posted | None:
        raw = await self._ask("HGET", f"{_head(case_id)}:sent", post_id)
        return None if raw is None else redis_records.place(raw, post_id)

    async def release(self, lease: Lease, *, due_at: float | None) -> bool:
        due = redis_records.or_nothing(due_at)
        number = self._next_number()
        return bool(
            await self._change("release", lease.case_id, lease.token, lease.owner, number, due)
        )

    async def hand_over(self, lease: Lease) -> None:
        await self._change("hand_over", lease.case_id, lease.token, lease.owner)

    async def ready(self, *, limit: int) -> Sequence[str]:
        now = repr(self._now())
        found = await self._run("ready", DUE, now, self._by_redis, limit)
        return [case_id.decode() for case_id in found]

    async def images(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        if not digests:
            return {}
        found = await self._ask("MGET", *(f"casethread:image:{digest}" for digest in digests))
        return {
            digest: image for digest, image in zip(digests, found, strict=True) if image is not None
        }

    async def freeze(self, digest: str, frozen: Json) -> None:
        self._refuse_reader()
        await self._ask("SET", f"casethread:frozen:{digest}", codec.encode_json(frozen), "NX")

    async def frozen(self, digest: str) -> Json | None:
        raw = await self._ask("GET", f"casethread:frozen:{digest}")
        return None if raw is None else codec.decode_json(raw, f"prompt {digest}")

    async def remember(self, name: str, value: str) -> str:
        self._refuse_reader()
        kept = await self._run("remember", ("casethread:facts",), name, value)
        return kept.decode()

    async def case(self, case_id: str) -> Record | None:
        answer = await self._run("look", (_head(case_id),))
        return None if answer is None else redis_records.record(answer, case_id)

    async def runs(
        self, *, status: Status | None = None, since: float | None = None
    ) -> AsyncIterator[RunLine]:
        index = "casethread:runs" if status is None else f"casethread:runs:{status}"
        oldest = "-inf" if since is None else repr(since)
        members = await self._ask("ZREVRANGEBYSCORE", index, "+inf", oldest)
        ids = [member.split(b":", 1)[1] for member in members]
        for first in range(0, len(ids), RUNS_AT_ONCE):
            answer = await self._run("lines", (), *ids[first : first + RUNS_AT_ONCE])
            lines, refusals = redis_records.lines(answer)
            for refusal in refusals:
                self._say_once(logging.ERROR, refusal)
            for line in lines:
                # One may have moved on since the index was read.
                if status is None or line.run.status is status:
                    yield line

    async def run(self, run_id: str) -> RunLine | None:
        row = await self._run("lines", (), run_id)
        return redis_records.line(row) if row else None

    async def trace(self, run_id: str) -> Sequence[Json]:
        entries = await self._run("trace", (), run_id)
        return [codec.decode_json(entry, f"run {run_id}") for entry in entries]

    async def mail(self, case_id: str, *, limit: int = 200) -> Mail:
        if limit < 1:
            return Mail(events=[], posts=[])
        return redis_records.mail(await self._run("mail", (_head(case_id),), limit))

    async def close(self) -> None:
        await self._link.close()

    async def _change(self, script: str, case_id: str, *arguments: Value) -> Any:
        """Run a script that changes one case; `case.lua` goes before it."""
        self._refuse_reader()
        now = repr(self._now())
        return await self._run(script, (_head(case_id),), now, self._by_redis, *arguments)

    async def _run(self, script: str, keys: Sequence[str], *arguments: Value) -> Any:
        if not self._opened:
            await self._open_once()
        return await self._link.run(self.scripts[script], keys, *arguments)

    async def _ask(self, *words: Value) -> Any:
        if not self._opened:
            await self._open_once()
        return await self._link.command(*words)

    async def _open_once(self) -> None:
        async with self._opening:
            if not self._opened:
                await self.open()

    def _refuse_reader(self) -> None:
        if self._read_only:
            raise StoreError("the store is open for reading only (readonly)")

    def _mark(self) -> str:
        """What tells this call from every other one, and is the same when it is repeated."""
        return f"{self._name}-{next(self._calls)}"

    def _next_number(self) -> int:
        """Grows with each write under a lease; as a time, so that no restart sets it back."""
        self._number = max(self._number + 1, time.time_ns() // 1_000)
        return self._number

    def _say_once(self, level: int, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            logger.log(level, "%s", message)


def _head(case_id: str) -> str:
    return f"casethread:{{{case_id}}}"


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"{lease.owner} has lost its lease {lease.token} on {lease.case_id}")


def _misfit(change: Change, stored: Sequence[bytes]) -> StoreError:
    """Why `save.lua` didn't take the run: another case has it, or how many messages it has."""
    run = change.run
    if run is None or not stored:
        return StoreError(f"a save of {change.case.case_id} holds a run of another case")
    first = run.message_count - len(change.messages)
    return StoreError(
        f"run {run.run_id} has {int(stored[0])} messages stored, and a save would go on after "
        f"{first}"
    )
