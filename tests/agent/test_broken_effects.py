"""An effect that fails by our fault: what it did before is not forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from agent import events
from agent.approval import Card, Request
from agent.case import Approval, Handoff, Line
from agent.endings import UNCONFIRMED, give_up
from agent.loop import advance
from agent.refunds.approvals import RefundApprovals
from agent.refunds.ports import Ledger
from agent.tools import UNAVAILABLE
from bot.local.claude import Turn, say
from tests.agent.bench import LEASE_SECONDS, Bench, propose, refunds_of, results
from tests.agent.machine_payments import Provider

WORDS = "My kettle, order 4502, and my speaker, order 4471, arrived broken."


@dataclass
class Broken:
    """A ledger one of whose methods fails, once, at its call number `at`."""

    ledger: Any
    method: str
    at: int = 0
    calls: int = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*given: Any, **named: Any) -> Any:
            if name == self.method:
                self.calls += 1
                if self.calls == self.at + 1:
                    raise OSError("the shop's database is away")
            return await getattr(self.ledger, name)(*given, **named)

        return call


def breaking(bench: Bench, method: str, turn: Turn, *, at: int = 0) -> Provider:
    provider = Provider()
    provider.shop = bench.shop.payments
    ledger = cast("Ledger", Broken(bench.shop.ledger, method, at))
    bench.agent = refunds_of(bench.shop, ledger=ledger, payments=provider)
    bench.claude.script("kettle", [turn, say("A colleague will follow up.")])
    return provider


def lines(bench: Bench) -> list[str]:
    return [each.text for each in bench.shown(Line) if "known now" in each.text]


async def test_a_payment_that_could_not_be_written_down_is_looked_up_and_told(
    bench: Bench,
) -> None:
    breaking(bench, "record", propose(899, "4502"))
    await bench.open(WORDS)
    [result] = results(await bench.messages())
    assert result["content"] == UNAVAILABLE
    [row] = await bench.refunds("4502")
    assert (row.status, (await bench.run()).status) == ("intended", "handed_off")
    await bench.go_after(121)
    [row] = await bench.refunds("4502")
    assert row.status == "paid"
    [told] = lines(bench)
    assert row.reference is not None
    assert row.reference in told
    assert (await bench.case()).unsettled == ()


async def test_a_proposal_that_failed_before_a_lead_could_be_asked_is_withdrawn(
    bench: Bench,
) -> None:
    breaking(bench, "history", propose(2499, "4471"))
    await bench.open(WORDS)
    [row] = await bench.refunds("4471")
    assert (row.status, bench.shown(Approval)) == ("waiting", [])
    await bench.go_after(121)
    [row] = await bench.refunds("4471")
    assert row.status == "withdrawn"
    [told] = lines(bench)
    assert "Nothing was paid" in told


async def test_a_proposal_that_was_never_written_is_told_as_unpaid_and_forgotten(
    bench: Bench,
) -> None:
    breaking(bench, "propose", propose(899, "4502"))
    await bench.open(WORDS)
    assert await bench.refunds("4502") == []
    await bench.go_after(121)
    [told] = lines(bench)
    assert "Nothing was paid" in told
    assert (await bench.case()).unsettled == ()


async def test_an_approved_payment_that_could_not_be_written_down_gets_onto_its_card(
    bench: Bench,
) -> None:
    breaking(bench, "record", propose(2499, "4471"))
    await bench.open(WORDS)
    await bench.decide("approve")
    await bench.go()
    assert "being paid" in str(bench.card.outcome)
    await bench.go_after(121)
    [row] = await bench.refunds("4471")
    assert row.status == "paid"
    assert str(row.reference) in str(bench.card.outcome)


async def test_an_unconfirmed_payment_whose_look_up_fails_is_told_to_the_customer_as_such(
    bench: Bench,
) -> None:
    provider = breaking(bench, "record", propose(899, "4502"), at=1)
    provider.mood = "loses its answer"
    await bench.open(WORDS)
    assert (await bench.run()).status == "running"
    await bench.go_after(31)
    [handoff] = bench.shown(Handoff)
    assert "A system failed" in handoff.reason
    assert "₹899.00 is approved and is being confirmed" in handoff.text
    await bench.go_after(121)
    [told] = lines(bench)
    assert "was paid" in told


async def test_work_that_keeps_failing_around_a_payment_still_tells_what_became_of_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.claude.script("kettle", [propose(2499, "4471"), say("Your refund is on its way.")])
    await bench.open(WORDS)

    async def away(self: RefundApprovals, request: Request) -> Card:
        raise OSError("the shop's database is away")

    current = RefundApprovals.current
    await bench.decide("approve")
    lease, claimed = await bench.claim()
    await events.apply(bench.harness, claimed)
    monkeypatch.setattr(RefundApprovals, "current", away)
    with pytest.raises(OSError, match="away"):
        await advance(bench.harness, claimed)
    bench.clock.go_on(LEASE_SECONDS + 1)
    lease, claimed = await bench.claim()
    await give_up(bench.harness, claimed)
    await bench.store.release(lease, due_at=claimed.due_at())
    monkeypatch.setattr(RefundApprovals, "current", current)
    await bench.go()
    [handoff] = bench.shown(Handoff)
    assert UNCONFIRMED in handoff.reason
    await bench.go_after(121)
    [row] = await bench.refunds("4471")
    [told] = lines(bench)
    assert str(row.reference) in told
    assert str(row.reference) in str(bench.card.outcome)
