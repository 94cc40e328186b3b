"""Programs that were not written for the local Slack and Claude, run against them: `make foreign`.

Not collected by `make test`: it needs Node.js and packages from npm, which FOREIGN_PACKAGES (a
folder with a `node_modules`) says where to find.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from agent.refunds.ports import RefundStatus
from bot.local.claude import LocalClaude, call, say
from bot.local.pytest_plugin import whole_manifest
from bot.local.slack import LocalSlack, Message
from tests.foreign.slack_apps import bolt_app
from tests.scenarios.stage import MANIFEST, Clock, Stage, photo

HERE = Path(__file__).parent
SECONDS = 30.0


async def test_bolt_for_javascript_works_over_socket_mode() -> None:
    async with LocalSlack(manifest=whole_manifest()) as slack:
        environment = {
            "APP_BOT_TOKEN": slack.bot_token,
            "APP_APP_TOKEN": slack.app_token,
            "APP_API_URL": slack.api_url,
        }
        async with _node("bolt_app.mjs", environment):
            await _use_the_app(slack)


async def test_blocking_bolt_works_with_the_sdks_built_in_socket() -> None:
    async with LocalSlack(manifest=whole_manifest()) as slack:
        app = bolt_app(slack.bot_token, slack.app_token, slack.api_url)
        await asyncio.to_thread(app.__enter__)
        try:
            await _use_the_app(slack)
        finally:
            await asyncio.to_thread(app.__exit__, None, None, None)


async def _use_the_app(slack: LocalSlack) -> None:
    """Post, see the event's answer, search and choose, press, fill the modal in."""
    ravi = slack.person("Ravi")
    await slack.until(lambda: slack.sockets.connected, SECONDS)
    root = await ravi.post("support-cases", "Lost: one umbrella & a <hat>")
    asked: Any = await slack.until(lambda: _said(slack, root, "Whose is it?"), SECONDS)
    await slack.until(lambda: slack.reactions(root) == ["eyes"], SECONDS)
    offered = await ravi.suggest(asked, "Le")
    assert offered == ["Leeds"], offered
    pressed = await ravi.click(asked, "Say why")
    assert pressed.acked, pressed.error
    await slack.until(lambda: ravi.modal, SECONDS)
    sent = await ravi.fill_and_submit({"Why": "It is wet"})
    assert sent.accepted, sent
    await slack.until(lambda: _said(slack, root, "Because: It is wet"), SECONDS)
    chosen = await ravi.choose(asked, "Yo", option="York")
    assert chosen.acked, chosen.error
    await slack.until(lambda: _said(slack, root, "In york"), SECONDS)
    assert slack.refused == [], slack.refused
    await slack.until(lambda: not slack.sockets.unacknowledged, SECONDS)


async def test_the_blocking_web_client_works() -> None:
    async with LocalSlack(manifest=whole_manifest()) as slack:
        await asyncio.to_thread(_call_around, slack.bot_token, slack.api_url)
        assert [each.error for each in slack.refused] == ["channel_not_found"]


def _call_around(token: str, api_url: str) -> None:
    # The SDK's own types are partly unknown.
    client: Any = WebClient(token=token, base_url=api_url)
    me = client.auth_test()
    posted = client.chat_postMessage(channel="C0SUPPORT1", text="Hello <you> & me")
    channel, ts = posted["channel"], posted["ts"]
    client.chat_update(channel=channel, ts=ts, text="Hello again")
    history = client.conversations_history(channel=channel)
    assert [each["text"] for each in history["messages"]] == ["Hello again"]
    assert client.users_info(user=me["user_id"])["user"]["is_bot"]
    assert len(list(client.conversations_list(limit=1))) > 1
    client.chat_delete(channel=channel, ts=ts)
    with pytest.raises(SlackApiError, match="channel_not_found"):
        client.chat_postMessage(channel="C0NOWHERE1", text="Hello")


async def test_anthropics_sdk_for_javascript_works_streamed_or_not() -> None:
    async with LocalClaude() as claude:
        claude.script(
            "umbrella",
            [
                call("get_weather", city="Leeds"),
                lambda request: say(f"Take one: {request.results[0]}."),
            ],
        )
        program = _node("claude_clients.mjs", {"CLAUDE_BASE_URL": claude.base_url})
        async with program as process:
            async with asyncio.timeout(SECONDS):
                assert await process.wait() == 0
        assert claude.refused == [], claude.refused


async def test_aimock_plays_the_main_job_in_the_place_of_the_local_claude(tmp_path: Path) -> None:
    clock = Clock()
    async with (
        LocalSlack(manifest=MANIFEST, now=clock) as slack,
        LocalClaude(now=clock) as unused,
        _node("aimock.mjs", {}) as process,
    ):
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), SECONDS)).decode().strip()
        stage = Stage(slack=slack, claude=unused, clock=clock, folder=tmp_path)
        async with stage.on(ANTHROPIC_BASE_URL=url):
            await _main_job(stage)
        assert unused.requests == []


async def _main_job(stage: Stage) -> None:
    root = await stage.open("Hi, my speaker arrived damaged. Order 4471. Asha")
    await stage.shown(root, "Could you send a photo?", seconds=SECONDS)
    await stage.ravi.reply(root, "Here it is", files=[photo()])
    await stage.decide(stage.priya, "Approve", await stage.card())
    reply = await stage.shown(root, "Your refund of ₹2,499.00", seconds=SECONDS)
    (refund,) = await stage.refunds("4471")
    assert refund.status is RefundStatus.PAID
    assert str(refund.reference) in stage.look(reply)


@contextlib.asynccontextmanager
async def _node(
    program: str, environment: dict[str, str]
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A program in Node.js beside its packages; gone at the end."""
    process = await asyncio.create_subprocess_exec(
        "node",
        str(HERE / program),
        cwd=os.environ["FOREIGN_PACKAGES"],
        env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


def _said(slack: LocalSlack, root: Message, words: str) -> Message | None:
    return next((each for each in slack.thread(root) if words in each.text), None)
