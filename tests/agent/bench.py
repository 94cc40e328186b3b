"""One case on the harness alone: events are put into its inbox, its outbox is read.

The store and the shop are the real ones on SQLite, Claude is the local one over HTTP. There is no
Slack: `Bench` stands for the thread, and for the worker that claims the case. Time stands still
unless a test moves it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeVar

from PIL import Image as Pictures
from sqlalchemy import select

from agent.approval import Card, Verdict
from agent.case import (
    Approval,
    Case,
    CustomerChosen,
    Decided,
    Deleted,
    Edited,
    Event,
    Fact,
    GaveBack,
    Image,
    Message,
    Photo,
    Post,
    TookOver,
    WrongCustomer,
    ts_of,
)
from agent.claimed import Claimed
from agent.claude import Claude
from agent.definition import Agent
from agent.harness import Harness
from agent.limits import Limits, Waiting
from agent.loop import advance
from agent.ports import CaseStore, Lease, Posted, Record
from agent.pricing import Price, built_in_prices
from agent.refunds.agent import refund_agent
from agent.refunds.ports import Ledger, Payments, Refund, Rules
from agent.run import Json, Run
from bot.local.claude import Exchange, LocalClaude, Turn, call
from storage import open_store
from storage.shop import Shop, open_shop
from storage.shop.database import payouts

CASE = "T1:C1:1790000000.000100"
NOW = 1_790_000_000.0
LEASE_SECONDS = 8.0
MODEL = "claude-opus-5-5"
RULES = Rules(approval_limit_paise=100_000, second_approval_over_paise=1_000_000)

Standing = Literal["approver", "stranger", "unknown"]
Content = TypeVar("Content")


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.seconds = NOW

    def __call__(self) -> float:
        return self.seconds

    def go_on(self, seconds: float) -> None:
        self.seconds += seconds

    def tick(self) -> str:
        """The next moment, as an event's or message's ts."""
        self.seconds += 0.001
        return ts_of(self.seconds)


@dataclass(kw_only=True)
class Bench:
    """The case `CASE`: who writes and clicks, the worker, and what became of it."""

    claude: LocalClaude
    clock: Clock
    store: CaseStore
    shop: Shop
    agent: Agent
    connections: AsyncExitStack
    client: Claude
    prices: Mapping[str, Price] = field(default_factory=built_in_prices)
    limits: Limits = field(default_factory=Limits)
    waiting: Waiting = field(default_factory=Waiting)
    standing: dict[str, Standing] = field(
        default_factory=lambda: {"priya": "approver", "omar": "approver"}
    )
    """Who may decide; everybody else is a stranger."""
    undelivered: list[Event] = field(default_factory=list[Event])
    """What the thread holds and nobody delivered: found when the thread is read."""
    thread_readable: bool = True
    lost_photos: set[str] = field(default_factory=set[str])
    late_photos: set[str] = field(default_factory=set[str])
    fetched_photos: list[str] = field(default_factory=list[str])
    sending: bool = True
    look_seconds: float = 1.0
    posts: list[Post] = field(default_factory=list[Post])
    """What is in the thread, oldest first."""
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    # The worker

    @property
    def harness(self) -> Harness:
        return Harness(
            store=self.store,
            claude=self.client,
            agent=self.agent,
            prices=self.prices,
            now=self.clock,
            customers=self._name_of,
            approvers=self._ask_about,
            fetch_photo=self._fetch_photo,
            read_thread=self._read_thread,
            limits=self.limits,
            waiting=self.waiting,
            look_seconds=self.look_seconds,
        )

    def connect(self, *, deadline_seconds: float = 30.0, max_retries: int = 0) -> None:
        """Another client of the local Claude, used from now on."""
        self.client = Claude(
            api_key="sk-ant-local",
            base_url=self.claude.base_url,
            deadline_seconds=deadline_seconds,
            max_retries=max_retries,
        )
        self.connections.push_async_callback(self.client.close)

    async def claim(self) -> tuple[Lease, Claimed]:
        claim = await self.store.claim(CASE, "worker", seconds=LEASE_SECONDS)
        assert claim is not None, "somebody owns the case"
        claimed = Claimed(
            store=self.store,
            claim=claim,
            now=self.clock,
            waiting=self.waiting,
            on_saved=lambda has_posts: None,
        )
        return claim.lease, claimed

    async def go(self) -> None:
        """Work on the case as a worker does: until it waits, all its posts out."""
        lease, claimed = await self.claim()
        while True:
            await advance(self.harness, claimed)
            if self.sending:
                await self.send(lease)
            if await self.store.release(lease, due_at=claimed.due_at()):
                return

    async def go_after(self, seconds: float) -> None:
        self.clock.go_on(seconds)
        await self.go()

    async def send(self, lease: Lease) -> None:
        """The outbox goes to the thread."""
        for entry in await self.store.outbox(lease):
            self.posts.append(entry.post)
            posted = Posted(channel="C1", message_id=self.clock.tick())
            await self.store.sent(lease, {entry.post.post_id: posted})

    # People

    async def open(self, text: str, *, customer: str = "cust_asha") -> None:
        """The customer's first words, whose they are, and the agent's work on them."""
        await self.says(text, first=True)
        await self.choose(customer)
        await self.go()

    async def says(
        self,
        text: str,
        *,
        first: bool = False,
        photos: Sequence[str] = (),
        ts: str | None = None,
    ) -> str:
        """Somebody writes in the thread; returns the message's id, which is its ts."""
        at = ts or self.clock.tick()
        await self.deliver(message(text, at, first=first, photos=photos), ts=at)
        return at

    async def edit(self, message_id: str, text: str) -> None:
        await self.deliver(Edited(message_id=message_id, text=text))

    async def delete(self, message_id: str, *, first: bool = False) -> None:
        await self.deliver(Deleted(message_id=message_id, first=first))

    async def choose(self, customer: str, *, by: str = "ravi") -> None:
        await self.deliver(CustomerChosen(customer_id=customer, by=by, place="C1"))

    async def wrong_customer(self) -> None:
        await self.deliver(WrongCustomer(by="ravi", place="C1"))

    async def take_over(self) -> None:
        await self.deliver(TookOver(by="meena", place="C1"))

    async def give_back(self) -> None:
        await self.deliver(GaveBack(by="meena", place="C1"))

    async def decide(
        self,
        verdict: Verdict,
        *,
        by: str = "priya",
        note: str = "",
        amount_paise: int | None = None,
        card: Card | None = None,
        ts: str | None = None,
    ) -> None:
        """A click on the card as it is shown now, or on `card`."""
        on = card or self.card
        fact = Decided(
            key=on.key,
            version=on.version,
            digest=on.digest,
            verdict=verdict,
            by=by,
            place="C1",
            note=note,
            amount_paise=amount_paise,
        )
        await self.deliver(fact, ts=ts)

    async def deliver(self, fact: Fact, *, ts: str | None = None) -> Event:
        event = self.event(fact, ts=ts)
        await self.store.deliver(CASE, event)
        return event

    def event(self, fact: Fact, *, ts: str | None = None) -> Event:
        """With an id of its own; now, when no `ts` is given."""
        return Event(event_id=f"e{next(self._numbers)}", ts=ts or self.clock.tick(), fact=fact)

    # Looking

    async def record(self) -> Record:
        record = await self.store.case(CASE)
        assert record is not None
        return record

    async def case(self) -> Case:
        case = (await self.record()).case
        assert case is not None
        return case

    async def run(self) -> Run:
        """The newest run."""
        run = (await self.record()).run
        assert run is not None
        return run

    async def messages(self) -> list[Json]:
        """The newest run's conversation, as stored."""
        return list((await self.record()).messages)

    async def trace(self, kind: str) -> list[Json]:
        """The newest run's trace entries of this kind."""
        entries = await self.store.trace((await self.run()).run_id)
        return [each for each in entries if each["kind"] == kind]

    def shown(self, kind: type[Content]) -> list[Content]:
        """What the thread holds of this kind, oldest first, updates too."""
        return [each.content for each in self.posts if isinstance(each.content, kind)]

    @property
    def card(self) -> Card:
        """The card that was shown last."""
        return self.shown(Approval)[-1].card

    async def refunds(self, order_id: str) -> list[Refund]:
        """The agent's rows of an order, oldest first."""
        rows = await self.shop.ledger.history(order_id)
        return [row for row in rows if row.run_id is not None]

    async def payouts(self) -> list[int]:
        """Every amount that ever left, in paise, by the payments' own books."""
        return await self.shop.database.read(
            lambda connection: list(connection.scalars(select(payouts.c.amount_paise)))
        )

    @property
    def answered(self) -> list[Exchange]:
        return [each for each in self.claude.requests if each.outcome == "answered"]

    def request(self, number: int = -1) -> Mapping[str, Any]:
        """The body of an answered request."""
        body = self.answered[number].body
        assert body is not None
        return body

    # What the harness asks for

    async def _name_of(self, customer_id: str) -> str | None:
        customer = await self.shop.orders.customer(customer_id)
        return customer.name if customer is not None else None

    async def _ask_about(self, user: str) -> Standing:
        return self.standing.get(user, "stranger")

    async def _fetch_photo(self, photo: Photo) -> tuple[Image, bytes] | Literal["later", "never"]:
        self.fetched_photos.append(photo.file_id)
        if photo.file_id in self.late_photos:
            return "later"
        if photo.file_id in self.lost_photos:
            return "never"
        data = picture(photo.file_id)
        return Image(digest=hashlib.sha256(data).hexdigest(), media_type="image/png"), data

    async def _read_thread(self, case_id: str) -> bool:
        if not self.thread_readable:
            return False
        for event in self.undelivered:
            await self.store.deliver(case_id, event)
        return True


