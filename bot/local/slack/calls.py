"""One Web API call: its arguments as Slack reads them, who makes it, and which conversations that
app may touch."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bot.local.slack.blocks import RefusedError
from bot.local.slack.surfaces import Surfaces
from bot.local.slack.workspace import App, Channel, ChannelKind, Message, Workspace

_TS = re.compile(r"\d{10}\.\d{6}")
_SCOPE_PREFIX: dict[ChannelKind, str] = {"channel": "channels", "group": "groups", "im": "im"}


class Args:
    """Arguments from a form (all strings) or a JSON body; null and absent are the same."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name, default)
        if isinstance(value, bool | dict | list):
            raise RefusedError(
                "invalid_arguments", f"[ERROR] must be a string [json-pointer:/{name}]"
            )
        return str(value)

    def required(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise RefusedError("invalid_arguments", f"[ERROR] missing required field: {name}")
        return value

    def flag(self, name: str) -> bool:
        return str(self.values.get(name, "false")).lower() in ("true", "1")

    def number(self, name: str, default: int, *, most: int) -> int:
        text = self.text(name, str(default))
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise RefusedError(
                "invalid_limit", f"[ERROR] must be between 1 and {most} [json-pointer:/{name}]"
            )
        return int(text)

    def parsed(self, name: str, error: str) -> Any:
        """A structured argument, given as JSON or (in a form) as a string of it."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise RefusedError(error) from None

    def ts(self, name: str) -> str:
        value = self.required(name)
        if not _TS.fullmatch(value):
            raise RefusedError("invalid_arguments", f"[ERROR] invalid timestamp: {name}")
        return value


@dataclass(frozen=True, kw_only=True)
class Call:
    method: str
    args: Args
    app: App
    workspace: Workspace
    surfaces: Surfaces

    def need_scope(self, scope: str) -> None:
        if scope not in self.app.scopes:
            raise RefusedError(
                "missing_scope", needed=scope, provided=",".join(sorted(self.app.scopes))
            )

    def channel(
        self, *, scope: Literal["history", "read"] | None = None, must_be_in: bool = True
    ) -> Channel:
        """The `channel` argument, as far as this app may see it. `scope` is the half of the scope
        that the kind of conversation completes, such as history → channels:history."""
        channel = self.workspace.channels.get(self.args.required("channel"))
        if channel is None:
            raise RefusedError("channel_not_found")
        return self.allowed(channel, scope=scope, must_be_in=must_be_in)

    def allowed(
        self,
        channel: Channel,
        *,
        scope: Literal["history", "read"] | None = None,
        must_be_in: bool = True,
    ) -> Channel:
        is_in = self.app.bot_user_id in channel.members
        if channel.kind != "channel" and not is_in:
            raise RefusedError("channel_not_found")
        if scope:
            self.need_scope(f"{_SCOPE_PREFIX[channel.kind]}:{scope}")
        if must_be_in and not is_in:
            raise RefusedError("not_in_channel")
        return channel

    def writable(self, channel: Channel) -> Channel:
        if self.allowed(channel).is_archived:
            raise RefusedError("is_archived")
        return channel

    def message(self, channel: Channel, ts_name: str = "ts") -> Message:
        message = self.workspace.message(channel.id, self.args.ts(ts_name))
        if message is None or message.is_tombstone:
            raise RefusedError("message_not_found")
        return message
