"""The limits of one run, over all its resumes: what they end, and what people are told."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import SimpleNamespace

import pytest

from agent import Agent, Context, ask_customer, calls, tool
from agent.case import Handoff
from agent.endings import COLLEAGUE
from agent.limits import Limits
from bot.local.claude import ScriptedTurn, call, say
from tests.agent.bench import MODEL, Bench, ask, propose

WORDS = "The kettle from order 4502 arrived cracked."


def looping(times: int) -> Sequence[ScriptedTurn]:
    return [call("get_order", order_id="4502")] * times


async def test_a_model_that_loops_on_one_tool_is_stopped_after_twelve_calls(bench: Bench) -> None:
    bench.claude.script("kettle", looping(20))
    await bench.open(WORDS)
    run = await bench.run()
    assert (run.status, run.steps, len(bench.answered)) == ("handed_off", 12, 12)
    [handoff] = bench.shown(Handoff)
    assert handoff.text == COLLEAGUE
    assert "12 model calls" in handoff.reason


async def test_the_cost_is_looked_at_before_the_next_call_is_made(bench: Bench) -> None:
    bench.limits = Limits(max_cost_usd=Decimal("0.05"))
    bench.claude.script("kettle", [each.using(input=5000, output=400) for each in [ask()] * 5])
    await bench.open(WORDS)
    for _ in range(4):
        await bench.says("The green one.")
        await bench.go()
    run = await bench.run()
    spent = [each.cost_usd for each in bench.answered]
    assert run.status == "handed_off"
    assert run.reason == "The limit of $0.05 was reached."
    assert run.cost_usd == sum(spent) >= Decimal("0.05") > sum(spent[:-1])


async def test_working_time_adds_up_over_the_resumes_of_a_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.limits = Limits(max_working_seconds=150)
    watch = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(calls, "time", SimpleNamespace(monotonic=lambda: watch.seconds))

    @tool
    async def slow(context: Context) -> str:
        """Takes its time."""
        watch.seconds += 100
        return "Slow."

    bench.agent = Agent(name="slow", prompt="Be slow.", tools=(slow, ask_customer), model=MODEL)
    bench.claude.script("kettle", [call("slow"), ask(), call("slow"), say("Too late.")])
    await bench.open(WORDS)
    assert (await bench.run()).status == "waiting_customer"
    await bench.says("The green one.")
    await bench.go_after(86_400)
    run = await bench.run()
    assert (run.status, run.steps) == ("handed_off", 3)
    assert "working minutes" in str(run.reason)


async def test_waiting_is_no_working_time(bench: Bench) -> None:
    bench.claude.script("kettle", [ask(), say("Done.")])
    await bench.open(WORDS)
    await bench.says("The green one.")
    await bench.go_after(86_400)
    run = await bench.run()
    assert run.status == "done"
    assert run.working_seconds < 60


async def test_steps_count_over_the_resumes_of_a_run(bench: Bench) -> None:
    bench.limits = Limits(max_steps=3)
    bench.claude.script("kettle", [ask()] * 5)
    await bench.open(WORDS)
    for _ in range(3):
        await bench.says("The green one.")
        await bench.go()
    run = await bench.run()
    assert (run.status, run.steps, len(bench.answered)) == ("handed_off", 3, 3)


async def test_a_later_request_in_the_thread_has_counters_of_its_own(bench: Bench) -> None:
    bench.limits = Limits(max_steps=1)
    bench.claude.script("kettle", [say("All is well.")])
    await bench.open(WORDS)
    await bench.says("And my kettle's lid?")
    await bench.go()
    run = await bench.run()
    assert (run.status, run.steps) == ("done", 1)
    assert len((await bench.case()).run_ids) == 2


async def test_at_a_limit_after_a_payment_the_customer_reads_what_was_paid(bench: Bench) -> None:
    bench.limits = Limits(max_steps=1)
    bench.claude.script("kettle", [propose(899, "4502"), say("Never said.")])
    await bench.open(WORDS)
    [handoff] = bench.shown(Handoff)
    assert handoff.text.startswith("Your refund of ₹899.00 was issued, reference CW")
    assert handoff.text.endswith(COLLEAGUE)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_steps=1),
        Limits(max_cost_usd=Decimal("0.0001")),
        Limits(max_working_seconds=0.0001),
    ],
    ids=["steps", "cost", "time"],
)
async def test_no_limit_cuts_short_what_the_last_allowed_turn_asked_for(
    bench: Bench, limits: Limits
) -> None:
    bench.limits = limits
    bench.claude.script("speaker", [propose(2499, "4471"), say("Never said.")])
    await bench.open("My speaker, order 4471, is broken.")
    assert (await bench.run()).status == "waiting_approval"
    await bench.decide("approve")
    await bench.go()
    [row] = await bench.refunds("4471")
    assert (row.status, (await bench.run()).status) == ("paid", "handed_off")
    assert f"reference {row.reference}" in bench.shown(Handoff)[-1].text
