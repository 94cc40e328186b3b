"""When Claude gives no usable answer: what is tried again, when, and what it costs."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable
from decimal import Decimal

import pytest

from agent.case import Handoff, Line, Reply
from agent.claude import Claude
from agent.loop import SLOW
from agent.run import Run, Usage
from bot.local.claude import Faults, Turn, call, say
from tests.agent.bench import Bench, propose

WORDS = "The kettle from order 4502 arrived cracked."
HOUR = 3600.0

Break = Callable[[Faults], None]

TEMPORARY: dict[str, tuple[Break, str]] = {
    "429": (lambda faults: faults.rate_limited(), "429"),
    "500": (lambda faults: faults.server_error(), "500"),
    "504": (lambda faults: faults.server_error(status=504), "504"),
    "529": (lambda faults: faults.overloaded(), "529"),
    "408": (lambda faults: faults.error(408, "timeout_error", "Timed out"), "408"),
    "409": (lambda faults: faults.error(409, "conflict_error", "Conflict"), "409"),
    "cut": (lambda faults: faults.cut(), "connection"),
    "html": (lambda faults: faults.not_json(), "not a message"),
    "html that says so": (
        lambda faults: faults.not_json(content_type="text/html"),
        "not a message",
    ),
}
MAYBE_CHARGED = {"cut", "html", "html that says so"}
FINAL: dict[str, Break] = {
    "400": lambda faults: faults.error(400, "invalid_request_error", "messages: odd"),
    "401": lambda faults: faults.error(401, "authentication_error", "invalid x-api-key"),
    "402": lambda faults: faults.error(402, "billing_error", "Payment required"),
    "403": lambda faults: faults.error(403, "permission_error", "Not allowed"),
    "404": lambda faults: faults.error(404, "not_found_error", "model: gone"),
    "413": lambda faults: faults.error(413, "request_too_large", "Too large"),
    "no credit": lambda faults: faults.credit_exhausted(),
}


@pytest.fixture
def kettle(bench: Bench) -> Bench:
    bench.claude.script("kettle", [call("get_order", order_id="4502"), say("All is well.")])
    return bench


@pytest.mark.parametrize("name", TEMPORARY)
async def test_what_is_temporary_parks_the_run_and_is_tried_again(kettle: Bench, name: str) -> None:
    fail, what = TEMPORARY[name]
    fail(kettle.claude.faults)
    await kettle.open(WORDS)
    run = await kettle.run()
    assert (run.status, run.steps) == ("running", 0)
    assert run.failing_since is not None
    assert run.retry_at == pytest.approx(run.failing_since + 5)
    [attempt] = await kettle.trace("attempt")
    assert (attempt["error"], attempt["step"]) == (what, 1)
    charged = Decimal(attempt["estimated_cost_usd"])
    assert (charged > 0) == (name in MAYBE_CHARGED)
    assert run.cost_usd == charged

    await kettle.go_after(5)
    run = await kettle.run()
    assert (run.status, run.steps, run.failures, run.failing_since) == ("done", 2, 0, None)
    assert run.cost_usd == charged + sum(each.cost_usd for each in kettle.answered)


async def test_a_half_received_body_is_never_used_as_a_turn(kettle: Bench) -> None:
    kettle.claude.faults.cut()
    await kettle.open(WORDS)
    assert len(await kettle.messages()) == 1
    assert await kettle.trace("step") == []


@pytest.mark.parametrize("usage", [None, [], {"input_tokens": 1}, {"cache_creation": "none"}])
async def test_an_answer_without_a_usage_to_count_is_never_used_as_a_turn(
    bench: Bench, usage: object
) -> None:
    turns = iter([Turn(content=["Half."], raw={"usage": usage}), say("All is well.")])
    bench.claude.script("kettle", [lambda _: next(turns)])
    await bench.open(WORDS)
    [attempt] = await bench.trace("attempt")
    assert (attempt["error"], attempt["temporary"]) == ("not a message", True)
    await bench.go_after(5)
    assert [each.text for each in bench.shown(Reply)] == ["All is well."]


async def test_a_request_that_was_never_sent_costs_nothing(bench: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        bench.client = Claude(api_key="sk-ant-local", base_url=base_url, max_retries=0)
        bench.connections.push_async_callback(bench.client.close)
        await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.failures, run.cost_usd) == ("running", 1, 0)
    [attempt] = await bench.trace("attempt")
    assert attempt["error"] == "connection"


async def test_a_call_has_a_deadline_of_its_own_whatever_retry_after_says(kettle: Bench) -> None:
    kettle.connect(deadline_seconds=0.2, max_retries=2)
    kettle.claude.faults.rate_limited(retry_after=30)
    await kettle.open(WORDS)
    [attempt] = await kettle.trace("attempt")
    assert attempt["error"] == "deadline"
    kettle.connect()
    await kettle.go_after(5)
    assert (await kettle.run()).status == "done"


async def test_an_answer_that_never_comes_is_given_up_at_the_deadline(kettle: Bench) -> None:
    kettle.connect(deadline_seconds=0.2)
    kettle.claude.faults.hang()
    await kettle.open(WORDS)
    run = await kettle.run()
    assert (run.status, run.failures) == ("running", 1)
    assert run.cost_usd > 0
    assert 0.1 < run.working_seconds < 5


async def test_the_sdk_makes_the_fast_retries_and_they_are_no_attempt_of_ours(
    kettle: Bench,
) -> None:
    kettle.connect(max_retries=2)
    kettle.claude.faults.overloaded()
    await kettle.open(WORDS)
    run = await kettle.run()
    assert (run.status, run.steps) == ("done", 2)
    assert await kettle.trace("attempt") == []
    assert len(kettle.claude.requests) == 3


async def test_the_pauses_grow_until_a_person_takes_over_after_four_hours(
    kettle: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    kettle.claude.faults.overloaded(seconds=10 * HOUR)
    await kettle.open(WORDS)
    began = kettle.clock()
    waits: list[float] = []
    while (run := await kettle.run()).status == "running":
        assert run.retry_at is not None
        waits.append(run.retry_at - kettle.clock())
        kettle.clock.seconds = run.retry_at
        await kettle.go()
    assert [round(each) for each in waits[:5]] == [5, 15, 45, 120, 120]
    assert {round(each) for each in waits[3:]} == {120}
    assert 4 * HOUR <= kettle.clock() - began < 4 * HOUR + 130
    assert (run.status, run.steps, run.cost_usd) == ("handed_off", 0, 0)
    assert len(kettle.shown(Handoff)) == 1
    assert any(each.levelno == logging.ERROR for each in caplog.records)


async def test_before_its_time_nothing_is_tried_again(kettle: Bench) -> None:
    kettle.claude.faults.overloaded()
    await kettle.open(WORDS)
    await kettle.go_after(4.9)
    await kettle.says("Are you there?")
    await kettle.go()
    assert len(kettle.claude.requests) == 1
    await kettle.go_after(0.1)
    assert (await kettle.run()).status == "done"
    assert kettle.request(0)["messages"][-1]["content"] == [
        {"type": "text", "text": "Are you there?"}
    ]


async def test_the_thread_gets_one_calm_line_in_all_and_not_in_the_first_minute(
    kettle: Bench,
) -> None:
    kettle.claude.faults.overloaded(seconds=300)
    await kettle.open(WORDS)
    for wait in (5, 15, 39):
        await kettle.go_after(wait)
        assert kettle.shown(Line) == []
    await kettle.go_after(6)
    assert [each.text for each in kettle.shown(Line)] == [SLOW]
    await kettle.go_after(120)
    await kettle.go_after(120)
    assert (await kettle.run()).status == "done"
    assert len(kettle.shown(Line)) == 1


async def test_a_second_outage_in_the_same_run_says_nothing_more(bench: Bench) -> None:
    bench.claude.script(
        "kettle", [call("ask_customer", question="Which kettle?"), say("All is well.")]
    )
    for outage in (lambda: bench.open(WORDS), lambda: bench.says("The green one.")):
        bench.claude.faults.overloaded(times=4)
        await outage()
        for wait in (0, 5, 15, 45, 120):
            await bench.go_after(wait)
    run = await bench.run()
    assert (run.status, run.failures, run.steps) == ("done", 0, 2)
    assert len(bench.shown(Line)) == 1


async def test_a_lost_call_is_charged_by_estimate_once_for_each_step(bench: Bench) -> None:
    bench.claude.script("kettle", [call("get_order", order_id="4502"), say("All is well.")])
    bench.claude.faults.cut(times=3)
    await bench.open(WORDS)
    after_one = (await bench.run()).cost_usd
    assert after_one > 0
    await bench.go_after(5)
    await bench.go_after(15)
    run = await bench.run()
    assert (run.failures, run.cost_usd) == (3, after_one)


async def test_a_lost_call_of_the_next_step_is_charged_again(bench: Bench) -> None:
    bench.claude.script(
        "kettle",
        [call("ask_customer", question="Which one?"), call("get_order", order_id="4502"), say("x")],
    )
    bench.claude.faults.cut()
    await bench.open(WORDS)
    await bench.go_after(5)
    before = await bench.run()
    await bench.says("The green one.")
    bench.claude.faults.cut()
    await bench.go()
    run = await bench.run()
    assert (run.steps, run.failures) == (1, 1)
    assert run.cost_usd > before.cost_usd


async def test_counters_never_go_back_while_calls_fail(bench: Bench) -> None:
    bench.claude.script("kettle", [call("ask_customer", question="Which one?"), say("Done.")])
    await bench.open(WORDS)
    before = counters(await bench.run())
    bench.claude.faults.server_error(times=2)
    await bench.says("The green one.")
    for wait in (0, 5, 15):
        await bench.go_after(wait)
        after = counters(await bench.run())
        assert all(new >= old for new, old in zip(after, before, strict=True))
        before = after
    assert (await bench.run()).status == "done"


@pytest.mark.parametrize("name", FINAL)
async def test_what_can_not_succeed_by_repeating_is_handed_off_at_once(
    kettle: Bench, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    FINAL[name](kettle.claude.faults)
    await kettle.open(WORDS)
    run = await kettle.run()
    assert (run.status, run.steps, run.cost_usd) == ("handed_off", 0, 0)
    [handoff] = kettle.shown(Handoff)
    assert "operators know" in handoff.reason
    assert any(each.levelno == logging.ERROR for each in caplog.records)

    await kettle.says("Hello? Anybody?")
    await kettle.go_after(HOUR)
    assert len(kettle.claude.requests) == 1


async def test_after_it_was_given_back_a_new_run_starts_with_new_counters(kettle: Bench) -> None:
    kettle.claude.faults.credit_exhausted()
    await kettle.open(WORDS)
    first = await kettle.run()
    await kettle.give_back()
    await kettle.go()
    run = await kettle.run()
    assert run.run_id != first.run_id
    assert (run.status, run.steps) == ("done", 2)
    assert kettle.claude.requests[0].body is not None
    assert kettle.claude.requests[0].body["messages"] != kettle.request(0)["messages"]


async def test_after_a_payment_a_lasting_refusal_still_tells_what_was_paid(bench: Bench) -> None:
    bench.claude.script(
        "kettle", [propose(899, "4502"), call("ask_customer", question="Where to?"), say("x")]
    )
    await bench.open(WORDS)
    bench.claude.faults.credit_exhausted()
    await bench.says("To my card.")
    await bench.go()
    assert "Your refund of ₹899.00 was issued" in bench.shown(Handoff)[-1].text
    assert bench.shown(Reply) == []


async def test_what_went_wrong_is_in_the_log_and_no_words_of_people_are(
    kettle: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="casethread")
    kettle.claude.faults.server_error()
    await kettle.open(WORDS)
    await kettle.go_after(5)
    lines = [
        json.loads(each.getMessage()) for each in caplog.records if each.name.endswith("trace")
    ]
    assert [each["kind"] for each in lines] == ["start", "attempt", "step", "result", "step", "end"]
    assert lines[2]["calls"] == ["get_order"]
    assert "kettle" not in caplog.text
    assert "4502" not in caplog.text


def counters(run: Run) -> tuple[int, Decimal, float, int, int]:
    usage: Usage = run.usage
    return run.steps, run.cost_usd, run.working_seconds, usage.output, run.message_count
