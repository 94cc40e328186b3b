"""The ledger: refund rows and every rule about them. A refund is a row before it is a payment.

Each public method is one transaction that locks the customer and then the order before it reads
what it decides on. Who pays, and what the model or a lead reads about it, is not decided here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    Connection,
    RowMapping,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from agent.errors import LeaseLost
from agent.refunds.ports import (
    Decided,
    Decision,
    DecisionResult,
    KeyReused,
    Payment,
    Proposal,
    Refund,
    RefundStatus,
    Refusal,
    Rules,
)
from storage.shop.database import Database, fences, holds_everything, lock, orders, refunds
from storage.shop.rows import IS_RESERVING, StoredApproval, refund_of, stored_approvals

AUTOMATIC_WINDOW_SECONDS = 24 * 60 * 60

# Statements are built once: building one costs more than running it.
_BY_KEY = select(refunds).where(refunds.c.idempotency_key == bindparam("key"))
_LOCK_ROW = select(refunds).where(refunds.c.id == bindparam("row_id")).with_for_update()
_FENCE = select(fences.c.token).where(fences.c.idempotency_key == bindparam("key"))
_NEW_FENCE = insert(fences)
_NEWER_FENCE = update(fences).where(fences.c.idempotency_key == bindparam("key"))
_NEW_ROW = insert(refunds)
# A row that is still what it was when it was read: status, version and digest.
_CHANGE = update(refunds).where(
    refunds.c.id == bindparam("row_id"),
    refunds.c.status == bindparam("was_status"),
    refunds.c.version == bindparam("was_version"),
    refunds.c.shown_digest == bindparam("was_shown_digest"),
)
# Exactly this was declined in the same run, as asked or as a first lead cut it.
_DECLINED_IN_RUN = select(
    exists().where(
        refunds.c.order_id == bindparam("order_id"),
        refunds.c.run_id == bindparam("run_id"),
        refunds.c.status == RefundStatus.DECLINED.value,
        refunds.c.reason == bindparam("reason"),
        or_(
            refunds.c.proposed_paise == bindparam("amount_paise"),
            refunds.c.amount_paise == bindparam("amount_paise"),
        ),
    )
)
# Refunds on the order itself count already, of any age.
_RECENT_AUTOMATIC = select(func.sum(refunds.c.amount_paise)).where(
    refunds.c.customer_id == bindparam("customer_id"),
    refunds.c.order_id != bindparam("order_id"),
    refunds.c.automatic,
    refunds.c.created_at >= bindparam("since"),
    IS_RESERVING,
)
_EVER_DECLINED = select(
    exists().where(
        refunds.c.order_id == bindparam("order_id"),
        refunds.c.status == RefundStatus.DECLINED.value,
    )
)
_PAID = select(orders.c.paid_paise).where(
    orders.c.id == bindparam("order_id"), orders.c.customer_id == bindparam("customer_id")
)
_RESERVED = select(
    func.sum(refunds.c.amount_paise),
    func.sum(case((refunds.c.run_id.is_not(None), refunds.c.amount_paise))),
).where(refunds.c.order_id == bindparam("order_id"), IS_RESERVING)


class ShopLedger:
    """`Ledger` over the shop's database. `now` gives Unix seconds."""

    def __init__(self, database: Database, *, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def propose(self, proposal: Proposal, rules: Rules, *, withdrawn: bool = False) -> Refund:
        if proposal.amount_paise <= 0:
            raise ValueError("A refund's amount must be positive.")

        def decide_and_write(connection: Connection) -> Refund:
            return _propose(connection, proposal, rules, now=self._now(), withdrawn=withdrawn)

        try:
            return await self._database.write(decide_and_write)
        except IntegrityError:
            # Two that use one key for different customers don't wait for each other's locks. By
            # now the other one's row is there to be compared with.
            return await self._database.write(decide_and_write)

    async def find(self, key: str) -> Refund | None:
        row = await self._database.read(lambda connection: _row(connection, key))
        return None if row is None else refund_of(row)

    async def find_or_bar(self, key: str) -> Refund | None:
        def find_or_bar_now(connection: Connection) -> Refund | None:
            row = _row(connection, key)
            if row is not None:
                return refund_of(row)
            if connection.scalar(_FENCE, {"key": key}) is None:
                connection.execute(_NEW_FENCE, {"idempotency_key": key, "token": 0})
            return None

        try:
            return await self._database.write(find_or_bar_now)
        except IntegrityError:  # a proposal came in between: find it
            return await self._database.write(find_or_bar_now)

    async def history(self, order_id: str) -> Sequence[Refund]:
        def read(connection: Connection) -> Sequence[Refund]:
            query = select(refunds).where(refunds.c.order_id == order_id)
            found = connection.execute(query.order_by(refunds.c.created_at, refunds.c.id))
            return [refund_of(row) for row in found.mappings()]

        return await self._database.read(read)

    async def decide(self, key: str, decision: Decision, rules: Rules) -> Decided:
        if decision.amount_paise is not None and decision.amount_digest is None:
            raise ValueError("A changed amount comes with its digest.")
        return await self._database.write(
            lambda connection: _decide(connection, key, decision, rules, now=self._now())
        )

    async def hold(self, key: str, *, token: int) -> Refund | None:
        def look(connection: Connection) -> Refund | None:
            row = _locked_row(connection, key)
            if row is not None and row["status"] == RefundStatus.WAITING:
                _pass_fence(connection, key, token)
            return None if row is None else refund_of(row)

        return await self._database.write(look)

    async def show_anew(self, key: str, version: int, *, token: int) -> Refund | None:
        def raise_version(connection: Connection) -> Refund | None:
            row = _locked_row(connection, key)
            if row is None or row["status"] != RefundStatus.WAITING:
                return None
            _pass_fence(connection, key, token)
            if row["version"] < version:
                raise ValueError(f"Refund {key} has no version {version} yet.")
            if row["version"] > version:
                return refund_of(row)
            return _change(connection, row, version=version + 1, approvals=None, note=None)

        return await self._database.write(raise_version)

    async def close(
        self,
        key: str,
        status: Literal[RefundStatus.EXPIRED, RefundStatus.WITHDRAWN],
        *,
        at: float,
        token: int,
    ) -> Refund | None:
        def end_waiting(connection: Connection) -> Refund | None:
            row = _locked_row(connection, key)
            if row is None or row["status"] != RefundStatus.WAITING:
                return None if row is None else refund_of(row)
            _pass_fence(connection, key, token)
            return _change(connection, row, status=status.value, decided_at=at)

        return await self._database.write(end_waiting)

    async def record(self, key: str, payment: Payment) -> Refund:
        def write_outcome(connection: Connection) -> Refund:
            row = _locked_row(connection, key)
            if row is None:
                raise ValueError(f"There is no refund {key}.")
            match RefundStatus(row["status"]):
                case RefundStatus.PAID | RefundStatus.FAILED:
                    return refund_of(row)
                case RefundStatus.INTENDED | RefundStatus.UNKNOWN:
                    known = payment.status != "unknown"
                    return _change(
                        connection,
                        row,
                        status=payment.status,
                        reference=payment.reference or row["reference"],
                        failure=payment.detail if payment.status == "failed" else None,
                        settled_at=self._now() if known else None,
                    )
                case other:
                    raise ValueError(f"Refund {key} is {other}: nothing was to be paid.")

        return await self._database.write(write_outcome)


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """An order's money at this moment, under its lock."""

    refundable_paise: int | None
    """None when it is not this customer's order."""
    agent_paise: int = 0
    """The agent's own refunds on it that are intended, paid or unknown."""

    def refusal(self, amount_paise: int) -> Refusal | None:
        """Why this amount can't be paid now; None when it can."""
        if self.refundable_paise is None:
            return "no_such_order"
        if self.refundable_paise <= 0:
            return "nothing_refundable"
        return "above_refundable" if amount_paise > self.refundable_paise else None

    def needs_approvals(self, amount_paise: int, rules: Rules) -> int:
        """How many leads have to approve this amount, if a lead has to."""
        return 2 if amount_paise + self.agent_paise > rules.second_approval_over_paise else 1


def _propose(
    connection: Connection, proposal: Proposal, rules: Rules, *, now: float, withdrawn: bool
) -> Refund:
    lock(connection, customer_id=proposal.customer_id, order_id=proposal.order_id)
    known = _row(connection, proposal.key)
    if known is not None:
        return _same_proposal(refund_of(known), proposal)

    if connection.scalar(_FENCE, {"key": proposal.key}) is not None:
        raise LeaseLost(f"Refund {proposal.key} was given up before it was begun.")
    # A row and its fence come together: a fence without a row is a key that was given up. That no
    # two can write one key's fence keeps this proposal and whoever gives it up apart.
    connection.execute(_NEW_FENCE, {"idempotency_key": proposal.key, "token": 0})
    standing = _standing(connection, proposal.customer_id, proposal.order_id)
    refusal = standing.refusal(proposal.amount_paise)
    if refusal != "no_such_order" and _declined_in_this_run(connection, proposal):
        refusal = "declined_before"

    status, needs_approvals = RefundStatus.INTENDED, 0
    if refusal is not None:
        status = RefundStatus.REFUSED
    elif withdrawn:
        status = RefundStatus.WITHDRAWN
    elif _needs_lead(connection, proposal, standing, rules, now=now):
        status = RefundStatus.WAITING
        needs_approvals = standing.needs_approvals(proposal.amount_paise, rules)
    automatic = status is RefundStatus.INTENDED
    connection.execute(
        _NEW_ROW,
        {
            "idempotency_key": proposal.key,
            "digest": proposal.digest,
            "shown_digest": proposal.digest,
            "run_id": proposal.run_id,
            "call_id": proposal.call_id,
            "customer_id": proposal.customer_id,
            "order_id": proposal.order_id,
            "proposed_paise": proposal.amount_paise,
            "amount_paise": proposal.amount_paise,
            "reason": proposal.reason,
            "explanation": proposal.explanation,
            "status": status.value,
            "automatic": automatic,
            "version": 1,
            "needs_approvals": needs_approvals,
            "refusal": refusal,
            "refundable_paise": standing.refundable_paise if refusal else None,
            "created_at": now,
            "intended_at": now if automatic else None,
        },
    )
    return _written(connection, proposal.key)


def _same_proposal(known: Refund, proposal: Proposal) -> Refund:
    same = (
        known.digest == proposal.digest
        and known.order_id == proposal.order_id
        and known.customer_id == proposal.customer_id
        and known.proposed_paise == proposal.amount_paise
    )
    if not same:
        raise KeyReused(f"Key {proposal.key} was used for another proposal.")
    return known


def _declined_in_this_run(connection: Connection, proposal: Proposal) -> bool:
    values = {
        "order_id": proposal.order_id,
        "run_id": proposal.run_id,
        "reason": proposal.reason,
        "amount_paise": proposal.amount_paise,
    }
    return bool(connection.scalar(_DECLINED_IN_RUN, values))


def _needs_lead(
    connection: Connection, proposal: Proposal, standing: _Standing, rules: Rules, *, now: float
) -> bool:
    values = {
        "customer_id": proposal.customer_id,
        "order_id": proposal.order_id,
        "since": now - AUTOMATIC_WINDOW_SECONDS,
    }
    recent_automatic = int(connection.scalar(_RECENT_AUTOMATIC, values) or 0)
    counted = proposal.amount_paise + standing.agent_paise + recent_automatic
    if counted > rules.approval_limit_paise:
        return True
    return bool(connection.scalar(_EVER_DECLINED, {"order_id": proposal.order_id}))


def _decide(
    connection: Connection, key: str, decision: Decision, rules: Rules, *, now: float
) -> Decided:
    row = _locked_row(connection, key)
    if row is None:
        return Decided(result="no_such_refund", refund=None)
    refund = refund_of(row)
    earlier = _earlier_result(row, decision)
    if earlier is not None:
        return Decided(result=earlier, refund=refund)
    if refund.status is not RefundStatus.WAITING:
        return Decided(result="already_decided", refund=refund)
    _pass_fence(connection, key, decision.token)
    if (decision.version, decision.digest) != (refund.version, refund.shown_digest):
        return Decided(result="stale", refund=refund)
    if decision.verdict == "approve":
        return _approve(connection, row, decision, rules, now=now)
    declined = _change(
        connection,
        row,
        status=RefundStatus.DECLINED.value,
        decided_by=decision.by,
        decided_at=decision.at,
        decision_id=decision.decision_id,
        note=decision.note,
    )
    return Decided(result="declined", refund=declined)


def _earlier_result(row: RowMapping, decision: Decision) -> DecisionResult | None:
    """What this very decision did when it came the first time; None when it comes now."""
    if row["decision_id"] == decision.decision_id:
        match RefundStatus(row["status"]):
            case RefundStatus.DECLINED:
                return "declined"
            case RefundStatus.REFUSED:
                return "refused"
            case _:
                return "approved"
    counted = {approval["decision_id"] for approval in stored_approvals(row)}
    return "first_of_two" if decision.decision_id in counted else None


def _approve(
    connection: Connection, row: RowMapping, decision: Decision, rules: Rules, *, now: float
) -> Decided:
    refund = refund_of(row)
    amount, digest = refund.amount_paise, refund.shown_digest
    if decision.amount_paise is not None and decision.amount_digest is not None:
        amount, digest = decision.amount_paise, decision.amount_digest
        if not 0 < amount < refund.proposed_paise:
            return Decided(result="not_smaller", refund=refund)
    changed = amount != refund.amount_paise

    # Whoever approved another amount, or is no approver any more, approved nothing of this.
    standing_approvers = set[str]() if changed else decision.approvers_now | {decision.by}
    before = [given for given in stored_approvals(row) if given["by"] in standing_approvers]
    repeated = any(given["by"] == decision.by for given in before)
    approvals = before if repeated else [*before, _stored(decision)]

    standing = _standing(connection, refund.customer_id, refund.order_id)
    needs_approvals = standing.needs_approvals(amount, rules)
    enough = len(approvals) >= needs_approvals
    if repeated and not enough:
        return Decided(result="already_approved", refund=refund)

    refusal = standing.refusal(amount)
    written: dict[str, Any] = {
        "amount_paise": amount,
        "approvals": approvals,
        "needs_approvals": 0 if refusal else needs_approvals,
        "note": "\n".join(given["note"] for given in approvals if given["note"]),
    }
    final: dict[str, Any] = {
        "decided_by": decision.by,
        "decided_at": decision.at,
        "decision_id": decision.decision_id,
        "decision_digest": digest,
    }
    if refusal is not None:
        refused = _change(
            connection,
            row,
            status=RefundStatus.REFUSED.value,
            refusal=refusal,
            refundable_paise=standing.refundable_paise,
            **written,
            **final,
        )
        return Decided(result="refused", refund=refused)
    if enough:
        intended = _change(
            connection, row, status=RefundStatus.INTENDED.value, intended_at=now, **written, **final
        )
        return Decided(result="approved", refund=intended)
    if changed:  # the second lead has to see what they approve
        written |= {"version": refund.version + 1, "shown_digest": digest}
    return Decided(result="first_of_two", refund=_change(connection, row, **written))


def _stored(decision: Decision) -> StoredApproval:
    return StoredApproval(
        by=decision.by, at=decision.at, decision_id=decision.decision_id, note=decision.note
    )


def _standing(connection: Connection, customer_id: str, order_id: str) -> _Standing:
    owned = {"order_id": order_id, "customer_id": customer_id}
    paid: int | None = connection.scalar(_PAID, owned)
    if paid is None:
        return _Standing(refundable_paise=None)
    reserved, agent = connection.execute(_RESERVED, {"order_id": order_id}).one()
    return _Standing(refundable_paise=paid - int(reserved or 0), agent_paise=int(agent or 0))


def _row(connection: Connection, key: str) -> RowMapping | None:
    return connection.execute(_BY_KEY, {"key": key}).mappings().one_or_none()


def _written(connection: Connection, key: str) -> Refund:
    """The row just written, as the database has it."""
    return refund_of(connection.execute(_BY_KEY, {"key": key}).mappings().one())


def _locked_row(connection: Connection, key: str) -> RowMapping | None:
    """The row as it stands once its customer, its order and itself are locked."""
    found = _row(connection, key)
    if found is None or holds_everything(connection):
        return found
    lock(connection, customer_id=found["customer_id"] or "", order_id=found["order_id"])
    return connection.execute(_LOCK_ROW, {"row_id": found["id"]}).mappings().one()


def _pass_fence(connection: Connection, key: str, token: int) -> None:
    """Let this owner at the waiting row, and from now on none that came before it.

    Under the row's lock. Raises `LeaseLost` for an owner that is kept out.
    """
    newest: int = connection.execute(_FENCE, {"key": key}).scalar_one()
    if newest > token:
        raise LeaseLost(f"Refund {key} was looked at under lease {newest}, after {token}.")
    if newest < token:
        connection.execute(_NEWER_FENCE, {"key": key, "token": token})


def _change(connection: Connection, row: RowMapping, **values: object) -> Refund:
    """Write a row that is still what it was when it was read."""
    was = {
        "row_id": row["id"],
        "was_status": row["status"],
        "was_version": row["version"],
        "was_shown_digest": row["shown_digest"],
    }
    if connection.execute(_CHANGE, was | values).rowcount != 1:
        raise RuntimeError(f"Refund {row['idempotency_key']} changed under its lock.")
    return _written(connection, row["idempotency_key"])
