"""What each reason to stop means, looked at before any call of the turn."""

from __future__ import annotations

from typing import Any

import pytest

from agent.case import Handoff, Reply
from agent.endings import COLLEAGUE
from agent.messages import unsendable
from bot.local.claude import Call, Turn, call, calls, refuse, say
from tests.agent.bench import Bench, ask, blocks, propose, results, texts

WORDS = "The kettle from order 4502 arrived cracked."


async def test_the_text_of_an_ended_turn_is_the_reply(bench: Bench) -> None:
    bench.claude.script("kettle", [say("First part.", "Second part.")])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.reply) == ("done", "First part.\n\nSecond part.")
    assert [each.text for each in bench.shown(Reply)] == ["First part.\n\nSecond part."]


async def test_an_empty_ended_turn_is_nudged_once(bench: Bench) -> None:
    bench.claude.script("kettle", [Turn(), say("Sorry about the kettle.")])
    await bench.open(WORDS)
    assert texts(bench.request()["messages"][-1]) == [
        "<harness>Write the reply to the customer now.</harness>"
    ]
    assert (await bench.run()).reply == "Sorry about the kettle."


async def test_a_second_empty_turn_is_handed_off(bench: Bench) -> None:
    bench.claude.script("kettle", [Turn(), Turn(), say("Too late.")])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.steps, run.reply) == ("handed_off", 2, None)
    assert [each.text for each in bench.shown(Handoff)] == [COLLEAGUE]


async def test_an_empty_turn_behind_a_tool_result_is_nudged_after_the_result(bench: Bench) -> None:
    bench.claude.script("kettle", [call("get_order", order_id="4502"), Turn(), say("Done.")])
    await bench.open(WORDS)
    assert (await bench.run()).reply == "Done."


async def test_a_usable_turn_between_two_empty_ones_earns_a_second_nudge(bench: Bench) -> None:
    bench.claude.script("kettle", [Turn(), ask("Which kettle?"), Turn(), say("Done.")])
    await bench.open(WORDS)
    await bench.says("The green one.")
    await bench.go()
    assert (await bench.run()).reply == "Done."


async def test_the_text_of_an_earlier_turn_is_never_taken_for_the_reply(bench: Bench) -> None:
    looking = calls(say("Let me look that up for you."), call("get_order", order_id="4502"))
    bench.claude.script("kettle", [looking, Turn(), Turn()])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.reply) == ("handed_off", None)
    assert not any("look that up" in str(each.content) for each in bench.posts)


async def test_tool_use_without_a_call_is_nudged_once_then_handed_off(bench: Bench) -> None:
    nothing = Turn(content=["I will call a tool."], stop_reason="tool_use")
    bench.claude.script("kettle", [nothing, nothing])
    await bench.open(WORDS)
    assert "no usable call" in texts(bench.request()["messages"][-1])[0]
    run = await bench.run()
    assert (run.status, run.steps) == ("handed_off", 2)


async def test_of_a_cut_turn_no_call_is_executed_though_it_looks_complete(bench: Bench) -> None:
    cut = Turn(
        content=[*propose(899, "4502").content, *call("get_order", order_id="4502").content],
        stop_reason="max_tokens",
    )
    bench.claude.script("kettle", [cut, say("Sorry.")])
    await bench.open(WORDS)
    assert await bench.refunds("4502") == []
    answers = results(await bench.messages())
    assert [each["tool_use_id"] for each in answers] == [
        block["id"] for block in blocks((await bench.messages())[1]) if block["type"] == "tool_use"
    ]
    assert all(each["is_error"] and "cut off" in each["content"] for each in answers)
    [step, _] = await bench.trace("step")
    noted = {each["call_id"]: each["is_error"] for each in await bench.trace("result")}
    assert noted == {each["id"]: True for each in step["calls"]}


