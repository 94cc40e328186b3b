"""After a start or a gap in the connection: read the threads in which a reply may be missing.

Slack gives an event up after about six minutes of trying; what people wrote later than that is
only in the thread. Open cases come first; then those done lately, where a reply begins a new run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from agent.ports import CaseStore, Clock
from agent.run import FINAL, Status

log = logging.getLogger("casethread.slack")

GAP_SECONDS: Final = 30.0
"""A connection that was seen away for less misses nothing: Slack delivers again. The client needs
up to 40 s to notice that a connection is dead."""
CHECK_SECONDS: Final = 5.0
PAUSE_SECONDS: Final = 1.3
"""Between two threads: Slack allows about 50 reads a minute, and others need some of them."""
DONE_SECONDS: Final = 3 * 86_400.0
"""How long after its end a case's thread is still read."""
LONGEST_RUN_SECONDS: Final = 14 * 86_400.0
"""A run that was opened longer ago than this before then isn't looked for."""
MOST_DONE: Final = 200
"""Of these, the ones that ended last: they take a few minutes."""


class CatchUp:
    """Reads threads, one after the other, in the background."""

    def __init__(
        self,
        *,
        store: CaseStore,
        read_thread: Callable[[str], Awaitable[bool]],
        wake: Callable[[str], None],
        now: Clock,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._store = store
        self._read_thread = read_thread
        self._wake = wake
        self._now = now
        self._pause_seconds = pause_seconds
        self._reading: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start reading, unless it goes on already."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="catching up")

    def watch(self, is_connected: Callable[[], Awaitable[bool]]) -> None:
        """Begin again whenever the connection is back after a gap."""
        self._watching = asyncio.create_task(self._watch(is_connected), name="connection")

    async def close(self) -> None:
        """Stop reading."""
        for task in (self._watching, self._reading):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, is_connected: Callable[[], Awaitable[bool]]) -> None:
        connected_at = time.monotonic()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if not await is_connected():
                continue
            gap = time.monotonic() - connected_at
            if gap >= GAP_SECONDS:
                log.warning("no connection to Slack for %.0f s: reading threads", gap)
                self.begin()
            connected_at = time.monotonic()

    async def _read(self) -> None:
        for case_id in await self._case_ids():
            if await self._read_thread(case_id):
                self._wake(case_id)
            await asyncio.sleep(self._pause_seconds)

    async def _case_ids(self) -> Sequence[str]:
        """Of the cases whose threads are read, each once, in this order."""
        ids: list[str] = []
        for status in Status:
            if status not in FINAL:
                ids += [line.case.case_id async for line in self._store.runs(status=status)]
        oldest = self._now() - DONE_SECONDS
        ended: dict[str, float] = {}
        async for line in self._store.runs(status=Status.DONE, since=oldest - LONGEST_RUN_SECONDS):
            ended_at = line.run.ended_at or 0.0
            if ended_at >= oldest and not line.case.closed:
                case_id = line.case.case_id
                ended[case_id] = max(ended_at, ended.get(case_id, 0.0))
        done = sorted(ended, key=lambda case_id: ended[case_id], reverse=True)
        return list(dict.fromkeys([*ids, *done[:MOST_DONE]]))
