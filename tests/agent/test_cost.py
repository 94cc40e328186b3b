"""What a run costs, by the seed trace's token counts and the local Claude's own accounting."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from bot.local.claude import Turn, call, say
from tests.agent.bench import Bench, ask, propose

UNCACHED_USD = Decimal("0.0534")
WORDS = "My Bluetooth speaker, order 4471, arrived broken."


def seed_turns() -> Sequence[Turn]:
    return [
        call("get_order", order_id="4471").using(input=1000, output=180),
        ask("A photo, please?").using(input=1350, output=150),
        call("search_policies", query="damaged photo").using(input=1900, output=220),
        propose().using(input=2200, output=200),
        say("Your refund is on its way.").using(input=2450, output=140),
    ]


async def seed_run(bench: Bench, *, answered_after: float, decided_after: float) -> Decimal:
    """The seed trace after another run of the same agent; what it cost, as billed."""
    bench.claude.script("warm", [say("Hello.")])
    await bench.open("warm")
    bench.claude.script("Bluetooth speaker", seed_turns())
    await bench.says(WORDS)
    await bench.go()
    bench.clock.go_on(answered_after)
    await bench.says("Here.", photos=["p1"])
    await bench.go()
    bench.clock.go_on(decided_after)
    await bench.decide("approve")
    await bench.go()
    run = await bench.run()
    account = bench.claude.account("Bluetooth speaker")
    assert (run.status, run.steps, account.calls) == ("done", 5, 5)
    assert run.cost_usd == account.cost_usd
    assert round(account.uncached_cost_usd, 4) == UNCACHED_USD
    return account.cost_usd


async def test_with_a_warm_prefix_and_short_pauses_it_is_at_most_60_percent(bench: Bench) -> None:
    cost = await seed_run(bench, answered_after=240, decided_after=240)
    assert cost <= UNCACHED_USD * Decimal("0.60")


async def test_with_the_real_pauses_it_is_still_less_than_without_caching(bench: Bench) -> None:
    cost = await seed_run(bench, answered_after=40 * 60, decided_after=2 * 3600)
    assert cost < UNCACHED_USD


async def test_the_trace_shows_cached_and_uncached_tokens_of_each_step(bench: Bench) -> None:
    await seed_run(bench, answered_after=60, decided_after=60)
    steps = await bench.trace("step")
    assert [
        each["input_tokens"] + each["cache_read_tokens"] + each["cache_write_tokens"]
        for each in steps
    ] == [1000, 1350, 1900, 2200, 2450]
    assert all(each["cache_read_tokens"] > 0 for each in steps)
    assert Decimal(steps[-1]["total_cost_usd"]) == (await bench.run()).cost_usd