async def test_a_cut_reply_is_asked_for_again_with_twice_the_room(bench: Bench) -> None:
    half = Turn(content=["Dear customer, your"], stop_reason="max_tokens")
    bench.claude.script("kettle", [half, say("Dear customer, all is well.")])
    await bench.open(WORDS)
    assert [each.body["max_tokens"] for each in bench.answered if each.body] == [4096, 8192]
    assert "shorter" in texts(bench.request()["messages"][-1])[0]
    assert [each.text for each in bench.shown(Reply)] == ["Dear customer, all is well."]


async def test_after_a_whole_turn_the_room_is_the_usual_again(bench: Bench) -> None:
    half = Turn(content=["Dear"], stop_reason="max_tokens")
    bench.claude.script(
        "kettle", [half, call("get_order", order_id="4502"), half, say("All is well.")]
    )
    await bench.open(WORDS)
    room = [each.body["max_tokens"] for each in bench.answered if each.body]
    assert room == [4096, 8192, 4096, 8192]
    assert (await bench.run()).status == "done"


async def test_cut_twice_in_a_row_is_handed_off(bench: Bench) -> None:
    half = Turn(content=["Dear customer, your"], stop_reason="max_tokens")
    bench.claude.script("kettle", [half, half, say("Too late.")])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.steps) == ("handed_off", 2)
    assert bench.shown(Reply) == []


async def test_a_paused_turn_is_sent_back_and_goes_on(bench: Bench) -> None:
    bench.claude.script(
        "kettle", [Turn(content=["Hm."], stop_reason="pause_turn"), say("All is well.")]
    )
    await bench.open(WORDS)
    sent = bench.request()["messages"]
    assert [each["role"] for each in sent] == ["user", "assistant"]
    assert sent[1]["content"] == (await bench.messages())[1]["content"]
    assert [each.text for each in bench.shown(Reply)] == ["All is well."]


async def test_a_paused_turn_with_a_call_is_not_executed_and_gets_its_result(bench: Bench) -> None:
    paused = Turn(content=propose(899, "4502").content, stop_reason="pause_turn")
    bench.claude.script("kettle", [paused, say("All is well.")])
    await bench.open(WORDS)
    [result] = results(bench.request()["messages"])
    assert "not executed" in result["content"]
    assert await bench.refunds("4502") == []
    assert (await bench.run()).reply == "All is well."


async def test_a_refusal_is_handed_off_at_once_with_its_category_for_staff(bench: Bench) -> None:
    refused = refuse("cyber")
    bench.claude.script(
        "kettle",
        [Turn(content=propose(899, "4502").content, stop_reason="refusal", raw=refused.raw)],
    )
    await bench.open(WORDS)
    [handoff] = bench.shown(Handoff)
    assert "cyber" in handoff.reason
    assert "cyber" not in handoff.text
    assert await bench.refunds("4502") == []
    assert len(bench.answered) == 1


async def test_after_a_payment_a_refusal_still_tells_the_customer_what_was_paid(
    bench: Bench,
) -> None:
    bench.claude.script("kettle", [propose(899, "4502"), refuse()])
    await bench.open(WORDS)
    [row] = await bench.refunds("4502")
    [handoff] = bench.shown(Handoff)
    assert row.status == "paid"
    assert handoff.text == (
        f"Your refund of ₹899.00 was issued, reference {row.reference}, arrives in 5–7 days."
        f"\n\n{COLLEAGUE}"
    )


@pytest.mark.parametrize("reason", ["model_context_window_exceeded", "stop_sequence", "odd", None])
async def test_for_any_other_reason_nothing_is_executed_and_a_person_takes_over(
    bench: Bench, reason: str | None
) -> None:
    content = [*say("Your refund is done.").content, *propose(899, "4502").content]
    bench.claude.script("kettle", [Turn(content=content, raw={"stop_reason": reason})])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.steps) == ("handed_off", 1)
    assert await bench.refunds("4502") == []
    assert bench.shown(Reply) == []
    [step] = await bench.trace("step")
    assert step["stop_reason"] == reason


