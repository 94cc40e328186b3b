"""The workspace as data: teams, people, channels, messages, files, views, and what may change.

Everything here is plain dataclasses and plain JSON, so that the state can be kept in a folder and
shown on a page. No protocol: who may do what is decided by the Web API and by the people; this
module only changes the state and tells its listeners what changed.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

Json = dict[str, Any]
ChannelKind = Literal["channel", "group", "im"]

HOME_TEAM_ID = "T0CARTWISE"


def as_object(value: Any) -> Json | None:
    """The value when it is a JSON object."""
    return cast("Json", value) if isinstance(value, dict) else None


def as_list(value: Any) -> list[Any] | None:
    """The value when it is a JSON array."""
    return cast("list[Any]", value) if isinstance(value, list) else None


@dataclass(frozen=True, kw_only=True)
class Team:
    id: str
    name: str
    domain: str


@dataclass(frozen=True, kw_only=True)
class User:
    """A member. `name` is the handle typed after an @, `real_name` what others see."""

    id: str
    name: str
    real_name: str
    team_id: str = HOME_TEAM_ID
    email: str | None = None
    is_bot: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False
    deleted: bool = False


@dataclass(frozen=True, kw_only=True)
class UserGroup:
    id: str
    handle: str
    name: str
    users: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """`members` are user ids, bots' own users among them."""

    id: str
    name: str
    members: tuple[str, ...]
    kind: ChannelKind = "channel"
    is_archived: bool = False


@dataclass(frozen=True, kw_only=True)
class App:
    """An installed app. `app_token` is None for an app without Socket Mode."""

    id: str
    name: str
    bot_id: str
    bot_user_id: str
    bot_token: str
    app_token: str | None
    scopes: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class File:
    """`is_public` says that everybody here may see it; a file from a modal is the app's alone."""

    id: str
    name: str
    mimetype: str
    content: bytes
    user_id: str
    created: int
    is_public: bool = True


@dataclass(frozen=True, kw_only=True)
class Message:
    """One version of a message; the current one is `workspace.message(channel, ts)`.

    `text` is in Slack's own form (escaped). `reactions` is name → user ids in order. An
    `ephemeral_to` message is seen by that user alone and is not part of the channel.
    """

    channel: str
    ts: str
    text: str
    user: str | None = None
    bot_id: str | None = None
    app_id: str | None = None
    username: str | None = None
    subtype: str | None = None
    thread_ts: str | None = None
    blocks: tuple[Json, ...] = ()
    metadata: Json | None = None
    files: tuple[str, ...] = ()
    reactions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    edited_by: str | None = None
    edited_ts: str | None = None
    client_msg_id: str | None = None
    broadcast: bool = False
    unfurled: bool = False
    ephemeral_to: str | None = None

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts

    @property
    def root_ts(self) -> str:
        return self.thread_ts or self.ts

    @property
    def is_tombstone(self) -> bool:
        return self.subtype == "tombstone"


@dataclass(frozen=True, kw_only=True)
class View:
    """A modal or a Home tab. `definition` is the view as the app gave it, with all ids filled in;
    `values` is block id → action id → state value."""

    id: str
    user_id: str
    app_id: str
    definition: Json
    hash: str
    root_view_id: str
    previous_view_id: str | None = None
    values: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])

    @property
    def title(self) -> str:
        title: Json = self.definition.get("title") or {}
        return str(title.get("text", ""))

    @property
    def blocks(self) -> list[Json]:
        return self.definition["blocks"]


@dataclass(frozen=True, kw_only=True)
class Notification:
    """Someone was notified by a message of an app: `how` is the token that did it."""

    user_id: str
    channel: str
    ts: str
    how: str


@dataclass(frozen=True, kw_only=True)
class Seed:
    """What a workspace starts with. The first app is the one the manifest belongs to."""

    team: Team
    other_teams: tuple[Team, ...]
    users: tuple[User, ...]
    groups: tuple[UserGroup, ...]
    channels: tuple[Channel, ...]
    apps: tuple[App, ...]


@dataclass(frozen=True, kw_only=True)
class Posted:
    message: Message


@dataclass(frozen=True, kw_only=True)
class Changed:
    before: Message
    after: Message


