"""Whose case it is: the customer picker with its search, "Not a case", "Wrong customer"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from agent.case import CustomerChosen, NotACase, WrongCustomer
from agent.refunds.ports import Customer
from bot.actions import CaseRef
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import Click, Suggestion

# Slack's limits for a menu's options.
MOST_OPTIONS: Final = 100
OPTION_TEXT: Final = 75
OPTION_VALUE: Final = 150


async def find_customers(desk: FrontDesk, suggestion: Suggestion) -> list[dict[str, Any]]:
    """Options for what was typed; before anything is typed, for what the first message names."""
    if await desk.objection_to(suggestion.user.id):
        return []  # the shop's customers are none of a guest's business
    typed = suggestion.value.strip()
    found = await desk.search_customers(typed or _hint(suggestion.block_id))
    if not found and not typed:
        found = await desk.search_customers("")
    return options(found)


def options(customers: Sequence[Customer]) -> list[dict[str, Any]]:
    """Slack's option objects, within its limits; the value is the customer id."""
    return [
        {"text": {"type": "plain_text", "text": _label(each), "emoji": False}, "value": value}
        for each in customers
        if len(value := each.customer_id) <= OPTION_VALUE
    ][:MOST_OPTIONS]


async def customer_chosen(desk: FrontDesk, click: Click) -> str | None:
    fact = CustomerChosen(customer_id=click.value, by=click.by, place=str(click.place))
    return await desk.act(click, click.action.block_id, fact)


async def not_a_case(desk: FrontDesk, click: Click) -> str | None:
    return await desk.act(click, click.value, NotACase(by=click.by, place=str(click.place)))


async def wrong_customer(desk: FrontDesk, click: Click) -> str | None:
    fact = WrongCustomer(by=click.by, place=str(click.place))
    return await desk.act(click, click.value, fact)


def _hint(block_id: str) -> str:
    try:
        return CaseRef.model_validate_json(block_id).hint
    except ValidationError:
        return ""


def _label(customer: Customer) -> str:
    """Name, e-mail and id; what is too long gives way in the order e-mail, name, id."""
    parts = [customer.name, customer.email or "", customer.customer_id]
    text = " · ".join(part for part in parts if part)
    if len(text) > OPTION_TEXT:
        room = OPTION_TEXT - len(customer.customer_id) - len(" · ")
        text = f"{_cut(customer.name, room)} · {customer.customer_id}" if room > 1 else parts[2]
    return _cut(text, OPTION_TEXT)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
