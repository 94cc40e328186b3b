"""Leads' decisions on refunds: from the ledger's row to the card and back."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Literal

from agent.approval import Answer, Card, CardFact, CardOutcome, Found, LeadDecision, Request
from agent.refunds.money import plain_rupees, rupees
from agent.refunds.ports import (
    Decided,
    Decision,
    Ledger,
    Order,
    Payments,
    Refund,
    RefundStatus,
    Rules,
)
from agent.tools import Context, proposal_digest

_REASONS = {
    "damaged": "arrived damaged",
    "wrong_item": "wrong item",
    "not_delivered": "not delivered",
    "changed_mind": "changed their mind",
}
_UNKNOWN = (RefundStatus.INTENDED, RefundStatus.UNKNOWN)

# Any other that is decided was approved.
_VERDICTS: dict[RefundStatus, Literal["declined", "expired", "withdrawn", "refused"]] = {
    RefundStatus.DECLINED: "declined",
    RefundStatus.EXPIRED: "expired",
    RefundStatus.WITHDRAWN: "withdrawn",
    RefundStatus.REFUSED: "refused",
}

# The beginning of a passage as `search_policies` gives it, in JSON.
_PASSAGE = re.compile(r'\{"policy_id": ("(?:[^"\\]|\\.)*"), "title": ("(?:[^"\\]|\\.)*")')


class RefundApprovals:
    """`Approvals` over the ledger: each decision is one transaction on one row."""

    def __init__(self, *, ledger: Ledger, payments: Payments, rules: Rules) -> None:
        self._ledger = ledger
        self._payments = payments
        self._rules = rules

    async def current(self, request: Request) -> Card:
        row = await self._ledger.hold(request.key, token=request.token)
        return _card_now(request.card, _known(row, request))

    async def decide(self, request: Request, decision: LeadDecision) -> Answer:
        changed = decision.amount_paise
        decided = await self._ledger.decide(
            request.key,
            Decision(
                decision_id=decision.decision_id,
                token=request.token,
                version=decision.version,
                digest=decision.digest,
                verdict=decision.verdict,
                by=decision.by,
                at=decision.at,
                note=decision.note,
                amount_paise=changed,
                amount_digest=None if changed is None else _digest_with(request, changed),
                approvers_now=decision.approvers_now,
            ),
            self._rules,
        )
        return _answer(request, decided)

    async def show_anew(self, request: Request) -> Card:
        row = await self._ledger.show_anew(request.key, request.card.version, token=request.token)
        return _card_now(request.card, row or _known(await self._ledger.find(request.key), request))

    async def look_up(self, key: str, card: Card | None, *, token: int) -> Found | None:
        row = await self._ledger.find_or_bar(key)
        if row is not None and row.status is RefundStatus.WAITING:
            # Its call failed before a lead could be asked.
            row = await self._ledger.close(
                key, RefundStatus.WITHDRAWN, at=row.created_at, token=token
            )
        if row is not None and row.status in _UNKNOWN:
            payment = await self._payments.look_up(row)
            if payment is not None:
                row = await self._ledger.record(key, payment)
        if row is not None and row.status in _UNKNOWN:
            return None
        told = "Nothing was paid."
        if row is not None and row.status in (RefundStatus.PAID, RefundStatus.FAILED):
            told = _detail(row)
        now = None if card is None or row is None else _card_now(card, row)
        return Found(text=f"The payment that was not confirmed is known now. {told}", card=now)

    async def close(
        self, request: Request, verdict: Literal["expired", "withdrawn"], *, at: float
    ) -> Card:
        status: Literal[RefundStatus.EXPIRED, RefundStatus.WITHDRAWN] = (
            RefundStatus.EXPIRED if verdict == "expired" else RefundStatus.WITHDRAWN
        )
        row = await self._ledger.close(request.key, status, at=at, token=request.token)
        return _card_now(request.card, _known(row, request))


def _known(row: Refund | None, request: Request) -> Refund:
    if row is None:
        raise LookupError(f"no refund row {request.key}: is this the shop it was made in?")
    return row


def proposal_card(context: Context, row: Refund, order: Order, history: Sequence[Refund]) -> Card:
    """The card for a waiting row: our own records first, then the agent's explanation."""
    mine = [each for each in history if each.customer_id == row.customer_id]
    earlier = [each for each in mine if each.key != row.key]
    facts = [
        CardFact(label="Customer", value=f"{context.customer_name} ({row.customer_id})"),
        CardFact(label="Order", value=f"{order.order_id}: {_items(order)}"),
        CardFact(label="Reason", value=_REASONS[row.reason]),
        CardFact(
            label="Money",
            value=(
                f"paid {rupees(order.paid_paise)} by {order.payment_method}, refunded"
                f" {rupees(order.refunded_paise)}, refundable {rupees(order.refundable_paise)}"
            ),
        ),
        CardFact(label="Dates", value=_dates(order)),
        CardFact(label="Earlier refunds", value=_earlier(earlier)),
        CardFact(label="Policies consulted", value=_consulted(context)),
    ]
    return Card(
        key=row.key,
        version=row.version,
        digest=row.shown_digest,
        title=f"Refund {rupees(row.amount_paise)} to {context.customer_name}",
        amount_paise=row.amount_paise,
        facts=tuple(facts),
        explanation=row.explanation,
        needs_approvals=row.needs_approvals,
        approved_by=_approved_by(row),
    )


