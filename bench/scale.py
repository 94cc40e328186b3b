"""Several worker processes on one Redis, and one with a thousand runs in flight.

The local Claude is here and answers after some seconds, as the real one does; who answers
questions and cards is here too, at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from docket import Docket
from redis.asyncio import Redis

from agent.case import Event, Fact, ts_of
from agent.ports import CaseStore
from agent.run import Status
from bench.report import Table
from bench.runs import ANSWER, CASE_ID, CUSTOMER, approved, first_message, sample_shop
from bench.server import WORDS, SlowFaults, scripted
from bench.worker_child import READY, STOPS
from bot.local.claude import LocalClaude
from bot.wakeups import NAME, WakeUps
from storage import open_store
from tests.redis_server import RedisServer

ROOT = Path(__file__).parent.parent
ANSWER_SECONDS = 2.0
WORKERS = (1, 2, 4)
RUNS = 32
AT_ONCE = 8
"""Runs in one worker at once, so that more workers and not more CPU are what makes it faster."""
IN_FLIGHT = 1_000
ARRIVE_TOGETHER = 25
SPREAD_SECONDS = 20.0
"""Over which their answers come: never all in one moment, as it is in life."""
WATCH_SECONDS = 5.0
PATIENCE_SECONDS = 120


@dataclass(kw_only=True)
class _World:
    """One Redis, whoever delivers events to it, and the model."""

    url: str
    folder: Path
    store: CaseStore
    # redis-py's own types are partly unknown.
    redis: Any
    wake_ups: WakeUps
    claude: LocalClaude
    events: int = 0

    async def tell(self, case_id: str, *facts: Fact) -> None:
        for fact in facts:
            self.events += 1
            event = Event(event_id=f"e{self.events}", ts=ts_of(time.time()), fact=fact)
            await self.store.deliver(case_id, event)
        self.wake_ups.send(case_id)

    async def pop(self, name: str) -> str:
        found = await self.redis.blpop([name], timeout=PATIENCE_SECONDS)
        if found is None:
            raise TimeoutError(f"nothing came from the workers in {PATIENCE_SECONDS} s")
        return found[1].decode()


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", "--appendonly", "yes")
    try:
        rows: list[Sequence[str]] = []
        alone = 0.0
        for database, workers in enumerate(WORKERS):
            async with _world(folder, server.url(database)) as world:
                runs_a_minute = await _runs_a_minute(world, workers)
            alone = alone or runs_a_minute
            rows.append((str(workers), f"{runs_a_minute:.0f}", f"{runs_a_minute / alone:.2f}×"))
        async with _world(folder, server.url(len(WORKERS))) as world:
            in_flight = await _in_flight(world)
    finally:
        server.kill()
    return [
        Table(
            title=f"{RUNS} refund runs, the model takes {ANSWER_SECONDS:.0f} s a call, "
            f"{AT_ONCE} at once in a worker",
            headings=("worker processes", "runs a minute", "against one"),
            rows=rows,
        ),
        in_flight,
    ]


@asynccontextmanager
async def _world(folder: Path, url: str) -> AsyncGenerator[_World]:
    place = folder / url.rpartition("/")[2]
    place.mkdir()
    await sample_shop(place, now=time.time).close()
    async with AsyncExitStack() as parts:
        claude = await parts.enter_async_context(LocalClaude())
        scripted(claude)
        claude.faults = SlowFaults(ANSWER_SECONDS)
        store = open_store(url)
        parts.push_async_callback(store.close)
        redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
            url, socket_timeout=None
        )
        parts.push_async_callback(redis.aclose)
        docket = await parts.enter_async_context(
            Docket(name=NAME, url=url, execution_ttl=timedelta(0))
        )
        wake_ups = WakeUps(docket, lambda _: None)
        sending = asyncio.create_task(wake_ups.forward())
        parts.callback(sending.cancel)
        yield _World(
            url=url, folder=place, store=store, redis=redis, wake_ups=wake_ups, claude=claude
        )


@asynccontextmanager
async def _children(
    world: _World, count: int, most_cases: int
) -> AsyncGenerator[Sequence[asyncio.subprocess.Process]]:
    """Worker processes at work."""
    children = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bench.worker_child", world.url, str(world.folder), world.claude.base_url),
            str(most_cases),
            cwd=ROOT,
        )
        for _ in range(count)
    ]
    try:
        for _ in children:
            await world.pop(READY)
        yield children
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()


# Runs a minute ----------------------------------------------------------------------------------


async def _runs_a_minute(world: _World, workers: int) -> float:
    async with _children(world, workers, AT_ONCE):
        started = time.monotonic()
        for number in range(RUNS):
            await world.tell(CASE_ID.format(number), first_message(WORDS), CUSTOMER)
        done = 0
        while done < RUNS:
            done += await _answer(world, await world.pop(STOPS))
        return RUNS / (time.monotonic() - started) * 60


async def _answer(world: _World, case_id: str) -> bool:
    """Answer what the run waits for; True when it is done instead."""
    record = await world.store.case(case_id)
    run = record.run if record else None
    if run is None or run.status is Status.HANDED_OFF:
        raise RuntimeError(f"{case_id} did not go as it should: {run}")
    if run.pending is not None:
        card = run.pending.card
        await world.tell(case_id, approved(card) if card else ANSWER)
    return run.status is Status.DONE


# In flight --------------------------------------------------------------------------------------


async def _in_flight(world: _World) -> Table:
    """All runs wait for their first answer at once, then go on to their question."""
    async with _children(world, 1, IN_FLIGHT) as (child,):
        before = _status(child.pid)["VmRSS"]
        world.claude.faults = SlowFaults(ANSWER_SECONDS, spread_seconds=SPREAD_SECONDS)
        world.claude.faults.hold()
        for number in range(IN_FLIGHT):
            await world.tell(CASE_ID.format(number), first_message(WORDS), CUSTOMER)
            if (number + 1) % ARRIVE_TOGETHER == 0:
                await world.claude.arrived(number + 1, timeout_seconds=PATIENCE_SECONDS)
        waiting = _status(child.pid)["VmRSS"]
        cpu, started = _cpu_seconds(child.pid), time.monotonic()
        await asyncio.sleep(WATCH_SECONDS)
        share = (_cpu_seconds(child.pid) - cpu) / (time.monotonic() - started)
        world.claude.faults.release()
        for _ in range(IN_FLIGHT):
            await world.pop(STOPS)
        most = _status(child.pid)["VmHWM"]
        asked = [line async for line in world.store.runs(status=Status.WAITING_CUSTOMER)]
        if len(asked) != IN_FLIGHT:
            raise RuntimeError(f"{len(asked)} of {IN_FLIGHT} runs came to their question")
    return Table(
        title=f"{IN_FLIGHT:,} runs in flight in one process",
        headings=("", "memory, MB"),
        rows=[
            ("before", f"{before / 1024:.0f}"),
            ("all wait for the model", f"{waiting / 1024:.0f}"),
            ("the most, until all had gone on", f"{most / 1024:.0f}"),
        ],
        note=f"While they wait, the process uses {share:.0%} of a core: leases are renewed, and "
        "each inbox is looked at for a stop sign.",
    )


def _status(pid: int) -> dict[str, int]:
    """The sizes in the kernel's status of a process, in kB (Linux)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {
        name: int(value.split()[0])
        for name, _, value in (line.partition(":") for line in lines)
        if name in ("VmRSS", "VmHWM")
    }


def _cpu_seconds(pid: int) -> float:
    """Of all threads of a process (Linux)."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")
