"""Refund rows as records, and which of them reserve money."""

from collections.abc import Sequence
from typing import Any, TypedDict

from sqlalchemy import ColumnElement, RowMapping

from agent.refunds.ports import RESERVING, LeadApproval, Refund, RefundStatus
from storage.shop.database import refunds

IS_RESERVING: ColumnElement[bool] = refunds.c.status.in_(
    sorted(status.value for status in RESERVING)
)
"""Rows whose money is gone, on its way, or may be either."""


class StoredApproval(TypedDict):
    """One lead's approval as the row keeps it, with the decision it came from and its note."""

    by: str
    at: float
    decision_id: str
    note: str


def stored_approvals(row: RowMapping) -> Sequence[StoredApproval]:
    """The approvals that count on this row, oldest first."""
    return row["approvals"] or ()


def refund_of(row: RowMapping) -> Refund:
    """The record of a row of `refunds`.

    Rows that the shop wrote itself may lack what only a proposal has: texts are then empty.
    """
    values: dict[str, Any] = dict(row)
    return Refund(
        key=values["idempotency_key"],
        digest=values["digest"] or "",
        shown_digest=values["shown_digest"] or "",
        run_id=values["run_id"],
        call_id=values["call_id"],
        customer_id=values["customer_id"] or "",
        order_id=values["order_id"],
        proposed_paise=values["proposed_paise"] or values["amount_paise"],
        amount_paise=values["amount_paise"],
        reason=values["reason"] or "",
        explanation=values["explanation"] or "",
        status=RefundStatus(values["status"]),
        automatic=values["automatic"],
        version=values["version"],
        needs_approvals=values["needs_approvals"],
        approvals=tuple(
            LeadApproval(by=approval["by"], at=approval["at"]) for approval in stored_approvals(row)
        ),
        refusal=values["refusal"],
        refundable_paise=values["refundable_paise"],
        decided_by=values["decided_by"],
        decided_at=values["decided_at"],
        decision_id=values["decision_id"],
        decision_digest=values["decision_digest"],
        note=values["note"] or "",
        reference=values["reference"],
        failure=values["failure"],
        created_at=values["created_at"],
        intended_at=values["intended_at"],
        settled_at=values["settled_at"],
    )
