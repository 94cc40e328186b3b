"""The local Slack and the stand-in's exchanges as files, so that a restart shows the same threads.

The records are the ones that the two services use themselves, as JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agent.errors import ConfigurationError
from bot.local.claude import Exchange, LocalClaude
from bot.local.slack import LocalSlack, Message, View
from bot.local.slack.workspace import Channel, File, Json, UserGroup
from bot.local.workspace.folder import StateFolder, replace_file

GATHER_SECONDS = 0.3
"""Changes so close together are written at once."""
LOOK_SECONDS = 2.0
"""How often is looked for changes that ring no bell."""


@dataclass(frozen=True, kw_only=True)
class KeptSlack:
    """Everything in the local Slack that a restart must not lose.

    `port` is where it answered: links to files in the bot's records name it. `pending` are events
    that the app hasn't acknowledged. `reads` is user → place (a channel, or `channel:ts` of a
    thread's root) → ts of the newest message read. `stories` were begun here by name.
    """

    version: Literal[1] = 1
    port: int
    counters: tuple[int, int]
    groups: tuple[UserGroup, ...]
    channels: tuple[Channel, ...]
    messages: tuple[Message, ...]
    deleted: tuple[tuple[str, str], ...]
    private: tuple[Message, ...]
    files: tuple[File, ...]
    views: tuple[View, ...]
    stacks: dict[str, list[str]]
    homes: dict[str, str]
    pending: tuple[Json, ...]
    reads: dict[str, dict[str, str]]
    stories: tuple[str, ...]


@dataclass(kw_only=True)
class Marks:
    """What this workspace knows beside Slack's own state; see `KeptSlack`."""

    reads: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    stories: list[str] = field(default_factory=list[str])


@cache
def _slack_json() -> TypeAdapter[KeptSlack]:
    return TypeAdapter(KeptSlack)


@cache
def _exchange_json() -> TypeAdapter[Exchange]:
    return TypeAdapter(Exchange)


# The local Slack --------------------------------------------------------------------------------


def load_slack(folder: StateFolder) -> KeptSlack | None:
    """What was kept; None at a first start. Raises `ConfigurationError` when it can't be read."""
    try:
        content = folder.slack.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return _slack_json().validate_json(content)
    except ValidationError as error:
        raise _unreadable(folder) from error


def restore_slack(kept: KeptSlack, slack: LocalSlack, marks: Marks, folder: StateFolder) -> None:
    """Put it into a local Slack that nobody has used yet."""
    workspace = slack.workspace
    workspace.resume(kept.counters)
    workspace.groups.update({group.id: group for group in kept.groups})
    workspace.channels.update({channel.id: channel for channel in kept.channels})
    workspace.messages.update({(each.channel, each.ts): each for each in kept.messages})
    workspace.deleted.update(kept.deleted)
    workspace.private.extend(kept.private)
    for file in kept.files:
        content = (folder.uploads / file.id).read_bytes()
        workspace.files[file.id] = dataclasses.replace(file, content=content)
    workspace.views.update({view.id: view for view in kept.views})
    workspace.stacks.update(kept.stacks)
    workspace.homes.update(kept.homes)
    for payload in kept.pending:
        slack.sockets.send_event(payload)
    marks.reads.update(kept.reads)
    marks.stories.extend(kept.stories)


class SlackKeeper:
    """Writes the workspace a moment after each change, and when it stops."""

    def __init__(self, slack: LocalSlack, marks: Marks, folder: StateFolder) -> None:
        self._slack = slack
        self._marks = marks
        self._folder = folder
        self._written = b""
        self._uploaded: set[str] = set()

    async def run(self) -> None:
        """Keep writing until cancelled."""
        bell = self._slack.workspace.bell
        heard = 0
        while True:
            heard = await bell.wait(LOOK_SECONDS, heard=heard)
            await asyncio.sleep(GATHER_SECONDS)
            self.write()

    def write(self) -> None:
        """Write what is there now, if it is another than before."""
        files = list(self._slack.workspace.files.values())
        content = _slack_json().dump_json(self._now(files))
        if content == self._written:
            return
        self._folder.uploads.mkdir(exist_ok=True)
        for file in files:
            if file.id not in self._uploaded:
                replace_file(self._folder.uploads / file.id, file.content)
                self._uploaded.add(file.id)
        replace_file(self._folder.slack, content)
        self._written = content

    def _now(self, files: list[File]) -> KeptSlack:
        workspace, sockets = self._slack.workspace, self._slack.sockets
        return KeptSlack(
            port=int(workspace.base_url.rpartition(":")[2] or 0),
            counters=workspace.counters,
            groups=tuple(workspace.groups.values()),
            channels=tuple(workspace.channels.values()),
            messages=tuple(workspace.messages.values()),
            deleted=tuple(sorted(workspace.deleted)),
            private=tuple(workspace.private),
            files=tuple(dataclasses.replace(file, content=b"") for file in files),
            views=tuple(workspace.views.values()),
            stacks={user: list(stack) for user, stack in workspace.stacks.items()},
            homes=dict(workspace.homes),
            pending=tuple(sockets.pending),
            reads={user: dict(places) for user, places in self._marks.reads.items()},
            stories=tuple(self._marks.stories),
        )


# The stand-in's exchanges -----------------------------------------------------------------------


def load_exchanges(folder: StateFolder) -> list[Exchange]:
    """All that were kept, oldest first; takes off a last line that a kill cut short.

    Raises `ConfigurationError` when they can't be read.
    """
    try:
        content = folder.exchanges.read_bytes()
    except FileNotFoundError:
        return []
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        replace_file(folder.exchanges, whole)
    try:
        return [_exchange_json().validate_json(line) for line in whole.splitlines()]
    except ValidationError as error:
        raise _unreadable(folder) from error


class ExchangeKeeper:
    """Appends every exchange that has ended to the file, in the order they began."""

    def __init__(self, claude: LocalClaude, folder: StateFolder) -> None:
        self._claude = claude
        self._folder = folder
        self._kept = len(claude.requests)

    async def run(self) -> None:
        """Keep writing until cancelled."""
        while True:
            await asyncio.sleep(GATHER_SECONDS)
            self.write()

    def write(self) -> None:
        """Append what has ended since the last time; one that still hangs holds back later ones,
        for a request's number is its place in the file."""
        ended: list[bytes] = []
        for exchange in self._claude.requests[self._kept :]:
            if exchange.outcome == "pending":
                break
            ended.append(_exchange_json().dump_json(exchange) + b"\n")
        if not ended:
            return
        with self._folder.exchanges.open("ab") as file:
            file.writelines(ended)
        self._kept += len(ended)


def _unreadable(folder: StateFolder) -> ConfigurationError:
    return ConfigurationError(
        f"The local workspace's state in {folder.path} can't be read by this version: start with"
        " --fresh to begin anew."
    )
