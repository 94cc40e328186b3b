"""Conversations with the local Claude: scripts, thinking, and turns that come back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from anthropic import APIStatusError, AsyncAnthropic, BadRequestError, InternalServerError

from bot.local.claude import (
    Call,
    LocalClaude,
    Request,
    ScriptError,
    Turn,
    Usage,
    call,
    calls,
    refuse,
    say,
)

Json = dict[str, Any]
TOOL: Json = {
    "name": "get_order",
    "description": "An order of the customer.",
    "strict": True,
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
}
BETA = "thinking-binding-controls-2026-08-01"
DROP: Json = {
    "type": "adaptive",
    "block_binding": {"prefix_mismatch_behavior": "drop_block"},
}


@pytest.fixture
async def claude() -> AsyncIterator[LocalClaude]:
    async with LocalClaude() as server:
        yield server


@pytest.fixture
async def client(claude: LocalClaude) -> AsyncIterator[AsyncAnthropic]:
    async with connected(claude) as sdk:
        yield sdk


def connected(claude: LocalClaude) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=claude.base_url, api_key="sk-ant-local", max_retries=0)


async def ask(client: AsyncAnthropic, messages: list[Json], **fields: Any) -> Json:
    """The answer as the API's JSON, every field as it came."""
    headers = fields.pop("headers", {})
    body: Json = {"system": "You help.", "tools": [TOOL], **fields}
    response = await client.messages.with_raw_response.create(
        model=body.pop("model", "claude-opus-5-5"),
        max_tokens=body.pop("max_tokens", 1000),
        messages=messages,  # pyright: ignore[reportArgumentType]
        extra_body=body,
        extra_headers=headers,
    )
    return cast(Json, await response.json())


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def assistant(answer: Json) -> Json:
    return {"role": "assistant", "content": answer["content"]}


def results(answer: Json, text: str = "Speaker.") -> Json:
    return user(
        [
            {"type": "tool_result", "tool_use_id": block["id"], "content": text}
            for block in answer["content"]
            if block["type"] == "tool_use"
        ]
    )


def text_of(answer: Json) -> str:
    return "".join(block["text"] for block in answer["content"] if block["type"] == "text")


async def one_call(client: AsyncAnthropic, claude: LocalClaude) -> list[Json]:
    """A conversation whose order has been looked up, ready for the second step."""
    claude.script("Broken", [call("get_order", order_id="4471"), say("Sorry!")])
    first = user("Broken speaker, order 4471")
    answer = await ask(client, [first])
    return [first, assistant(answer), results(answer)]


