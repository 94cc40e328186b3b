"""Two sets of workers at the same case at the same moment: one owner, and the other does nothing.

Both have a store, a Slack client and a shop of their own, on one Redis and one shop's file. They
meet right after they asked for the case, whose picker waits to be posted. `at_once`: one got the
case, the other did not. `late`: the first stands still until its lease is over and the other has
the case. Then both go on in the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from slack_sdk.web.async_client import AsyncWebClient

import bot.app
import bot.workers
from agent.case import CustomerChosen, Event, Message
from agent.ports import CaseStore, Claim, Lease
from agent.refunds.ports import Payment, Payments, Refund
from bot.app import Bot, running_bot
from bot.local.slack import Message as SlackMessage
from bot.posting import make_client
from bot.settings import load_settings
from bot.thread import Thread
from tests.faults.checks import cases_now, faults_of
from tests.faults.people import Desk, People
from tests.faults.plots import PLOTS
from tests.faults.recovery import leases
from tests.faults.world import World, customer_of, new_world, order_of

How = Literal["at_once", "late"]
HOWS: tuple[How, ...] = ("at_once", "late")

LEASE_SECONDS = {"at_once": 8.0, "late": 2.0}
RENEW_SECONDS = {"at_once": 2.0, "late": 0.3}
LOOK_SECONDS = 0.05
LIMITED_SECONDS = 2.0
CASES_AT_ONCE = 25
GOT_IT = "got the case"
PATIENCE_SECONDS = 60.0
(SMALL,) = (plot for plot in PLOTS if plot.name == "small")


@dataclass(kw_only=True)
class Met:
    """`times` they met. `wrong` is in words; empty when all is well."""

    times: int = 0
    wrong: list[str] = field(default_factory=list[str])


@dataclass(kw_only=True)
class Side:
    """One of the two. `met` is with which lease it came to the meeting over a case; `deeds` is what
    it did since, by case or by order, in order."""

    met: dict[str, Lease | None] = field(default_factory=dict[str, Lease | None])
    deeds: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def note(self, case_id: str, deed: str) -> None:
        self.deeds.setdefault(case_id, []).append(deed)


class Meeting:
    """Holds up both sides of a case after their claims, until both are there."""

    def __init__(self, how: How) -> None:
        self._how: How = how
        self._barriers: dict[str, asyncio.Barrier] = {}
        self._orders: dict[str, str] = {}

    def expect(self, people: Sequence[People]) -> None:
        for each in people:
            self._barriers[each.case_id] = asyncio.Barrier(2)
            self._orders[each.case_id] = order_of(each.number)

    def watch(self, side: Side, store: CaseStore, patch: pytest.MonkeyPatch) -> None:
        """Let a side's claims come through here, and note what it writes."""
        claim, save, sent = store.claim, store.save, store.sent

        async def met(case_id: str, owner: str, *, seconds: float) -> Claim | None:
            got = await claim(case_id, owner, seconds=seconds)
            barrier = self._barriers.get(case_id)
            if barrier is None:
                return got
            if case_id not in side.met:
                if got is not None or self._how == "at_once":
                    side.met[case_id] = got.lease if got is not None else None
                    await barrier.wait()
            elif got is not None:
                for deeds_of in (case_id, self._orders[case_id]):
                    side.note(deeds_of, GOT_IT)
            return got

        async def saved(lease: Lease, *given: Any) -> Any:
            result = await save(lease, *given)
            side.note(lease.case_id, "saved")
            return result

        async def marked(lease: Lease, *given: Any) -> Any:
            await sent(lease, *given)
            side.note(lease.case_id, "marked as sent")

        for name, method in (("claim", met), ("save", saved), ("sent", marked)):
            patch.setattr(store, name, method)


async def meet(folder: Path, how: How, times: int) -> Met:
    """So many cases, some at a time."""
    async with AsyncExitStack() as parts:
        patch = parts.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(bot.workers, "LEASE_SECONDS", LEASE_SECONDS[how])
        patch.setattr(bot.workers, "RENEW_SECONDS", RENEW_SECONDS[how])
        world = await parts.enter_async_context(new_world(folder, cases=times, children=()))
        meeting = Meeting(how)
        sides = [Side(), Side()]
        bots = [await parts.enter_async_context(_side(world, side, patch)) for side in sides]
        for side, running in zip(sides, bots, strict=True):
            meeting.watch(side, running.store, patch)
        met = Met()
        desk = Desk(world=world, patience_seconds=PATIENCE_SECONDS)
        cast: list[People] = []
        for first in range(0, times, CASES_AT_ONCE):
            numbers = range(first, min(first + CASES_AT_ONCE, times))
            people = [People(desk, number) for number in numbers]
            cast += people
            await _meet_some(world, people, meeting, sides, bots, how)
            met.times += len(people)
            for each in people:
                met.wrong += _judge(each, sides, how)
        met.wrong += await faults_of(
            world, await cases_now(bots[0].store, [(each, SMALL) for each in cast])
        )
        return met


