"""`casethread start` without Slack tokens: the local workspace, served until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import web
from rich.console import Console

from agent.errors import ConfigurationError
from bot.local.workspace.folder import StateFolder
from bot.local.workspace.refusals import NotNowError
from bot.local.workspace.web import PageServer
from bot.local.workspace.world import World, open_world
from bot.settings import Settings

FOLDER = Path(".casethread")
HOST = "127.0.0.1"
PORTS_TRIED = 20

WITH_STAND_IN = (
    "No Slack tokens are set, so this is a local workspace, with a scripted stand-in for Claude: no"
    " account is needed, nothing leaves this machine."
)
WITH_CLAUDE = (
    "No Slack tokens are set, so this is a local workspace; ANTHROPIC_API_KEY is set, so the real"
    " Claude answers in it, at its price."
)


async def serve_workspace(
    settings: Settings,
    *,
    port: int,
    fresh: bool,
    open_browser: bool,
    console: Console,
    folder: Path = FOLDER,
) -> int:
    """Serve the page until SIGINT or SIGTERM; the exit code. `port`: the first to try, 0 for any.

    Raises `ConfigurationError`, one line for the operator.
    """
    this_task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if this_task is not None:
            loop.add_signal_handler(number, this_task.cancel)
    first = WITH_STAND_IN if settings.anthropic_api_key is None else WITH_CLAUDE
    console.print(first, soft_wrap=True, highlight=False)
    with contextlib.suppress(asyncio.CancelledError):
        async with serving(settings, port=port, fresh=fresh, folder=folder) as url:
            console.print(f"Open {url} (Ctrl-C stops it).", soft_wrap=True, highlight=False)
            console.print(f"Its state is kept in {folder}; --fresh begins anew.", soft_wrap=True)
            if open_browser:
                await asyncio.to_thread(webbrowser.open, url)
            await asyncio.Event().wait()
    console.print("Stopped. Everything is kept for the next start.")
    return 0


@asynccontextmanager
async def serving(
    settings: Settings, *, port: int, fresh: bool, folder: Path
) -> AsyncGenerator[str]:
    """The workspace with its page; its URL. The bot may still be connecting. Stopped, and its
    state kept, on the way out."""
    state = StateFolder(folder)
    state.open(fresh=fresh)
    async with AsyncExitStack() as parts:
        parts.callback(state.close)
        worlds = _Worlds(settings, state)
        await worlds.open()
        parts.push_async_callback(worlds.close)
        server = PageServer(world=worlds.current, begin_anew=worlds.begin_anew)
        runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        parts.push_async_callback(runner.cleanup)
        yield f"http://{HOST}:{await _listen(runner, port)}"


class _Worlds:
    """The world that is at work, which can be emptied and begun anew."""

    def __init__(self, settings: Settings, state: StateFolder) -> None:
        self._settings = settings
        self._state = state
        self._parts = AsyncExitStack()
        self._world: World | None = None
        self._turn = asyncio.Lock()

    def current(self) -> World:
        if self._world is None:
            raise NotNowError("The workspace is just being begun anew.")
        return self._world

    async def open(self) -> None:
        world = await self._parts.enter_async_context(open_world(self._settings, self._state))
        await world.bot.start()
        self._world = world

    async def close(self) -> None:
        self._world = None
        await self._parts.aclose()

    async def begin_anew(self) -> None:
        """Stop everything, empty the folder, start everything."""
        async with self._turn:
            await self.current().bot.kill()
            await self.close()
            self._state.wipe()
            await self.open()


async def _listen(runner: web.AppRunner, port: int) -> int:
    """On the port or, when it is taken, the next free one."""
    for candidate in range(port, port + PORTS_TRIED) if port else (0,):
        try:
            await web.TCPSite(runner, HOST, candidate).start()
        except OSError:
            continue
        bound: int = runner.addresses[-1][1]
        return bound
    raise ConfigurationError(
        f"--port: neither {port} nor one of the {PORTS_TRIED - 1} ports after it can be had; name"
        " another."
    )
