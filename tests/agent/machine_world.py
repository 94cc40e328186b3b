"""What the state machine plays in: one case at a time, with owners that die, stall or are doubled.

The store, the shop and the local Claude are the real ones and stay open over all examples; `begin`
empties them. Everything an owner does outside itself goes through its `Hand`, which may end it,
hold it or fail it at a call of its choice. What people do to the case is `machine_thread`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import OperationalError

from agent.case import Approval, Event, Image, Photo, Post
from agent.claimed import Claimed
from agent.claude import Claude
from agent.definition import Agent
from agent.errors import LeaseLost
from agent.harness import Harness
from agent.limits import Waiting
from agent.loop import advance
from agent.ports import CaseStore, Lease, Posted
from agent.pricing import built_in_prices
from agent.refunds.agent import refund_agent
from agent.refunds.ports import RESERVING, RefundStatus
from agent.turn import Failure
from bot.local.claude import LocalClaude, Request, Turn
from storage import open_store
from storage.shop import Shop
from storage.shop.database import fences, orders, payouts, refunds
from tests.agent.bench import (
    CASE,
    LEASE_SECONDS,
    MODEL,
    NOW,
    RULES,
    Clock,
    Standing,
    new_client,
    open_sample,
    picture,
)
from tests.agent.machine_payments import Provider
from tests.agent.machine_turns import SPOKEN, Answer, ApiFault, turn_for

Part = TypeVar("Part")
Result = TypeVar("Result")

STORE_TABLES = ("cases", "inbox", "outbox", "runs", "messages", "trace")
OUT_OF_TIME = Failure(
    temporary=True,
    what="deadline",
    detail="",
    maybe_charged=True,
    request_id=None,
    seconds=180.0,
)
BY_HAND = "by hand"
LONGEST_WORK = 60
"""Rounds of a worker on one case before something must be going round in circles."""


class Died(BaseException):
    """The end of an owner, which nothing in it can catch."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What becomes of an owner at its call number `at`: before the call has its effect or after."""

    kind: Literal["works", "dies", "stalls", "shop fails"] = "works"
    at: int = 0
    after: bool = False


