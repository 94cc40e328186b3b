"""What goes wrong on request, and Slack's limits of speed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from bot.local.slack import LocalSlack, Upload
from bot.local.slack.rate_limits import RateLimits
from bot.local.slack.seed import APPROVALS, SUPPORT_CASES
from tests.bot.local.slack_bench import Client, bolt_app, connected, manifest, recording


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=manifest()) as local:
        yield local


async def test_a_dropped_answer_leaves_the_work_done(slack: LocalSlack) -> None:
    slack.faults.drop_answer("chat.postMessage")
    client = Client(slack)
    with pytest.raises(aiohttp.ClientError):
        await client("chat.postMessage", channel=SUPPORT_CASES, text="once")
    assert [message.text for message in slack.messages("#support-cases")] == ["once"]
    await client("chat.postMessage", channel=SUPPORT_CASES, text="again")


async def test_a_server_error_and_a_forced_refusal_do_nothing(slack: LocalSlack) -> None:
    client = Client(slack)
    slack.faults.server_error("chat.postMessage")
    with pytest.raises(SlackApiError, match="503"):
        await client("chat.postMessage", channel=SUPPORT_CASES, text="x")
    slack.faults.refuse("chat.postMessage", "restricted_action", times=2)
    for _ in range(2):
        answer = await client.refused("chat.postMessage", channel=SUPPORT_CASES, text="x")
        assert answer["error"] == "restricted_action"
    assert slack.messages("#support-cases") == []
    assert slack.refused == []
    assert [call.is_fault for call in slack.calls] == [True] * 3


async def test_a_slow_call_is_carried_out_although_its_sender_has_left(slack: LocalSlack) -> None:
    slack.faults.slow("chat.postMessage", 0.5)
    client = Client(slack)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(client("chat.postMessage", channel=SUPPORT_CASES, text="late"), 0.05)
    assert slack.messages("#support-cases") == []
    await slack.until(lambda: slack.messages("#support-cases"))


@pytest.mark.parametrize("method", ["chat.postMessage", None])
async def test_a_rate_limit_says_how_long_to_wait(slack: LocalSlack, method: str | None) -> None:
    slack.faults.rate_limited(30, method)
    with pytest.raises(SlackApiError) as error:
        await Client(slack)("chat.postMessage", channel=SUPPORT_CASES, text="x")
    refusal: Any = error.value
    response = refusal.response
    assert response.status_code == 429
    assert response.headers["Retry-After"] == "30"
    if method:
        await Client(slack)("auth.test")
    slack.faults.clear()
    await Client(slack)("chat.postMessage", channel=SUPPORT_CASES, text="x")


async def test_files_may_fail_too(slack: LocalSlack) -> None:
    upload = Upload(name="a.png", content=b"x")
    await slack.person("Ravi").post("#support-cases", "", files=[upload])
    read = await Client(slack)("conversations.history", channel=SUPPORT_CASES)
    url = read["messages"][0]["files"][0]["url_private"]
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    slack.faults.server_error("files")
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.get(url) as response:
            assert response.status == 503
        async with session.get(url) as response:
            assert await response.read() == b"x"


@pytest.mark.parametrize("announce", [True, False])
async def test_an_app_comes_back_after_its_sockets_were_closed(
    slack: LocalSlack, announce: bool
) -> None:
    app = bolt_app(slack)
    seen = recording(app, "message")
    async with connected(app, slack):
        await slack.faults.disconnect_sockets(announce=announce)
        await slack.person("Ravi").post("#support-cases", "x")
        await slack.until(lambda: seen)


async def test_real_limits_allow_a_burst_a_channel_then_one_a_second() -> None:
    async with LocalSlack(manifest=manifest(), rate_limits="real") as slack:
        client = Client(slack)
        for _ in range(5):
            await client("chat.postMessage", channel=SUPPORT_CASES, text="x")
        answer = await client.refused("chat.postMessage", channel=SUPPORT_CASES, text="x")
        assert answer["error"] == "ratelimited"
        await client("chat.postMessage", channel=APPROVALS, text="x")
        assert [call.error for call in slack.refused] == ["ratelimited"]


def test_a_bucket_refills_with_time() -> None:
    limits = RateLimits()
    waits = [limits.retry_after_seconds("chat.update", 3, "", 0.0) for _ in range(51)]
    assert waits == [None] * 50 + [2]
    assert limits.retry_after_seconds("chat.update", 3, "", 1.3) is None
    posts = [limits.retry_after_seconds("chat.postMessage", 4, "C1", 5.0) for _ in range(6)]
    assert posts == [None] * 5 + [1]
    assert limits.retry_after_seconds("chat.postMessage", 4, "C2", 5.0) is None
