"""`CaseStore` in one SQLite file, for one process; the embedded default.

Each method of the port is one transaction in one thread of its own, so the event loop never waits
for the disk. What the transactions do stands in `sqlite_writes` and `sqlite_reads`; the file, its
lock and its tables in `sqlite_file`.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from agent.case import Event
from agent.errors import StoreError
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
from storage import sqlite_file, sqlite_reads, sqlite_writes
from storage.sqlite_file import Transaction

logger = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


READ = ("BEGIN",)
# Taking the write lock at the start: a lock that is taken over from reading to writing can fail
# without waiting.
WRITE = ("PRAGMA synchronous = FULL", "BEGIN IMMEDIATE")
WRITE_LEASE = ("PRAGMA synchronous = NORMAL", "BEGIN IMMEDIATE")
"""Does not wait for the disk, and gets there with the next write that does. A power cut may take it
back: a lease ends with its process anyway, and a case that was given up is looked at once more."""

RUNS_AT_ONCE = 50
"""So many runs of a list are read in one go: a longer look would hold up everybody else."""


class SqliteStore:
    """See `CaseStore`. What this store adds to its words:

    - A lease is lost at `expires_at`, whether or not somebody else took the case since.
    - A claim gets None while any lease on the case lasts, its own owner's too, and for a case
      that the store doesn't know.
    - A claimed case stays due, so that it is ready as soon as the lease of an owner that died is
      over. A save sets another time only when it names one and leaves no event unapplied and no
      post unsent; a release always sets its own, None included.
    - Events keep their ids after they are applied, for as long as the case is kept.
    - A case with a record of a newer schema version than this code knows is never `ready`, can't
      be claimed (logged once as an error), is left out of `runs`, and raises `StoreError` where it
      is read by name. Events for it are kept.
    """

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], *, now: Clock, held: int | None = None
    ) -> None:
        """`connect` is called in the store's thread; `held` is the lock file, closed at the end."""
        self._now = now
        self._held = held
        self._closed = False
        self._warned: set[str] = set()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sqlite-store")
        self._db = self._thread.submit(connect).result()

    async def deliver(self, case_id: str, event: Event) -> bool:
        return await self._write(sqlite_writes.deliver, case_id, event)

    async def claim(self, case_id: str, owner: str, *, seconds: float) -> Claim | None:
        claim = await self._write(sqlite_writes.claim, case_id, owner, seconds)
        if isinstance(claim, str):
            self._warn(claim)
            return None
        return claim

    async def renew(self, lease: Lease, *, seconds: float) -> Lease:
        return await self._hop(WRITE_LEASE, lambda tx: sqlite_writes.renew(tx, lease, seconds))

    async def inbox(self, lease: Lease) -> Sequence[StoredEvent]:
        return await self._read(sqlite_reads.inbox, lease.case_id)

    async def save(self, lease: Lease, change: Change) -> Sequence[StoredEvent]:
        return await self._write(sqlite_writes.save, lease, change)

    async def outbox(self, lease: Lease) -> Sequence[OutboxEntry]:
        return await self._read(sqlite_reads.outbox, lease.case_id)

    async def sent(self, lease: Lease, posted: Mapping[str, Posted]) -> None:
        await self._write(sqlite_writes.sent, lease, posted)

    async def posted(self, case_id: str, post_id: str) -> Posted | None:
        return await self._read(sqlite_reads.posted, case_id, post_id)

    async def release(self, lease: Lease, *, due_at: float | None) -> bool:
        return await self._hop(WRITE_LEASE, lambda tx: sqlite_writes.release(tx, lease, due_at))

    async def hand_over(self, lease: Lease) -> None:
        await self._hop(WRITE_LEASE, lambda tx: sqlite_writes.hand_over(tx, lease))

    async def ready(self, *, limit: int) -> Sequence[str]:
        return await self._read(sqlite_reads.ready, limit)

    async def images(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return await self._read(sqlite_reads.images, digests)

    async def freeze(self, digest: str, frozen: Json) -> None:
        await self._write(sqlite_writes.freeze, digest, frozen)

    async def frozen(self, digest: str) -> Json | None:
        return await self._read(sqlite_reads.frozen, digest)

    async def remember(self, name: str, value: str) -> str:
        return await self._write(sqlite_writes.remember, name, value)

    async def case(self, case_id: str) -> Record | None:
        return await self._read(sqlite_reads.record, case_id)

    async def runs(
        self, *, status: Status | None = None, since: float | None = None
    ) -> AsyncIterator[RunLine]:
        behind: tuple[float, int] | None = (math.inf, 0)
        while behind is not None:
            page = await self._read(
                sqlite_reads.runs, status, since, behind=behind, limit=RUNS_AT_ONCE
            )
            for refusal in page.refusals:
                self._warn(refusal)
            for line in page.lines:
                yield line
            behind = page.last

    async def run(self, run_id: str) -> RunLine | None:
        return await self._read(sqlite_reads.run, run_id)

    async def trace(self, run_id: str) -> Sequence[Json]:
        return await self._read(sqlite_reads.trace, run_id)

    async def mail(self, case_id: str, *, limit: int = 200) -> Mail:
        return await self._read(sqlite_reads.mail, case_id, limit)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._db.close)
        self._thread.shutdown()
        if self._held is not None:
            os.close(self._held)

    async def _read(
        self,
        work: Callable[Concatenate[Transaction, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        return await self._hop(READ, lambda tx: work(tx, *args, **kwargs))

    async def _write(
        self,
        work: Callable[Concatenate[Transaction, Arguments], Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        return await self._hop(WRITE, lambda tx: work(tx, *args, **kwargs))

    async def _hop(self, begin: Sequence[str], work: Callable[[Transaction], Result]) -> Result:
        if self._closed:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._transaction, begin, work)

    def _transaction(self, begin: Sequence[str], work: Callable[[Transaction], Result]) -> Result:
        db = self._db
        try:
            for statement in begin:
                db.execute(statement)
            try:
                result = work(Transaction(db=db, now=self._now()))
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise StoreError(f"SQLite: {error}") from error
        return result

    def _warn(self, refusal: str) -> None:
        if refusal not in self._warned:
            self._warned.add(refusal)
            logger.error("%s", refusal)


def open_sqlite(path: Path, *, now: Clock) -> SqliteStore:
    """The store of this process, locked for it. Raises `ConfigurationError`.

    Leases of the process that had the file before are void: it is dead. Their tokens are not used
    again.
    """

    def connect() -> sqlite3.Connection:
        db = sqlite_file.connect(path)
        # Long over, but not given up.
        db.execute("UPDATE cases SET expires_at = 1 WHERE expires_at > 1")
        return db

    with ExitStack() as undo:
        held = sqlite_file.lock(path)
        undo.callback(os.close, held)
        store = SqliteStore(connect, now=now, held=held)
        undo.pop_all()
        return store


def open_sqlite_to_read(path: Path, *, now: Clock) -> SqliteStore:
    """The store to look at, beside a running bot; whatever writes raises `StoreError`."""
    return SqliteStore(lambda: sqlite_file.connect_to_read(path), now=now)
