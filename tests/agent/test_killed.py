"""A worker that dies, or is only slow, at any write: one payment, and the same conversation.

Between two writes a worker only reads and asks the model, so dying right after each write is
dying everywhere. Whoever overtakes a slow worker goes on from the same place as after its death.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from agent.case import TookOver
from agent.errors import LeaseLost
from agent.run import Json
from bot.local.claude import ScriptedTurn, call, calls, say
from tests.agent.bench import CASE, LEASE_SECONDS, Bench, ask, propose
from tests.agent.worlds import Fate, Killed, Worlds

Act = Callable[[Bench], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Story:
    """What people do, one act after the other, each when the case rests; who says what."""

    acts: Sequence[Act]
    turns: Sequence[ScriptedTurn]
    orders: tuple[str, ...] = ("4471",)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What must be the same whatever happened on the way."""

    messages: list[Json]
    status: str
    runs: int
    steps: int
    posts: list[tuple[str, str, str | None]]
    refunds: list[tuple[str, int]]
    payouts: list[int]


async def ending(bench: Bench, story: Story) -> Ending:
    run = await bench.run()
    rows = [row for order in story.orders for row in await bench.refunds(order)]
    return Ending(
        messages=await bench.messages(),
        status=run.status,
        runs=len((await bench.case()).run_ids),
        steps=run.steps,
        posts=[(type(each.content).__name__, each.post_id, each.update_of) for each in bench.posts],
        refunds=[(row.status, row.amount_paise) for row in rows],
        payouts=await bench.payouts(),
    )


async def undisturbed(worlds: Worlds, story: Story) -> tuple[Ending, int]:
    """How it ends, and after how many writes."""
    fate = Fate(None)
    async with worlds.new(fate) as bench:
        for act in story.acts:
            await act(bench)
            await bench.go()
        return await ending(bench, story), fate.writes


async def killed(worlds: Worlds, story: Story, number: int) -> Ending:
    """The worker dies right after this write; another goes on when its lease is over."""
    fate = Fate(number)
    fate.after = die
    async with worlds.new(fate) as bench:
        for act in story.acts:
            await act(bench)
            try:
                await bench.go()
            except Killed:
                await bench.go_after(LEASE_SECONDS + 1)
        return await ending(bench, story)


async def killed_twice(worlds: Worlds, story: Story, number: int) -> Ending:
    """Like `killed`, and whoever takes over dies as well, right after its own first write."""
    fate = Fate(number)
    fate.after = die
    async with worlds.new(fate) as bench:
        for act in story.acts:
            await act(bench)
            try:
                await bench.go()
            except Killed:
                fate.number = fate.writes
                try:
                    await bench.go_after(LEASE_SECONDS + 1)
                except Killed:
                    await bench.go_after(LEASE_SECONDS + 1)
        return await ending(bench, story)


async def overtaken(worlds: Worlds, story: Story, number: int) -> Ending:
    """The worker stands still before this write until its lease is over and another has done all
    there is to do; then it goes on as if nothing had been."""
    fate = Fate(number)
    async with worlds.new(fate) as bench:

        async def stand_still() -> None:
            await bench.go_after(LEASE_SECONDS + 1)

        fate.before = stand_still
        for act in story.acts:
            await act(bench)
            try:
                await bench.go()
            except LeaseLost:
                await bench.go()
        return await ending(bench, story)


async def die() -> None:
    raise Killed


@pytest.fixture(autouse=True)
def same_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payment's reference is part of the conversation that is compared."""

    def same(size: int) -> str:
        return "a1" * size

    monkeypatch.setattr("storage.shop.payouts.secrets.token_hex", same)


async def opens(bench: Bench) -> None:
    await bench.says("My Bluetooth speaker from order 4471 arrived broken.", first=True)
    await bench.choose("cust_asha")


async def answers(bench: Bench) -> None:
    await bench.says("Here is the photo.", photos=["F1"])


async def approves(bench: Bench) -> None:
    await bench.decide("approve")


async def approves_less(bench: Bench) -> None:
    await bench.decide("approve", amount_paise=200_000, note="The rest is wear.")


async def declines(bench: Bench) -> None:
    await bench.decide("decline", note="Offer a replacement.")


async def adds(bench: Bench) -> None:
    await bench.says("The box was broken too.")


async def takes_over(bench: Bench) -> None:
    await bench.take_over()


