"""The bot as a child process that can be killed at any moment and started again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import bot

STOP_SECONDS = 15.0

# What may not leak from the shell into a play: other settings, and proxies around local servers.
_OURS = ("ANTHROPIC_", "CASETHREAD_", "SLACK_")
_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


class BotProcess:
    """`casethread start` in `folder` with these settings and no others; its log is kept there.

    `module`: another module to run than the command's, with its arguments.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        folder: Path,
        *,
        module: Sequence[str] = ("bot.cli", "start"),
    ) -> None:
        self._module = tuple(module)
        self._environment = _environment(settings)
        self._folder = folder
        self._log_path = folder / "bot.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def started(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """None when it was never started."""
        return self._process.pid if self._process is not None else None

    @property
    def is_down(self) -> bool:
        """Never started, or ended."""
        return not self.started or self.exit_code is not None

    @property
    def exit_code(self) -> int | None:
        """None while it runs, negative for a signal."""
        return self._process.returncode if self._process is not None else None

    async def start(self) -> None:
        """Returns when the process is made; when it is at work shows in Slack."""
        with self._log_path.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *self._module,
                cwd=self._folder,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal is for whoever plays; they stop the bot.
                start_new_session=True,
            )

    async def kill(self) -> None:
        """`kill -9`; returns when the process is gone."""
        self.send(signal.SIGKILL)
        await self.wait()

    async def stop(self) -> int:
        """SIGTERM, as a deploy does; the exit code. Killed when it takes too long."""
        self.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                return await self.wait()
        except TimeoutError:
            await self.kill()
            return await self.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal; nothing when the process has ended or was never started."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def wait(self) -> int:
        """Its exit code once it ended; 0 when it was never started."""
        return 0 if self._process is None else await self._process.wait()

    def log_tail(self, lines: int = 15) -> str:
        """The newest lines of its log."""
        if not self._log_path.exists():
            return ""
        text = self._log_path.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OURS) and name.upper() not in _PROXIES
    }
    # Found from any folder, installed or not.
    here = str(Path(bot.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [here, kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, **settings}