# Turns that the API would refuse to take back --------------------------------------------------

GET = {"type": "tool_use", "name": "get_order", "input": {"order_id": "4502"}}
ODD_TURNS: dict[str, Turn] = {
    "no content": Turn(raw={"content": [], "stop_reason": "tool_use"}),
    "no content at the end": Turn(raw={"content": [], "stop_reason": "end_turn"}),
    "an empty text": Turn(content=["  ", Call(name="get_order", input={"order_id": "4502"})]),
    "two calls with one id": Turn(content=[{**GET, "id": "toolu_1"}, {**GET, "id": "toolu_1"}]),
    "an input that is no object": Turn(
        content=[Call(name="get_order", input=["4502"])], unchecked=True
    ),
    "a number too large for a request": Turn(
        content=[Call(name="get_order", input={"order_id": float("inf")})], unchecked=True
    ),
    "a call without an id": Turn(content=[GET], stop_reason="tool_use"),
    "a name that no tool can have": Turn(
        content=[{**GET, "id": "toolu_1", "name": "functions.get_order"}], stop_reason="tool_use"
    ),
}


@pytest.mark.parametrize("odd", ODD_TURNS.values(), ids=ODD_TURNS.keys())
async def test_a_turn_that_the_api_would_refuse_is_nudged_and_not_sent_back(
    bench: Bench, odd: Turn
) -> None:
    # The odd turn is not in the conversation, so the script's first turn is asked for again.
    turns = iter([odd, say("All is well.")])
    bench.claude.script("kettle", [lambda _: next(turns)])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.reply, run.steps) == ("done", "All is well.", 2)
    assert [each["role"] for each in await bench.messages()] == ["user", "user", "assistant"]
    assert len(await bench.trace("odd_turn")) == 1
    assert results(await bench.messages()) == []


@pytest.mark.parametrize("odd", ODD_TURNS.values(), ids=ODD_TURNS.keys())
async def test_a_second_such_turn_is_handed_off(bench: Bench, odd: Turn) -> None:
    bench.claude.script("kettle", [odd])
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.steps) == ("handed_off", 2)
    assert [each["role"] for each in await bench.messages()] == ["user", "user"]


def test_a_turn_that_utf_8_can_not_hold_can_not_be_sent_back() -> None:
    assert unsendable([{"type": "text", "text": "Half an emoji: \ud83d"}], []) is not None
    assert unsendable([{"type": "text", "text": "A whole one: \U0001f600"}], []) is None


async def test_a_call_id_of_an_earlier_turn_is_not_taken_again(bench: Bench) -> None:
    again = Turn(content=[{**GET, "id": "toolu_1"}], stop_reason="tool_use")
    turns = iter([again, say("All is well.")])
    bench.claude.script("kettle", [again, lambda _: next(turns)])
    await bench.open(WORDS)
    assert (await bench.run()).reply == "All is well."
    assert len(results(await bench.messages())) == 1


async def test_blocks_and_fields_that_nobody_knows_are_kept_and_sent_back_exactly(
    bench: Bench,
) -> None:
    strange: dict[str, Any] = {
        "type": "new_thing",
        "deep": {"null": None, "number": 1.50, "text": "a\u2028b ‹é›", "list": [[], {}]},
    }
    looking = call("get_order", order_id="4502").content
    bench.claude.script(
        "kettle",
        [
            Turn(
                content=[strange, {"type": "text", "text": "x", "new_field": [1]}, *looking],
                thinking="deep thoughts",
            ),
            say("Done."),
        ],
    )
    await bench.open(WORDS)
    received = bench.answered[0].message
    assert received is not None
    stored = (await bench.messages())[1]
    assert stored == {"role": "assistant", "content": received["content"]}
    assert bench.request()["messages"][1] == stored
    assert stored["content"][0]["type"] == "thinking"
    assert stored["content"][1] == strange