async def approves_and_takes_over(bench: Bench) -> None:
    await bench.decide("approve")
    await bench.take_over()


async def mends_the_customer(bench: Bench) -> None:
    await bench.wrong_customer()


async def chooses_again(bench: Bench) -> None:
    await bench.choose("cust_vikram")


async def gives_back(bench: Bench) -> None:
    await bench.give_back()


def passes(seconds: float) -> Act:
    async def passing(bench: Bench) -> None:
        bench.clock.go_on(seconds)

    return passing


LOOK = call("get_order", order_id="4471")
SEED = [
    LOOK,
    ask("Could you send a photo of the damage?"),
    call("search_policies", query="damaged electronics photo refund"),
    propose(),
    say("Your refund of ₹2,499.00 is on its way."),
]
STORIES = {
    "the seed trace": Story(acts=[opens, answers, approves], turns=SEED),
    "an automatic refund beside a read": Story(
        acts=[opens],
        turns=[calls(LOOK, propose(899, "4502")), say("₹899.00 is on its way.")],
        orders=("4502",),
    ),
    "two automatic refunds in one step": Story(
        acts=[opens],
        turns=[calls(propose(100, "4502"), propose(200, "4502")), say("All done.")],
        orders=("4502",),
    ),
    "a smaller amount, after the customer added something": Story(
        acts=[opens, adds, approves_less], turns=[propose(), say("₹2,000.00 is on its way.")]
    ),
    "a decline": Story(acts=[opens, declines], turns=[propose(), say("A replacement?")]),
    "a take-over while a lead is asked": Story(acts=[opens, takes_over], turns=[propose()]),
    "a take-over behind an approval": Story(
        acts=[opens, approves_and_takes_over], turns=[propose()]
    ),
    "nobody answers": Story(acts=[opens, passes(4 * 3600), passes(3 * 86_400)], turns=[propose()]),
    "another customer, then a later request": Story(
        acts=[opens, mends_the_customer, chooses_again, answers, adds],
        turns=[ask("Which order?"), say("Noted.")],
    ),
    "given back": Story(acts=[opens, takes_over, gives_back], turns=[ask("What broke?")]),
}


@pytest.mark.parametrize("name", ["the seed trace", "an automatic refund beside a read"])
async def test_killed_after_any_write_the_story_ends_the_same(worlds: Worlds, name: str) -> None:
    story = STORIES[name]
    worlds.claude.script("", story.turns)
    expected, writes = await undisturbed(worlds, story)
    assert writes >= 4
    for number in range(writes):
        assert await killed(worlds, story, number) == expected, f"killed after write {number}"


async def test_killed_twice_in_a_row_the_story_ends_the_same(worlds: Worlds) -> None:
    story = STORIES["the seed trace"]
    worlds.claude.script("", story.turns)
    expected, writes = await undisturbed(worlds, story)
    for number in range(writes):
        ended = await killed_twice(worlds, story, number)
        assert ended == expected, f"killed after write {number} and once more"


@pytest.mark.parametrize("name", STORIES)
async def test_overtaken_before_any_write_the_story_ends_the_same(
    worlds: Worlds, name: str
) -> None:
    story = STORIES[name]
    worlds.claude.script("", story.turns)
    expected, writes = await undisturbed(worlds, story)
    for number in range(writes):
        assert await overtaken(worlds, story, number) == expected, f"overtaken at write {number}"


async def test_what_was_decided_before_the_death_comes_before_an_older_event(
    worlds: Worlds,
) -> None:
    story = STORIES["a take-over behind an approval"]
    worlds.claude.script("", story.turns)
    fate = Fate(None)
    async with worlds.new(fate) as bench:
        await opens(bench)
        await bench.go()
        before_the_click = bench.clock.tick()
        await approves(bench)
        fate.after, fate.name = die, "decide"
        with pytest.raises(Killed):
            await bench.go()
        [row] = await bench.refunds("4471")
        assert row.status == "intended"
        await bench.deliver(TookOver(by="meena"), ts=before_the_click)
        await bench.go_after(LEASE_SECONDS + 1)
        assert await bench.payouts() == [249_900]
        assert (await bench.run()).status == "handed_off"


async def test_a_case_is_not_claimed_twice_at_once(bench: Bench) -> None:
    await bench.says("Hello", first=True)
    await bench.claim()
    assert await bench.store.claim(CASE, "other", seconds=8) is None
