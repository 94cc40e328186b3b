"""A stop sign while Claude thinks: the call is cut short, and nobody waits for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from agent.case import Handoff, Notice, Picker, Reply
from agent.ports import CaseStore, Lease, StoredEvent
from bot.local.claude import say
from tests.agent.bench import CASE, Bench, propose

WORDS = "The kettle from order 4502 arrived cracked."
WAIT_SECONDS = 30.0

Sign = Callable[[Bench], Awaitable[object]]


class Watched:
    """The store, which tells how often somebody looked into the inbox."""

    def __init__(self, store: CaseStore) -> None:
        self._store = store
        self._looks = 0
        self._looked = asyncio.Condition()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def inbox(self, lease: Lease) -> Sequence[StoredEvent]:
        stored = await self._store.inbox(lease)
        async with self._looked:
            self._looks += 1
            self._looked.notify_all()
        return stored

    async def looked_again(self, times: int) -> None:
        wanted = self._looks + times
        async with asyncio.timeout(WAIT_SECONDS), self._looked:
            await self._looked.wait_for(lambda: self._looks >= wanted)


async def take_over(bench: Bench) -> None:
    await bench.take_over()


async def delete_the_first_message(bench: Bench) -> None:
    await bench.delete(CASE.rpartition(":")[2], first=True)


async def say_wrong_customer(bench: Bench) -> None:
    await bench.wrong_customer()


async def thinking(bench: Bench) -> asyncio.Task[None]:
    """A worker waits for an answer that does not come."""
    bench.look_seconds = 0.01
    bench.claude.faults.hold()
    await bench.says(WORDS, first=True)
    await bench.choose("cust_asha")
    return await asked(bench)


async def asked(bench: Bench) -> asyncio.Task[None]:
    work = asyncio.create_task(bench.go())
    await bench.claude.arrived(len(bench.claude.requests) + 1)
    return work


async def ended(work: asyncio.Task[None]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        await work


def calls_under_way() -> int:
    return sum("Claude.ask" in repr(each.get_coro()) for each in asyncio.all_tasks())


@pytest.mark.parametrize(
    ("sign", "shown"),
    [(take_over, Handoff), (delete_the_first_message, Notice), (say_wrong_customer, Picker)],
    ids=["take-over", "deletion", "wrong customer"],
)
async def test_a_stop_sign_ends_the_run_while_the_answer_is_awaited(
    bench: Bench, sign: Sign, shown: type[Handoff] | type[Notice] | type[Picker]
) -> None:
    bench.claude.script("kettle", [say("Never said.")])
    work = await thinking(bench)
    await sign(bench)
    await ended(work)
    assert (await bench.run()).status == "handed_off"
    assert bench.shown(shown) != []
    assert bench.answered == []
    bench.claude.faults.release()
    await bench.go()
    assert bench.shown(Reply) == []


async def test_a_call_that_was_cut_short_is_charged_by_estimate(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Never said.")])
    work = await thinking(bench)
    await bench.take_over()
    await ended(work)
    run = await bench.run()
    assert (run.steps, run.status) == (0, "handed_off")
    assert run.working_seconds > 0
    [attempt] = await bench.trace("attempt")
    assert (attempt["error"], attempt["step"]) == ("cut short", 1)
    assert Decimal(attempt["estimated_cost_usd"]) == run.cost_usd > 0


async def test_words_do_not_cut_a_call_short(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Too early."), say("The green one, then.")])
    bench.store = watched = Watched(bench.store)  # pyright: ignore[reportAttributeAccessIssue]
    work = await thinking(bench)
    said = await bench.says("The green one.")
    await bench.edit(said, "The blue one.")
    await bench.delete(await bench.says("Hello?"))
    await watched.looked_again(3)
    bench.claude.faults.release()
    await ended(work)
    assert [each.text for each in bench.shown(Reply)] == ["The green one, then."]
    assert len(bench.answered) == 2
    assert await bench.trace("attempt") == []


async def test_behind_a_proposal_a_wrong_customer_does_not_cut_a_call_short(bench: Bench) -> None:
    bench.claude.script("kettle", [propose(100, "4502"), say("It is on its way.")])
    bench.store = watched = Watched(bench.store)  # pyright: ignore[reportAttributeAccessIssue]
    work = await thinking(bench)
    bench.claude.faults.release()
    await ended(work)
    bench.claude.script("lid", [say("Sorry.")])
    await bench.says("And the lid is missing.")
    bench.claude.faults.hold()
    work = await asked(bench)
    await bench.wrong_customer()
    await watched.looked_again(3)
    bench.claude.faults.release()
    await ended(work)
    assert (await bench.run()).reply == "Sorry."


async def test_a_worker_that_is_stopped_while_it_asks_leaves_no_call_behind(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Never said.")])
    work = await thinking(bench)
    assert calls_under_way() == 1
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    assert calls_under_way() == 0
