"""The refund agent's tools and approvals without the loop: one run's calls, one lead's clicks.

Orders and ledger are the real shop on SQLite. Whoever pays is scripted, since the shop's own
payments never fail.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.approval import Answer, Card, LeadDecision, Request, Verdict
from agent.refunds.approvals import RefundApprovals
from agent.refunds.money import parse_rupees
from agent.refunds.ports import Payment, Reason, Refund, RefundStatus
from agent.refunds.tools import RefundTools
from agent.tools import Context, Pause, ToolReturn
from storage.shop import Shop
from tests.agent.bench import NOW, RULES, Clock

EXPLANATION = "Arrived broken; the policy on damaged items allows it."
NAMES = {"cust_asha": "Asha Rao", "cust_meera": "Meera Iyer", "cust_lakshmi": "Lakshmi Menon"}
HOUR = 3_600.0

PAID = Payment(status="paid", reference="R1")
FAILED = Payment(status="failed", detail="account closed")
UNKNOWN = Payment(status="unknown", detail="timeout")


@dataclass
class Provider:
    """`Payments` that answers as it is told to, and remembers what it was asked about."""

    pays: Payment = PAID
    finds: Payment | None = None
    asked: list[tuple[Literal["pay", "look up"], Refund]] = field(
        default_factory=list[tuple[Literal["pay", "look up"], Refund]]
    )

    async def pay(self, refund: Refund) -> Payment:
        self.asked.append(("pay", refund))
        return self.pays

    async def look_up(self, refund: Refund) -> Payment | None:
        self.asked.append(("look up", refund))
        return self.finds


class Desk:
    """One run: its calls of the tools, and the decisions on its cards."""

    def __init__(self, shop: Shop, clock: Clock) -> None:
        self.shop = shop
        self.clock = clock
        self.provider = Provider()
        self.tools = RefundTools(
            orders=shop.orders,
            policies=shop.policies,
            ledger=shop.ledger,
            payments=self.provider,
            rules=RULES,
        )
        self.approvals = RefundApprovals(ledger=shop.ledger, payments=self.provider, rules=RULES)

    # The model's calls

    async def propose(
        self,
        amount_rupees: str = "2499",
        order_id: str = "4471",
        *,
        call_id: str = "call_1",
        customer_id: str = "cust_asha",
        reason: Reason = "damaged",
        stopped: bool = False,
    ) -> ToolReturn:
        """The same call again is what the loop does after a decision or a restart."""
        context = self.context(
            call_id, customer_id, order_id=order_id, amount_rupees=amount_rupees, reason=reason
        )
        return await self.tools.propose_refund(
            replace(context, stopped=stopped),
            order_id=order_id,
            amount_rupees=parse_rupees(amount_rupees),
            reason=reason,
            explanation=EXPLANATION,
        )

    def context(
        self, call_id: str = "call_1", customer_id: str = "cust_asha", **arguments: Any
    ) -> Context:
        return Context(
            customer_id=customer_id,
            customer_name=NAMES[customer_id],
            agent="refunds",
            run_id="run_1",
            call_id=call_id,
            tool="propose_refund",
            arguments=arguments,
            now=self.clock(),
        )

    # The lead's clicks

    async def asked(
        self,
        amount_rupees: str = "2499",
        order_id: str = "4471",
        *,
        call_id: str = "call_1",
        customer_id: str = "cust_asha",
    ) -> Request:
        """A proposal that waits for a lead, as the approvals are asked about it."""
        pause = await self.propose(
            amount_rupees, order_id, call_id=call_id, customer_id=customer_id
        )
        assert isinstance(pause, Pause)
        assert pause.card is not None
        return Request(
            key=pause.card.key,
            token=1,
            run_id="run_1",
            call_id=call_id,
            customer_id=customer_id,
            agent="refunds",
            tool="propose_refund",
            input={"order_id": order_id, "amount_rupees": amount_rupees, "reason": "damaged"},
            card=pause.card,
        )

    async def decide(
        self,
        request: Request,
        verdict: Verdict = "approve",
        *,
        card: Card | None = None,
        by: str = "priya",
        note: str = "",
        amount_paise: int | None = None,
        approvers_now: frozenset[str] = frozenset(),
        decision_id: str | None = None,
    ) -> Answer:
        """A click on the request's card, or on `card`."""
        on = card or request.card
        decision = LeadDecision(
            decision_id=decision_id or f"{verdict} of {by} on version {on.version}",
            version=on.version,
            digest=on.digest,
            verdict=verdict,
            by=by,
            at=NOW + HOUR,
            note=note,
            amount_paise=amount_paise,
            approvers_now=approvers_now,
        )
        return await self.approvals.decide(request, decision)

    async def row(self, key: str = "run_1:call_1") -> Refund:
        row = await self.shop.ledger.find(key)
        assert row is not None
        return row

    async def unknown(self) -> Refund:
        """An automatic refund that was sent, and nobody knows what became of it."""
        self.provider.pays = UNKNOWN
        await self.propose("500")
        row = await self.row()
        assert row.status is RefundStatus.UNKNOWN
        self.provider.asked.clear()
        return row
