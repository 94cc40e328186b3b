"""What a lead sees and decides: the card, the decision, and who carries it out.

A card is plain data, made by the tool that asks and drawn by whoever shows it. Nothing here knows
refunds or Slack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

Verdict = Literal["approve", "decline"]


@dataclass(frozen=True, kw_only=True)
class CardFact:
    """One line of the card, from our own records."""

    label: str
    value: str


@dataclass(frozen=True, kw_only=True)
class CardOutcome:
    """How an approval request ended. `by` and `note` are the deciding lead's."""

    verdict: Literal["approved", "declined", "expired", "withdrawn", "refused"]
    by: str | None = None
    at: float | None = None
    note: str = ""
    detail: str = ""
    """From our records: what was paid or why it was not."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """An approval request as it stands. `version` and `digest` bind a click to what was shown."""

    key: str
    version: int
    digest: str
    title: str
    amount_paise: int | None
    """The amount asked for, when a lead may approve a smaller one."""
    facts: tuple[CardFact, ...]
    explanation: str
    """The agent's own words."""
    needs_approvals: int = 1
    approved_by: tuple[str, ...] = ()
    first_words: str = ""
    """The customer's first message and last answer, cut; filled in by the harness."""
    last_words: str = ""
    added: tuple[str, ...] = ()
    """What the customer added since the card was first shown."""
    photos: tuple[str, ...] = ()
    """Links to the photos that the customer sent."""
    outcome: CardOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """The waited call, as the approvals need it: what was asked, by which call, on which card."""

    key: str
    token: int
    """Of the lease under which it is asked."""
    run_id: str
    call_id: str
    customer_id: str
    agent: str
    tool: str
    input: dict[str, Any]
    card: Card


@dataclass(frozen=True, kw_only=True)
class LeadDecision:
    """A decision whose lead may decide; bound to the card it was made on."""

    decision_id: str
    version: int
    digest: str
    verdict: Verdict
    by: str
    at: float
    note: str = ""
    amount_paise: int | None = None
    approvers_now: frozenset[str] = frozenset()
    """Of those who approved before, who still may."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What happened to a decision. `card` is the card as it stands after it."""

    result: Literal[
        "decided", "first_of_two", "stale", "already_decided", "already_approved", "not_smaller"
    ]
    card: Card


@dataclass(frozen=True, kw_only=True)
class Found:
    """The later outcome of an effect: words for staff, and its card brought up to date."""

    text: str
    card: Card | None


class Approvals(Protocol):
    """Carries out decisions on one agent's requests, each as one compare-and-set.

    An open request is fenced by the token of the lease: once a newer owner of the case asked about
    it, an older one gets `LeaseLost` from each method, and changes nothing.
    """

    async def current(self, request: Request) -> Card:
        """The card as the records have it now; `outcome` is set once it is decided.

        While it is open, no older owner changes it from now on.
        """
        ...

    async def decide(self, request: Request, decision: LeadDecision) -> Answer: ...

    async def show_anew(self, request: Request) -> Card:
        """A new version of the card, which voids clicks and approvals on the older one."""
        ...

    async def look_up(self, key: str, card: Card | None, *, token: int) -> Found | None:
        """What became of an effect whose outcome was unknown; None while nobody knows.

        Never carries the effect out: a person has the case by now. `card` is its approval's. A
        request that failed before a lead could see it is withdrawn.
        """
        ...

    async def close(
        self, request: Request, verdict: Literal["expired", "withdrawn"], *, at: float
    ) -> Card:
        """Close the request without a decision; one already decided keeps its outcome."""
        ...
