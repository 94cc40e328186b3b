"""What one order's case needs next, by the policies that were found.

The limits (days, photo) are read in the passages, not remembered. What the clerk can't decide by
them goes to a person.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

from bot.local.claude.clerk import phrases
from bot.local.claude.clerk.conversation import Item, Passage
from bot.local.claude.clerk.outcomes import after_proposal, already_refunded
from bot.local.claude.clerk.phrases import day, question, rupees
from bot.local.claude.clerk.steps import (
    Ask,
    Case,
    Do,
    Pass,
    Settled,
    Step,
    answers,
    as_number,
    asked,
    capitalised,
    counted,
    days_in,
    named,
    policy,
)
from bot.local.claude.clerk.words import (
    Reason,
    asks_for_money_awaited,
    is_pushy,
    is_unused,
    lacks_photo,
    names_item,
    reason_in,
)

_ALL = re.compile(
    r"\b(?:everything|all of (?:it|them)|all (?:three|items)|whole|entire|sab)\b", re.I
)
_ONE_OF = re.compile(r"\b(?:one|ek) (?:of|only)\b", re.IGNORECASE)
_CONFIRMED_LOST = re.compile(
    r"\b(?:confirm\w*|no proof|lost)\b.*\b(?:loss|lost|proof|deliver)", re.I
)
_RULES: dict[Reason, str] = {
    "damaged": "a full refund of the damaged item",
    "wrong_item": "a full refund of that item",
    "not_delivered": "a full refund of the lost parcel",
    "changed_mind": "a full refund of the item's price on return",
}
_HAPPENED: dict[Reason, str] = {
    "damaged": "arrived damaged",
    "wrong_item": "wrong or missing item",
    "not_delivered": "never arrived",
    "changed_mind": "no longer wanted",
}


def judge(case: Case) -> Step:
    """The next step for this order."""
    order, wants, reason = case.order, case.wants, case.reason
    if case.proposals:
        return after_proposal(case)
    if order.status == "placed" and (wants.cancel or reason == "changed_mind"):
        return Pass(why=f"{_who(case)}: wants to cancel before shipping, which only staff can do.")
    if order.paid <= 0:
        return _unpaid(case)
    waits = asks_for_money_awaited(case.words) and order.refunded > 0
    if order.refundable <= 0 or (waits and reason_in(case.words) is None):
        return already_refunded(case)
    if wants.repair and not wants.refund:
        return _under_warranty(case)
    if reason is None:
        return _exchange(case) if wants.replacement else _ask_reason(case)
    found = policy(case.conversation, reason)
    if isinstance(found, Do):
        return found
    if found is None:
        return Pass(why=f"{_who(case)}: {_HAPPENED[reason]}, and no policy about this is found.")
    match reason:
        case "damaged":
            return _damaged(case, found)
        case "wrong_item":
            return _wrong_item(case, found)
        case "not_delivered":
            return _not_delivered(case, found)
        case "changed_mind":
            return _changed_mind(case, found)


def _unpaid(case: Case) -> Step:
    order = case.order
    promised = f" It is promised for {day(order.promised_on)}." if order.promised_on else ""
    return Settled(
        text=f"Nothing was paid for your order {order.order_id} so far ({order.payment_method}), so"
        f" there is nothing to refund.{promised}",
        why="Not paid yet.",
    )


def _damaged(case: Case, found: Passage) -> Step:
    limit, days = days_in(found.text), case.days_since_delivery
    if limit is None or days is None:
        return Pass(why=f"{_who(case)}: said to be damaged, but our records don't fit that.")
    if days > limit:
        if any(item.category in ("electronics", "home") for item in case.order.items):
            return _under_warranty(case)
        return _too_late(case, days, limit, "tell us about damage")
    items = _items(case, "damaged")
    if not isinstance(items, list):
        return items
    if "photo" in found.text and not case.photos:
        return _ask_photo(case, "damaged", items)
    electronics = any(item.category == "electronics" for item in items)
    return _choice(case, items, must_choose=electronics) or _propose(case, "damaged", found, items)


def _wrong_item(case: Case, found: Passage) -> Step:
    limit, days = days_in(found.text), case.days_since_delivery
    if limit is None or days is None:
        return Pass(why=f"{_who(case)}: said to be a wrong item, but our records don't fit that.")
    if days > limit:
        return _too_late(case, days, limit, "tell us about a wrong item")
    items = _items(case, "wrong_item")
    if not isinstance(items, list):
        return items
    if "photo" in found.text and not case.photos:
        return _ask_photo(case, "wrong_item", items)
    return _choice(case, items, must_choose=True) or _propose(case, "wrong_item", found, items)


def _not_delivered(case: Case, found: Passage) -> Step:
    order, limit = case.order, days_in(found.text)
    if any(_CONFIRMED_LOST.search(words) for words in case.conversation.staff):
        return _propose(case, "not_delivered", found, list(order.items))
    if order.delivered_on is not None or limit is None or order.promised_on is None:
        return Pass(
            why=f"{_who(case)}: not received, but tracking says: {order.tracking}."
            f" Policy {found.policy_id}: a colleague checks with the carrier and decides."
        )
    until = order.promised_on + timedelta(days=limit)
    if case.today < until:
        promised = day(order.promised_on)
        how = (
            f"is promised for {promised}, so it is still on its way."
            if case.today <= order.promised_on
            else f"was promised for {promised}, so it is late but not lost."
        )
        return Settled(
            text=f"Your order {order.order_id} {how} Please wait until {day(until)}; if it isn't"
            " there by then, write to us and we'll look for it.",
            why=f"Promised on {order.promised_on}; policy {found.policy_id} counts {limit} days"
            " from then.",
        )
    late = (case.today - order.promised_on).days
    return Pass(
        why=f"{_who(case)}: not received, {counted(late)} after the promised date. Tracking:"
        f" {order.tracking or 'nothing'}. Policy {found.policy_id}: a check with the carrier comes"
        " first, which only staff can open."
    )


def _changed_mind(case: Case, found: Passage) -> Step:
    order, limit, days = case.order, days_in(found.text), case.days_since_delivery
    if order.status == "shipped":
        return Settled(
            text=f"Your order {order.order_id} is on its way, so it can't be cancelled any more."
            " You may refuse the parcel at the door, or return it unused after it came.",
            why="Shipped, not delivered: nothing to refund yet.",
        )
    if limit is None or days is None:
        return Pass(why=f"{_who(case)}: to be returned, but our records don't fit that.")
    if days > limit:
        return _too_late(case, days, limit, "change your mind")
    if case.wants.replacement and not case.wants.refund:
        return _exchange(case)
    items = _items(case, "changed_mind")
    if not isinstance(items, list):
        return items
    if any(item.category in found.text and item.category == "personal care" for item in items):
        return Settled(
            text=phrases.not_returnable(named(items), case.language),
            why=f"Policy {found.policy_id}: personal care is not returnable.",
        )
    unused = is_unused(case.words, answers(case.conversation, "unused"))
    if unused is None:
        return _ask_unused(case, items)
    if not unused:
        return Settled(
            text=phrases.used(named(items), case.language),
            why=f"Policy {found.policy_id}: used or opened.",
        )
    return _propose(case, "changed_mind", found, items)


def _propose(case: Case, reason: Reason, found: Passage, items: list[Item]) -> Step:
    order = case.order
    paid_how = ""
    if case.is_cash:
        how = policy(case.conversation, "cash")
        if isinstance(how, Do):
            return how
        wish = re.search(r"\b(bank|upi)\b", case.words, re.IGNORECASE)
        if wish is None and not asked(case.conversation, "payout"):
            text = question("payout", case.language, order=order.order_id)
            return Ask(text=text, why="Paid in cash: bank account or UPI?")
        paid_how = f" Paid in cash; {wish[1] if wish else 'bank account or UPI'} is wanted."
    amount = min(_cost(case, items), order.refundable)
    days = case.days_since_delivery
    when = f"{counted(days)} after delivery" if days is not None else order.tracking
    photo = ", with a photo" if case.photos else ""
    quote = " ".join((case.words.strip() or case.earlier_words).split())
    explanation = (
        f"{case.name or 'The customer'} writes: “{quote[:200]}{'…' if len(quote) > 200 else ''}”."
        f" {capitalised(named(items))}: {_HAPPENED[reason]}, {when}{photo}. Policy"
        f" {found.policy_id}: {_RULES[reason]}.{paid_how}{_warnings(case)}"
    )
    return Do(
        name="propose_refund",
        input={
            "order_id": order.order_id,
            "amount_rupees": as_number(amount),
            "reason": reason,
            "explanation": explanation,
        },
        why=f"Policy {found.policy_id} allows {rupees(amount)} on order {order.order_id}.",
    )


def _cost(case: Case, items: list[Item]) -> Decimal:
    if len(items) == 1 and items[0].quantity > 1 and _ONE_OF.search(case.words):
        return items[0].price
    return sum((item.cost for item in items), Decimal(0))


def _warnings(case: Case) -> str:
    """What a lead should know of orders given in words that can't give any."""
    told = "".join(f" A colleague wrote: “{words}”." for words in case.conversation.staff[-1:])
    if case.order.note and is_pushy(case.order.note):
        told += " The order's note asks for a refund and claims an approval: it changed nothing."
    if is_pushy(case.words):
        told += " The customer's words claim an approval or give orders: they changed nothing."
    earlier = case.order.refunded
    return told + (f" {rupees(earlier)} was refunded earlier." if earlier else "")