@dataclass(frozen=True, kw_only=True)
class Deleted:
    message: Message


@dataclass(frozen=True, kw_only=True)
class Reacted:
    message: Message
    name: str
    user_id: str


@dataclass(frozen=True, kw_only=True)
class Joined:
    channel: Channel
    user_id: str
    inviter_id: str | None


Happening = Posted | Changed | Deleted | Reacted | Joined


class Bell:
    """Rung on every change of anything that somebody may wait for. `rings` counts."""

    def __init__(self) -> None:
        self.rings = 0
        self._waiters: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        self.rings += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait(self, timeout_seconds: float, *, heard: int) -> int:
        """Returns at the next ring, or after the time, and at once when it rang more often than
        `heard`: what rings while one looks elsewhere is not lost. Returns `rings`."""
        if self.rings == heard:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await asyncio.wait({waiter}, timeout=timeout_seconds)
            finally:
                self._waiters.discard(waiter)
        return self.rings


class Workspace:
    """The state and its changes. Listeners are called, in order, with every happening.

    `base_url` is where the server answers (no slash at the end), empty until it is started.
    """

    def __init__(self, seed: Seed, *, now: Callable[[], float], bell: Bell) -> None:
        self.team = seed.team
        self.teams = {team.id: team for team in (seed.team, *seed.other_teams)}
        self.users = {user.id: user for user in seed.users}
        self.groups = {group.id: group for group in seed.groups}
        self.channels = {channel.id: channel for channel in seed.channels}
        self.apps = {app.id: app for app in seed.apps}
        self.messages: dict[tuple[str, str], Message] = {}
        self.deleted: set[tuple[str, str]] = set()
        self.private: list[Message] = []
        self.files: dict[str, File] = {}
        self.views: dict[str, View] = {}
        self.stacks: dict[str, list[str]] = {}
        self.homes: dict[str, str] = {}
        self.notifications: list[Notification] = []
        self.listeners: list[Callable[[Happening], None]] = []
        self.base_url = ""
        self.now = now
        self.bell = bell
        self._last_microseconds = 0
        self._last_id = 0

    # Ids and times

    def mint_ts(self) -> str:
        """A message time: unique and growing even when the clock stands still."""
        self._last_microseconds = max(int(self.now() * 1_000_000), self._last_microseconds + 1)
        seconds, microseconds = divmod(self._last_microseconds, 1_000_000)
        return f"{seconds}.{microseconds:06d}"

    def mint_id(self, prefix: str) -> str:
        self._last_id += 1
        return f"{prefix}{self._last_id:08d}"

    @property
    def counters(self) -> tuple[int, int]:
        """The last message time (in microseconds) and the last id that were given out."""
        return self._last_microseconds, self._last_id

    def resume(self, counters: tuple[int, int]) -> None:
        """Go on counting where another workspace with this content stopped."""
        self._last_microseconds, self._last_id = counters

    # Looking things up

    def user(self, name_or_id: str) -> User:
        """By id, handle or real name, whatever the case; LookupError when there is none."""
        wanted = name_or_id.removeprefix("@").lower()
        for user in self.users.values():
            if wanted in (user.id.lower(), user.name.lower(), user.real_name.lower()):
                return user
        raise LookupError(f"nobody here is called {name_or_id}")

    def channel(self, name_or_id: str) -> Channel:
        """By id or name, with or without the #; LookupError when there is none."""
        wanted = name_or_id.removeprefix("#")
        for channel in self.channels.values():
            if wanted in (channel.id, channel.name):
                return channel
        raise LookupError(f"there is no channel {name_or_id}")

    def app_of_bot_user(self, user_id: str) -> App | None:
        return next((app for app in self.apps.values() if app.bot_user_id == user_id), None)

    def message(self, channel_id: str, ts: str) -> Message | None:
        return self.messages.get((channel_id, ts))

    def in_channel(self, channel_id: str) -> list[Message]:
        """Every message of the channel, replies included, oldest first."""
        found = [message for (place, _), message in self.messages.items() if place == channel_id]
        return sorted(found, key=lambda message: message.ts)

    def replies(self, channel_id: str, root_ts: str) -> list[Message]:
        return [
            message
            for message in self.in_channel(channel_id)
            if message.is_reply and message.thread_ts == root_ts
        ]

    def thread(self, channel_id: str, ts: str) -> list[Message]:
        """The thread that the message is in, root first; empty when there is no such message."""
        message = self.message(channel_id, ts)
        root_ts = message.root_ts if message else ts
        root = self.message(channel_id, root_ts)
        return ([root] if root else []) + self.replies(channel_id, root_ts)

    def direct_channel(self, first_user_id: str, second_user_id: str) -> Channel:
        """The direct messages between two users, opened when they never spoke."""
        members = tuple(sorted((first_user_id, second_user_id)))
        for channel in self.channels.values():
            if channel.kind == "im" and tuple(sorted(channel.members)) == members:
                return channel
        channel_id = self.mint_id("D0")
        channel = Channel(id=channel_id, name=channel_id, kind="im", members=members)
        self.channels[channel_id] = channel
        return channel

    # Changing things

    def post(self, message: Message) -> Message:
        """Adds a message; a `thread_ts` is taken as it stands."""
        self.messages[message.channel, message.ts] = message
        self._tell(Posted(message=message))
        return message

    def upload(self, name: str, content: bytes, user_id: str, *, is_public: bool = True) -> File:
        """Keeps a file that a person gave; its kind is told by its name."""
        file = File(
            id=self.mint_id("F"),
            name=name,
            mimetype=mimetypes.guess_type(name)[0] or "application/octet-stream",
            content=content,
            user_id=user_id,
            created=int(self.now()),
            is_public=is_public,
        )
        self.files[file.id] = file
        return file

    def post_private(self, message: Message) -> Message:
        self.private.append(message)
        self.bell.ring()
        return message

    def change(self, message: Message) -> Message:
        """Puts a new version in the place of the message with the same channel and ts."""
        before = self.messages[message.channel, message.ts]
        self.messages[message.channel, message.ts] = message
        self._tell(Changed(before=before, after=message))
        return message

    def delete(self, message: Message) -> None:
        """Removes the message; a root with replies stays behind as a tombstone."""
        self.deleted.add((message.channel, message.ts))
        if not message.is_reply and self.replies(message.channel, message.ts):
            self.change(
                Message(
                    channel=message.channel,
                    ts=message.ts,
                    thread_ts=message.ts,
                    text="This message was deleted.",
                    user="USLACKBOT",
                    subtype="tombstone",
                )
            )
            return
        del self.messages[message.channel, message.ts]
        self._tell(Deleted(message=message))

    def react(self, message: Message, name: str, user_id: str) -> None:
        reactions = dict(message.reactions)
        reactions[name] = (*reactions.get(name, ()), user_id)
        after = replace(message, reactions=tuple(reactions.items()))
        self.messages[message.channel, message.ts] = after
        self._tell(Reacted(message=after, name=name, user_id=user_id))

    def unreact(self, message: Message, name: str, user_id: str) -> None:
        reactions = dict(message.reactions)
        left = tuple(user for user in reactions[name] if user != user_id)
        if left:
            reactions[name] = left
        else:
            del reactions[name]
        after = replace(message, reactions=tuple(reactions.items()))
        self.messages[message.channel, message.ts] = after
        self.bell.ring()

    def join(self, channel: Channel, user_id: str, inviter_id: str | None = None) -> Channel:
        joined = replace(channel, members=(*channel.members, user_id))
        self.channels[channel.id] = joined
        self._tell(Joined(channel=joined, user_id=user_id, inviter_id=inviter_id))
        return joined

    def leave(self, channel: Channel, user_id: str) -> Channel:
        left = tuple(member for member in channel.members if member != user_id)
        self.channels[channel.id] = replace(channel, members=left)
        self.bell.ring()
        return self.channels[channel.id]

    def set_group(self, group_id: str, users: Sequence[str]) -> None:
        self.groups[group_id] = replace(self.groups[group_id], users=tuple(users))
        self.bell.ring()

    def _tell(self, happening: Happening) -> None:
        for listener in self.listeners:
            listener(happening)
        self.bell.ring()
