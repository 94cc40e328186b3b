"""The local Claude refuses what the real one refuses, seen through the real SDK."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any, cast

import pytest
from aiohttp import ClientSession
from anthropic import APIStatusError, AsyncAnthropic
from PIL import Image

from bot.local.claude import LocalClaude, say

Body = dict[str, Any]
WEATHER: Body = {
    "name": "get_weather",
    "description": "The weather tomorrow.",
    "strict": True,
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "A city."}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


@pytest.fixture
async def claude() -> AsyncIterator[LocalClaude]:
    async with LocalClaude() as server:
        server.script("", [say("Good.")] * 9)
        yield server


@pytest.fixture
async def client(claude: LocalClaude) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0, timeout=30
    ) as sdk:
        yield sdk


def request(*messages: Body, **fields: Any) -> Body:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 1000,
        "messages": list(messages) or [user("Hello")],
        **fields,
    }


def user(*content: str | Body) -> Body:
    return {"role": "user", "content": blocks(content)}


def assistant(*content: str | Body) -> Body:
    return {"role": "assistant", "content": blocks(content)}


def blocks(content: tuple[str | Body, ...]) -> list[Body]:
    return [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]


def use(id: str, **changes: Any) -> Body:
    block = {"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Pune"}}
    return {**block, **changes}


def result(id: str, content: Any = "Rain.", **changes: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **changes}


def marked(text: str, ttl: str = "5m") -> Body:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}


def picture(width: int, height: int, kind: str = "PNG", media_type: str = "image/png") -> Body:
    stream = BytesIO()
    Image.new("1", (width, height)).save(stream, kind)
    return encoded(base64.b64encode(stream.getvalue()).decode(), media_type)


def encoded(data: str, media_type: str = "image/png") -> Body:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def tool(**changes: Any) -> Body:
    return request(tools=[{**WEATHER, **changes}])


def schema(city: Body, **changes: Any) -> Body:
    properties = {"properties": {"city": city}, **changes}
    return tool(input_schema={**WEATHER["input_schema"], **properties})


ASKED = (user("Weather?"), assistant(use("toolu_1"), use("toolu_2")))

REFUSALS: dict[str, tuple[Body, str]] = {
    "max_tokens negative": (request(max_tokens=-1), "max_tokens: Input should be greater"),
    "max_tokens above the model's": (request(max_tokens=128_001), "128001 > 128000"),
    "max_tokens as text": (request(max_tokens="10"), "max_tokens: Input should be a valid"),
    "unknown field": (request(temprature=1), "temprature: Extra inputs are not permitted"),
    "unknown field of a block": (
        request(user({"type": "text", "text": "Hello", "colour": "red"})),
        "messages.0.content.0.text.colour: Extra inputs are not permitted",
    ),
    "unknown block type": (
        request(user({"type": "video", "url": "x"})),
        "messages.0.content.0: Input tag 'video'",
    ),
    "unknown role": (request({"role": "tool", "content": "x"}), "messages.0.role"),
    "no messages": (request(messages=[]), "at least one message is required"),
    "assistant first": (request(assistant("Hi"), user("Hi")), "first message must use"),
    "prefill": (request(user("Hi"), assistant("{")), "assistant message prefill"),
    "system first": (
        request({"role": "system", "content": "Be kind."}, user("Hi")),
        "first message must use",
    ),
    "system after the assistant": (
        request(user("Hi"), assistant("Hi"), {"role": "system", "content": "x"}, user("Hi")),
        "messages.2: role 'system' must follow",
    ),
    "empty content list": (request(user()), "messages.0: all messages must have non-empty"),
    "empty content": (request({"role": "user", "content": ""}), "must have non-empty"),
    "empty text": (request(user("Hi", "")), "text content blocks must be non-empty"),
    "blank text": (request(user(" \n ")), "must contain non-whitespace text"),
    "empty system text": (
        request(system=[{"type": "text", "text": ""}]),
        "system: text content blocks must be non-empty",
    ),
    "call without a result": (
        request(*ASKED, user(result("toolu_1"))),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: to",
    ),
    "result behind a text": (
        request(*ASKED, user(result("toolu_1"), "And?", result("toolu_2"))),
        "without `tool_result` blocks immediately after: toolu_2.",
    ),
    "result without a call": (
        request(user("Hi"), assistant("Hi"), user(result("toolu_9"))),
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9",
    ),
    "two results for a call": (
        request(*ASKED, user(result("toolu_1"), result("toolu_2"), result("toolu_1"))),
        "messages.2.content.2: each tool_use must have a single result",
    ),
    "two calls with one id": (
        request(user("Hi"), assistant(use("toolu_1"), use("toolu_1")), user(result("toolu_1"))),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    "a call's input that is no object": (
        request(user("Hi"), assistant(use("toolu_1", input="Pune")), user(result("toolu_1"))),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "a call in a user message": (
        request(user(use("toolu_1"))),
        "`tool_use` blocks can only be in `assistant` messages",
    ),
    "a result of a type that isn't one": (
        request(*ASKED, user(result("toolu_1", [use("toolu_3")]), result("toolu_2"))),
        "messages.2.content.0.tool_result.content.0: Input tag 'tool_use'",
    ),
    "an empty error": (
        request(*ASKED, user(result("toolu_1", "", is_error=True), result("toolu_2"))),
        "content cannot be empty if `is_error` is true",
    ),
    "thinking of one's own": (
        request(
            user("Hi"),
            assistant({"type": "thinking", "thinking": "Hm", "signature": "c2ln"}, "Hi"),
            user("Hi"),
        ),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "image that isn't base64": (request(user(encoded("?!"))), "invalid base64 data"),
    "image that is none": (request(user(encoded("AAAA"))), "Could not process image"),
    "image of another kind": (
        request(user(picture(8, 8, "GIF"))),
        "specified using the image/png media type, but the image appears to be a image/gif",
    ),
    "image of an unknown kind": (
        request(user(picture(8, 8, "BMP", "image/bmp"))),
        "messages.0.content.0.image.source.base64.media_type",
    ),
    "image too wide": (request(user(picture(8001, 1))), "max allowed size: 8000 pixels"),
    "image too wide in a result": (
        request(*ASKED, user(result("toolu_1", [picture(1, 8001)]), result("toolu_2"))),
        "messages.2.content.0.content.0.image.source.base64.data: At least one",
    ),
    "one of many images too wide": (
        request(user(*[picture(4, 4)] * 20, picture(2001, 1))),
        "many-image requests: 2000 pixels",
    ),
    "forced tools": (
        request(tools=[WEATHER], tool_choice={"type": "any"}),
        "tool_choice: type 'any' is not supported",
    ),
    "a named tool": (
        request(tools=[WEATHER], tool_choice={"type": "tool", "name": "get_weather"}),
        "tool_choice: type 'tool' is not supported",
    ),
    "tool choice without tools": (
        request(tool_choice={"type": "auto"}),
        "only be specified while providing tools",
    ),
    "thinking disabled": (
        request(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported',
    ),
    "thinking budget": (
        request(thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=4096),
        '"thinking.type.enabled" is not supported',
    ),
    "binding controls without the beta": (
        request(thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.block_binding",
    ),
    "temperature": (request(temperature=0.5), "`temperature` is not supported"),
    "top_p": (request(top_p=0.5), "`top_p` is not supported"),
    "top_k": (request(top_k=5), "`top_k` is not supported"),
    "five cache marks": (
        request(user(*(marked(text) for text in "abcde"))),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "four cache marks and the automatic one": (
        request(user(*(marked(text) for text in "abcd"), "e"), cache_control={"type": "ephemeral"}),
        "Found 5.",
    ),
    "a long mark after a short one": (
        request(user(marked("a"), marked("b", "1h"))),
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come",
    ),
    "an unknown lifetime": (request(user(marked("a", "2h"))), "cache_control.ttl"),
    "a tool's name with a space": (tool(name="get weather"), "tools.0.name"),
    "a tool's name of 65 letters": (tool(name="a" * 65), "tools.0.name"),
    "two tools of one name": (request(tools=[WEATHER] * 2), "Tool names must be unique"),
    "a tool without a schema": (
        request(tools=[{"name": "get_weather"}]),
        "tools.0.input_schema: Field required",
    ),
    "a schema that is none": (
        schema({"type": "text"}),
        "tools.0.custom.input_schema: JSON schema is invalid",
    ),
    "a schema that is no object": (
        tool(input_schema={"type": "array"}),
        "tools.0.custom.input_schema.type",
    ),
    "a strict tool that is open": (
        schema({"type": "string"}, additionalProperties=True),
        "'additionalProperties' must be explicitly set to false",
    ),
    "a strict tool with an open object inside": (
        schema({"type": "object", "properties": {}}),
        "'additionalProperties' must be explicitly set to false",
    ),
    "a strict tool with an optional property": (
        schema({"type": "string"}, required=[]),
        "every property must be in 'required': city",
    ),
    "a strict tool with a length": (
        schema({"type": "string", "minLength": 1}),
        "For 'string' type, property 'minLength' is not supported",
    ),
    "a strict tool with a range": (
        schema({"anyOf": [{"type": "number", "minimum": 0}, {"type": "null"}]}),
        "For 'number' type, property 'minimum' is not supported",
    ),
    "a strict tool with a property of any kind": (schema({}), "Schema type is missing"),
    "a recursive strict tool": (
        schema(
            {"$ref": "#/$defs/Node"},
            **{
                "$defs": {
                    "Node": {
                        "type": "object",
                        "properties": {"next": {"$ref": "#/$defs/Node"}},
                        "required": ["next"],
                        "additionalProperties": False,
                    }
                }
            },
        ),
        "Recursive schemas are not supported",
    ),
}

ACCEPTED: dict[str, Body] = {
    "a plain request": request(),
    "a string as content": request({"role": "user", "content": "Hello"}),
    "two user messages in a row": request(user("Hello"), user("Are you there?")),
    "results spread over two user messages": request(
        *ASKED, user(result("toolu_1")), user(result("toolu_2"), "And?"), tools=[WEATHER]
    ),
    "an empty result": request(*ASKED, user(result("toolu_1", ""), result("toolu_2", []))),
    "a system message in mid-conversation": request(
        user("Hi"), assistant("Hi"), user("Hi"), {"role": "system", "content": "Be brief."}
    ),
    "the largest image": request(user(picture(8000, 1))),
    "twenty images of that size": request(user(*[picture(2001, 1)] * 20)),
    "four cache marks": request(
        user(marked("a", "1h"), marked("b"), "c"),
        system=[marked("s", "1h")],
        cache_control={"type": "ephemeral"},
    ),
    "a strict tool with all that is supported": schema(
        {
            "anyOf": [
                {"type": "string", "enum": ["Pune", "Goa"]},
                {"type": "array", "items": {"$ref": "#/$defs/City"}, "minItems": 1},
                {"type": "string", "format": "date", "description": "A day."},
                {"type": "null"},
            ]
        },
        **{"$defs": {"City": {"type": "string", "pattern": "^[A-Z]"}}},
    ),
    "a tool that isn't strict with a length": tool(
        strict=False,
        input_schema={"type": "object", "properties": {"city": {"type": "string", "minLength": 1}}},
    ),
    "forced tools on a model that takes them": request(
        model="claude-haiku-5-5", tools=[WEATHER], tool_choice={"type": "any"}
    ),
    "prefill and sampling on a model that takes them": request(
        user("Hi"), assistant("{"), model="claude-haiku-4-5", temperature=0.5
    ),
    "thinking disabled on a model that takes it": request(
        model="claude-opus-5", thinking={"type": "disabled"}
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_it_refuses_with_the_apis_status_and_words(
    name: str, claude: LocalClaude, client: AsyncAnthropic
) -> None:
    body, words = REFUSALS[name]
    with pytest.raises(APIStatusError) as refused:
        await send(client, body)
    error = refused.value
    assert (error.status_code, error.type) == (400, "invalid_request_error")
    assert words in str(error.api_message)
    assert error.request_id == claude.requests[0].request_id
    assert cast(Body, error.body)["request_id"] == error.request_id
    assert claude.refused == claude.requests


@pytest.mark.parametrize("name", ACCEPTED)
async def test_it_takes_what_the_api_takes(
    name: str, claude: LocalClaude, client: AsyncAnthropic
) -> None:
    await send(client, ACCEPTED[name])
    assert [found.status for found in claude.requests] == [200]
    assert claude.refused == []


@pytest.mark.parametrize(
    ("headers", "status", "error_type", "words"),
    [
        ({"x-api-key": "sk-other"}, 401, "authentication_error", "invalid x-api-key"),
        ({"authorization": "Bearer no"}, 401, "authentication_error", "Invalid bearer token"),
        ({"anthropic-version": "2020-01-01"}, 400, "invalid_request_error", "not a valid version"),
        ({"anthropic-version": ""}, 400, "invalid_request_error", "not a valid version"),
        ({"anthropic-beta": "Nonsense"}, 400, "invalid_request_error", "Unexpected value(s)"),
    ],
)
async def test_it_refuses_wrong_headers(
    headers: dict[str, str],
    status: int,
    error_type: str,
    words: str,
    client: AsyncAnthropic,
) -> None:
    with pytest.raises(APIStatusError) as refused:
        await send(client, request(), headers)
    assert (refused.value.status_code, refused.value.type) == (status, error_type)
    assert words in str(refused.value.api_message)


async def test_a_configured_key_is_the_only_one() -> None:
    async with LocalClaude(api_key="sk-ant-mine") as claude:
        for key, status in (("sk-ant-mine", 200), ("sk-ant-yours", 401)):
            async with AsyncAnthropic(
                base_url=claude.base_url, api_key=key, max_retries=0
            ) as client:
                assert await status_of(client, request()) == status


async def test_a_request_over_32_megabytes_is_too_large(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    with pytest.raises(APIStatusError) as refused:
        await send(client, request(user("x" * (32 * 1024 * 1024))))
    assert refused.value.status_code == 413
    assert refused.value.type == "request_too_large"
    assert [found.status for found in claude.refused] == [413]


RAW: dict[str, tuple[bytes, str]] = {
    "half an object": (b"{", "The request body is not valid JSON"),
    "a number that is none": (b'{"max_tokens": NaN}', "The request body is not valid JSON"),
    "half a surrogate pair": (b'{"model": "\\ud800"}', "The request body is not valid JSON"),
    "a list": (b"[]", "Input should be a valid dictionary"),
    "no model": (b'{"max_tokens": 1, "messages": []}', "model: Field required"),
    "no max_tokens": (b'{"model": "claude-opus-5-5", "messages": []}', "max_tokens: Field requ"),
}


@pytest.mark.parametrize("name", RAW)
async def test_a_body_that_is_no_request_is_refused(name: str, claude: LocalClaude) -> None:
    raw, words = RAW[name]
    headers = {"x-api-key": "sk-ant-local", "anthropic-version": "2023-06-01"}
    status, answer = await post(claude, raw, {**headers, "content-type": "application/json"})
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")
    assert answer["error"]["message"].startswith(words)


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"x-api-key": ""}, 401, "x-api-key header is required"),
        ({"content-type": "application/json"}, 400, "anthropic-version: header is required"),
        ({"anthropic-version": "2023-06-01", "content-type": "text/plain"}, 400, "content-type"),
    ],
)
async def test_a_missing_header_is_refused(
    headers: dict[str, str], status: int, words: str, claude: LocalClaude
) -> None:
    got, answer = await post(claude, b"{}", {"x-api-key": "sk-ant-local", **headers})
    assert got == status
    assert words in answer["error"]["message"]


async def test_an_unknown_model_is_not_found(client: AsyncAnthropic) -> None:
    with pytest.raises(APIStatusError) as refused:
        await send(client, request(model="claude-nobody"))
    assert (refused.value.status_code, refused.value.type) == (404, "not_found_error")
    assert refused.value.api_message == "model: claude-nobody"


async def test_another_path_is_not_found(client: AsyncAnthropic) -> None:
    with pytest.raises(APIStatusError) as refused:
        await client.get("/v1/organizations", cast_to=object)
    assert (refused.value.status_code, refused.value.type) == (404, "not_found_error")


async def send(client: AsyncAnthropic, body: Body, headers: dict[str, str] | None = None) -> None:
    """The body as it stands, past what the SDK's own types would allow."""
    named = {"model", "max_tokens", "messages"}
    await client.messages.create(
        model=body["model"],
        max_tokens=body["max_tokens"],
        messages=body["messages"],
        extra_body={name: value for name, value in body.items() if name not in named},
        extra_headers=headers or {},
    )


async def status_of(client: AsyncAnthropic, body: Body) -> int:
    try:
        await send(client, body)
    except APIStatusError as error:
        return error.status_code
    return 200


async def post(claude: LocalClaude, raw: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    async with (
        ClientSession() as session,
        session.post(f"{claude.base_url}/v1/messages", data=raw, headers=headers) as response,
    ):
        return response.status, await response.json()