def _card_now(base: Card, row: Refund) -> Card:
    """The card as the row has it now; what was written on it stays."""
    return replace(
        base,
        version=row.version,
        digest=row.shown_digest,
        title=base.title.replace(
            rupees(base.amount_paise or row.amount_paise), rupees(row.amount_paise), 1
        ),
        amount_paise=row.amount_paise,
        needs_approvals=max(row.needs_approvals, 1),
        approved_by=_approved_by(row),
        outcome=_outcome(row),
    )


def _approved_by(row: Refund) -> tuple[str, ...]:
    return tuple(each.by for each in row.approvals)


def _outcome(row: Refund) -> CardOutcome | None:
    if row.status is RefundStatus.WAITING:
        return None
    return CardOutcome(
        verdict=_VERDICTS.get(row.status, "approved"),
        by=row.decided_by,
        at=row.decided_at,
        note=row.note,
        detail=_detail(row),
    )


def _detail(row: Refund) -> str:
    """What became of the money, where the verdict alone doesn't say it."""
    amount = rupees(row.amount_paise)
    if row.amount_paise != row.proposed_paise:
        amount += f" (asked for {rupees(row.proposed_paise)})"
    match row.status:
        case RefundStatus.WAITING | RefundStatus.DECLINED:
            return ""
        case RefundStatus.INTENDED:
            return f"{amount} is being paid."
        case RefundStatus.UNKNOWN:
            return f"{amount}: approved, not yet confirmed by the payment system."
        case RefundStatus.PAID:
            return f"{amount} was paid, reference {row.reference}."
        case RefundStatus.FAILED:
            return f"The payment of {amount} failed; nothing was paid."
        case RefundStatus.REFUSED:
            left = rupees(row.refundable_paise or 0)
            return f"Not paid: only {left} was refundable at that moment."
        case RefundStatus.EXPIRED:
            return "Nobody answered in time. Nothing was paid."
        case RefundStatus.WITHDRAWN:
            return "A colleague has the case. Nothing was paid."


def _answer(request: Request, decided: Decided) -> Answer:
    row = decided.refund
    card = request.card if row is None else _card_now(request.card, row)
    match decided.result:
        case "approved" | "declined" | "refused":
            return Answer(result="decided", card=card)
        case "no_such_refund":
            return Answer(result="stale", card=card)
        case result:
            return Answer(result=result, card=card)


def _digest_with(request: Request, amount_paise: int) -> str:
    """Of the same proposal with another amount, as `Context.digest` would make it."""
    return proposal_digest(
        agent=request.agent,
        run_id=request.run_id,
        call_id=request.call_id,
        tool=request.tool,
        customer_id=request.customer_id,
        arguments=request.input | {"amount_rupees": plain_rupees(amount_paise)},
    )


def _items(order: Order) -> str:
    return ", ".join(
        f"{item.quantity} × {item.name}" if item.quantity != 1 else item.name
        for item in order.items
    )


def _dates(order: Order) -> str:
    dates: list[tuple[str, date | None]] = [
        ("placed", order.placed_on),
        ("shipped", order.shipped_on),
        ("delivered", order.delivered_on),
    ]
    told = [f"{word} {when:%d %b %Y}" for word, when in dates if when is not None]
    return f"{order.status}; {', '.join(told)}"


def _earlier(rows: Sequence[Refund]) -> str:
    """Refunds and declines on this order before; refused proposals say nothing to a lead."""
    told = [
        f"{rupees(row.amount_paise)} {row.status.value} on"
        f" {datetime.fromtimestamp(row.decided_at or row.created_at, UTC):%d %b %Y}"
        for row in rows
        if row.status is not RefundStatus.REFUSED
    ]
    return "; ".join(told) or "none"


def _consulted(context: Context) -> str:
    """Ids and titles of the policies that this run's searches gave, each once."""
    found: dict[str, str] = {}
    for text in context.earlier.get("search_policies", ()):
        # Not the whole of it as JSON: a result that was too long ends anywhere.
        for policy_id, title in _PASSAGE.findall(text):
            found[json.loads(policy_id)] = json.loads(title)
    return "; ".join(f"{title} ({policy_id})" for policy_id, title in found.items()) or "none"