class Hand:
    """Through which one owner reaches the store, the shop and the model."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._calls = 0
        self._dead = False
        self._gate = asyncio.Event()
        self.stalled = asyncio.Event()
        self.lease: Lease | None = None

    def go_on(self) -> None:
        self._gate.set()

    async def do(self, doing: Callable[[], Awaitable[Result]], *, in_shop: bool) -> Result:
        if self._dead:
            raise Died
        if self.stalled.is_set():
            await self._gate.wait()
        fate = self._fate
        counts = fate.kind != "works" and (in_shop or fate.kind != "shop fails")
        mine = counts and self._calls == fate.at
        self._calls += counts
        if not mine:
            return await doing()
        if not fate.after:
            await self._strike()
            return await doing()
        result = await doing()
        await self._strike()
        return result

    async def _strike(self) -> None:
        match self._fate.kind:
            case "stalls":
                self.stalled.set()
                await self._gate.wait()
            case "dies":
                self._dead = True
                raise Died
            case _:
                raise OperationalError("BEGIN IMMEDIATE", None, Exception("database is locked"))


class Hands:
    """Whose hand is at work. Only one ever is: a stalled one moves nothing until it is woken."""

    current: Hand

    def over(self, part: Part, *, in_shop: bool = False) -> Part:
        """The part, each of whose calls goes through the hand that is at work."""
        return cast("Part", _Held(part, self, in_shop))


@dataclass(frozen=True)
class _Held:
    part: Any
    hands: Hands
    in_shop: bool

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.part, name)

        async def call(*given: Any, **named: Any) -> Any:
            hand = self.hands.current
            return await hand.do(lambda: method(*given, **named), in_shop=self.in_shop)

        return call


@dataclass(frozen=True, kw_only=True)
class Stalled:
    """An owner that was held; it believes that the case is still its own."""

    hand: Hand
    task: asyncio.Task[None]


@dataclass(kw_only=True)
class World:
    """Everything there is, and what was seen of it in this example."""

    loop: asyncio.AbstractEventLoop
    clock: Clock
    store: CaseStore
    shop: Shop
    claude: LocalClaude
    client: Claude
    unconnected: Claude
    provider: Provider
    hands: Hands
    agents: Sequence[Agent]
    file: sqlite3.Connection
    """The store's own file, to look at behind its back."""
    examples: int = 0
    steps: int = 0
    """Played so far, over all examples."""
    model_seconds: float = 0.0
    """How much later the model's own clock is: its cache is cold when an example begins."""
    waiting: Waiting = field(default_factory=Waiting)

    answers: deque[Answer] = field(default_factory=deque[Answer])
    """What the model will do next; when it is empty the model replies."""
    deployed: int = 0
    standing: dict[str, Standing] = field(default_factory=dict[str, Standing])
    asked: list[tuple[float, str, Standing]] = field(
        default_factory=list[tuple[float, str, Standing]]
    )
    undelivered: list[Event] = field(default_factory=list[Event])
    """What is only in the thread, until it is read."""
    arriving: list[Event] = field(default_factory=list[Event])
    """What arrives while the model is asked next."""
    arriving_late: list[Event] = field(default_factory=list[Event])
    """What arrives while the thread is read next."""
    thread_readable: bool = True
    sending: bool = True
    posts: dict[str, Post] = field(default_factory=dict[str, Post])
    stalled: list[Stalled] = field(default_factory=list[Stalled])
    owner_gone: bool = False
    """The last owner died or stalls: the next one has to wait for the end of its lease."""

    def begin(self) -> None:
        """A new example: nothing is left of the one before."""
        self.loop.run_until_complete(self._empty())
        self.examples += 1
        self.model_seconds += self.clock.seconds - NOW + 7_200
        self.clock.seconds = NOW
        self.claude.requests.clear()
        self.claude.script_errors.clear()
        self.claude.faults.clear()
        self.provider.begin()
        self.answers.clear()
        self.deployed = 0
        self.standing = {"priya": "approver", "omar": "approver"}
        self.asked.clear()
        self.undelivered.clear()
        self.arriving.clear()
        self.arriving_late.clear()
        self.thread_readable = self.sending = True
        self.posts.clear()
        self.stalled.clear()
        self.owner_gone = False

    async def _empty(self) -> None:
        self.file.execute("DELETE FROM cases")
        await self.shop.database.write(
            lambda connection: [
                connection.execute(delete(payouts)),
                connection.execute(delete(fences)),
                connection.execute(delete(refunds).where(refunds.c.run_id.is_not(None))),
                connection.execute(delete(refunds).where(refunds.c.reason == BY_HAND)),
            ]
        )

    def refund_by_hand(self) -> None:
        """Somebody in the shop pays what is left of the order that a lead is asked about."""
        self.loop.run_until_complete(self.shop.database.write(_refund_by_hand))

    # Owners

    def work(self, fate: Fate, answers: Sequence[Answer] = ()) -> None:
        """An owner takes the case if it is ready, and does what there is to do, or fails."""
        self.answers.extend(answers)
        if self.owner_gone:
            self.clock.go_on(LEASE_SECONDS + 1)
        self.loop.run_until_complete(self._work(fate))

    def inbox_is_empty(self) -> bool:
        """Nothing is stored that nobody took in yet, or on its way."""
        query = "SELECT EXISTS (SELECT 1 FROM inbox WHERE NOT applied)"
        on_its_way = [*self.undelivered, *self.arriving, *self.arriving_late]
        return not on_its_way and not self.file.execute(query).fetchone()[0]

    def is_ready(self) -> bool:
        return CASE in self.loop.run_until_complete(self.store.ready(limit=2))

    async def _work(self, fate: Fate) -> None:
        if CASE not in await self.store.ready(limit=2):
            return
        hand = self.hands.current = Hand(fate)
        task = asyncio.create_task(self._own(hand))
        held = asyncio.create_task(hand.stalled.wait())
        await asyncio.wait({task, held}, return_when=asyncio.FIRST_COMPLETED)
        held.cancel()
        self.owner_gone = True
        if not task.done():
            self.stalled.append(Stalled(hand=hand, task=task))
            return
        try:
            await task
        except Died:
            return
        except OperationalError:
            # Outside of a tool: the worker gives up, and another tries again later.
            if fate.kind != "shop fails":
                raise
            return
        self.owner_gone = False

    async def _own(self, hand: Hand) -> None:
        store = self.hands.over(self.store)
        claim = await store.claim(CASE, "worker", seconds=LEASE_SECONDS)
        if claim is None:
            return
        lease = hand.lease = claim.lease
        claimed = Claimed(
            store=store,
            claim=claim,
            now=self.clock,
            waiting=self.waiting,
            on_saved=lambda has_posts: None,
        )
        harness = self._harness(store)
        for _ in range(LONGEST_WORK):
            await advance(harness, claimed)
            all_out = await self._send(store, lease)
            due = [claimed.due_at(), None if all_out else self.clock.seconds + 5]
            due_at = min((at for at in due if at is not None), default=None)
            if await store.release(lease, due_at=due_at):
                return
        raise AssertionError("the worker goes round in circles")

    async def _send(self, store: CaseStore, lease: Lease) -> bool:
        """The outbox goes to the thread, where a post that is there already is found again."""
        for entry in await store.outbox(lease):
            if not self.sending:
                return False
            self.posts.setdefault(entry.post.post_id, entry.post)
            posted = Posted(channel="C1", message_id=self.clock.tick())
            await store.sent(lease, {entry.post.post_id: posted})
        return True

    def wake(self, stalled: Stalled) -> None:
        """An owner that was held goes on. Whoever lost the case meanwhile must write nothing."""
        lease = stalled.hand.lease
        lost = lease is None or lease.expires_at <= self.clock.seconds
        before = self.written()
        self.hands.current = stalled.hand
        stalled.hand.go_on()
        try:
            self.loop.run_until_complete(stalled.task)
        except LeaseLost:
            assert lost, "an owner lost a case that is its own"
        if lease is not None and lost:
            assert self.written() == before, "an owner without the case wrote to it"

    def written(self) -> list[Any]:
        """All that only an owner may write."""
        tables = ("outbox", "runs", "messages", "trace")
        queries = [f"SELECT * FROM {table}" for table in tables]
        queries.append("SELECT record, token FROM cases")
        queries.append("SELECT event_id FROM inbox WHERE applied")
        return [self.file.execute(query).fetchall() for query in queries]

    # What the harness asks for

    def _harness(self, store: CaseStore) -> Harness:
        return Harness(
            store=store,
            claude=self.hands.over(cast("Claude", self)),
            agent=self.agents[self.deployed],
            prices=built_in_prices(),
            now=self.clock,
            customers=self._name_of,
            approvers=self._ask_about,
            fetch_photo=self._fetch_photo,
            read_thread=self._read_thread,
            waiting=self.waiting,
            # Real time, and here an owner that is held moves nothing: after it, the look for a stop
            # sign would go through the hand of whoever is at work by then.
            look_seconds=3_600.0,
        )

    async def ask(self, *given: Any, **named: Any) -> Any:
        """`Claude.ask`, with the fault that is next, while people go on writing."""
        while self.arriving:
            await self.store.deliver(CASE, self.arriving.pop(0))
        fault = self.answers[0] if self.answers else None
        if not isinstance(fault, ApiFault):
            return await self.client.ask(*given, **named)
        self.answers.popleft()
        match fault.kind:
            case "no answer in time":
                return OUT_OF_TIME
            case "no connection":
                return await self.unconnected.ask(*given, **named)
            case _:
                fault.prepare(self.claude)
                return await self.client.ask(*given, **named)

    def answer(self, request: Request) -> Turn:
        """The model's next turn; of one whose answer got lost it does not know."""
        del request
        # An answer that is cut on its way was made like any other.
        answer = SPOKEN
        if self.answers and isinstance(self.answers[0], Turn):
            answer = self.answers[0]
            self.answers.popleft()
        [run] = self.file.execute("SELECT record FROM runs ORDER BY id DESC LIMIT 1").fetchone()
        return turn_for(answer, json.loads(run)["customer_id"])

    async def _name_of(self, customer_id: str) -> str | None:
        customer = await self.shop.orders.customer(customer_id)
        return customer.name if customer is not None else None

    async def _ask_about(self, user: str) -> Standing:
        standing = self.standing.get(user, "stranger")
        self.asked.append((self.clock.seconds, user, standing))
        return standing

    async def _fetch_photo(self, photo: Photo) -> tuple[Image, bytes] | Literal["later", "never"]:
        if photo.file_id == "lost":
            return "never"
        if photo.file_id == "late":
            return "later"
        data = picture(photo.file_id)
        return Image(digest=hashlib.sha256(data).hexdigest(), media_type="image/png"), data

    async def _read_thread(self, case_id: str) -> bool:
        for event in self.arriving_late:
            await self.store.deliver(case_id, event)
        self.arriving_late.clear()
        if not self.thread_readable:
            return False
        for event in self.undelivered:
            await self.store.deliver(case_id, event)
        self.undelivered.clear()
        return True

    def shown_cards(self) -> list[Approval]:
        """Cards as the thread showed them, oldest first, updates too."""
        contents = (post.content for post in self.posts.values())
        return [content for content in contents if isinstance(content, Approval)]