async def test_a_scripted_conversation_goes_from_call_to_reply(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script(
        "Broken",
        [
            calls(
                say("Let me look."),
                call("get_order", order_id="1"),
                call("get_order", order_id="2"),
            ),
            lambda request: say(" and ".join(request.results)),
        ],
    )
    history = [user("Broken speaker")]
    answer = await ask(client, history)
    assert answer["stop_reason"] == "tool_use"
    assert [block["type"] for block in answer["content"]] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert answer["content"][0]["thinking"] == ""
    assert answer["content"][2]["id"] != answer["content"][3]["id"]
    history += [assistant(answer), results(answer)]
    answer = await ask(client, history)
    assert (answer["stop_reason"], text_of(answer)) == ("end_turn", "Speaker. and Speaker.")
    assert claude.refused == []
    assert claude.unscripted == []


async def test_a_turn_goes_back_whose_call_has_the_id_of_one_in_a_later_turn(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    def turn(order_id: str) -> Turn:
        same = Call(name="get_order", input={"order_id": order_id}, id="toolu_same")
        return Turn(content=(same,), unchecked=True)

    claude.script("Broken", [turn("1"), turn("2")])
    history = [user("Broken speaker")]
    answer = await ask(client, history)
    history += [assistant(answer), results(answer)]
    await ask(client, history)
    await ask(client, [*history, user("That was no call of yours.")])
    assert claude.refused == []


async def test_the_same_request_gets_the_same_answer_and_others_other_ids(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("order", [call("get_order", order_id="1")] * 2)
    first = await ask(client, [user("order")])
    assert await ask(client, [user("order")], max_tokens=2000) == first
    other = await ask(client, [user("order!")])
    assert {first["id"], first["content"][1]["id"]}.isdisjoint(
        {other["id"], other["content"][1]["id"]}
    )


async def test_the_last_registered_matching_script_answers(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("speaker", [say("one")])
    claude.script("broken", [say("two")])
    claude.script("kettle", [say("three")])
    assert text_of(await ask(client, [user("a broken speaker")])) == "two"
    assert text_of(await ask(client, [user("a speaker")])) == "one"
    assert [found.script for found in claude.requests] == ["broken", "speaker"]


async def test_without_a_script_or_a_turn_it_says_that_it_is_a_stand_in(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("kettle", [say("Fine.")])
    answer = await ask(client, [user("Hello")])
    assert "not Claude itself, and it has no script" in text_of(answer)
    answer = await ask(
        client, [user("kettle"), assistant(answer), user("And now?")], model="claude-opus-5"
    )
    assert "its script for this conversation has ended" in text_of(answer)
    assert len(claude.unscripted) == 2


async def test_thinking_is_shown_only_to_who_asks_for_summaries(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("", [Turn(content=["Yes."], thinking="Is it?")])
    hidden = await ask(client, [user("Q")])
    shown = await ask(client, [user("Q")], thinking={"type": "adaptive", "display": "summarized"})
    assert [found["content"][0]["thinking"] for found in (hidden, shown)] == ["", "Is it?"]


async def test_a_model_that_does_not_think_sends_no_thinking(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    answer = await ask(client, [user("Q")], model="claude-haiku-4-5")
    assert [block["type"] for block in answer["content"]] == ["text"]


async def test_cache_marks_and_string_shorthand_are_no_change_of_history(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    history = await one_call(client, claude)
    mark = {"cache_control": {"type": "ephemeral"}}
    history[0] = user([{"type": "text", "text": history[0]["content"], **mark}])
    history[2]["content"][0] |= mark
    answer = await ask(
        client,
        history,
        system=[{"type": "text", "text": "You help.", **mark}],
        tools=[{**TOOL, **mark}],
    )
    assert text_of(answer) == "Sorry!"


@pytest.mark.parametrize(
    "changes",
    [
        {"system": "You help a lot."},
        {"tools": [{**TOOL, "description": "Orders."}]},
        {"model": "claude-sonnet-5-5"},
        {"messages": [user("Broken kettle, order 4471")]},
    ],
    ids=lambda changes: next(iter(changes)),
)
async def test_thinking_behind_a_changed_history_is_refused(
    changes: Json, claude: LocalClaude, client: AsyncAnthropic
) -> None:
    history = await one_call(client, claude)
    changes = dict(changes)
    history[:1] = changes.pop("messages", history[:1])
    with pytest.raises(BadRequestError, match=r"messages\.1\.content\.0: .*a different convers"):
        await ask(client, history, **changes)
    assert [found.status for found in claude.refused] == [400]


async def test_thinking_behind_a_changed_history_can_be_dropped(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    history = await one_call(client, claude)
    history[0] = user("Broken kettle, order 4471")
    for _ in range(2):
        answer = await ask(client, history, thinking=DROP, headers={"anthropic-beta": BETA})
        assert answer["input_transformations"][0] == {
            "type": "thinking_dropped",
            "path": "messages.1.content.0",
            "reason": "prefix_binding_mismatch",
        }
        assert len(answer["input_transformations"]) == 1
        history += [assistant(answer), user("Thanks")]
    assert claude.requests[-1].dropped == ("messages.1.content.0",)


def no_thinking(content: list[Json]) -> list[Json]:
    return content[1:]


def other_thinking(content: list[Json]) -> list[Json]:
    return [{**content[0], "thinking": "Hm."}, content[1]]


def other_call(content: list[Json]) -> list[Json]:
    return [content[0], {**content[1], "input": {"order_id": "4480"}}]


def one_more_text(content: list[Json]) -> list[Json]:
    return [*content[:1], {"type": "text", "text": "Well."}, *content[1:]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (no_thinking, "this turn was changed"),
        (other_thinking, "cannot be modified"),
        (other_call, "cannot be modified"),
        (one_more_text, "cannot be modified"),
    ],
)
async def test_a_turn_that_comes_back_changed_is_refused(
    change: Any, words: str, claude: LocalClaude, client: AsyncAnthropic
) -> None:
    history = await one_call(client, claude)
    history[1]["content"] = change(history[1]["content"])
    with pytest.raises(BadRequestError, match=words):
        await ask(client, history)


async def test_a_restarted_stand_in_knows_its_turns_by_the_same_secret() -> None:
    async with LocalClaude() as claude, connected(claude) as client:
        history = await one_call(client, claude)
    async with LocalClaude() as claude, connected(claude) as client:
        claude.script("Broken", [say("?"), say("Sorry!")])
        assert text_of(await ask(client, history)) == "Sorry!"
    async with LocalClaude(secret="another") as claude, connected(claude) as client:
        with pytest.raises(BadRequestError, match="cannot be modified"):
            await ask(client, history)


async def test_blocks_and_fields_of_the_future_come_back_whole_or_are_refused(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    news = {"type": "hologram", "data": {"z": 1}}
    claude.script("", [Turn(content=["Look.", news], raw={"mood": "calm"}), say("Done.")])
    first = user("Show me")
    answer = await ask(client, [first])
    assert (answer["mood"], answer["content"][2]) == ("calm", news)
    assert text_of(await ask(client, [first, assistant(answer), user("Thanks")])) == "Done."
    answer["content"][2]["data"] = {"z": 2}
    with pytest.raises(BadRequestError, match="Input tag 'hologram'"):
        await ask(client, [first, assistant(answer), user("Thanks")])


async def test_a_paused_turn_is_gone_on_with_but_nothing_else_is_a_prefill(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script(
        "", [Turn(content=["Let me see."], stop_reason="pause_turn"), say("Here."), say("Fine.")]
    )
    history = [user("Search")]
    answer = await ask(client, history)
    assert answer["stop_reason"] == "pause_turn"
    history.append(assistant(answer))
    answer = await ask(client, history)
    assert text_of(answer) == "Here."
    history.append(assistant(answer))
    with pytest.raises(BadRequestError, match="prefill"):
        await ask(client, history)
    assert text_of(await ask(client, [*history, user("Thanks")])) == "Fine."


async def test_stop_reasons_and_refusals_are_as_the_script_says(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("cut", [Turn(content=["Dear"], stop_reason="max_tokens")])
    claude.script("bomb", [refuse("cyber")])
    claude.script("nothing", [Turn(thinking=None)])
    claude.script("none", [Turn(content=["?"], raw={"stop_reason": None})])
    cut = await ask(client, [user("cut")], max_tokens=64)
    assert (cut["stop_reason"], cut["usage"]["output_tokens"]) == ("max_tokens", 64)
    refusal = await ask(client, [user("bomb")])
    assert refusal["stop_reason"] == "refusal"
    assert refusal["stop_details"]["category"] == "cyber"
    assert (await ask(client, [user("nothing")]))["content"] == []
    assert (await ask(client, [user("none")]))["stop_reason"] is None


async def test_max_tokens_0_fills_the_cache_and_says_nothing(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    answer = await ask(
        client, [user("x" * 4000)], max_tokens=0, cache_control={"type": "ephemeral"}
    )
    assert (answer["content"], answer["stop_reason"]) == ([], "max_tokens")
    assert answer["usage"]["output_tokens"] == 0
    assert answer["usage"]["cache_creation_input_tokens"] > 1000


def fails(request: Request) -> Turn:
    assert "photo" in request.last_text
    return say("Nice photo.")


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (call("get_invoice", order_id="1"), "no tool get_invoice"),
        (call("get_order"), "'order_id' is a required property"),
        (call("get_order", order_id=4471), "4471 is not of type 'string'"),
        (call("get_order", order_id="1", note="x"), "'note' was unexpected"),
        (say("Yes.").using(output=5000), "doesn't fit max_tokens 1000"),
        (Turn(content=[{"text": "x"}]), "a block needs a type"),
        (fails, "AssertionError"),
    ],
)
async def test_a_script_that_breaks_the_rules_is_its_authors_error(turn: Any, words: str) -> None:
    with pytest.raises(ScriptError, match=words):
        await use_script(turn)


async def use_script(turn: Any) -> None:
    async with LocalClaude() as claude, connected(claude) as client:
        claude.script("", [turn])
        with pytest.raises(InternalServerError) as failed:
            await ask(client, [user("Q")])
        assert failed.value.response.headers["x-should-retry"] == "false"
        assert len(claude.script_errors) == 1


async def test_an_unchecked_turn_may_break_the_rules_but_is_not_taken_back(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    twice = [Call(name="get_order", input={"order_id": "1"}, id="toolu_same")] * 2
    shapeless = Call(name="get_order", input="4471")
    for name, content, words in (
        ("twice", twice, "ids must be unique"),
        ("shapeless", [shapeless], "input: Input should be"),
        ("empty", [""], "must be non-empty"),
    ):
        claude.script(name, [Turn(content=content, unchecked=True)])
        answer = await ask(client, [user(name)])
        follow = results(answer) if name != "empty" else user("Go on")
        with pytest.raises(APIStatusError, match=words):
            await ask(client, [user(name), assistant(answer), follow])


async def test_usage_is_estimated_from_what_is_sent(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    small = (await ask(client, [user("Hello")]))["usage"]
    large = (await ask(client, [user("Hello" + " there" * 1000)]))["usage"]
    assert 300 < small["input_tokens"] < 500
    assert large["input_tokens"] - small["input_tokens"] == 1500
    assert 0 < small["output_tokens_details"]["thinking_tokens"] < small["output_tokens"]


async def test_fixed_usage_is_reported_as_it_stands(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    claude.script("", [Turn(content=["Hi"], usage=Usage(input=1000, output=180, thinking=30))])
    usage = (await ask(client, [user("Hello")]))["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (1000, 180)
    assert usage["output_tokens_details"] == {"thinking_tokens": 30}
