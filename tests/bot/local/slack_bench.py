"""A local Slack with a real Bolt app on it, for the tests of the local Slack."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local.slack import LocalSlack, Message
from bot.local.slack.seed import APPROVALS

Json = dict[str, Any]

SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "reactions:read",
    "reactions:write",
    "usergroups:read",
    "users:read",
)
EVENTS = (
    "app_home_opened",
    "app_mention",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "reaction_added",
)


def manifest(*, scopes: tuple[str, ...] = SCOPES, events: tuple[str, ...] = EVENTS) -> Json:
    """A manifest with everything the local Slack knows."""
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": "Casethread"},
        "features": {
            "bot_user": {"display_name": "Casethread"},
            "app_home": {"home_tab_enabled": True},
            "shortcuts": [
                {
                    "name": "Open a case",
                    "type": "message",
                    "callback_id": "open_case",
                    "description": "Opens a case from a message",
                },
                {
                    "name": "New case",
                    "type": "global",
                    "callback_id": "new_case",
                    "description": "Opens a new case",
                },
            ],
            "slash_commands": [{"command": "/case", "description": "Cases"}],
        },
        "oauth_config": {"scopes": {"bot": list(scopes)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(events)},
            "interactivity": {"is_enabled": True},
            "socket_mode_enabled": True,
        },
    }


def web_client(slack: LocalSlack, token: str | None = None) -> AsyncWebClient:
    """A client that repeats nothing, so that one call is one call."""
    return AsyncWebClient(token=token or slack.bot_token, base_url=slack.api_url, retry_handlers=[])


class Client:
    """Slack's own client, called by a method's name: `await client("chat.update", text="x")`."""

    def __init__(self, slack: LocalSlack, token: str | None = None) -> None:
        # The SDK's own types are partly unknown.
        self._client: Any = web_client(slack, token)

    async def __call__(self, method: str, /, **args: Any) -> Json:
        """The answer; SlackApiError for a refusal."""
        return answer_of(await self._client.api_call(method, json=args))

    async def as_form(self, method: str, /, **args: Any) -> Json:
        """The same, with the arguments as a form instead of JSON."""
        return answer_of(await self._client.api_call(method, data=args))

    async def refused(self, method: str, /, **args: Any) -> Json:
        """What Slack answers when it refuses."""
        with pytest.raises(SlackApiError) as error:
            await self(method, **args)
        refusal: Any = error.value
        return answer_of(refusal.response)


def answer_of(response: Any) -> Json:
    data: Any = response.data
    assert isinstance(data, dict)
    return cast("Json", data)


@contextlib.asynccontextmanager
async def connected(app: AsyncApp, slack: LocalSlack) -> AsyncGenerator[None]:
    """The app's socket is open inside."""
    handler = AsyncSocketModeHandler(app, slack.app_token, ping_interval=0.5)
    await handler.connect_async()  # pyright: ignore[reportUnknownMemberType]
    try:
        await slack.until(lambda: slack.sockets.connected)
        yield
    finally:
        await handler.close_async()  # pyright: ignore[reportUnknownMemberType]


def bolt_app(slack: LocalSlack, first: Callable[..., Any] | None = None) -> AsyncApp:
    """`first` is a middleware that sees everything, the app's own messages too."""
    return AsyncApp(client=web_client(slack), before_authorize=first)


def recording(app: AsyncApp, *types: str) -> list[Json]:
    """Makes the app keep every event of these types, newest last."""
    seen: list[Json] = []

    async def keep(event: Json) -> None:
        seen.append(event)

    for name in types:
        app.event(name)(keep)  # pyright: ignore[reportUnknownMemberType]
    return seen


class Heard:
    """Bolt listeners that keep the payload, answer as told, and keep nothing waiting."""

    def __init__(self, app: AsyncApp) -> None:
        self.app: Any = app
        self.bodies: list[Json] = []

    def on(self, kind: str, name: str, **answer: Any) -> None:
        async def keep(body: Json, ack: Any) -> None:
            self.bodies.append(body)
            await ack(**answer)

        getattr(self.app, kind)(name)(keep)


async def card(slack: LocalSlack, *blocks: Json, **args: Any) -> Message:
    """A message of the app in #approvals."""
    args = {"channel": APPROVALS, "text": "A card", "blocks": list(blocks)} | args
    answer = await Client(slack)("chat.postMessage", **args)
    message = slack.workspace.message(answer["channel"], answer["ts"])
    assert message
    return message


async def open_modal(slack: LocalSlack, heard: Heard, view: Json, person: str = "Priya") -> None:
    """The person presses a button, and the app opens the modal."""
    heard.on("action", "press")
    message = await card(slack, actions(button("Open")))
    assert (await slack.person(person).click(message, "Open")).acked
    trigger_id = heard.bodies.pop()["trigger_id"]
    await Client(slack)("views.open", trigger_id=trigger_id, view=view)


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def section(text: str) -> Json:
    return {"type": "section", "text": mrkdwn(text)}


def button(text: str, action_id: str = "press", **fields: Any) -> Json:
    return {"type": "button", "text": plain(text), "action_id": action_id, **fields}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def modal(*blocks: Json, **fields: Any) -> Json:
    return {
        "type": "modal",
        "title": plain("Decline"),
        "submit": plain("Send"),
        "callback_id": "decline",
        "blocks": list(blocks),
        **fields,
    }


def note_input(label: str = "Note", block_id: str = "note") -> Json:
    element = {"type": "plain_text_input", "action_id": "text", "multiline": True}
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element}