def _items(case: Case, reason: Reason) -> list[Item] | Step:
    """The items that the case is about."""
    items = list(case.order.items)
    own = [item for item in items if names_item(case.words, item.name)]
    if len(items) == 1 or _ALL.search(case.words):
        return items
    if own:
        return own
    if reason == "changed_mind":
        return items
    if asked(case.conversation, "item"):
        return Pass(why=f"{_who(case)}: it isn't clear which of the items it is about.")
    text = question("item", case.language, order=case.order.order_id, items=named(items))
    return Ask(text=text, why="Several items, and the words name none of them.")


def _ask_photo(case: Case, reason: Reason, items: list[Item]) -> Step:
    before = len(asked(case.conversation, "photo"))
    if before > 1 or lacks_photo(case.words):
        return Pass(why=f"{_who(case)}: {_HAPPENED[reason]}, no photo, and the policy wants one.")
    shown = phrases.shown_by_photo(reason, case.language)
    text = question("photo", case.language, items=named(items), shown=shown)
    lost = case.conversation.said and case.conversation.said[-1].lost_photos
    why = "The photo could not be read." if lost else "The policy needs a photo, and none is here."
    return Ask(text=text, why=why)


def _ask_unused(case: Case, items: list[Item]) -> Step:
    if asked(case.conversation, "unused"):
        return Pass(why=f"{_who(case)}: to be returned; whether it is unused isn't clear.")
    electronics = any(item.category == "electronics" for item in items)
    extra = phrases.sealed(case.language, electronics=electronics)
    text = question("unused", case.language, items=named(items), sealed=extra)
    return Ask(text=text, why="The policy takes back unused items only.")