@asynccontextmanager
async def new_bench(
    folder: Path, claude: LocalClaude, clock: Clock, *, client: Claude | None = None
) -> AsyncGenerator[Bench]:
    """A fresh case on the shop in `folder` (`shop.db`, made if it is not there).

    `client` is whoever asks the local Claude, where many benches share one.
    """
    async with AsyncExitStack() as parts:
        store = open_store(f"sqlite:///{folder}/cases.db", now=clock)
        parts.push_async_callback(store.close)
        shop = open_sample(folder, clock)
        parts.push_async_callback(shop.close)
        if client is None:
            client = new_client(claude)
            parts.push_async_callback(client.close)
        yield Bench(
            claude=claude,
            clock=clock,
            store=store,
            shop=shop,
            agent=refunds_of(shop),
            connections=parts,
            client=client,
        )


def new_client(claude: LocalClaude) -> Claude:
    """Without the SDK's own retries, which take real time."""
    return Claude(api_key="sk-ant-local", base_url=claude.base_url, max_retries=0)


def open_sample(folder: Path, clock: Clock) -> Shop:
    today = datetime.fromtimestamp(NOW, UTC).date()
    return open_shop(f"sqlite:///{folder}/shop.db", now=clock, sample_on=today)


def refunds_of(
    shop: Shop,
    *,
    ledger: Ledger | None = None,
    payments: Payments | None = None,
    model: str = MODEL,
) -> Agent:
    """The refund agent over this shop, or over parts that stand before the shop's own."""
    return refund_agent(
        model=model,
        orders=shop.orders,
        policies=shop.policies,
        ledger=ledger or shop.ledger,
        payments=payments or shop.payments,
        rules=RULES,
    )


