"""What the job engine's wake-ups cost: alone, and within a refund run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.runs import Desk, desk
from bot.wakeups import carrying

IDLE_SECONDS = 2.0
WAKE_UPS = 200


async def wake_up_costs(url: str) -> tuple[float, float]:
    """Seconds of CPU for a wake-up from its sending to its arrival, and the share of a
    core that the engine takes while there are none."""
    arrived = asyncio.Event()
    async with carrying(url, lambda _: arrived.set()) as wake_ups:

        async def send(times: int) -> None:
            for _ in range(times):
                arrived.clear()
                wake_ups.send("T1:C1:1")
                await arrived.wait()

        await send(20)
        cpu, started = time.process_time(), time.monotonic()
        await asyncio.sleep(IDLE_SECONDS)
        idle = (time.process_time() - cpu) / (time.monotonic() - started)
        cpu, started = time.process_time(), time.monotonic()
        await send(WAKE_UPS)
        taken = time.process_time() - cpu - idle * (time.monotonic() - started)
    return taken / WAKE_UPS, idle


@asynccontextmanager
async def engine_desk(folder: Path, base_url: str, redis_url: str) -> AsyncGenerator[Desk]:
    """A desk where each event's wake-up goes through the engine before the case is worked on."""
    arrived: asyncio.Queue[str] = asyncio.Queue()
    async with (
        desk(folder, base_url, store_url=redis_url) as one,
        carrying(redis_url, arrived.put_nowait) as wake_ups,
    ):

        async def woken(case_id: str) -> None:
            wake_ups.send(case_id)
            while await arrived.get() != case_id:
                continue

        one.woken = woken
        yield one
