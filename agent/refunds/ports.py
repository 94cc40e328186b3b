"""What the refund agent needs from the world: orders, policies, a ledger, someone who pays.

Amounts are integer paise; times are Unix seconds (UTC); dates are `datetime.date`. `storage.shop`
implements all of it over a database; payment providers implement `Payments` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Literal, Protocol

Reason = Literal["damaged", "wrong_item", "not_delivered", "changed_mind"]


@dataclass(frozen=True, kw_only=True)
class Customer:
    """One of the shop's customers, as the picker and the card show them."""

    customer_id: str
    name: str
    email: str | None = None
    phone: str | None = None
    order_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OrderItem:
    name: str
    category: str
    quantity: int
    price_paise: int
    """Price of one."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order with its money as it stands now.

    `refunded_paise` is what was paid back; `refundable_paise` is paid minus every refund that is
    intended, paid or unknown.
    """

    order_id: str
    customer_id: str
    status: Literal["placed", "shipped", "delivered", "cancelled"]
    items: tuple[OrderItem, ...]
    paid_paise: int
    refunded_paise: int
    refundable_paise: int
    payment_method: str
    placed_on: date
    promised_on: date | None = None
    shipped_on: date | None = None
    delivered_on: date | None = None
    tracking: str | None = None
    notes: str | None = None


class Orders(Protocol):
    """The shop's orders and customers, read only."""

    async def order(self, customer_id: str, order_id: str) -> Order | None:
        """This customer's order; None alike when it is another's and when there is none."""
        ...

    async def customer(self, customer_id: str) -> Customer | None: ...

    async def search_customers(self, query: str, *, limit: int = 20) -> Sequence[Customer]:
        """Customers whose name, e-mail, phone, id or order number begins with the query's words.

        Case does not matter; an empty query gives the first ones by name.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A passage of a policy that is in force."""

    policy_id: str
    title: str
    effective: date
    text: str


class Policies(Protocol):
    async def search(self, query: str, *, today: date) -> Sequence[Passage]:
        """The best three passages in force on `today`, best first, at most one a policy."""
        ...


class RefundStatus(StrEnum):
    """Where a refund row stands. `INTENDED`, `PAID` and `UNKNOWN` reserve money; no other does."""

    REFUSED = "refused"
    """Refused by the ledger's own rules; never paid."""
    WAITING = "waiting"
    """Waits for a lead. Not an outcome: its one transition out is the decision."""
    DECLINED = "declined"
    EXPIRED = "expired"
    """Nobody answered in time."""
    WITHDRAWN = "withdrawn"
    """The case was taken over or deleted while the card was open, or before there was a row."""
    INTENDED = "intended"
    """Will be paid; nothing is decided again from here on."""
    PAID = "paid"
    FAILED = "failed"
    """The provider refused it, in so many words."""
    UNKNOWN = "unknown"
    """Sent, and nobody knows yet whether it was paid."""


RESERVING = frozenset({RefundStatus.INTENDED, RefundStatus.PAID, RefundStatus.UNKNOWN})

Refusal = Literal[
    "no_such_order",
    "nothing_refundable",
    "above_refundable",
    "declined_before",
]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The limits in force at this moment, in paise."""

    approval_limit_paise: int
    """Up to and including it a refund is automatic, counting what else counts."""
    second_approval_over_paise: int
    """Above it two different leads must approve."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What the agent asks for. `key` names it for ever."""

    key: str
    """Run id and call id: one proposal, one key."""
    digest: str
    """Digest over agent, run, call, tool, customer and exact arguments."""
    run_id: str
    call_id: str
    customer_id: str
    order_id: str
    amount_paise: int
    reason: Reason
    explanation: str


@dataclass(frozen=True, kw_only=True)
class LeadApproval:
    by: str
    at: float


@dataclass(frozen=True, kw_only=True)
class Refund:
    """One row of the ledger."""

    key: str
    digest: str
    """Of the proposal, as asked."""
    shown_digest: str
    """Of what the card shows now: the proposal's, or that of an amount the first of two changed."""
    run_id: str | None
    """None for refunds that no agent made."""
    call_id: str | None
    customer_id: str
    order_id: str
    proposed_paise: int
    amount_paise: int
    """What is, was or would be paid: the proposed amount, or the smaller one a lead approved."""
    reason: str
    explanation: str
    status: RefundStatus
    automatic: bool
    """True when the ledger let it pass without a lead."""
    version: int
    """Of the card; starts at 1."""
    needs_approvals: int
    """1 or 2, as things stood when the row was last written; 0 when automatic or refused."""
    approvals: tuple[LeadApproval, ...] = ()
    refusal: Refusal | None = None
    refundable_paise: int | None = None
    """What was refundable when the row was refused."""
    decided_by: str | None = None
    decided_at: float | None = None
    decision_id: str | None = None
    """Id of the event that decided."""
    decision_digest: str | None = None
    """Digest that was approved: of the proposal, or of the changed amount."""
    note: str = ""
    reference: str | None = None
    failure: str | None = None
    """The provider's words when it failed; for staff and the log."""
    created_at: float = 0.0
    intended_at: float | None = None
    settled_at: float | None = None
    """When it became paid or failed."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A lead's decision on one version of one card."""

    decision_id: str
    token: int
    """Of the lease of whoever decides; see `Ledger`."""
    version: int
    digest: str
    """The card's; compared with the row's `shown_digest`."""
    verdict: Literal["approve", "decline"]
    by: str
    at: float
    note: str = ""
    amount_paise: int | None = None
    """A smaller amount, approved instead of the one asked for."""
    amount_digest: str | None = None
    """Digest of the proposal with that amount; given with it."""
    approvers_now: frozenset[str] = frozenset()
    """Of those who approved this row before, who still is an approver; the others' are void."""


