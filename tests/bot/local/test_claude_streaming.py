"""Streamed answers of the local Claude, its models and its count of tokens, by the real SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import httpx2
import pytest
from anthropic import (
    APIStatusError,
    AsyncAnthropic,
    BadRequestError,
    NotFoundError,
    OverloadedError,
)
from anthropic.types import Message, RawMessageStreamEvent

from bot.local.claude import LocalClaude, Turn, call, calls, refuse, say

Json = dict[str, Any]
MODEL = "claude-opus-5-5"
TOOL: Json = {
    "name": "propose",
    "description": "Propose something.",
    "strict": True,
    "input_schema": {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "why": {"type": "string"}},
        "required": ["amount", "why"],
        "additionalProperties": False,
    },
}
WHY = "It came broken, and “the policy” says ₹2,499 — see damaged-items. " * 3
TURN = Turn(
    content=["First ", *calls(call("propose", amount=145.05, why=WHY)).content],
    thinking="A photo shows the crack, so the policy applies.",
)


@pytest.fixture
async def claude() -> AsyncIterator[LocalClaude]:
    async with LocalClaude() as server:
        server.script("", [TURN, say("Done, and thank you.")])
        yield server


@pytest.fixture
async def client(claude: LocalClaude) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0
    ) as sdk:
        yield sdk


def asked(*messages: Json, **fields: Any) -> Any:
    """The arguments of a request, past the SDK's own types."""
    first: Json = {"role": "user", "content": "Order 4471 came broken."}
    return {
        "model": MODEL,
        "max_tokens": 1000,
        "messages": [first, *messages],
        "tools": [TOOL],
        **fields,
    }


async def events(client: AsyncAnthropic, **fields: Any) -> list[RawMessageStreamEvent]:
    stream: Any = await client.messages.create(**asked(**fields), stream=True)
    return [event async for event in stream]


async def test_a_streamed_message_is_the_message_of_an_unstreamed_request(
    client: AsyncAnthropic,
) -> None:
    shown = {"type": "adaptive", "display": "summarized"}
    plain = cast(Message, await client.messages.create(**asked(thinking=shown)))
    async with client.messages.stream(**asked(thinking=shown)) as stream:
        streamed = cast(Message, await stream.get_final_message())
    assert [block.to_dict() for block in streamed.content] == [
        block.to_dict() for block in plain.content
    ]
    assert (streamed.id, streamed.stop_reason) == (plain.id, "tool_use")
    assert streamed.usage.output_tokens == plain.usage.output_tokens


async def test_the_events_come_in_the_order_of_the_reference(client: AsyncAnthropic) -> None:
    seen = await events(client, thinking={"type": "adaptive", "display": "summarized"})
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    names = [event.type for event in seen]
    # Neighbouring deltas are one here.
    folded = [name for place, name in enumerate(names) if names[place - 1 : place] != [name]]
    assert folded == ["message_start", *block * 3, "message_delta", "message_stop"]
    deltas = [event.delta.type for event in seen if event.type == "content_block_delta"]
    assert list(dict.fromkeys(deltas)) == [
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
    ]


async def test_a_ping_follows_the_start_of_the_message(client: AsyncAnthropic) -> None:
    response = await client.messages.with_raw_response.create(**asked(), stream=True)
    body = await response.text()
    assert [line for line in body.splitlines() if line.startswith("event:")][:2] == [
        "event: message_start",
        "event: ping",
    ]
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["request-id"].startswith("req_local_")


async def test_thinking_that_is_not_shown_streams_its_signature_alone(
    client: AsyncAnthropic,
) -> None:
    seen = await events(client)
    first = next(event.delta for event in seen if event.type == "content_block_delta")
    assert first.type == "signature_delta"


