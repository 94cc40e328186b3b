"""Something from outside right before any write of a worker: before its effect, or behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

from agent.case import Handoff, Question, Reply
from agent.run import Json
from bot.local.claude import call, say
from tests.agent.bench import Bench, ask, propose, results
from tests.agent.worlds import Fate, Worlds

WORDS = "The kettle from order 4502 arrived cracked."
ADDED = "By the way, the green one."


async def each_moment(
    worlds: Worlds, happens: Callable[[Bench], Awaitable[object]]
) -> AsyncGenerator[Bench]:
    """The same case again and again, up to its first rest: it happens before the first write, the
    second, and so on to the last one that an undisturbed worker makes."""
    undisturbed = Fate(None)
    async with worlds.new(undisturbed) as bench:
        await bench.open(WORDS)
    assert undisturbed.writes >= 3
    for number in range(undisturbed.writes):
        fate = Fate(number)
        async with worlds.new(fate) as bench:

            async def happen(bench: Bench = bench) -> None:
                await happens(bench)

            fate.before = happen
            await bench.open(WORDS)
            yield bench


async def adds(bench: Bench) -> None:
    await bench.says(ADDED)


def before_the_first_turn(messages: list[Json]) -> str:
    first = next(n for n, each in enumerate(messages) if each["role"] == "assistant")
    return str(messages[:first])


async def test_words_before_the_end_is_saved_are_answered_in_the_same_run(worlds: Worlds) -> None:
    worlds.claude.script("kettle", [say("Too early."), say("The green one, then.")])
    async for bench in each_moment(worlds, adds):
        messages = await bench.messages()
        assert str(messages).count(ADDED) == 1
        assert messages[-1]["role"] == "assistant"
        assert len((await bench.case()).run_ids) == 1
        early = ADDED in before_the_first_turn(messages)
        told = "Too early." if early else "The green one, then."
        assert [each.text for each in bench.shown(Reply)] == [told]


async def test_words_before_the_pause_is_saved_are_the_answer_and_nothing_is_asked(
    worlds: Worlds,
) -> None:
    worlds.claude.script("kettle", [ask("Which one?"), say("The green one, then.")])
    async for bench in each_moment(worlds, adds):
        messages = await bench.messages()
        assert str(messages).count(ADDED) == 1
        if ADDED in before_the_first_turn(messages):
            assert len(bench.shown(Question)) == 1
            continue
        assert bench.shown(Question) == []
        assert ADDED in str(results(messages)[0]["content"])
        assert (await bench.run()).status == "done"


async def test_a_take_over_at_any_moment_ends_the_run_and_tells_what_was_paid(
    worlds: Worlds,
) -> None:
    worlds.claude.script(
        "kettle", [call("get_order", order_id="4502"), propose(899, "4502"), say("Never said.")]
    )
    paid: list[bool] = []
    async for bench in each_moment(worlds, Bench.take_over):
        assert (await bench.run()).status == "handed_off"
        assert bench.shown(Reply) == []
        amounts = await bench.payouts()
        assert amounts in ([], [89_900])
        assert [each.status for each in await bench.refunds("4502")] == ["paid"] * len(amounts)
        [handoff] = bench.shown(Handoff)
        assert ("Your refund of ₹899.00 was issued" in handoff.text) == bool(amounts)
        paid.append(bool(amounts))
    assert paid == sorted(paid)
    assert set(paid) == {False, True}
