"""The same small Slack app as in bolt_app.mjs, for Bolt's blocking form and slack_sdk's blocking
clients; it runs in threads of its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from slack_bolt import App
from slack_bolt.adapter.socket_mode.builtin import SocketModeHandler
from slack_sdk import WebClient

Json = dict[str, Any]
CITIES = ("Leeds", "London", "York")


@contextmanager
def bolt_app(token: str, app_token: str, api_url: str) -> Generator[None]:
    """The app connected inside."""
    app: Any = App(client=WebClient(token=token, base_url=api_url))
    app.event("message")(_ask)
    app.options("city")(_suggest)
    app.action("city")(_chosen)
    app.action("why")(_open)
    app.view("reason")(_because)
    handler: Any = SocketModeHandler(app, app_token)
    handler.connect()
    try:
        yield
    finally:
        handler.close()


def _ask(event: Json, client: Any) -> None:
    if "subtype" in event or "thread_ts" in event:
        return
    select = {
        "type": "external_select",
        "action_id": "city",
        "placeholder": _plain("City"),
        "min_query_length": 2,
    }
    client.chat_postMessage(
        channel=event["channel"],
        thread_ts=event["ts"],
        text="Whose is it?",
        blocks=[
            {"type": "section", "text": {"type": "mrkdwn", "text": "Whose is it?"}},
            {
                "type": "actions",
                "elements": [
                    {"type": "button", "action_id": "why", "text": _plain("Say why")},
                    select,
                ],
            },
        ],
    )
    client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")


def _suggest(ack: Any, payload: Json) -> None:
    found = [each for each in CITIES if each.startswith(payload["value"])]
    ack(options=[{"text": _plain(each), "value": each.lower()} for each in found])


def _chosen(ack: Any, action: Json, body: Json, client: Any) -> None:
    ack()
    city = action["selected_option"]["value"]
    client.chat_update(channel=body["channel"]["id"], ts=body["message"]["ts"], text=f"In {city}")


def _open(ack: Any, body: Json, client: Any) -> None:
    ack()
    why = {
        "type": "input",
        "block_id": "why",
        "label": _plain("Why"),
        "element": {"type": "plain_text_input", "action_id": "text"},
    }
    client.views_open(
        trigger_id=body["trigger_id"],
        view={
            "type": "modal",
            "callback_id": "reason",
            "private_metadata": f"{body['channel']['id']} {body['message']['thread_ts']}",
            "title": _plain("Reason"),
            "submit": _plain("Send"),
            "blocks": [why],
        },
    )


def _because(ack: Any, view: Json, client: Any) -> None:
    ack()
    channel, thread_ts = view["private_metadata"].split()
    why = view["state"]["values"]["why"]["text"]["value"]
    client.chat_postMessage(channel=channel, thread_ts=thread_ts, text=f"Because: {why}")


def _plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}
