"""What can go wrong between a bot and the API, on demand from the local Claude."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import cast

import pytest
from anthropic import (
    APIConnectionError,
    APIStatusError,
    AsyncAnthropic,
    InternalServerError,
    OverloadedError,
    RateLimitError,
)
from anthropic.types import Message

from bot.local.claude import Faults, LocalClaude, say


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def claude(clock: Clock) -> AsyncIterator[LocalClaude]:
    async with LocalClaude(now=clock) as server:
        server.script("", [say("Fine.")])
        yield server


@pytest.fixture
async def client(claude: LocalClaude) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0
    ) as sdk:
        yield sdk


async def ask(client: AsyncAnthropic, text: str = "Hello") -> Message:
    return await client.messages.create(
        model="claude-opus-5-5", max_tokens=100, messages=[{"role": "user", "content": text}]
    )


async def test_overload_passes_after_so_many_requests(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.overloaded(2)
    for _ in range(2):
        with pytest.raises(OverloadedError) as failed:
            await ask(client)
        assert failed.value.type == "overloaded_error"
    assert (await ask(client)).stop_reason == "end_turn"
    assert [found.outcome for found in claude.requests] == ["fault", "fault", "answered"]
    assert claude.refused == []


async def test_overload_passes_after_so_many_seconds(
    claude: LocalClaude, client: AsyncAnthropic, clock: Clock
) -> None:
    claude.faults.overloaded(seconds=60)
    for _ in range(3):
        with pytest.raises(OverloadedError):
            await ask(client)
    clock.seconds += 60
    assert (await ask(client)).stop_reason == "end_turn"


async def test_a_rate_limit_says_when_to_come_back(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.rate_limited(1, retry_after=7)
    with pytest.raises(RateLimitError) as failed:
        await ask(client)
    assert failed.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("order", "status", "error_type"),
    [
        (Faults.server_error, 500, "api_error"),
        (partial(Faults.server_error, status=504), 504, "timeout_error"),
        (Faults.credit_exhausted, 400, "invalid_request_error"),
        (
            partial(Faults.error, status=402, error_type="billing_error", message="Pay first."),
            402,
            "billing_error",
        ),
        (
            partial(Faults.error, status=403, error_type="permission_error", message="No."),
            403,
            "permission_error",
        ),
    ],
)
async def test_any_error_can_be_ordered(
    order: Callable[[Faults], None],
    status: int,
    error_type: str,
    claude: LocalClaude,
    client: AsyncAnthropic,
) -> None:
    order(claude.faults)
    with pytest.raises(APIStatusError) as failed:
        await ask(client)
    assert (failed.value.status_code, failed.value.type) == (status, error_type)
    assert failed.value.request_id == claude.requests[0].request_id


async def test_the_sdk_obeys_the_retry_header(claude: LocalClaude, client: AsyncAnthropic) -> None:
    claude.faults.server_error(should_retry=False)
    with pytest.raises(InternalServerError):
        await ask(client.with_options(max_retries=2))
    assert len(claude.requests) == 1


async def test_a_body_that_is_no_json_reaches_the_caller_as_that(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.not_json()
    claude.faults.not_json(content_type="text/html")
    with pytest.raises(json.JSONDecodeError):
        await ask(client)
    assert isinstance(cast(object, await ask(client)), str)
    assert (await ask(client)).stop_reason == "end_turn"
    assert [found.outcome for found in claude.requests] == ["fault", "fault", "answered"]


async def test_a_cut_answer_is_a_lost_connection_and_not_in_the_bill(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.cut()
    with pytest.raises(APIConnectionError):
        await ask(client)
    cut = claude.requests[0]
    assert cut.outcome == "fault"
    assert cut.cost_usd > 0
    assert claude.cost_usd() == 0
    assert (await ask(client)).id == (cut.message or {})["id"]


async def test_a_hanging_request_is_answered_when_released(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.hang()
    hanging = asyncio.create_task(ask(client))
    await claude.arrived(1)
    await ask(client, "Others aren't kept waiting")
    assert not hanging.done()
    claude.faults.release()
    assert (await hanging).stop_reason == "end_turn"


async def test_held_requests_have_arrived_and_are_answered_when_released(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.hold()
    held = [asyncio.create_task(ask(client, name)) for name in ("one", "two")]
    await claude.arrived(2)
    assert [found.outcome for found in claude.requests] == ["pending", "pending"]
    claude.faults.release()
    await asyncio.gather(*held)
    await claude.until(lambda: all(found.status == 200 for found in claude.requests))


async def test_a_client_that_died_while_held_is_answered_nothing(claude: LocalClaude) -> None:
    claude.faults.hold()
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0
    ) as client:
        doomed = asyncio.create_task(ask(client))
        await claude.arrived(1)
        doomed.cancel()
        await asyncio.wait([doomed])
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0
    ) as client:
        probe = asyncio.create_task(ask(client))
        await claude.arrived(2)
        claude.faults.release()
        assert (await probe).stop_reason == "end_turn"
    await claude.until(lambda: claude.requests[0].outcome == "abandoned")
    assert claude.account().calls == 1


async def test_leaving_lets_go_of_held_requests_without_an_answer() -> None:
    async with LocalClaude() as claude:
        claude.faults.hold()
        client = AsyncAnthropic(base_url=claude.base_url, api_key="sk-ant-local", max_retries=0)
        held = asyncio.create_task(ask(client))
        await claude.arrived(1)
    with pytest.raises(APIConnectionError):
        await held
    await client.close()


async def test_a_fault_never_hides_a_broken_rule(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.overloaded()
    with pytest.raises(APIStatusError) as failed:
        await ask(client, " ")
    assert failed.value.status_code == 400
    with pytest.raises(OverloadedError):
        await ask(client)


async def test_waiting_for_what_never_happens_ends(claude: LocalClaude) -> None:
    with pytest.raises(TimeoutError):
        await claude.until(lambda: False, timeout_seconds=0.01)


async def test_who_dies_while_asking_leaves_an_abandoned_request_and_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with LocalClaude() as claude:
        host, port = claude.base_url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n{"
        writer.write(head.encode())
        await writer.drain()
        writer.transport.abort()
        await claude.until(lambda: [each.outcome for each in claude.requests] == ["abandoned"])
    assert "Traceback" not in caplog.text
