"""The bot's process under watch: whether it is up, how often it was started and killed."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from bot.local.play.process import STOP_SECONDS, BotProcess

State = Literal["starting", "up", "stopping", "down"]


class WatchedBot(BotProcess):
    """`connected` tells whether it has a socket to the local Slack; `tell` takes words for
    people about what happened to it, and is also the sign that `state` may be another."""

    def __init__(
        self,
        settings: Mapping[str, str],
        folder: Path,
        *,
        module: Sequence[str],
        connected: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(settings, folder, module=module)
        self._connected = connected
        self._tell = tell
        self._turn = asyncio.Lock()
        self._stopping = False
        self._expected = False
        self._watching: asyncio.Task[None] | None = None
        self._began = 0.0
        self.starts = 0
        self.kills = 0

    @property
    def state(self) -> State:
        if self._stopping:
            return "stopping"
        if self.is_down:
            return "down"
        return "up" if self._connected() else "starting"

    @property
    def up_seconds(self) -> float | None:
        """Since it was started; None while it is down."""
        return None if self.state == "down" else time.monotonic() - self._began

    @property
    def exit_code(self) -> int | None:
        """None while it runs or is being stopped, negative for a signal."""
        return None if self._stopping else super().exit_code

    async def start(self) -> None:
        """Nothing when it runs."""
        async with self._turn:
            await self._start()

    async def kill(self) -> None:
        async with self._turn:
            if not self.is_down:
                self.kills += 1
                self._expected = True
                await super().kill()
                self._tell("The bot was killed (kill -9).")

    async def stop(self) -> int:
        async with self._turn:
            return await self._stop()

    async def restart(self) -> None:
        """SIGTERM, and a new process once it has drained."""
        async with self._turn:
            await self._stop()
            await self._start()

    async def _start(self) -> None:
        if not self.is_down:
            return
        self._expected = False
        await super().start()
        self.starts += 1
        self._began = time.monotonic()
        self._watching = asyncio.create_task(self._watch(), name="the bot's end")
        self._tell("The bot was started.")

    async def _stop(self) -> int:
        if self.is_down:
            return self.exit_code or 0
        self._expected = self._stopping = True
        self._tell("The bot is asked to stop (SIGTERM) and drains.")
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self.wait()
        except TimeoutError:
            await super().kill()
        finally:
            self._stopping = False
        code = await self.wait()
        self._tell(f"The bot stopped with exit {code}.")
        return code

    async def _watch(self) -> None:
        code = await self.wait()
        if not self._expected:
            self._tell(f"The bot ended by itself with exit {code}; see the end of its log.")