# Words for tests -------------------------------------------------------------------------------


def propose(amount: object = 2499, order_id: str = "4471", reason: str = "damaged") -> Turn:
    return call(
        "propose_refund",
        order_id=order_id,
        amount_rupees=amount,
        reason=reason,
        explanation="Arrived broken; the policy on damaged items allows it.",
    )


def ask(question: str = "Which colour?") -> Turn:
    return call("ask_customer", question=question)


def message(
    text: str, message_id: str, *, first: bool = False, photos: Sequence[str] = ()
) -> Message:
    return Message(
        message_id=message_id,
        author="ravi",
        text=text,
        first=first,
        photos=tuple(Photo(file_id=each, url="", link=f"link:{each}") for each in photos),
    )


def picture(name: str) -> bytes:
    """A small PNG, another one for another name."""
    red, green, blue, *_ = hashlib.sha256(name.encode()).digest()
    content = BytesIO()
    Pictures.new("RGB", (32, 24), (red, green, blue)).save(content, "PNG")
    return content.getvalue()


def blocks(message: Mapping[str, Any]) -> list[Json]:
    return list(message["content"])


def texts(message: Mapping[str, Any]) -> list[str]:
    """The text blocks of a message."""
    return [block["text"] for block in blocks(message) if block["type"] == "text"]


def results(messages: Sequence[Mapping[str, Any]]) -> list[Json]:
    """All tool results in a conversation, in order."""
    return [
        block
        for message in messages
        if message["role"] == "user"
        for block in blocks(message)
        if block["type"] == "tool_result"
    ]
