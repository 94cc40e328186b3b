"""A hundred parked cases against a hundred thousand: what a case costs must not depend on others.

One case is parked on its question by the harness; the others are copies of its records.
"""

from __future__ import annotations

import asyncio
import logging
import random
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.case import Event, ts_of
from agent.ports import CaseStore, Change, RunLine
from agent.run import Status
from bench.copies import Copies, copied_in_redis, copied_in_sqlite
from bench.report import Table
from bench.runs import ANSWER, START, desk
from bench.server import WORDS, claude_elsewhere
from storage import check_store, open_store
from tests.redis_server import RedisServer

FEW, MANY = 100, 100_000
TIMES = 200
DUE = 10
NOW = START + 60.0
LATER = START + 3600.0


@dataclass(kw_only=True)
class _Parked:
    """One store with so many cases in it, and how long each thing took in it, in seconds."""

    copies: Copies
    store: CaseStore
    times: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    events: int = 0

    async def timed(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        started = time.perf_counter()
        await work()
        self.times.setdefault(name, []).append(time.perf_counter() - started)


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    (folder / "redis").mkdir()
    # How durable it is makes no difference between many and few, so it need not warn of that.
    logging.getLogger("storage.redis_store").setLevel(logging.ERROR)
    server = RedisServer(folder / "redis")
    try:
        with claude_elsewhere() as base_url:
            on_sqlite = await _parked_in_sqlite(folder, base_url)
            on_redis = await _parked_in_redis(folder, base_url, server)
        return [
            await _compared("SQLite", *on_sqlite),
            await _compared("Redis", *on_redis),
        ]
    finally:
        server.kill()


async def _parked_in_sqlite(folder: Path, base_url: str) -> Sequence[Copies]:
    made: list[Copies] = []
    for count in (FEW, MANY):
        place = folder / f"sqlite-{count}"
        async with desk(place, base_url) as one:
            await one.open(WORDS)
        path = place / "cases.db"
        copies = await asyncio.to_thread(copied_in_sqlite, path, count)
        made.append(copies)
    return made


async def _parked_in_redis(folder: Path, base_url: str, server: RedisServer) -> Sequence[Copies]:
    made: list[Copies] = []
    for database, count in enumerate((FEW, MANY)):
        url = server.url(database)
        async with desk(folder / f"redis-{count}", base_url, store_url=url) as one:
            await one.open(WORDS)
        made.append(await asyncio.to_thread(copied_in_redis, url, count))
    return made


async def _compared(name: str, few: Copies, many: Copies) -> Table:
    memory: list[float] = []
    opened: list[_Parked] = []
    chosen = random.Random(4471)
    for copies in (few, many):
        started = time.perf_counter()
        store = open_store(copies.url, now=lambda: NOW)
        await check_store(store)
        await store.ready(limit=1_000)
        parked = _Parked(copies=copies, store=store)
        parked.times["start"] = [time.perf_counter() - started]
        opened.append(parked)
        # What the first calls bring in is the same for both.
        await _each_thing(parked, chosen)
        memory.append(_memory_megabytes())
    for parked in opened:
        parked.times = {"start": parked.times["start"]}
    for number in range(TIMES):
        for parked in opened if number % 2 else reversed(opened):
            await _each_thing(parked, chosen)
    memory.append(_memory_megabytes())
    due = [await _made_due(parked, chosen) for parked in opened]
    for number in range(TIMES):
        for parked in opened if number % 2 else reversed(opened):
            await _look_for_due(parked, f"look for due, {DUE} are")
    for parked, expected in zip(opened, due, strict=True):
        if set(await parked.store.ready(limit=1_000)) != expected:
            raise RuntimeError("what is due was not found")
        await _list_all(parked)
        await parked.store.close()
    return _table(name, opened, memory)


# What is done in each ---------------------------------------------------------------------------


async def _each_thing(parked: _Parked, chosen: random.Random) -> None:
    case_id, run_id = parked.copies.ids(chosen.randrange(parked.copies.count))
    await parked.timed("claim, save, release", lambda: _work(parked, case_id))
    await parked.timed("resume", lambda: _resume(parked, case_id))
    await _look_for_due(parked, "look for due")
    await parked.timed("one run by its id", lambda: parked.store.run(run_id))
    await parked.timed("list what is new", lambda: _count(parked.store.runs(since=LATER)))


async def _work(parked: _Parked, case_id: str) -> None:
    await _claim_save_and_release(parked.store, case_id)


async def _resume(parked: _Parked, case_id: str) -> None:
    """The store's part in taking an answer from its arrival to the next stop."""
    event_id = await _deliver(parked, case_id)
    await _claim_save_and_release(parked.store, case_id, event_id)


async def _deliver(parked: _Parked, case_id: str) -> str:
    parked.events += 1
    event_id = f"bench{parked.events}"
    await parked.store.deliver(case_id, Event(event_id=event_id, ts=ts_of(NOW), fact=ANSWER))
    return event_id


async def _claim_save_and_release(store: CaseStore, case_id: str, *applied: str) -> None:
    claim = await store.claim(case_id, "bench", seconds=8.0)
    if claim is None:
        raise RuntimeError(f"{case_id} can't be claimed")
    lease, record = claim.lease, claim.record
    if record.case is None or record.run is None or len(record.inbox) != len(applied):
        raise RuntimeError(f"{case_id} is not as it was parked")
    change = Change(case=record.case, run=record.run, applied=applied, due_at=LATER)
    await store.save(lease, change)
    if not await store.release(lease, due_at=LATER):
        raise RuntimeError(f"{case_id} can't be given up")


async def _made_due(parked: _Parked, chosen: random.Random) -> set[str]:
    """A few among all."""
    numbers = chosen.sample(range(parked.copies.count), DUE)
    due = {parked.copies.ids(number)[0] for number in numbers}
    for case_id in due:
        await _deliver(parked, case_id)
    return due


async def _look_for_due(parked: _Parked, name: str) -> None:
    await parked.timed(name, lambda: parked.store.ready(limit=1_000))


async def _list_all(parked: _Parked) -> None:
    """Few so often that as many lines are read as of many: the garbage of lines is collected now
    and then, which falls on each of them alike."""
    started = time.perf_counter()
    for _ in range(MANY // parked.copies.count):
        listed = await _count(parked.store.runs(status=Status.WAITING_CUSTOMER))
        if listed != parked.copies.count:
            raise RuntimeError(f"{listed} of {parked.copies.count} runs are listed")
    parked.times["list all, a line"] = [(time.perf_counter() - started) / MANY]


async def _count(lines: AsyncIterator[RunLine]) -> int:
    count = 0
    async for _ in lines:
        count += 1
    return count


def _memory_megabytes() -> float:
    """Of this process (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


def _table(name: str, opened: Sequence[_Parked], memory: Sequence[float]) -> Table:
    few, many = opened
    rows: list[Sequence[str]] = []
    for what, times in few.times.items():
        one, other = statistics.median(times), statistics.median(many.times[what])
        rows.append((what, f"{one * 1000:.3f}", f"{other * 1000:.3f}", f"{other / one:.2f}×"))
    with_few, with_both, at_the_end = memory
    return Table(
        title=f"Parked cases in {name}, ms",
        headings=("", f"{FEW:,}", f"{MANY:,}", "ratio"),
        rows=rows,
        note=f"To open the store with {MANY:,} cases and work in it added "
        f"{with_both - with_few:.1f} MB to the process, {TIMES} rounds in both stores "
        f"{at_the_end - with_both:.1f} MB more.",
    )
