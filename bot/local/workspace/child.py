"""The bot of a local workspace, in a process of its own: what `casethread start` runs, on the
workspace's clock, and with a payment whose answer can get lost.

    python -m bot.local.workspace.child FOLDER PARENT_PID

Settings come from the environment. It ends when the process that started it is gone: nobody could
stop it any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

import uvloop

from agent.errors import ConfigurationError, StoreError
from agent.refunds.ports import Payment, Payments, Refund
from bot.imports import uncollected
from bot.local.workspace.clock import FileClock
from bot.local.workspace.folder import StateFolder
from bot.logs import redacted, set_up_logging
from bot.settings import Settings, load_settings

log = logging.getLogger("casethread")

LOOK_SECONDS = 1.0


def main() -> None:
    folder, parent = StateFolder(Path(sys.argv[1])), int(sys.argv[2])
    try:
        settings = load_settings(env_file=None)
        set_up_logging(settings.log, sys.stderr)
        uvloop.run(_serve(settings, folder, parent))
    except (ConfigurationError, StoreError) as error:
        sys.stderr.write(redacted(" ".join(str(error).split())) + "\n")
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)


async def _serve(settings: Settings, folder: StateFolder, parent: int) -> None:
    with uncollected():
        from bot.app import running_bot

    this_task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if this_task is not None:
            loop.add_signal_handler(number, this_task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        async with running_bot(
            settings,
            now=FileClock(folder.clock),
            payer=lambda payments: LosesAnswer(payments, folder.lost_answer),
        ) as bot:
            log.info("Connected to the local Slack and at work.")
            while os.getppid() == parent and not bot.looking.done():
                await asyncio.wait({bot.looking}, timeout=LOOK_SECONDS)
    log.info("Stopped.")


class LosesAnswer:
    """Payments that are made, but whose answer gets lost once when a file says so: the file is
    taken away with it. What became of such a payment can be looked up as ever."""

    def __init__(self, payments: Payments, switch: Path) -> None:
        self._payments = payments
        self._switch = switch

    async def pay(self, refund: Refund) -> Payment:
        payment = await self._payments.pay(refund)
        if payment.status == "paid" and self._taken():
            log.warning("the payment of %s was made, and its answer got lost", refund.key)
            return Payment(status="unknown", detail="The answer got lost on its way.")
        return payment

    async def look_up(self, refund: Refund) -> Payment | None:
        return await self._payments.look_up(refund)

    def _taken(self) -> bool:
        try:
            self._switch.unlink()
        except FileNotFoundError:
            return False
        return True


if __name__ == "__main__":
    main()
