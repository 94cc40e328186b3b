"""Wake-ups: "there is work for this case", carried by pydocket to one of the processes on a Redis.

They only save waiting. The store is the truth and its index of due cases is looked at every second,
so the engine may lose or double any of them, and none is sent again here. A task's arguments are
pickled: whoever can write to that Redis can run code in the workers, so it has to be ours alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from docket import Docket, Worker
from docket.execution import TaskCall
from redis.exceptions import RedisError

log = logging.getLogger("casethread.wakeups")

NAME = "casethread:wake-ups"
_BACKLOG = 10_000
"""Cases that wait to be sent. More than that are found by the look into the store."""
_AT_ONCE = 50
"""Far below the 100 connections that redis-py gives the engine: above that, it stops itself."""
_REDELIVERY = timedelta(seconds=30)
_AWAY_SECONDS = 2.0


class WakeUps:
    """Sends wake-ups; made by `carrying`."""

    def __init__(self, docket: Docket, work_on: Callable[[str], None]) -> None:
        async def work_on_case(case_id: str) -> None:
            work_on(case_id)

        self._docket = docket
        self._task = work_on_case
        self._cases: dict[str, None] = {}
        self._some = asyncio.Event()
        docket.register(work_on_case)

    def send(self, case_id: str) -> None:
        """There is work for this case. Never blocks, never fails; may be lost."""
        if len(self._cases) < _BACKLOG:
            self._cases[case_id] = None
            self._some.set()

    async def forward(self) -> None:
        """Hand over to the engine what `send` got, until cancelled."""
        while True:
            await self._some.wait()
            self._some.clear()
            # No key of our own: one that is known to the engine already would be dropped.
            calls: list[TaskCall] = [self._docket.call(self._task)(each) for each in self._cases]
            self._cases.clear()
            try:
                await self._docket.add_many(calls)
            except (RedisError, OSError) as error:
                log.warning("%d wake-ups are lost, the engine is away: %s", len(calls), error)
                await asyncio.sleep(_AWAY_SECONDS)


@asynccontextmanager
async def carrying(url: str, work_on: Callable[[str], None]) -> AsyncGenerator[WakeUps]:
    """Send wake-ups, and call `work_on` for those that this process gets. `url` is the Redis that
    all processes share."""
    async with Docket(name=NAME, url=url, execution_ttl=timedelta(0)) as docket:
        wake_ups = WakeUps(docket, work_on)
        async with Worker(
            docket,
            concurrency=_AT_ONCE,
            redelivery_timeout=_REDELIVERY,
            schedule_automatic_tasks=False,
        ) as worker:
            tasks = [
                asyncio.create_task(wake_ups.forward(), name="wake-ups out"),
                asyncio.create_task(worker.run_forever(), name="wake-ups in"),
            ]
            for task in tasks:
                task.add_done_callback(_log_end)
            try:
                yield wake_ups
            finally:
                for task in tasks:
                    task.cancel()
                for task in tasks:
                    with contextlib.suppress(asyncio.CancelledError):
                        await task


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        # Cases are still found by the look into the store, a little later.
        log.error("%s ended", task.get_name(), exc_info=task.exception())
