"""A local workspace at work: the local Slack, the stand-in for Claude, the bot's process, and all
that shows and keeps them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.local.claude import LocalClaude
from bot.local.play.scene import Scene, bots_environment, own_manifest
from bot.local.slack import LocalSlack
from bot.local.slack.seed import SUPPORT_CASES
from bot.local.workspace.acting import Hands
from bot.local.workspace.background import begun
from bot.local.workspace.changes import Changes
from bot.local.workspace.clock import FileClock
from bot.local.workspace.folder import StateFolder
from bot.local.workspace.inspector import Inspector
from bot.local.workspace.keeping import (
    ExchangeKeeper,
    KeptSlack,
    Marks,
    SlackKeeper,
    load_exchanges,
    load_slack,
    restore_slack,
)
from bot.local.workspace.passing import passed_on
from bot.local.workspace.player import Player
from bot.local.workspace.reading import Reader
from bot.local.workspace.supervisor import WatchedBot
from bot.local.workspace.troubles import Troubles
from bot.settings import Settings, load_settings


@dataclass(frozen=True, kw_only=True)
class World:
    """The parts that the page talks to."""

    slack: LocalSlack
    claude: LocalClaude | None
    """None when the real one is in use."""
    settings: Settings
    """The bot's."""
    marks: Marks
    bot: WatchedBot
    reader: Reader
    hands: Hands
    changes: Changes
    troubles: Troubles
    player: Player
    inspector: Inspector

    @property
    def is_untouched(self) -> bool:
        """Whether no case was opened here yet."""
        return not self.slack.workspace.in_channel(SUPPORT_CASES)


@asynccontextmanager
async def open_world(settings: Settings, folder: StateFolder) -> AsyncGenerator[World]:
    """Everything as the folder keeps it, and at work but for the bot, whose process is down; all
    stopped and kept on the way out. Raises `ConfigurationError`.

    `settings` are the operator's: with an Anthropic key in them the real Claude answers.
    """
    kept = load_slack(folder)
    clock = FileClock(folder.clock)
    marks = Marks()
    slack = LocalSlack(manifest=own_manifest(), now=clock)
    if kept is not None:
        restore_slack(kept, slack, marks, folder)
    for user in slack.workspace.users.values():
        if not user.is_bot:
            slack.workspace.direct_channel(user.id, slack.app.bot_user_id)
    claude = None
    if settings.anthropic_api_key is None:
        claude = LocalClaude(secret=folder.thinking_secret(), now=clock, clerk=True)
        claude.requests.extend(load_exchanges(folder))
    async with contextlib.AsyncExitStack() as parts:
        await _start_slack(slack, kept)
        parts.push_async_callback(slack.stop)
        if claude is not None:
            await claude.start()
            parts.push_async_callback(claude.stop)
        world = _assembled(settings, folder, slack, claude, marks, clock)
        keeper = SlackKeeper(slack, marks, folder)
        parts.callback(keeper.write)
        tasks = [begun(world.changes.run()), begun(keeper.run())]
        if claude is not None:
            exchanges = ExchangeKeeper(claude, folder)
            parts.callback(exchanges.write)
            tasks.append(begun(exchanges.run()))
        parts.push_async_callback(_end, tasks)
        parts.push_async_callback(world.bot.stop)
        parts.push_async_callback(world.player.close)
        parts.push_async_callback(world.changes.close)
        yield world


def _assembled(
    settings: Settings,
    folder: StateFolder,
    slack: LocalSlack,
    claude: LocalClaude | None,
    marks: Marks,
    clock: FileClock,
) -> World:
    troubles = Troubles(
        slack=slack,
        claude=claude,
        clock=clock,
        folder=folder,
        changed=lambda: changes.poke("trouble"),
    )
    changes = Changes(
        slack,
        claude,
        watched=lambda: _written_by_the_bot(folder),
        faults=troubles.faults,
        now=clock,
    )
    # The operator's settings, but for where the bot runs.
    environment = passed_on(settings) | bots_environment(slack, claude, folder.store)
    bots_settings = load_settings(env=environment, env_file=None)
    process = WatchedBot(
        environment,
        folder.path,
        module=("bot.local.workspace.child", str(folder.path), str(os.getpid())),
        connected=lambda: slack.sockets.connected > 0,
        tell=troubles.tell,
    )
    troubles.bot = process
    reader = Reader(slack, marks)
    return World(
        slack=slack,
        claude=claude,
        settings=bots_settings,
        marks=marks,
        bot=process,
        reader=reader,
        hands=Hands(slack, reader),
        changes=changes,
        troubles=troubles,
        player=Player(
            None
            if claude is None
            else Scene(slack=slack, claude=claude, process=process, settings=bots_settings),
            shop=folder.shop,
            marks=marks,
            now=clock,
            changed=lambda: changes.poke("story"),
        ),
        inspector=Inspector(bots_settings, claude, store=folder.store, shop=folder.shop, now=clock),
    )


async def _start_slack(slack: LocalSlack, kept: KeptSlack | None) -> None:
    """At the address it had before if that is free: links to files in the bot's records name it."""
    try:
        await slack.start(port=kept.port if kept is not None else 0)
    except OSError:
        await slack.start()


def _written_by_the_bot(folder: StateFolder) -> list[Path]:
    """What another process's transaction changes."""
    return [
        database.with_name(database.name + suffix)
        for database in (folder.store, folder.shop)
        for suffix in ("", "-wal")
    ]


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
