"""A whole run on the harness with all its guarantees, and the bare SDK making the same calls.

The harness is called as a worker calls it: claim, load, advance, send the outbox, release, with
SQLite on disk. Slack and the engine's wake-ups are not part of it.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import anthropic

from agent.case import Approval, CustomerChosen, Decided, Event, Fact, Message, Photo, ts_of
from agent.claimed import Claimed
from agent.claude import Claude
from agent.harness import Harness
from agent.limits import Limits, Waiting
from agent.loop import advance
from agent.ports import CaseStore, Posted, Record
from agent.pricing import built_in_prices
from agent.refunds.agent import refund_agent
from agent.refunds.ports import Rules
from agent.run import Json
from bench.server import WORDS
from storage import open_store
from storage.shop import open_shop

MODEL = "claude-opus-5-5"
START = 1_790_000_000.0


@dataclass(kw_only=True)
class Desk:
    """The harness over one store and one shop; every case is a new one of the same customer."""

    store: CaseStore
    harness: Harness
    _cases: itertools.count[int] = field(default_factory=itertools.count)
    _events: itertools.count[int] = field(default_factory=itertools.count)
    _cards: dict[str, Approval] = field(default_factory=dict[str, Approval])

    async def open(self, words: str) -> str:
        """A new case with these words, worked on to its first stop; returns its id."""
        case_id = f"T1:C1:{next(self._cases)}"
        first = Message(message_id="1", author="ravi", text=words, first=True)
        await self.deliver(case_id, first)
        await self.work(case_id)
        await self.deliver(case_id, CustomerChosen(customer_id="cust_asha", by="ravi"))
        await self.work(case_id)
        return case_id

    async def refund(self) -> Record:
        """The seed trace's run: a question answered, a card approved, a reply."""
        case_id = await self.open(WORDS)
        await self.deliver(case_id, Message(message_id="2", author="ravi", text="Here it is."))
        await self.work(case_id)
        card = self._cards[case_id].card
        decision = Decided(
            key=card.key,
            version=card.version,
            digest=card.digest,
            verdict="approve",
            by="priya",
            place="C1",
        )
        await self.deliver(case_id, decision)
        await self.work(case_id)
        record = await self.store.case(case_id)
        assert record is not None
        return record

    async def deliver(self, case_id: str, fact: Fact) -> None:
        number = next(self._events)
        event = Event(event_id=f"e{number}", ts=ts_of(START + number), fact=fact)
        await self.store.deliver(case_id, event)

    async def work(self, case_id: str) -> None:
        """What a worker does with a case that was woken."""
        lease = await self.store.claim(case_id, "bench", seconds=8.0)
        assert lease is not None
        claimed = Claimed(
            store=self.store,
            lease=lease,
            record=await self.store.load(lease),
            now=self.harness.now,
            waiting=self.harness.waiting,
            on_saved=lambda: None,
        )
        released = False
        while not released:
            await advance(self.harness, claimed)
            for entry in await self.store.outbox(lease):
                if isinstance(entry.post.content, Approval):
                    self._cards[case_id] = entry.post.content
                posted = Posted(channel="C1", message_id=ts_of(START))
                await self.store.sent(lease, entry.post.post_id, posted)
            released = await self.store.release(lease, due_at=claimed.due_at())


@asynccontextmanager
async def desk(folder: Path, base_url: str, *, max_steps: int = 12) -> AsyncGenerator[Desk]:
    """A desk on a fresh store and shop in `folder`, which exists and is empty."""

    def now() -> float:
        return START

    async with AsyncExitStack() as parts:
        store = open_store(f"sqlite:///{folder}/cases.db", now=now)
        parts.push_async_callback(store.close)
        today = datetime.fromtimestamp(START, UTC).date()
        shop = open_shop(f"sqlite:///{folder}/shop.db", now=now, sample_on=today)
        parts.push_async_callback(shop.close)
        claude = Claude(api_key="sk-ant-local", base_url=base_url, max_retries=0)
        parts.push_async_callback(claude.close)
        harness = Harness(
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
        yield Desk(store=store, harness=harness)


async def bare_calls(
    client: anthropic.AsyncAnthropic, frozen: Json, messages: Sequence[Json]
) -> None:
    """The same requests through the SDK alone: nothing is looked at, nothing is saved."""
    system: Any = [
        {"type": "text", "text": frozen["system"], "cache_control": {"type": "ephemeral"}}
    ]
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        given: Any = messages[:number]
        await client.messages.create(
            model=frozen["model"],
            max_tokens=frozen["max_tokens"],
            system=system,
            tools=frozen["tools"],
            thinking=frozen["thinking"],
            messages=given,
            cache_control={"type": "ephemeral"},
        )


async def _name(customer_id: str) -> str | None:
    return "Asha Rao"


async def _approver(user: str) -> Literal["approver", "stranger", "unknown"]:
    return "approver"


async def _no_photo(photo: Photo) -> None:
    return None


async def _read(case_id: str) -> bool:
    return True
