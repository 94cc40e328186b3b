"""Another worker, thought dead, decides in the very moment in which this one closes the card."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent.approval import Card, LeadDecision, Request
from agent.case import Handoff
from agent.refunds.approvals import RefundApprovals
from bot.local.claude import say
from tests.agent.bench import Bench, propose

Act = Callable[[Bench], Awaitable[Any]]


@pytest.fixture
def decided_first(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever closes a card finds that Priya's approval got there first."""
    close = RefundApprovals.close

    async def late(self: RefundApprovals, request: Request, verdict: Any, *, at: float) -> Card:
        card = request.card
        decision = LeadDecision(
            decision_id="elsewhere",
            version=card.version,
            digest=card.digest,
            verdict="approve",
            by="priya",
            at=at,
        )
        await self.decide(request, decision)
        return await close(self, request, verdict, at=at)

    monkeypatch.setattr(RefundApprovals, "close", late)
    bench.claude.script("speaker", [propose(), say("Your refund is on its way.")])


async def take_over(bench: Bench) -> None:
    await bench.take_over()
    await bench.go()


async def delete(bench: Bench) -> None:
    await bench.delete((await bench.case()).case_id.rpartition(":")[2], first=True)
    await bench.go()


async def expire(bench: Bench) -> None:
    await bench.go_after(4 * 3600 + 1)
    await bench.go_after(3 * 86400)


@pytest.mark.parametrize("act", [take_over, delete], ids=["take over", "delete"])
async def test_a_decision_that_came_first_is_paid_before_the_handoff(
    bench: Bench, decided_first: None, act: Act
) -> None:
    await bench.open("The speaker is broken.")
    await act(bench)
    [refund] = await bench.refunds("4471")
    assert refund.status == "paid"
    run = await bench.run()
    assert run.status == "handed_off"
    assert str(refund.reference) in run.receipts[0]
    assert len(bench.claude.requests) == 1


async def test_a_take_over_after_such_a_decision_tells_the_customer_what_was_paid(
    bench: Bench, decided_first: None
) -> None:
    await bench.open("The speaker is broken.")
    await take_over(bench)
    [handoff] = bench.shown(Handoff)
    assert "was issued, reference" in handoff.text


async def test_a_decision_that_came_before_the_expiry_stands(
    bench: Bench, decided_first: None
) -> None:
    await bench.open("The speaker is broken.")
    await expire(bench)
    [refund] = await bench.refunds("4471")
    assert (refund.status, refund.decided_by) == ("paid", "priya")
    assert (await bench.run()).status == "done"
