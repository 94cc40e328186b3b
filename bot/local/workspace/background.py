"""Work beside the requests of the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine

log = logging.getLogger("casethread.workspace")


def begun(work: Coroutine[None, None, None]) -> asyncio.Task[None]:
    """Begin it; whoever gets the task cancels it. A fault of ours that ends it is told at once."""

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the local workspace ended", exc_info=error)

    task = asyncio.create_task(work)
    task.add_done_callback(ended)
    return task
