"""A whole run on the harness with all its guarantees, and the bare SDK making the same calls.

The harness is called as a worker calls it: claim, advance, send the outbox, release, with
a store that survives a crash. Slack is not part of it, and the engine's wake-ups only where they
are asked for.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import anthropic
from sqlalchemy import Connection, delete

from agent.approval import Card
from agent.case import Approval, CustomerChosen, Decided, Event, Fact, Message, Photo, ts_of
from agent.claimed import Claimed
from agent.claude import Claude
from agent.harness import Harness
from agent.limits import Limits, Waiting
from agent.loop import advance
from agent.ports import CaseStore, Clock, Posted, Record
from agent.pricing import built_in_prices
from agent.refunds.agent import refund_agent
from agent.refunds.ports import Rules
from agent.run import Json
from bench.server import WORDS
from storage import open_store
from storage.shop import Shop, open_shop
from storage.shop.database import fences, payouts, refunds

MODEL = "claude-opus-5-5"
START = 1_790_000_000.0
CASE_ID = "T1:C1:{:07d}"


@dataclass(kw_only=True)
class Desk:
    """The harness over one store and one shop; every case is a new one of the same customer.

    `woken` is awaited between an event and the work on it.
    """

    store: CaseStore
    harness: Harness
    shop: Shop
    woken: Callable[[str], Awaitable[None]] | None = None
    _cases: itertools.count[int] = field(default_factory=itertools.count)
    _events: itertools.count[int] = field(default_factory=itertools.count)
    _cards: dict[str, Approval] = field(default_factory=dict[str, Approval])

    async def open(self, words: str) -> str:
        """A new case with these words, worked on to its first stop; returns its id."""
        case_id = CASE_ID.format(next(self._cases))
        await self.tell(case_id, first_message(words))
        await self.tell(case_id, CUSTOMER)
        return case_id

    async def refund(self) -> Record:
        """The seed trace's run: a question answered, a card approved, a reply."""
        case_id = await self.open(WORDS)
        await self.tell(case_id, ANSWER)
        await self.tell(case_id, approved(self._cards[case_id].card))
        record = await self.store.case(case_id)
        if record is None or record.run is None or record.run.status != "done":
            raise RuntimeError(f"a refund run did not end as done: {record and record.run}")
        return record

    def forget_refunds(self) -> None:
        """A card tells all earlier refunds of its order, and here all runs are about one order."""

        def delete_all(connection: Connection) -> None:
            for table in (refunds, fences, payouts):
                connection.execute(delete(table))

        self.shop.database.write_now(delete_all)

    async def tell(self, case_id: str, fact: Fact) -> None:
        """Deliver it, and have it worked on."""
        await self.deliver(case_id, fact)
        if self.woken is not None:
            await self.woken(case_id)
        await self.work(case_id)

    async def deliver(self, case_id: str, fact: Fact) -> None:
        number = next(self._events)
        event = Event(event_id=f"e{number}", ts=ts_of(START + number), fact=fact)
        await self.store.deliver(case_id, event)

    async def work(self, case_id: str) -> None:
        """What a worker does with a case that was woken."""
        claim = await self.store.claim(case_id, "bench", seconds=8.0)
        if claim is None:
            raise RuntimeError(f"{case_id} can't be claimed")
        lease = claim.lease
        claimed = Claimed(
            store=self.store,
            claim=claim,
            now=self.harness.now,
            waiting=self.harness.waiting,
            on_saved=lambda has_posts: None,
        )
        released = False
        while not released:
            await advance(self.harness, claimed)
            posted: dict[str, Posted] = {}
            for entry in await self.store.outbox(lease):
                if isinstance(entry.post.content, Approval):
                    self._cards[case_id] = entry.post.content
                posted[entry.post.post_id] = Posted(channel="C1", message_id=ts_of(START))
            if posted:
                await self.store.sent(lease, posted)
            released = await self.store.release(lease, due_at=claimed.due_at())


CUSTOMER = CustomerChosen(customer_id="cust_asha", by="ravi")
ANSWER = Message(message_id="2", author="ravi", text="Here it is.")


def first_message(words: str) -> Message:
    return Message(message_id="1", author="ravi", text=words, first=True)


def approved(card: Card) -> Decided:
    """A lead's approval of the card as it stands."""
    return Decided(
        key=card.key,
        version=card.version,
        digest=card.digest,
        verdict="approve",
        by="priya",
        place="C1",
    )


@asynccontextmanager
async def desk(
    folder: Path, base_url: str, *, store_url: str | None = None, max_steps: int = 12
) -> AsyncGenerator[Desk]:
    """A desk on a fresh shop in `folder`, which is made, and a fresh store, there or elsewhere."""
    await asyncio.to_thread(folder.mkdir)

    def now() -> float:
        return START

    async with AsyncExitStack() as parts:
        store = open_store(store_url or f"sqlite:///{folder}/cases.db", now=now)
        parts.push_async_callback(store.close)
        shop = sample_shop(folder, now=now)
        parts.push_async_callback(shop.close)
        claude = Claude(api_key="sk-ant-local", base_url=base_url, max_retries=0)
        parts.push_async_callback(claude.close)
        harness = harness_of(store, shop, claude, now=now, max_steps=max_steps)
        yield Desk(store=store, harness=harness, shop=shop)


def sample_shop(folder: Path, *, now: Clock) -> Shop:
    """The sample shop in `folder`, as of that day."""
    today = datetime.fromtimestamp(now(), UTC).date()
    return open_shop(f"sqlite:///{folder}/shop.db", now=now, sample_on=today)


def harness_of(
    store: CaseStore, shop: Shop, claude: Claude, *, now: Clock, max_steps: int = 12
) -> Harness:
    """The refund agent, whose every refund waits for a lead; everybody is one."""
    return Harness(
        store=store,
        claude=claude,
        agent=refund_agent(
            model=MODEL,
            orders=shop.orders,
            policies=shop.policies,
            ledger=shop.ledger,
            payments=shop.payments,
            rules=Rules(approval_limit_paise=0, second_approval_over_paise=1_000_000),
        ),
        prices=built_in_prices(),
        now=now,
        customers=_name,
        approvers=_approver,
        fetch_photo=_no_photo,
        read_thread=_read,
        limits=Limits(max_steps=max_steps),
        waiting=Waiting(),
    )


async def bare_calls(
    client: anthropic.AsyncAnthropic, frozen: Json, messages: Sequence[Json]
) -> None:
    """The same requests through the SDK alone: nothing is looked at, nothing is saved."""
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            given: Any = messages[:number]
            await client.messages.create(messages=given, **request_of(frozen))


def request_of(frozen: Json) -> dict[str, Any]:
    """The arguments that all requests of a run have in common, as the harness sends them."""
    mark = {"type": "ephemeral"}
    return {
        "model": frozen["model"],
        "max_tokens": frozen["max_tokens"],
        "system": [{"type": "text", "text": frozen["system"], "cache_control": mark}],
        "tools": frozen["tools"],
        "thinking": frozen["thinking"],
        "cache_control": mark,
    }


async def _name(customer_id: str) -> str | None:
    return "Asha Rao"


async def _approver(user: str) -> Literal["approver", "stranger", "unknown"]:
    return "approver"


async def _no_photo(photo: Photo) -> Literal["never"]:
    return "never"


async def _read(case_id: str) -> bool:
    return True
