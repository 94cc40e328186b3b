"""What the model reads of orders and policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import pytest
from sqlalchemy import update

from agent.errors import ToolError
from agent.refunds.ports import Passage
from agent.refunds.tools import RefundTools
from storage.shop.database import orders
from tests.agent.bench import RULES
from tests.agent.refunds.desk import Desk


@dataclass
class Shelf:
    """`Policies` that remembers what was looked for."""

    found: Sequence[Passage] = ()
    asked: list[tuple[str, date]] = field(default_factory=list[tuple[str, date]])

    async def search(self, query: str, *, today: date) -> Sequence[Passage]:
        self.asked.append((query, today))
        return self.found


def tools_with(desk: Desk, shelf: Shelf) -> RefundTools:
    return RefundTools(
        orders=desk.shop.orders,
        policies=shelf,
        ledger=desk.shop.ledger,
        payments=desk.provider,
        rules=RULES,
    )


async def test_an_order_is_told_with_its_items_dates_and_money_in_rupees(desk: Desk) -> None:
    assert await desk.tools.get_order(desk.context(), order_id="4471") == {
        "order_id": "4471",
        "status": "delivered",
        "items": [
            {
                "name": "Bluetooth speaker",
                "category": "electronics",
                "quantity": 1,
                "price_rupees": "2499.00",
            }
        ],
        "paid_rupees": "2499.00",
        "refunded_rupees": "0.00",
        "refundable_rupees": "2499.00",
        "payment_method": "UPI",
        "placed_on": "2026-09-13",
        "promised_on": "2026-09-18",
        "shipped_on": "2026-09-15",
        "delivered_on": "2026-09-18",
        "tracking": "Delivered, handed to the customer",
        "seller_note": None,
    }


async def test_what_an_order_does_not_have_is_null(desk: Desk) -> None:
    await desk.shop.database.write(
        lambda connection: connection.execute(
            update(orders).where(orders.c.id == "8102").values(promised_on=None)
        )
    )
    context = desk.context(customer_id="cust_lakshmi")
    told = await desk.tools.get_order(context, order_id="8102")
    dates = (told["promised_on"], told["shipped_on"], told["delivered_on"], told["tracking"])
    assert dates == (None, None, None, None)
    assert told["seller_note"] == "Cancelled by the customer before shipping."
    assert (told["refunded_rupees"], told["refundable_rupees"]) == ("1299.00", "0.00")


async def test_spaces_around_an_order_number_do_not_matter(desk: Desk) -> None:
    told = await desk.tools.get_order(desk.context(), order_id=" 4471\n")
    assert told["order_id"] == "4471"


@pytest.mark.parametrize("order_id", ["9001", "0000"])
async def test_another_customers_order_and_a_missing_one_are_told_alike(
    desk: Desk, order_id: str
) -> None:
    with pytest.raises(ToolError) as raised:
        await desk.tools.get_order(desk.context(), order_id=order_id)
    assert str(raised.value) == (
        f"No order {order_id} for this customer. Ask them to check the number."
    )


@pytest.mark.usefixtures("far_from_utc")
async def test_policies_are_looked_for_by_the_models_words_as_of_today_in_utc(desk: Desk) -> None:
    shelf = Shelf(
        [
            Passage(
                policy_id="POL-1",
                title="Damaged items",
                effective=date(2026, 1, 15),
                text="Refund in full.",
            )
        ]
    )
    found = await tools_with(desk, shelf).search_policies(desk.context(), query="broken kettle")
    assert found == [
        {
            "policy_id": "POL-1",
            "title": "Damaged items",
            "effective": "2026-01-15",
            "text": "Refund in full.",
        }
    ]
    assert shelf.asked == [("broken kettle", date(2026, 9, 21))]


async def test_no_policy_is_told_in_words(desk: Desk) -> None:
    found = await tools_with(desk, Shelf()).search_policies(desk.context(), query="gifts")
    assert found == "No policy matches. Search again with other words."
