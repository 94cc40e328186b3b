"""What the shop's tests are written with: a clock, proposals, decisions and payments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from threading import Barrier
from typing import TypeVar

from sqlalchemy import Connection

from agent.refunds.ports import Decision, Payment, Proposal, Reason, Refund, RefundStatus, Rules
from storage.shop import Shop, open_shop
from storage.shop.database import Database

TODAY = date(2026, 11, 29)
NOON = 1_795_953_600.0  # 12:00 UTC of that day
HOUR = 3_600.0

RULES = Rules(approval_limit_paise=100_000, second_approval_over_paise=1_000_000)

Result = TypeVar("Result")


@dataclass
class Clock:
    now: float = NOON

    def __call__(self) -> float:
        return self.now


class Refusing(Database):
    """Another way to a shop's database: it fails as told to, in this order, and then works."""

    def __init__(self, database: Database, failures: Sequence[Exception]) -> None:
        self._database = database
        self._failures = list(failures)

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        self._fail()
        return await self._database.read(work)

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        self._fail()
        return await self._database.write(work)

    def _fail(self) -> None:
        if self._failures:
            raise self._failures.pop(0)


def open_copy(path: Path, clock: Clock) -> Shop:
    return open_shop(f"sqlite:///{path}", now=clock)


def proposal(
    order_id: str = "4471",
    amount_paise: int = 249_900,
    *,
    key: str = "run_1:call_1",
    customer_id: str = "cust_asha",
    reason: Reason = "damaged",
) -> Proposal:
    """A proposal whose digest says what it is of; the key is made of run and call."""
    run_id, call_id = key.split(":")
    return Proposal(
        key=key,
        digest=digest(key, order_id, amount_paise),
        run_id=run_id,
        call_id=call_id,
        customer_id=customer_id,
        order_id=order_id,
        amount_paise=amount_paise,
        reason=reason,
        explanation="The photo shows the damage.",
    )


def digest(key: str, order_id: str, amount_paise: int) -> str:
    return f"digest of {key} {order_id} {amount_paise}"


def approve(
    refund: Refund,
    by: str = "U_LEAD",
    *,
    decision_id: str = "",
    amount_paise: int | None = None,
    note: str = "",
    approvers_now: Sequence[str] = (),
) -> Decision:
    """A click on Approve, or Change amount, on the card that shows this refund as it stands."""
    changed = amount_paise is not None
    return Decision(
        token=1,
        decision_id=decision_id or f"click of {by} on version {refund.version} {amount_paise}",
        version=refund.version,
        digest=refund.shown_digest,
        verdict="approve",
        by=by,
        at=NOON + HOUR,
        note=note,
        amount_paise=amount_paise,
        amount_digest=digest(refund.key, refund.order_id, amount_paise) if changed else None,
        approvers_now=frozenset(approvers_now),
    )


def decline(refund: Refund, by: str = "U_LEAD", *, note: str = "") -> Decision:
    return Decision(
        token=1,
        decision_id=f"decline of {by} on version {refund.version}",
        version=refund.version,
        digest=refund.shown_digest,
        verdict="decline",
        by=by,
        at=NOON + HOUR,
        note=note,
    )


async def waiting(shop: Shop, asked: Proposal | None = None) -> Refund:
    """A refund that waits for a lead: by default the speaker's ₹2,499.00."""
    refund = await shop.ledger.propose(asked or proposal(), RULES)
    assert refund.status is RefundStatus.WAITING
    return refund


async def declined(shop: Shop, asked: Proposal | None = None) -> Refund:
    refund = await waiting(shop, asked)
    decided = await shop.ledger.decide(refund.key, decline(refund, note="No photo"), RULES)
    assert decided.result == "declined"
    assert decided.refund is not None
    return decided.refund


async def settle(shop: Shop, refund: Refund, payment: Payment | None = None) -> Refund:
    """Record a payment of this refund, a successful one unless told otherwise."""
    paid = payment or Payment(status="paid", reference=f"reference of {refund.key}")
    return await shop.ledger.record(refund.key, paid)


def at_once(count: int, call: Callable[[int], Awaitable[Result]]) -> list[Result]:
    """Run `call(0)`, `call(1)`, … in as many threads, each with its own event loop, together."""
    start = Barrier(count)

    def one(number: int) -> Result:
        start.wait()

        async def main() -> Result:
            return await call(number)

        return asyncio.run(main())

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(one, range(count)))
