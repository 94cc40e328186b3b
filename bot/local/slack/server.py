"""The local Slack as one object: made, started, asked, stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from aiohttp import web

from bot.local.slack.api_chat import permalink
from bot.local.slack.blocks import RefusedError
from bot.local.slack.events import EventFeed
from bot.local.slack.faults import Faults
from bot.local.slack.interactions import Interactions
from bot.local.slack.manifest import read_manifest
from bot.local.slack.other_app import OtherApp
from bot.local.slack.people import Person
from bot.local.slack.render import render_message, render_thread, render_view
from bot.local.slack.seed import cartwise
from bot.local.slack.socket_mode import SocketMode
from bot.local.slack.surfaces import Surfaces
from bot.local.slack.web_api import ApiCall, WebApi
from bot.local.slack.workspace import Bell, Json, Message, Notification, Seed, View, Workspace

Found = TypeVar("Found")
REAL_RETRY_DELAYS_SECONDS = (0.0, 60.0, 300.0)
_LOOK_AGAIN_SECONDS = 0.05


class LocalSlack:
    """A small strict Slack in memory: Web API over HTTP, Socket Mode over WebSocket.

    - `manifest`: the app's manifest, a file or its content; ManifestError when Slack would refuse
      it. `seed`: another workspace than Cartwise.
    - `now`: the clock, in Unix seconds, for message times, trigger ids, response URLs and faults
      that last. Waiting for acknowledgements and Slack's own rate limits always take real time.
    - `rate_limits`: `real` answers 429 as Slack's tiers do.
    - `retry_delays_seconds`: the waits before each further attempt at an event that nobody
      acknowledged within `ack_timeout_seconds`.
    - `unfurl_links`: a person's message with a link is followed by a message_changed with the same
      text; may be switched at any time.
    """

    def __init__(
        self,
        *,
        manifest: Path | str | Mapping[str, Any],
        seed: Seed | None = None,
        now: Callable[[], float] = time.time,
        rate_limits: Literal["real", "off"] = "off",
        ack_timeout_seconds: float = 3.0,
        retry_delays_seconds: Sequence[float] = REAL_RETRY_DELAYS_SECONDS,
        queue_limit: int = 1000,
        unfurl_links: bool = False,
    ) -> None:
        self.manifest = read_manifest(manifest)
        self.unfurl_links = unfurl_links
        seed = seed or cartwise(self.manifest)
        self.app = seed.apps[0]
        self._bell = Bell()
        self.workspace = Workspace(seed, now=now, bell=self._bell)
        self.surfaces = Surfaces(self.workspace)
        self.sockets = SocketMode(
            app_id=self.app.id,
            bell=self._bell,
            ack_timeout_seconds=ack_timeout_seconds,
            retry_delays_seconds=retry_delays_seconds,
            queue_limit=queue_limit,
        )
        self.faults = Faults(self.sockets, now)
        self._api = WebApi(self.workspace, self.surfaces, self.sockets, self.faults, rate_limits)
        feed = EventFeed(self.workspace, self.app, self.manifest, self.sockets.send_event)
        self.interactions = Interactions(
            self.workspace,
            self.surfaces,
            self.sockets,
            self.app,
            self._record_refusal,
            self._api.answer_response_url,
        )
        self._people = {
            user.id: Person(
                user,
                workspace=self.workspace,
                surfaces=self.surfaces,
                interactions=self.interactions,
                feed=feed,
                manifest=self.manifest,
                app=self.app,
                unfurl_links=lambda: self.unfurl_links,
            )
            for user in seed.users
            if not user.is_bot
        }
        self._runner: web.AppRunner | None = None

    # Running

    async def start(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listens on the port (0: a free one)."""
        application = web.Application(client_max_size=32 * 1024 * 1024)
        application.add_routes(self._api.routes())
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, host, port)
        await site.start()
        bound_port: int = runner.addresses[0][1]
        self.workspace.base_url = f"http://{host}:{bound_port}"
        self._runner = runner

    async def stop(self) -> None:
        """Closes all connections; what happened stays readable."""
        self.sockets.stop()
        await self.sockets.disconnect_all()
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        return self.workspace.base_url

    @property
    def api_url(self) -> str:
        """The base URL for a Slack client; ends with /api/."""
        return f"{self.workspace.base_url}/api/"

    @property
    def bot_token(self) -> str:
        return self.app.bot_token

    @property
    def app_token(self) -> str:
        if self.app.app_token is None:
            raise LookupError("the first app of the seed has no app token")
        return self.app.app_token

    # People and apps

    def person(self, name_or_id: str) -> Person:
        """By handle, real name or id: `slack.person("Ravi")`."""
        return self._people[self.workspace.user(name_or_id).id]

    def other_app(self, name: str = "Helpdesk bot") -> OtherApp:
        for app in self.workspace.apps.values():
            if name in (app.name, app.id):
                return OtherApp(app, self.workspace)
        raise LookupError(f"there is no app {name}")

    # Looking

    def message(self, message: Message) -> Message | None:
        """The message as it is now; None when it was deleted."""
        return self.workspace.message(message.channel, message.ts)

    def messages(self, channel: str) -> list[Message]:
        """Everything in the channel, replies included, oldest first."""
        return self.workspace.in_channel(self.workspace.channel(channel).id)

    def thread(self, message: Message) -> list[Message]:
        """The message's thread as it is now, root first."""
        return self.workspace.thread(message.channel, message.root_ts)

    def reactions(self, message: Message) -> list[str]:
        """The names of the reactions on it now."""
        current = self.message(message)
        return [name for name, _ in current.reactions] if current else []

    def permalink(self, message: Message) -> str:
        return permalink(self.workspace, message)

    def render(self, shown: Message | View) -> str:
        """A plain-text picture: a message's whole thread, a private message, or a view."""
        if isinstance(shown, View):
            return render_view(self.workspace, shown)
        if shown.ephemeral_to:
            return "\n".join(render_message(self.workspace, shown))
        return render_thread(self.workspace, self.thread(shown))

    @property
    def calls(self) -> list[ApiCall]:
        """Every call the app made, and how it was answered."""
        return self._api.calls

    @property
    def refused(self) -> list[ApiCall]:
        """The calls and acknowledgements that broke a rule (faults on request aside)."""
        return [call for call in self._api.calls if not call.ok and not call.is_fault]

    @property
    def notifications(self) -> list[Notification]:
        """Whom messages of apps notified."""
        return self.workspace.notifications

    async def until(self, predicate: Callable[[], Found], timeout_seconds: float = 10.0) -> Found:
        """Waits until the predicate is true and returns its value; it is asked again at each
        change here (and now and then, for what changes elsewhere). AssertionError, with a picture
        of everything, when the time is over."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            heard = self._bell.rings
            found = predicate()
            if found:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"not within {timeout_seconds} s\n\n{self.picture()}")
            await self._bell.wait(min(left, _LOOK_AGAIN_SECONDS), heard=heard)

    def picture(self) -> str:
        """All threads, private messages, modals, errors and refusals as text."""
        workspace = self.workspace
        roots = [message for message in workspace.messages.values() if not message.is_reply]
        parts = [self.render(root) for root in sorted(roots, key=lambda root: root.ts)]
        for message in workspace.private:
            reader = workspace.users[message.ephemeral_to or ""].real_name
            parts.append(f"To {reader} alone: {self.render(message)}")
        for person in self._people.values():
            name = person.user.real_name
            if person.modal:
                parts.append(f"{name} has open:\n{self.render(person.modal)}")
            parts.extend(f"{name} saw an error: {error}" for error in person.errors)
        parts.extend(
            f"Refused: {call.method} {call.error} {'; '.join(call.details)}".rstrip()
            for call in self.refused
        )
        parts.append(
            f"{self.sockets.connected} sockets, {self.sockets.unacknowledged} events unacknowledged"
        )
        return "\n\n".join(parts)

    # For people

    def set_group(self, handle: str, *people: str) -> None:
        """Who is in a user group from now on."""
        for group in self.workspace.groups.values():
            if group.handle == handle:
                users = [self.workspace.user(name).id for name in people]
                self.workspace.set_group(group.id, users)
                return
        raise LookupError(f"there is no user group {handle}")

    def _record_refusal(self, kind: str, answer: Json | None, refusal: RefusedError) -> None:
        self._api.record(kind, answer, refusal, app=self.app)
