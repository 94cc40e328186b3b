"""What happens in the workspace, as the events that the app subscribes to.

An event is sent only when the manifest subscribes to it and the bot is in the channel.
Shapes: docs.slack.dev, reference/events.
"""

from __future__ import annotations

from collections.abc import Callable

from bot.local.slack.manifest import Manifest
from bot.local.slack.wire import is_shared, message_json, view_json
from bot.local.slack.workspace import (
    App,
    Changed,
    Channel,
    Deleted,
    Happening,
    Joined,
    Json,
    Message,
    Posted,
    Reacted,
    Workspace,
)

_MESSAGE_EVENTS = {"channel": "message.channels", "group": "message.groups", "im": "message.im"}


class EventFeed:
    """Listens to the workspace and hands finished payloads to `send`."""

    def __init__(
        self, workspace: Workspace, app: App, manifest: Manifest, send: Callable[[Json], None]
    ) -> None:
        self._workspace = workspace
        self._app = app
        self._manifest = manifest
        self._send = send
        workspace.listeners.append(self.on_happening)

    def on_happening(self, happening: Happening) -> None:
        match happening:
            case Posted(message=message):
                self._posted(message)
            case Changed(before=before, after=after):
                body: Json = {"subtype": "message_changed", "message": self._message(after)}
                self._hidden(after, body | {"previous_message": self._message(before)})
            case Deleted(message=message):
                body = {"subtype": "message_deleted", "deleted_ts": message.ts}
                self._hidden(message, body | {"previous_message": self._message(message)})
            case Reacted(message=message, name=name, user_id=user_id):
                event = {
                    "type": "reaction_added",
                    "user": user_id,
                    "reaction": name,
                    "item": {"type": "message", "channel": message.channel, "ts": message.ts},
                    "item_user": message.user,
                }
                self._emit("reaction_added", event, self._workspace.channels[message.channel])
            case Joined(channel=channel, user_id=user_id, inviter_id=inviter_id):
                event = {
                    "type": "member_joined_channel",
                    "user": user_id,
                    "channel": channel.id,
                    "channel_type": "C" if channel.kind == "channel" else "G",
                    "team": self._workspace.team.id,
                } | ({"inviter": inviter_id} if inviter_id else {})
                self._emit("member_joined_channel", event, channel)

    def home_opened(self, user_id: str, tab: str = "home") -> None:
        """A person opened the app's Home (or its messages tab)."""
        channel = self._workspace.direct_channel(user_id, self._app.bot_user_id)
        event: Json = {"type": "app_home_opened", "user": user_id, "channel": channel.id}
        event["tab"] = tab
        view_id = self._workspace.homes.get(user_id)
        if view_id and tab == "home":
            event["view"] = view_json(self._workspace, self._workspace.views[view_id])
        self._emit("app_home_opened", event, channel)

    def _posted(self, message: Message) -> None:
        channel = self._workspace.channels[message.channel]
        event = self._message(message) | {"channel": channel.id, "channel_type": channel.kind}
        event["event_ts"] = message.ts
        event.pop("edited", None)
        self._emit(_MESSAGE_EVENTS[channel.kind], event, channel)
        mentioned = f"<@{self._app.bot_user_id}>" in message.text
        if mentioned and channel.kind != "im" and message.user != self._app.bot_user_id:
            mention = {key: value for key, value in event.items() if key != "channel_type"}
            self._emit("app_mention", mention | {"type": "app_mention"}, channel)

    def _hidden(self, message: Message, body: Json) -> None:
        channel = self._workspace.channels[message.channel]
        event: Json = {"type": "message", "channel": channel.id, "hidden": True}
        event |= {"channel_type": channel.kind, "ts": self._workspace.mint_ts()} | body
        self._emit(_MESSAGE_EVENTS[channel.kind], event, channel)

    def _message(self, message: Message) -> Json:
        return message_json(self._workspace, message)

    def _emit(self, name: str, event: Json, channel: Channel) -> None:
        workspace, app = self._workspace, self._app
        if name not in self._manifest.bot_events or app.bot_user_id not in channel.members:
            return
        event.setdefault("event_ts", event.get("ts") or workspace.mint_ts())
        self._send(
            {
                "token": "local-verification-token",
                "team_id": workspace.team.id,
                "context_team_id": workspace.team.id,
                "context_enterprise_id": None,
                "api_app_id": app.id,
                "event": event,
                "type": "event_callback",
                "event_id": workspace.mint_id("Ev"),
                "event_time": int(workspace.now()),
                "authorizations": [
                    {
                        "enterprise_id": None,
                        "team_id": workspace.team.id,
                        "user_id": app.bot_user_id,
                        "is_bot": True,
                        "is_enterprise_install": False,
                    }
                ],
                "is_ext_shared_channel": is_shared(workspace, channel),
                "event_context": f"4-{event['type']}-{event['event_ts']}",
            }
        )
