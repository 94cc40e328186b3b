"""What is kept of each step, what readers see of it, and what the log may say."""

from __future__ import annotations

import json
import logging
from decimal import Decimal

import pytest

from agent.trace import steps
from bot.local.claude import Turn, call, calls, say
from tests.agent.bench import CASE, Bench, ask, propose

WORDS = "My Bluetooth speaker from order 4471 arrived broken."
GIVEN = (1000, 1350, 1900, 2200, 2450)
OUT = (180, 150, 220, 200, 140)


def seed_turns() -> list[Turn]:
    turns = [
        call("get_order", order_id="4471"),
        ask("Could you send a photo of the damage?"),
        call("search_policies", query="damaged electronics photo refund"),
        propose(),
        say("Your refund of ₹2,499.00 is on its way."),
    ]
    return [
        turn.using(input=given, output=out)
        for turn, given, out in zip(turns, GIVEN, OUT, strict=True)
    ]


async def seed_trace(bench: Bench) -> None:
    bench.claude.script("speaker", seed_turns())
    await bench.open(WORDS)
    await bench.says("Here it is.", photos=["F1"])
    await bench.go()
    await bench.decide("approve", note="Photo is clear.")
    await bench.go()


async def test_the_seed_trace_is_five_steps_with_sums_and_what_came_between(bench: Bench) -> None:
    await seed_trace(bench)
    run = await bench.run()
    entries = await bench.store.trace(run.run_id)
    assert [each["kind"] for each in steps(entries)] == [
        "start", "step", "step", "pause", "step", "step", "pause", "decision", "payment", "step",
        "end",
    ]  # fmt: skip
    told = [each for each in steps(entries) if each["kind"] == "step"]
    for entry, given, out in zip(told, GIVEN, OUT, strict=True):
        tokens = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
        assert sum(entry[name] for name in tokens) == given
        assert entry["output_tokens"] == out
    assert [each["step"] for each in told] == [1, 2, 3, 4, 5]
    assert Decimal(told[-1]["total_cost_usd"]) == run.cost_usd == bench.claude.cost_usd()
    assert [call["tool"] for each in told for call in each["calls"]] == [
        "get_order",
        "ask_customer",
        "search_policies",
        "propose_refund",
    ]
    assert all(call["is_error"] is False for each in told for call in each["calls"])
    assert [each["request_id"] for each in told] == [each.request_id for each in bench.answered]


async def test_with_caching_the_seed_trace_costs_clearly_less_than_without(bench: Bench) -> None:
    await seed_trace(bench)
    account = bench.claude.account()
    assert account.uncached_cost_usd == Decimal("0.0534")
    assert (await bench.run()).cost_usd < account.uncached_cost_usd * Decimal("0.9")


async def test_errors_are_shown_at_the_call_they_belong_to(bench: Bench) -> None:
    bench.claude.script(
        "speaker",
        [calls(call("get_order", order_id="4471"), call("get_order", order_id="0")), say("Done.")],
    )
    await bench.open(WORDS)
    entries = await bench.store.trace((await bench.run()).run_id)
    first = next(each for each in steps(entries) if each["kind"] == "step")
    assert [each["is_error"] for each in first["calls"]] == [False, True]


async def test_a_call_that_still_waits_has_no_result_yet(bench: Bench) -> None:
    bench.claude.script("speaker", [ask()])
    await bench.open(WORDS)
    entries = await bench.store.trace((await bench.run()).run_id)
    first = next(each for each in steps(entries) if each["kind"] == "step")
    assert [each["is_error"] for each in first["calls"]] == [None]


PRIVATE = ("4471", "Asha", "damaged", "send a photo", "Photo is clear", "₹")


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
async def test_peoples_words_and_inputs_are_in_the_log_only_at_debug_level(
    bench: Bench, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    caplog.set_level(level, logger="casethread.trace")
    await seed_trace(bench)
    lines = [each.getMessage() for each in caplog.records if each.name == "casethread.trace"]
    parsed = [json.loads(each) for each in lines]
    run = await bench.run()
    assert {each["run"] for each in parsed} == {run.run_id}
    assert [each["kind"] for each in parsed].count("step") == 5
    found = {word for word in PRIVATE if word in "\n".join(lines)}
    assert found == (set() if level == logging.INFO else {*PRIVATE})


async def test_an_odd_turn_is_in_the_log_without_its_content(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="casethread.trace")
    odd = Turn(content=[" ", *propose().content])
    bench.claude.script("speaker", [odd])
    await bench.open(WORDS)
    [first, _] = await bench.trace("odd_turn")
    assert "4471" in first["content"]
    assert "odd_turn" in caplog.text
    assert "4471" not in caplog.text


async def test_a_line_of_the_trace_never_names_the_case_of_another(bench: Bench) -> None:
    await seed_trace(bench)
    assert await bench.store.trace("run_of_nobody") == []
    assert (await bench.run()).case_id == CASE
