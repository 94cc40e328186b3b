"""The refund agent's own tools: look up, search, propose.

`propose_refund` is called again for the same call after a restart or a decision: what it does
follows from the ledger's row alone, so nothing is decided or paid twice.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from agent.errors import ToolError
from agent.refunds.approvals import proposal_card
from agent.refunds.money import parse_rupees, plain_rupees, rupees
from agent.refunds.ports import (
    Ledger,
    Order,
    Orders,
    Payments,
    Policies,
    Proposal,
    Reason,
    Refund,
    RefundStatus,
    Rules,
)
from agent.run import Json
from agent.tools import Context, HandOff, Later, Pause, Result, ToolReturn

log = logging.getLogger(__name__)

ARRIVES = "3–5 days"
ARRIVES_ON_A_CARD = "5–7 days"
LOOK_UP_EVERY_SECONDS = 30.0
LOOK_UP_FOR_SECONDS = 15 * 60.0
# Providers forget idempotency keys after a day: later, only looking up is safe.
KEY_LASTS_SECONDS = 24 * 3600.0

# The model's number of rupees, as exact integer paise.
Rupees = Annotated[int, BeforeValidator(parse_rupees), WithJsonSchema({"type": "number"})]


class RefundTools:
    """The tools over one shop. `rules` are the limits in force."""

    def __init__(
        self,
        *,
        orders: Orders,
        policies: Policies,
        ledger: Ledger,
        payments: Payments,
        rules: Rules,
    ) -> None:
        self._orders = orders
        self._policies = policies
        self._ledger = ledger
        self._payments = payments
        self._rules = rules

    async def get_order(self, context: Context, *, order_id: str) -> Json:
        """One of this customer's orders: items with category and price, what was paid, refunded
        and is still refundable (in rupees), payment method, status and dates.

        Call it before any decision about an order.

        Args:
            order_id: The order number as the customer gave it, like 4471.
        """
        return _told(await self._own_order(context, order_id))

    async def search_policies(self, context: Context, *, query: str) -> str | list[Any]:
        """The three best passages of the shop's return, refund and warranty policies in force
        today, each with id, effective date and text.

        Call it before you decide what the customer is entitled to.

        Args:
            query: The situation in a few words, like "damaged electronics photo".
        """
        today = datetime.fromtimestamp(context.now, UTC).date()
        found = await self._policies.search(query, today=today)
        if not found:
            return "No policy matches. Search again with other words."
        return [
            {
                "policy_id": each.policy_id,
                "title": each.title,
                "effective": each.effective.isoformat(),
                "text": each.text,
            }
            for each in found
        ]

    async def propose_refund(
        self,
        context: Context,
        *,
        order_id: str,
        amount_rupees: Rupees,
        reason: Reason,
        explanation: str,
    ) -> ToolReturn:
        """Propose a refund on one of this customer's orders.

        A refund up to the shop's limit is paid at once; a larger one waits for a support lead, who
        approves or declines it, perhaps with a note or a smaller amount. The result says whether
        it was issued, with its reference, or declined, or why it can't be made. Call it only when
        a policy you found allows the refund.

        Args:
            order_id: The order number.
            amount_rupees: The amount in rupees, with at most 2 decimals, like 2499 or 145.05.
            reason: Why the customer gets the money back.
            explanation: For the lead: what happened and which policy allows the refund.
        """
        row = await self._ledger.propose(
            Proposal(
                key=context.key,
                digest=context.digest(),
                run_id=context.run_id,
                call_id=context.call_id,
                customer_id=context.customer_id,
                order_id=order_id.strip(),
                amount_paise=amount_rupees,
                reason=reason,
                explanation=explanation,
            ),
            self._rules,
            withdrawn=context.stopped,
        )
        if row.status is RefundStatus.WAITING:
            order = await self._own_order(context, row.order_id)
            history = await self._ledger.history(row.order_id)
            return Pause(card=proposal_card(context, row, order, history))
        if row.status is RefundStatus.INTENDED:
            row = await self._pay(context, row)
        elif row.status is RefundStatus.UNKNOWN:
            row = await self._look_up(context, row)
        if row.status is RefundStatus.PAID:
            order = await self._own_order(context, row.order_id)
            return _issued(row, on_a_card=order.payment_method.casefold() == "card")
        return _outcome(row, now=context.now)

    async def _own_order(self, context: Context, order_id: str) -> Order:
        order = await self._orders.order(context.customer_id, order_id.strip())
        if order is None:
            raise ToolError(f"No order {order_id} for this customer. Ask them to check the number.")
        return order

    async def _pay(self, context: Context, row: Refund) -> Refund:
        """Pay what was decided, and nothing else: the digests have to agree first."""
        approved = row.digest
        if row.amount_paise != row.proposed_paise:
            approved = context.digest(amount_rupees=plain_rupees(row.amount_paise))
        if row.digest != context.digest() or (
            not row.automatic and row.decision_digest != approved
        ):
            raise RuntimeError(f"{row.key}: the decision was not about this refund; not paid")
        if context.now - (row.intended_at or context.now) >= KEY_LASTS_SECONDS:
            return await self._look_up(context, row)
        return await self._ledger.record(row.key, await self._payments.pay(row))

    async def _look_up(self, context: Context, row: Refund) -> Refund:
        """Ask what became of a payment; nothing found is no outcome, so send it again."""
        payment = await self._payments.look_up(row)
        recent = context.now - (row.intended_at or context.now) < KEY_LASTS_SECONDS
        if payment is None and recent:
            payment = await self._payments.pay(row)
        return row if payment is None else await self._ledger.record(row.key, payment)


def _told(order: Order) -> Json:
    """An order as the model reads it; amounts are rupees with two decimals."""
    return {
        "order_id": order.order_id,
        "status": order.status,
        "items": [
            {
                "name": item.name,
                "category": item.category,
                "quantity": item.quantity,
                "price_rupees": plain_rupees(item.price_paise),
            }
            for item in order.items
        ],
        "paid_rupees": plain_rupees(order.paid_paise),
        "refunded_rupees": plain_rupees(order.refunded_paise),
        "refundable_rupees": plain_rupees(order.refundable_paise),
        "payment_method": order.payment_method,
        "placed_on": str(order.placed_on),
        "promised_on": str(order.promised_on) if order.promised_on else None,
        "shipped_on": str(order.shipped_on) if order.shipped_on else None,
        "delivered_on": str(order.delivered_on) if order.delivered_on else None,
        "tracking": order.tracking,
        "seller_note": order.notes,
    }


def _outcome(row: Refund, *, now: float) -> ToolReturn:
    """What a row that is not paid says. Raises `ToolError` where the model has to do otherwise."""
    match row.status:
        case RefundStatus.DECLINED:
            note = f' Their note: "{row.note}".' if row.note else ""
            return (
                f"Declined by a support lead.{note} Nothing was paid. You may offer what the"
                " policies allow instead, or hand off."
            )
        case RefundStatus.REFUSED:
            raise ToolError(refusal_words(row))
        case RefundStatus.FAILED:
            return HandOff(
                reason=f"The payment of {rupees(row.amount_paise)} failed: {row.failure}"
            )
        case RefundStatus.UNKNOWN | RefundStatus.INTENDED:
            return _not_confirmed(row, now=now)
        case RefundStatus.EXPIRED:
            return "Nobody answered. Nothing was paid."
        case _:
            raise ToolError("This refund was withdrawn. Nothing was paid. Hand off.")


def _issued(row: Refund, *, on_a_card: bool) -> Result:
    amount = rupees(row.amount_paise)
    arrives = ARRIVES_ON_A_CARD if on_a_card else ARRIVES
    told: Json = {
        "status": "issued",
        "amount_rupees": plain_rupees(row.amount_paise),
        "reference": row.reference,
        "arrives_in": arrives,
    }
    if row.amount_paise != row.proposed_paise:
        told["asked_for_rupees"] = plain_rupees(row.proposed_paise)
        told["changed_by_a_lead"] = True
    if row.note:
        told["note_of_the_lead"] = row.note
    return Result(
        content=told,
        receipt=(
            f"Your refund of {amount} was issued, reference {row.reference}, arrives in {arrives}."
        ),
    )


def _not_confirmed(row: Refund, *, now: float) -> Later | HandOff:
    """The outcome isn't known: look again for a while, then a person has to."""
    amount = rupees(row.amount_paise)
    receipt = f"Your refund of {amount} is approved and is being confirmed."
    if now - (row.intended_at or now) < LOOK_UP_FOR_SECONDS:
        return Later(
            seconds=LOOK_UP_EVERY_SECONDS,
            line=f"The refund of {amount} is approved; the payment is not confirmed yet.",
            receipt=receipt,
        )
    log.error("%s: refund of %s approved, not yet confirmed", row.key, amount)
    return HandOff(
        reason=f"The refund of {amount} is approved, not yet confirmed by the payment system.",
        receipt=receipt,
        unsettled=True,
    )


def refusal_words(row: Refund) -> str:
    """Why the ledger refused, as an instruction to the model."""
    left = rupees(row.refundable_paise or 0)
    match row.refusal:
        case "no_such_order":
            return f"No order {row.order_id} for this customer. Ask them to check the number."
        case "nothing_refundable":
            return f"Nothing is refundable on order {row.order_id} any more. Tell the customer why."
        case "above_refundable":
            return (
                f"{rupees(row.amount_paise)} is more than is refundable on order {row.order_id}:"
                f" {left}. Propose at most that."
            )
        case "declined_before":
            return (
                "A lead declined this same refund in this conversation. Offer what the note and"
                " the policies allow instead, or hand off."
            )
        case None:
            return "The refund was refused. Hand off."
