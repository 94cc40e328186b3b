"""What changed since the page last looked, told over its socket in small notices."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from aiohttp import web

from bot.local.claude import LocalClaude
from bot.local.slack import LocalSlack, Message
from bot.local.slack.workspace import Json

GATHER_SECONDS = 0.04
LOOK_SECONDS = 0.25

What = Literal["workspace", "home", "modal", "case", "exchanges", "trouble", "story"]


@dataclass(kw_only=True, eq=False)
class _Live:
    """One page's socket and what it is still to be told."""

    user_id: str
    response: web.WebSocketResponse
    changes: dict[tuple[str, ...], Json] = field(default_factory=dict[tuple[str, ...], Json])
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Changes:
    """Compares the local Slack with what it was at each ring of its bell, and looks at files
    (`watched`) that other processes write, and at the stand-in's requests, a few times a second.
    """

    def __init__(
        self,
        slack: LocalSlack,
        claude: LocalClaude | None,
        *,
        watched: Callable[[], list[Path]],
        faults: Callable[[], list[Json]],
        now: Callable[[], float],
    ) -> None:
        self._slack = slack
        self._claude = claude
        self._watched = watched
        self._faults = faults
        self._now = now
        self._boot = secrets.token_hex(6)
        self._lives: set[_Live] = set()
        self._seen = _Seen(slack)
        self._files: tuple[object, ...] = ()
        self._requests: tuple[object, ...] = ()
        self._lasting: tuple[str, ...] = ()

    def poke(self, what: What, user_id: str | None = None) -> None:
        """Something changed that rings no bell; for one person or for all."""
        self._tell({"what": what}, None if user_id is None else {user_id})

    def poke_channel(self, channel: str, thread_ts: str | None, user_id: str) -> None:
        """One person's view of a channel, or of a thread in it, is another."""
        self._tell({"what": "channel", "channel": channel}, {user_id})
        if thread_ts is not None:
            self._tell({"what": "thread", "channel": channel, "ts": thread_ts}, {user_id})

    async def run(self) -> None:
        """Keep looking until cancelled."""
        bell = self._slack.workspace.bell
        heard = 0
        while True:
            heard = await bell.wait(LOOK_SECONDS, heard=heard)
            self.compare()
            self._look()
            await asyncio.sleep(GATHER_SECONDS)

    def compare(self) -> None:
        """Compare the local Slack now. Before anything is shown, too: of what comes and goes in
        between no page would be told otherwise, and it would stay on one that was shown it."""
        workspace = self._slack.workspace
        for message in self._seen.messages():
            channel = workspace.channels.get(message.channel)
            members = set(channel.members) if channel else set[str]()
            readers = {message.ephemeral_to} if message.ephemeral_to else members
            self._tell({"what": "channel", "channel": message.channel}, readers)
            thread: Json = {"what": "thread", "channel": message.channel, "ts": message.root_ts}
            self._tell(thread, readers)
            self._tell({"what": "workspace"}, readers)
        if self._seen.directory():
            self._tell({"what": "workspace"}, None)
        for user_id in self._seen.homes():
            self._tell({"what": "home"}, {user_id})
        for user_id in self._seen.modals():
            self._tell({"what": "modal"}, {user_id})
        if self._seen.sockets():
            self._tell({"what": "trouble"}, None)

    async def serve(self, request: web.Request, user_id: str) -> web.StreamResponse:
        """One page's socket, until it closes."""
        response = web.WebSocketResponse(heartbeat=20.0, max_msg_size=4096)
        await response.prepare(request)
        live = _Live(user_id=user_id, response=response)
        self._lives.add(live)
        writer = asyncio.create_task(self._write(live))
        try:
            async for _ in response:
                continue
        finally:
            self._lives.discard(live)
            writer.cancel()
        return response

    async def close(self) -> None:
        for live in list(self._lives):
            await live.response.close()

    # Inside

    async def _write(self, live: _Live) -> None:
        # A page may go away at any moment, right after it came too.
        with contextlib.suppress(ConnectionResetError):
            hello: Json = {"type": "hello", "boot": self._boot, "now": self._now()}
            await live.response.send_json(hello)
            while True:
                await live.ready.wait()
                live.ready.clear()
                changes, live.changes = list(live.changes.values()), {}
                await live.response.send_json({"type": "changed", "changes": changes})
                await asyncio.sleep(GATHER_SECONDS)

    def _tell(self, change: Json, users: set[str] | None) -> None:
        for live in self._lives:
            if users is None or live.user_id in users:
                live.changes[tuple(map(str, change.values()))] = change
                live.ready.set()

    def _look(self) -> None:
        files = tuple(_stamp(each) for each in self._watched())
        if files != self._files:
            self._files = files
            self.poke("case")
        lasting = tuple(str(each["kind"]) for each in self._faults())
        if lasting != self._lasting:
            self._lasting = lasting
            self.poke("trouble")
        if self._claude is not None:
            requests = self._claude.requests
            pending = sum(each.outcome == "pending" for each in requests)
            if (len(requests), pending) != self._requests:
                self._requests = (len(requests), pending)
                self.poke("exchanges")


class _Seen:
    """The local Slack as it was; each question is answered with what is different now.

    Records are replaced when they change, never altered: another object is another version.
    """

    def __init__(self, slack: LocalSlack) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._messages: dict[tuple[str, ...], Message] = {}
        self._directory: tuple[object, ...] = ()
        self._homes: dict[str, object] = {}
        self._modals: dict[str, object] = {}
        self._sockets: tuple[int, ...] = ()
        for look in (self.messages, self.directory, self.homes, self.modals, self.sockets):
            look()

    def messages(self) -> list[Message]:
        """Messages that are new, changed or gone, private ones too."""
        now: dict[tuple[str, ...], Message] = {
            (*key, ""): each for key, each in self._workspace.messages.items()
        }
        for private in self._workspace.private:
            now[private.channel, private.ts, private.ephemeral_to or ""] = private
        before, self._messages = self._messages, now
        changed = [each for key, each in now.items() if before.get(key) is not each]
        return changed + [each for key, each in before.items() if key not in now]

    def directory(self) -> bool:
        workspace = self._workspace
        before, self._directory = (
            self._directory,
            (tuple(workspace.channels.values()), tuple(workspace.groups.values())),
        )
        return before != self._directory

    def homes(self) -> list[str]:
        views = self._workspace.views
        now: dict[str, object] = {
            user: views.get(view_id) for user, view_id in self._workspace.homes.items()
        }
        before, self._homes = self._homes, now
        return _different(before, now)

    def modals(self) -> list[str]:
        people = [each for each in self._workspace.users.values() if not each.is_bot]
        now: dict[str, object] = {}
        for user in people:
            person = self._slack.person(user.id)
            now[user.id] = (person.modal, len(person.errors))
        before, self._modals = self._modals, now
        return _different(before, now)

    def sockets(self) -> bool:
        sockets = self._slack.sockets
        now = (sockets.connected, sockets.unacknowledged, len(sockets.undelivered))
        before, self._sockets = self._sockets, now
        return before != now


def _different(before: dict[str, object], now: dict[str, object]) -> list[str]:
    return [key for key in before | now if before.get(key) != now.get(key)]


def _stamp(path: Path) -> object:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    # SQLite makes an empty log beside a file that is only read, and takes it away.
    return (stat.st_mtime_ns, stat.st_size) if stat.st_size else None