def _ask_reason(case: Case) -> Step:
    if asked(case.conversation, "reason"):
        return Pass(why=f"{_who(case)}: what is wrong isn't clear from their words.")
    items = named(list(case.order.items))
    text = question("reason", case.language, order=case.order.order_id, items=items)
    return Ask(text=text, why="The order is found, but what is wrong with it isn't said.")


def _choice(case: Case, items: list[Item], *, must_choose: bool) -> Step | None:
    """Where the customer may have the item instead; None when the money is wanted."""
    wants = case.wants
    if wants.replacement and not wants.refund:
        return Pass(
            why=f"{_who(case)}: another {named(items)} is wanted instead of the money, which"
            f" a colleague has to arrange.{_warnings(case)}"
        )
    if not must_choose or wants.refund:
        return None
    if asked(case.conversation, "choice"):
        return Pass(why=f"{_who(case)}: it isn't clear whether they want an item or their money.")
    other = "a replacement" if case.reason == "damaged" else "the right item"
    text = question("choice", case.language, items=named(items), other=other)
    return Ask(text=text, why="The policy lets the customer choose.")


def _under_warranty(case: Case) -> Step:
    found = policy(case.conversation, "warranty")
    if isinstance(found, Do):
        return found
    days = case.days_since_delivery
    return Pass(
        why=f"{_who(case)}: a matter of the warranty ({counted(days or 0)} after delivery). A"
        " colleague has to name the service centre and needs the invoice and the serial number."
    )


def _exchange(case: Case) -> Step:
    found = policy(case.conversation, "exchange")
    if isinstance(found, Do):
        return found
    return Pass(why=f"{_who(case)}: an exchange is wanted, which a colleague has to arrange.")


def _too_late(case: Case, days: int, limit: int, what: str) -> Step:
    return Settled(
        text=phrases.too_late(
            case.order.order_id, counted(days), counted(limit), f"to {what}", case.language
        ),
        why=f"{counted(days)} since delivery, the policy gives {limit} to {what}.",
    )


def _who(case: Case) -> str:
    """Whose order it is, for staff."""
    items = named(list(case.order.items))
    return f"{case.name or 'The customer'}, order {case.order.order_id} ({items})"