async def _meet_some(
    world: World,
    people: Sequence[People],
    meeting: Meeting,
    sides: Sequence[Side],
    bots: Sequence[Bot],
    how: How,
) -> None:
    """Cases with a picker that Slack doesn't take yet, then the meeting over each."""
    store = bots[0].store
    for each in people:
        SMALL.write_scripts(world.claude, each.number)
    world.slack.faults.rate_limited(LIMITED_SECONDS, "chat.postMessage")
    for each in people:
        await each.write_first("The lamp has a scratch")
        await store.deliver(each.case_id, _first(each.root))
    await _until(lambda: _are_given_up(world, people))
    for side in sides:
        side.deeds.clear()
    meeting.expect(people)
    # Some meet over the chosen customer, and the others over the picker when Slack will take it.
    with_event = [each for each in people if how == "at_once" or each.number % 2]
    await _choose(with_event, bots, wake=how == "at_once")
    await _until(lambda: _are_through(store, people, sides))
    await _choose([each for each in people if each not in with_event], bots, wake=False)
    cases = [(each, SMALL) for each in people]

    async def are_quiet() -> bool:
        return all(each.is_quiet for each in await cases_now(store, cases))

    await _until(are_quiet)


async def _choose(people: Sequence[People], bots: Sequence[Bot], *, wake: bool) -> None:
    for each in people:
        await bots[0].store.deliver(each.case_id, _chosen(each))
        for running in bots if wake else ():
            running.workers.wake(each.case_id)


async def _are_through(store: CaseStore, people: Sequence[People], sides: Sequence[Side]) -> bool:
    """Each was met at, or its picker went out before anybody could meet."""
    for each in people:
        met = all(each.case_id in side.met for side in sides)
        if not met and await store.posted(each.case_id, f"{each.case_id}/1") is None:
            return False
    return True


def _first(root: SlackMessage) -> Event:
    fact = Message(message_id=root.ts, author=root.user or "", text=root.text, first=True)
    return Event(event_id=f"msg:{root.ts}", ts=root.ts, fact=fact)


def _chosen(people: People) -> Event:
    customer_id, _ = customer_of(people.number)
    ts = f"{float(people.root.ts) + 0.001:.6f}"
    fact = CustomerChosen(customer_id=customer_id, by=people.agent.id)
    return Event(event_id=f"chosen:{people.root.ts}", ts=ts, fact=fact)


async def _are_given_up(world: World, people: Sequence[People]) -> bool:
    """Each was claimed once, and nobody has it now."""
    found = await leases(world)
    return all(each.case_id in found and not found[each.case_id].expires for each in people)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await holds():
                return
            await asyncio.sleep(LOOK_SECONDS)


# The two sides ----------------------------------------------------------------------------------


@asynccontextmanager
async def _side(world: World, side: Side, patch: pytest.MonkeyPatch) -> AsyncGenerator[Bot]:
    """Workers of their own, whose payments and calls to Slack are noted."""

    def watched_client(token: str, base_url: str) -> AsyncWebClient:
        client = make_client(token, base_url)
        call = cast("Any", client.api_call)  # pyright: ignore[reportUnknownMemberType]

        async def noted(method: str, **given: Any) -> Any:
            case_id = _written_to(given.get("json") or {})
            if case_id is not None:
                side.note(case_id, method)
            return await call(method, **given)

        patch.setattr(client, "api_call", noted)
        return client

    patch.setattr(bot.app, "make_client", watched_client)
    settings = load_settings(
        env={**world.environment, "CASETHREAD_STORE_URL": world.redis.url()}, env_file=None
    )
    async with running_bot(
        settings,
        look_seconds=LOOK_SECONDS,
        payer=lambda payments: _Payer(payments, side),
        listen=False,
    ) as running:
        yield running


@dataclass(frozen=True)
class _Payer:
    payments: Payments
    side: Side

    async def pay(self, refund: Refund) -> Payment:
        self.side.note(refund.order_id, "paid")
        return await self.payments.pay(refund)

    async def look_up(self, refund: Refund) -> Payment | None:
        return await self.payments.look_up(refund)


def _written_to(body: dict[str, Any]) -> str | None:
    """The case that a call which writes belongs to; None for one that only reads."""
    metadata: dict[str, Any] = body.get("metadata") or {}
    payload: dict[str, Any] = metadata.get("event_payload") or {}
    if "case_id" in payload:
        return str(payload["case_id"])
    ts = body.get("timestamp")
    if ts is None:
        return None
    return Thread(team="T0CARTWISE", channel=str(body["channel"]), ts=str(ts)).case_id


# What came of it --------------------------------------------------------------------------------


def _judge(people: People, sides: Sequence[Side], how: How) -> list[str]:
    """One of them had the case, and the other did nothing to it before it got the case later."""
    case_id = people.case_id
    loser, owner = sorted(sides, key=lambda side: _token(side, case_id))
    first, second = _token(loser, case_id), _token(owner, case_id)
    wrong: list[str] = []
    if (first > 0) is not (how == "late") or first == second:
        wrong.append(f"the leases {first} and {second}")
    undue = [
        deed
        for deeds_of in (case_id, order_of(people.number))
        for deed in takewhile(lambda deed: deed != GOT_IT, loser.deeds.get(deeds_of, ()))
    ]
    if undue:
        wrong.append(f"the loser {undue}")
    return [f"{people.token}: {each}" for each in wrong]


def _token(side: Side, case_id: str) -> int:
    """Of the lease with which it came to the meeting; 0 without one."""
    lease = side.met[case_id]
    return 0 if lease is None else lease.token