def _refund_by_hand(connection: Connection) -> None:
    asked = select(refunds.c.order_id).where(refunds.c.status == RefundStatus.WAITING.value)
    order = connection.scalar(asked.limit(1))
    if order is None:
        return
    on_order = (refunds.c.order_id == order) & refunds.c.status.in_([*RESERVING])
    paid = connection.scalar(select(orders.c.paid_paise).where(orders.c.id == order)) or 0
    gone = connection.scalar(select(func.sum(refunds.c.amount_paise)).where(on_order)) or 0
    if paid > gone:
        connection.execute(
            insert(refunds).values(
                idempotency_key=f"hand {order} {gone}",
                order_id=order,
                status=RefundStatus.PAID.value,
                amount_paise=paid - gone,
                reason=BY_HAND,
            )
        )


async def build_world(folder: Path, parts: AsyncExitStack) -> World:
    """`folder` has room for the databases; what has to be closed goes to `parts`."""
    clock = Clock()
    provider, hands = Provider(), Hands()
    store = open_store(f"sqlite:///{folder}/cases.db", now=clock)
    parts.push_async_callback(store.close)
    shop = open_sample(folder, clock)
    parts.push_async_callback(shop.close)
    provider.shop = shop.payments

    def model_clock() -> float:
        return clock.seconds + world.model_seconds

    claude = LocalClaude(now=model_clock)
    file = sqlite3.connect(folder / "cases.db", isolation_level=None)
    parts.callback(file.close)
    file.execute("PRAGMA foreign_keys = ON")
    agent = refund_agent(
        model=MODEL,
        orders=hands.over(shop.orders, in_shop=True),
        policies=shop.policies,
        ledger=hands.over(shop.ledger, in_shop=True),
        payments=hands.over(provider),
        rules=RULES,
    )
    await parts.enter_async_context(claude)
    world = World(
        loop=asyncio.get_running_loop(),
        clock=clock,
        store=store,
        shop=shop,
        claude=claude,
        client=new_client(claude),
        unconnected=Claude(api_key="sk-ant-local", base_url="http://127.0.0.1:9", max_retries=0),
        provider=provider,
        hands=hands,
        agents=(agent, replace(agent, prompt=f"{agent.prompt}\n\nBe brief.")),
        file=file,
    )
    for client in (world.client, world.unconnected):
        parts.push_async_callback(client.close)
    claude.script("", [world.answer] * 50)
    return world
