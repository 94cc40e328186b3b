"""A person's clicks, modals, shortcuts and commands, as the payloads that the app gets, and what
the app's acknowledgement does.

Payload shapes: docs.slack.dev, reference/interaction-payloads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.local.slack.blocks import RefusedError, check_options
from bot.local.slack.manifest import Shortcut
from bot.local.slack.socket_mode import Ack, SocketMode
from bot.local.slack.surfaces import Surfaces
from bot.local.slack.wire import message_json, view_json
from bot.local.slack.workspace import App, Channel, Json, Message, User, View, Workspace, as_object

Place = Message | View
RecordRefusal = Callable[[str, Any, RefusedError], None]


@dataclass(frozen=True, kw_only=True)
class Suggested:
    """The options an app offered; `error` when it offered none that Slack would show."""

    options: tuple[Json, ...] = ()
    error: str | None = None


class Interactions:
    """Sends payloads of one app. `refused` is told of every acknowledgement that breaks a rule;
    the person then sees an error, as in Slack."""

    def __init__(
        self,
        workspace: Workspace,
        surfaces: Surfaces,
        sockets: SocketMode,
        app: App,
        refused: RecordRefusal,
        answer_command: Callable[[str, Json], None],
    ) -> None:
        self._workspace = workspace
        self._surfaces = surfaces
        self._sockets = sockets
        self._app = app
        self._refused = refused
        self._answer_command = answer_command

    async def block_action(
        self, user: User, place: Place, action: Json, values: dict[str, dict[str, Json]]
    ) -> Ack:
        """A click or a choice; `action` has block_id, action_id, type and what was chosen."""
        action = action | {"action_ts": self._workspace.mint_ts()}
        payload = self._payload("block_actions", user) | self._where(place)
        payload["actions"] = [action]
        payload["trigger_id"] = self._surfaces.issue_trigger(user, self._app)
        if isinstance(place, Message):
            payload["state"] = {"values": values}
            payload["response_url"] = self._surfaces.issue_response_url(
                user, self._app, place.channel, place
            )
        return await self._interactive(payload)

    async def suggestions(self, user: User, place: Place, element: Json, text: str) -> Suggested:
        """What the app offers for the typed text; `element` has block_id and action_id."""
        payload = self._payload("block_suggestion", user) | self._where(place)
        payload |= {
            "block_id": element["block_id"],
            "action_id": element["action_id"],
            "value": text,
        }
        ack = await self._interactive(payload)
        if ack.error:
            return Suggested(error=ack.error)
        try:
            return Suggested(options=tuple(check_options(ack.payload or {})))
        except RefusedError as refusal:
            self._refused("block_suggestion", ack.payload, refusal)
            return Suggested(error="the app's options could not be shown")

    async def submit(self, user: User, view: View) -> tuple[Ack, dict[str, str]]:
        """Sends the modal in; the second value is errors by block id. Closes or changes the modal
        as the app's answer says."""
        payload = self._payload("view_submission", user)
        payload |= {
            "trigger_id": self._surfaces.issue_trigger(user, self._app),
            "view": view_json(self._workspace, view),
            "response_urls": [],
        }
        ack = await self._interactive(payload)
        if ack.error:
            return ack, {}
        try:
            return ack, self._answered(user, view, ack.payload or {})
        except RefusedError as refusal:
            self._refused("view_submission", ack.payload, refusal)
            return Ack(error="the app's answer could not be used"), {}

    async def close(self, user: User, view: View, *, is_cleared: bool = False) -> Ack | None:
        """Closes the top modal; the app is told when it asked to be (else None)."""
        asked = bool(view.definition["notify_on_close"])
        if is_cleared or view.definition["clear_on_close"]:
            self._surfaces.close_all(user.id)
        else:
            self._surfaces.close_top(user.id)
        if not asked:
            return None
        payload = self._payload("view_closed", user)
        payload |= {"view": view_json(self._workspace, view), "is_cleared": is_cleared}
        return await self._interactive(payload)

    async def shortcut(self, user: User, shortcut: Shortcut, message: Message | None) -> Ack:
        """A global shortcut, or a message's (then `message` is given)."""
        kind = "message_action" if message else "shortcut"
        payload = self._payload(kind, user) | {
            "callback_id": shortcut.callback_id,
            "trigger_id": self._surfaces.issue_trigger(user, self._app),
            "action_ts": self._workspace.mint_ts(),
        }
        if message:
            channel = self._workspace.channels[message.channel]
            payload |= {
                "channel": _channel_name(channel),
                "message_ts": message.ts,
                "message": message_json(self._workspace, message),
                "response_url": self._surfaces.issue_response_url(user, self._app, channel.id),
            }
        return await self._interactive(payload)

    async def slash(self, user: User, channel: Channel, command: str, text: str) -> Ack:
        """A slash command; an answer in the acknowledgement is shown like a response_url's."""
        response_url = self._surfaces.issue_response_url(user, self._app, channel.id)
        payload: Json = {
            "token": "local-verification-token",
            "team_id": self._workspace.team.id,
            "team_domain": self._workspace.team.domain,
            "channel_id": channel.id,
            "channel_name": _channel_name(channel)["name"],
            "user_id": user.id,
            "user_name": user.name,
            "command": command,
            "text": text,
            "api_app_id": self._app.id,
            "is_enterprise_install": "false",
            "response_url": response_url,
            "trigger_id": self._surfaces.issue_trigger(user, self._app),
        }
        ack = await self._sockets.request("slash_commands", payload, accepts_response=True)
        if ack.payload and (ack.payload.get("text") or ack.payload.get("blocks")):
            try:
                self._answer_command(response_url.rpartition("/")[2], ack.payload)
            except RefusedError as refusal:
                self._refused("slash_commands", ack.payload, refusal)
                return Ack(error="the app's answer could not be shown")
        return ack

    # Inside

    def _payload(self, kind: str, user: User) -> Json:
        team = self._workspace.team
        return {
            "type": kind,
            "user": {
                "id": user.id,
                "username": user.name,
                "name": user.name,
                "team_id": user.team_id,
            },
            "team": {"id": team.id, "domain": team.domain},
            "api_app_id": self._app.id,
            "token": "local-verification-token",
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _where(self, place: Place) -> Json:
        if isinstance(place, View):
            return {
                "container": {"type": "view", "view_id": place.id},
                "view": view_json(self._workspace, place),
            }
        container: Json = {
            "type": "message",
            "message_ts": place.ts,
            "channel_id": place.channel,
            "is_ephemeral": place.ephemeral_to is not None,
        }
        if place.thread_ts:
            container["thread_ts"] = place.thread_ts
        where: Json = {
            "container": container,
            "channel": _channel_name(self._workspace.channels[place.channel]),
        }
        if place.ephemeral_to is None:
            where["message"] = message_json(self._workspace, place)
        return where

    async def _interactive(self, payload: Json) -> Ack:
        return await self._sockets.request("interactive", payload, accepts_response=True)

    def _answered(self, user: User, view: View, answer: Json) -> dict[str, str]:
        match answer.get("response_action"):
            case None:
                if answer:
                    raise RefusedError("invalid_response", "response_action is missing")
                if self._is_open(user, view):
                    self._surfaces.close_top(user.id)
            case "clear":
                self._surfaces.close_all(user.id)
            case "errors":
                return _field_errors(view, answer)
            case "update":
                if self._is_open(user, view):
                    self._surfaces.replace_view(self._workspace.views[view.id], answer.get("view"))
            case "push":
                self._surfaces.push_view(user.id, self._app, answer.get("view"))
            case unknown:
                raise RefusedError("invalid_response", f"unknown response_action {unknown}")
        return {}

    def _is_open(self, user: User, view: View) -> bool:
        return view.id in self._workspace.stacks.get(user.id, ())[-1:]


def _field_errors(view: View, answer: Json) -> dict[str, str]:
    errors = as_object(answer.get("errors"))
    if not errors:
        raise RefusedError("invalid_response", "errors must name at least one block")
    inputs = {block["block_id"] for block in view.blocks if block["type"] == "input"}
    for block_id, words in errors.items():
        if block_id not in inputs:
            raise RefusedError("invalid_response", f"{block_id} is no input block of the view")
        if not isinstance(words, str) or not words:
            raise RefusedError("invalid_response", f"the error of {block_id} has no text")
    return errors


def _channel_name(channel: Channel) -> Json:
    names = {"im": "directmessage", "group": "privategroup"}
    return {"id": channel.id, "name": names.get(channel.kind, channel.name)}