DecisionResult = Literal[
    "approved",
    "first_of_two",
    "declined",
    "refused",  # approved, but refused at the moment of paying: see the row's `refusal`
    "stale",  # another version or digest than the card shows now
    "already_decided",
    "already_approved",  # this lead's approval already counts; a second lead is awaited
    "not_smaller",  # the changed amount is not positive and smaller than the one asked for
    "no_such_refund",
]


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What happened to a decision; `refund` is the row as it stands after it."""

    result: DecisionResult
    refund: Refund | None


class KeyReused(Exception):
    """A key came with other parameters than the first time. Nothing was written."""


class Ledger(Protocol):
    """Refund rows and every rule about them. Each method is one transaction.

    Each locks the customer and then the order before it reads what it decides on.

    A waiting row is fenced: whoever looks at it or changes it brings the token of its lease, and
    once a newer owner of the case came, an older one gets `LeaseLost` and nothing is written. So
    what an owner read of a waiting row stays true while it owns the case.
    """

    async def propose(self, proposal: Proposal, rules: Rules, *, withdrawn: bool = False) -> Refund:
        """Decide on a proposal and write its row; the same key gets the recorded row back.

        In this order: the key is known: the row as it stands, whatever the world looks like now
        (`KeyReused` when digest, order, customer or amount differ). Not this customer's order:
        refused, `no_such_order`. The same amount and reason was declined on this order in the
        same run: refused, `declined_before`. Nothing left: refused, `nothing_refundable`. More
        than is refundable: refused, `above_refundable`. Else `WAITING` when a lead is needed,
        `INTENDED` and automatic when not.

        A lead is needed when the amount, plus the agent's reserving refunds on that order, plus
        the reserving automatic ones to that customer on other orders created in the last 24
        hours, is over the approval limit; or when any proposal on that order was ever declined.
        `needs_approvals` is 2 when the amount plus the agent's reserving refunds on the order is
        above the second-approval amount. The agent's refunds are rows with a run id.

        `withdrawn`: what would be `WAITING` or `INTENDED` is written as `WITHDRAWN`, so that
        nobody who comes later with this key, not even an older owner, can pay it.

        Raises `ValueError` when the amount is not positive.
        """
        ...

    async def find(self, key: str) -> Refund | None: ...

    async def find_or_bar(self, key: str) -> Refund | None:
        """The row; where there is none, from now on none can be made under this key.

        A `propose` that comes after that raises `LeaseLost`: somebody was told that nothing was
        paid.
        """
        ...

    async def history(self, order_id: str) -> Sequence[Refund]:
        """All rows of an order, oldest first."""
        ...

    async def decide(self, key: str, decision: Decision, rules: Rules) -> Decided:
        """Apply a decision to a waiting row: compare-and-set on status, version and digest.

        `approve` checks everything again (owner, refundable, how many leads the amount needs
        now); short of enough leads the approval is recorded and the row stays waiting
        (`first_of_two`). Enough: `INTENDED`. No longer refundable: `REFUSED`. A changed amount
        voids earlier approvals (they approved another amount) and makes it the row's amount; it
        raises the row's version by one and sets `shown_digest` when it still needs a second lead,
        so that the second sees what they approve. The second approves the amount as it stands.
        `decline` decides alone. A decision whose `decision_id` already decided this row gets the
        same result again; one already counted as first approval gets `first_of_two` again.
        """
        ...

    async def hold(self, key: str, *, token: int) -> Refund | None:
        """The row as it stands; while it waits, no older owner changes it from now on."""
        ...

    async def show_anew(self, key: str, version: int, *, token: int) -> Refund | None:
        """Raise a waiting row's version from `version` by one and void its approvals.

        None when the row is not waiting. When its version is already higher, the row as it is.
        """
        ...

    async def close(
        self,
        key: str,
        status: Literal[RefundStatus.EXPIRED, RefundStatus.WITHDRAWN],
        *,
        at: float,
        token: int,
    ) -> Refund | None:
        """Take a waiting row out of waiting; a row that is no longer waiting comes back as it is.

        None when there is no such row.
        """
        ...

    async def record(self, key: str, payment: Payment) -> Refund:
        """Write a payment's outcome on an intended or unknown row.

        A row that is paid or failed comes back as it is: the first known outcome stands. Any
        other status raises `ValueError`: nothing was to be paid.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Payment:
    """What a provider says of a refund. `unknown`: it isn't known whether money moved."""

    status: Literal["paid", "failed", "unknown"]
    reference: str | None = None
    detail: str = ""


class Payments(Protocol):
    """Whoever pays. `refund.key` is the idempotency key of every request."""

    async def pay(self, refund: Refund) -> Payment:
        """Pay `refund.amount_paise` once for this key; again with the same key: the same answer.

        Never raises for an outcome that isn't known: that is `unknown`.
        """
        ...

    async def look_up(self, refund: Refund) -> Payment | None:
        """What became of an earlier request with this key; None when nothing is found."""
        ...
