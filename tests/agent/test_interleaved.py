"""Something from outside right before any write of a worker: before its effect, or behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from agent.approval import LeadDecision
from agent.case import Approval, Handoff, PrivateLine, Question, Reply
from agent.errors import LeaseLost
from agent.harness import request_of
from agent.run import Json
from bot.local.claude import Turn, call, say
from tests.agent.bench import LEASE_SECONDS, Bench, ask, propose, results
from tests.agent.worlds import Fate, Killed, Worlds

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
    assert undisturbed.writes >= 2
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


SLOW = "The speaker from order 4471 arrived broken."


def script_a_refund(worlds: Worlds) -> None:
    worlds.claude.script("speaker", [propose(), say("It is on its way.")])


async def test_who_stood_still_before_deciding_decides_nothing_that_another_denied(
    worlds: Worlds,
) -> None:
    script_a_refund(worlds)
    fate = Fate(None)
    async with worlds.new(fate) as bench:

        async def overtaken() -> None:
            bench.standing["priya"] = "unknown"
            await bench.go_after(LEASE_SECONDS + 1)

        await bench.open(SLOW)
        await bench.decide("approve")
        fate.name, fate.before = "decide", overtaken
        with pytest.raises(LeaseLost):
            await bench.go()
        assert "Nothing was decided" in bench.shown(PrivateLine)[-1].text
        [row] = await bench.refunds("4471")
        assert row.status == "waiting"

        fate.before = None
        bench.standing["priya"] = "approver"
        await bench.decide("approve")
        await bench.go()
        assert await bench.payouts() == [249_900]
        assert (await bench.run()).status == "done"


@pytest.mark.parametrize("stands_still_before", ["hold", "show_anew"])
async def test_who_stood_still_over_an_open_card_leaves_it_as_another_shows_it(
    worlds: Worlds, stands_still_before: str
) -> None:
    script_a_refund(worlds)
    fate = Fate(None)
    async with worlds.new(fate) as bench:

        async def overtaken() -> None:
            await bench.delete(said)
            await bench.go_after(LEASE_SECONDS + 1)

        await bench.open(SLOW)
        said = await bench.says("The blue one.")
        fate.name, fate.before = stands_still_before, overtaken
        with pytest.raises(LeaseLost):
            await bench.go()
        await bench.decide("approve")
        await bench.go()
        assert (await bench.run()).status == "done"


async def test_a_decision_found_while_words_are_put_on_the_card_is_carried_out_at_once(
    worlds: Worlds,
) -> None:
    script_a_refund(worlds)
    fate = Fate(None)
    async with worlds.new(fate) as bench:

        async def decided_elsewhere() -> None:
            run = await bench.run()
            assert run.pending is not None
            decision = LeadDecision(
                decision_id="elsewhere",
                version=bench.card.version,
                digest=bench.card.digest,
                verdict="approve",
                by="priya",
                at=bench.clock(),
            )
            request = request_of(run, run.pending, token=9)
            await bench.harness.approvals().decide(request, decision)

        await bench.open(SLOW)
        await bench.says("The blue one.")
        fate.name, fate.before = "show_anew", decided_elsewhere
        await bench.go()
        assert await bench.payouts() == [249_900]
        assert (await bench.run()).status == "done"
        assert str(await bench.messages()).count("The blue one.") == 1


async def signals_take_over(bench: Bench) -> None:
    await bench.take_over()


async def signals_deletion(bench: Bench) -> None:
    await bench.delete((await bench.case()).case_id.rpartition(":")[2], first=True)


SIGNS = pytest.mark.parametrize(
    "signals", [signals_take_over, signals_deletion], ids=["take-over", "deletion"]
)


@SIGNS
@pytest.mark.parametrize("amount", [2499, 500], ids=["for a lead", "automatic"])
async def test_an_effect_whose_owner_died_before_it_had_a_row_is_not_begun_behind_a_stop_sign(
    worlds: Worlds, signals: Callable[[Bench], Awaitable[None]], amount: int
) -> None:
    worlds.claude.script("speaker", [propose(amount), say("Never said.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def dies() -> None:
            raise Killed

        fate.before = dies
        with pytest.raises(Killed):
            await bench.open(SLOW)
        await signals(bench)
        await bench.go_after(LEASE_SECONDS + 1)
        run = await bench.run()
        assert (run.status, run.receipts) == ("handed_off", ())
        assert [each.status for each in await bench.refunds("4471")] == ["withdrawn"]
        assert bench.shown(Approval) == []
        [result] = results(await bench.messages())
        assert result["is_error"]
        assert len(bench.answered) == 1


@SIGNS
async def test_an_owner_that_only_stood_still_does_not_begin_it_either(
    worlds: Worlds, signals: Callable[[Bench], Awaitable[None]]
) -> None:
    worlds.claude.script("speaker", [propose(500), say("Never said.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def overtaken() -> None:
            await signals(bench)
            await bench.go_after(LEASE_SECONDS + 1)

        fate.before = overtaken
        with pytest.raises(LeaseLost):
            await bench.open(SLOW)
        assert await bench.payouts() == []
        assert [each.status for each in await bench.refunds("4471")] == ["withdrawn"]


@SIGNS
async def test_an_effect_that_has_its_row_is_carried_through_before_a_stop_sign(
    worlds: Worlds, signals: Callable[[Bench], Awaitable[None]]
) -> None:
    worlds.claude.script("speaker", [propose(500), say("Never said.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def dies() -> None:
            raise Killed

        fate.after = dies
        with pytest.raises(Killed):
            await bench.open(SLOW)
        await signals(bench)
        await bench.go_after(LEASE_SECONDS + 1)
        assert await bench.payouts() == [50_000]
        run = await bench.run()
        assert run.status == "handed_off"
        assert "was issued" in run.receipts[0]


async def test_what_a_stop_sign_kept_from_running_is_no_way_past_it_for_the_next_effect(
    worlds: Worlds,
) -> None:
    two = Turn(content=[*propose(500).content, *propose(300, "4502").content])
    worlds.claude.script("speaker", [two, say("Never said.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def dies() -> None:
            raise Killed

        fate.before = dies
        with pytest.raises(Killed):
            await bench.open(SLOW)
        await bench.take_over()
        await bench.go_after(LEASE_SECONDS + 1)
        assert await bench.payouts() == []
        assert await bench.refunds("4502") == []


async def test_a_reply_is_no_stop_sign_for_an_effect_that_was_started(worlds: Worlds) -> None:
    worlds.claude.script("speaker", [propose(500), say("It is on its way.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def dies() -> None:
            raise Killed

        fate.before = dies
        with pytest.raises(Killed):
            await bench.open(SLOW)
        await bench.says(ADDED)
        await bench.delete(await bench.says("And the red one."))
        await bench.wrong_customer()
        await bench.go_after(LEASE_SECONDS + 1)
        assert await bench.payouts() == [50_000]


async def test_who_stood_still_before_going_on_with_an_effect_finds_out_before_it_acts(
    worlds: Worlds,
) -> None:
    worlds.claude.script("speaker", [propose(500), say("It is on its way.")])
    fate = Fate(None, name="propose")
    async with worlds.new(fate) as bench:

        async def dies() -> None:
            raise Killed

        async def overtaken() -> None:
            assert fate.writes == before + 1, "something was done before the save"
            await bench.go_after(LEASE_SECONDS + 1)
            made.append(fate.writes)

        made: list[int] = []
        fate.after = dies
        with pytest.raises(Killed):
            await bench.open(SLOW)
        bench.clock.go_on(LEASE_SECONDS + 1)
        fate.after, fate.before, fate.name = None, overtaken, "save"
        before = fate.writes
        with pytest.raises(LeaseLost):
            await bench.go()
        assert made == [fate.writes]
        assert await bench.payouts() == [50_000]
        assert (await bench.run()).status == "done"
