"""What the clerk can do next, and the case of one order that it decides on."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from bot.local.claude.blocks import is_object
from bot.local.claude.clerk.conversation import Conversation, Item, Made, Order, Passage
from bot.local.claude.clerk.phrases import ASKED_BY, Question
from bot.local.claude.clerk.words import Language, Reason, Wants, reason_in, wants_in


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A question to the customer."""

    text: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Do:
    """A call of a tool that looks something up or proposes a refund."""

    name: str
    input: dict[str, Any]
    why: str


@dataclass(frozen=True, kw_only=True)
class Pass:
    """The case goes to a person; `why` is for them."""

    why: str


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Nothing is left to do; `text` is what the reply says of it."""

    text: str
    why: str


# Names of items that keep their capital letter.
_PROPER = ("Bluetooth",)

Step = Ask | Do | Pass | Settled


@dataclass(frozen=True, kw_only=True)
class Case:
    """One order of the customer's, with all that was said about it."""

    conversation: Conversation
    order: Order
    words: str
    """The customer's in this run, as far as they are about this order."""
    all_words: str
    earlier_words: str
    today: date
    language: Language
    name: str | None

    @property
    def reason(self) -> Reason | None:
        found = reason_in(self.words) or reason_in(self.earlier_words)
        return "changed_mind" if found is None and self.wants.cancel else found

    @property
    def wants(self) -> Wants:
        own = wants_in(self.all_words)
        return own if any(vars(own).values()) else wants_in(self.earlier_words)

    @property
    def photos(self) -> int:
        return sum(each.photos for each in self.conversation.said)

    @property
    def days_since_delivery(self) -> int | None:
        delivered = self.order.delivered_on
        return None if delivered is None else (self.today - delivered).days

    @property
    def proposals(self) -> list[Made]:
        """The refunds proposed on this order, oldest first."""
        return [
            made
            for made in self.conversation.calls("propose_refund")
            if str(made.input.get("order_id")) == self.order.order_id
        ]

    @property
    def is_cash(self) -> bool:
        return "cash" in self.order.payment_method.lower()


def asked(conversation: Conversation, kind: Question) -> list[Made]:
    """The questions of this kind that were asked, oldest first."""
    pattern = ASKED_BY[kind]
    return [
        made
        for made in conversation.calls("ask_customer")
        if pattern.search(str(made.input.get("question")))
    ]


def answers(conversation: Conversation, kind: Question) -> str:
    """What the customer replied to them."""
    return "\n".join(made.answer.text for made in asked(conversation, kind) if made.answer)


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def counted(days: int) -> str:
    """ "1 day", "3 days"."""
    return f"{days} day{'' if days == 1 else 's'}"


def named(items: list[Item]) -> str:
    """The items as a sentence names them: "mug and desk plant"."""
    names = [
        item.name if item.name.startswith(_PROPER) else item.name[:1].lower() + item.name[1:]
        for item in items
    ]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_KINDS: dict[str, tuple[re.Pattern[str], tuple[str, str]]] = {
    "damaged": (
        re.compile(r"damag|defect"),
        ("damaged item photo refund", "item arrived broken"),
    ),
    "wrong_item": (
        re.compile(r"wrong"),
        ("wrong item received photo refund", "another product arrived than ordered"),
    ),
    "not_delivered": (
        re.compile(r"not.?deliver|undeliver|lost"),
        ("parcel not delivered refund carrier check", "lost parcel"),
    ),
    "changed_mind": (
        re.compile(r"mind|^returns?\b"),
        ("change of mind return unused item", "return no longer wanted"),
    ),
    "warranty": (re.compile(r"warrant"), ("warranty repair electronics appliance", "repair")),
    "exchange": (re.compile(r"exchang"), ("exchange for another size or colour", "swap size")),
    "cash": (re.compile(r"cash"), ("refund of cash on delivery to bank or UPI", "COD refund")),
    "cancelled": (re.compile(r"cancel"), ("cancelled order refunded already", "cancellation")),
    "times": (re.compile(r"time|arriv"), ("how long until a refund arrives", "refund days")),
}


def policy(conversation: Conversation, kind: str) -> Passage | Do | None:
    """The passage of that kind as it was found; the search for it; None when both searches that
    the clerk knows found none."""
    pattern, queries = _KINDS[kind]
    for passage in conversation.passages():
        if pattern.search(passage.policy_id) or pattern.search(passage.title.lower()):
            return passage
    tried = {str(made.input.get("query")) for made in conversation.calls("search_policies")}
    query = next((each for each in queries if each not in tried), None)
    if query is None:
        return None
    why = f"What the policies say about this ({kind}) isn't found yet."
    return Do(name="search_policies", input={"query": query}, why=why)


def first_search(reason: Reason) -> Do:
    """The search that can go out beside the order's look-up."""
    why = "The policies can be searched at the same time."
    return Do(name="search_policies", input={"query": _KINDS[reason][1][0]}, why=why)


def days_in(text: str) -> int | None:
    """The first number of days that a policy's passage gives as its limit."""
    found = re.search(r"(?:within|once|after) (\d+) days", text)
    return int(found[1]) if found else None


def issued(made: Made) -> dict[str, Any] | None:
    """The result of a proposal that was paid; None for any other."""
    try:
        told: object = json.loads(made.text)
    except ValueError:
        return None
    paid = not made.is_error and is_object(told) and told.get("status") == "issued"
    return told if paid and is_object(told) else None


def as_number(amount: Decimal) -> int | float:
    """A JSON number: 2499 or 145.05."""
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def amounts_in(text: str) -> list[Decimal]:
    """Amounts of rupees in a text: ₹1,850.00, Rs 500, 500 rupees."""
    found = re.findall(
        r"(?:₹|\brs\.?|\binr)\s*([\d,]+(?:\.\d{1,2})?)|\b([\d,]+(?:\.\d{1,2})?)\s*(?:rupees|rs\b)",
        text,
        re.IGNORECASE,
    )
    digits = ((first or second).replace(",", "") for first, second in found)
    return [Decimal(each) for each in digits if each]