async def test_a_streamed_turn_can_be_sent_back(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    async with client.messages.stream(**asked()) as stream:
        turn = await stream.get_final_message()
    content = [block.to_dict() for block in turn.content]
    result = {
        "type": "tool_result",
        "tool_use_id": turn.content[-1].to_dict()["id"],
        "content": "x",
    }
    async with client.messages.stream(
        **asked({"role": "assistant", "content": content}, {"role": "user", "content": [result]})
    ) as stream:
        assert await stream.get_final_text() == "Done, and thank you."
    assert claude.refused == []
    assert claude.account().calls == 2


async def test_the_usage_is_told_at_the_start_and_in_full_at_the_end(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    seen = await events(client, cache_control={"type": "ephemeral"}, system="Be kind. " * 300)
    start, end = seen[0], seen[-2]
    assert start.type == "message_start"
    assert end.type == "message_delta"
    usage = claude.requests[0].usage
    assert usage is not None
    assert start.message.usage.cache_creation_input_tokens == usage.written_5m > 0
    assert start.message.usage.output_tokens < end.usage.output_tokens == usage.output
    assert start.message.stop_reason is None


async def test_a_refusal_tells_its_category_at_the_end_of_the_stream(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("", [refuse("cyber")])
    end = (await events(client))[-2]
    assert end.type == "message_delta"
    assert end.delta.stop_reason == "refusal"
    assert end.delta.stop_details is not None
    assert end.delta.stop_details.category == "cyber"


async def test_a_stream_that_is_cut_ends_in_a_connection_error(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.cut()
    with pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection"):
        await events(client)
    assert claude.requests[0].outcome == "fault"
    assert (await events(client))[-1].type == "message_stop"


async def test_an_overload_in_mid_stream_is_an_error_event(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.overloaded_in_stream(2)
    with pytest.raises(APIStatusError, match="overloaded_error"):
        await events(client)
    response = await client.messages.with_raw_response.create(**asked(), stream=True)
    body = await response.text()
    names = [line for line in body.splitlines() if line.startswith("event:")]
    assert (names[0], names[-1]) == ("event: message_start", "event: error")
    assert claude.account().calls == 0


async def test_an_overload_before_the_stream_is_a_529(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.faults.overloaded()
    with pytest.raises(OverloadedError):
        await events(client)
    claude.faults.overloaded_in_stream()
    with pytest.raises(OverloadedError):
        await client.messages.create(**asked())


async def test_a_streamed_request_keeps_every_rule(client: AsyncAnthropic) -> None:
    with pytest.raises(BadRequestError, match="prefill"):
        await events(
            client,
            messages=[{"role": "user", "content": "Go"}, {"role": "assistant", "content": "I"}],
        )


async def test_a_stream_may_have_more_tokens_than_the_sdk_takes_in_one_piece(
    client: AsyncAnthropic,
) -> None:
    async with client.messages.stream(**asked(max_tokens=128_000)) as stream:
        assert (await stream.get_final_message()).stop_reason == "tool_use"


async def test_the_models_are_listed_page_by_page(client: AsyncAnthropic) -> None:
    listed = [model.id async for model in client.models.list(limit=3)]
    assert listed[0] == MODEL
    assert len(listed) == len(set(listed)) > 3
    last = await client.models.list(limit=2, before_id=listed[-1])
    assert [model.id for model in last.data] == listed[-3:-1]


async def test_a_model_is_found_by_its_id_and_only_by_it(client: AsyncAnthropic) -> None:
    model = await client.models.retrieve(MODEL)
    assert (model.display_name, model.max_tokens) == ("Claude Opus 5.5", 128_000)
    with pytest.raises(NotFoundError):
        await client.models.retrieve("claude-nobody")


async def test_the_count_of_tokens_is_what_the_answer_is_billed_for(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    request = asked()
    answer = cast(Message, await client.messages.create(**request))
    request.pop("max_tokens")
    count = await client.messages.count_tokens(**request)
    assert count.input_tokens == answer.usage.input_tokens
    assert claude.account().calls == 1
    assert claude.unscripted == []


async def test_a_count_of_a_request_that_breaks_a_rule_is_refused(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    with pytest.raises(BadRequestError, match="max_tokens"):
        await client.messages.count_tokens(
            **{key: value for key, value in asked().items() if key != "max_tokens"},
            extra_body={"max_tokens": 10},
        )
    assert len(claude.refused) == 1
