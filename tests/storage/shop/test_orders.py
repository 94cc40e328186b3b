"""The contract of the `Orders` port, on the sample shop."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from agent.refunds.ports import Customer
from storage.shop import Shop
from tests.storage.shop.world import RULES, TODAY, proposal, settle


def ids(customers: Sequence[Customer]) -> list[str]:
    return [customer.customer_id for customer in customers]


async def test_an_order_has_its_items_its_dates_and_its_money(shop: Shop) -> None:
    order = await shop.orders.order("cust_asha", "4480")
    assert order is not None
    assert [item.name for item in order.items] == ["Notebook", "Mug", "Desk plant"]
    assert {item.price_paise for item in order.items} == {70_000}
    assert (order.paid_paise, order.refunded_paise, order.refundable_paise) == (210_000, 0, 210_000)
    assert (order.status, order.payment_method) == ("delivered", "card")
    assert order.delivered_on == TODAY - timedelta(days=5)


async def test_another_customers_order_and_a_missing_one_are_the_same_answer(shop: Shop) -> None:
    assert await shop.orders.order("cust_vikram", "9001") is not None
    assert await shop.orders.order("cust_asha", "9001") is None
    assert await shop.orders.order("cust_asha", "0000") is None
    assert await shop.orders.order("cust_nobody", "9001") is None


async def test_intended_money_is_not_refundable_but_not_refunded_yet(shop: Shop) -> None:
    refund = await shop.ledger.propose(proposal("4480", 70_000), RULES)
    order = await shop.orders.order("cust_asha", "4480")
    assert order is not None
    assert (order.refunded_paise, order.refundable_paise) == (0, 140_000)
    await settle(shop, refund)
    order = await shop.orders.order("cust_asha", "4480")
    assert order is not None
    assert (order.refunded_paise, order.refundable_paise) == (70_000, 140_000)


async def test_a_customer_comes_with_their_order_numbers(shop: Shop) -> None:
    asha = await shop.orders.customer("cust_asha")
    assert asha is not None
    assert (asha.name, asha.email) == ("Asha Rao", "asha.rao@example.com")
    assert asha.order_ids == ("4471", "4480", "4502")
    assert await shop.orders.customer("cust_nobody") is None


@pytest.mark.parametrize(
    "query",
    [
        "Asha Rao",
        "asha",
        "ASH",
        "rao ash",
        "asha.rao@example.com",
        "Asha.Rao@",
        "cust_asha",
        "CUST_ASHA",
        "4471",
        "#4502",
        "+91 55501 10001",
        "+915550110001",
        "5550110001",
        "55501-10001",
        " asha  rao ",
    ],
)
async def test_a_customer_is_found_by_the_beginning_of_any_word(shop: Shop, query: str) -> None:
    assert ids(await shop.orders.search_customers(query)) == ["cust_asha"]


@pytest.mark.parametrize(
    "query", ["sha rao", "471", "asha shah", "asha 9001", "%", "_sha", "' OR 1=1 --", "asha%"]
)
async def test_what_begins_no_word_finds_nobody(shop: Shop, query: str) -> None:
    assert "cust_asha" not in ids(await shop.orders.search_customers(query))


async def test_an_empty_query_gives_the_first_ones_by_name(shop: Shop) -> None:
    for query in ("", "  ", "#"):
        found = await shop.orders.search_customers(query)
        names = [customer.name.lower() for customer in found]
        assert len(found) == 20
        assert names == sorted(names)


async def test_no_more_than_the_limit_are_found(shop: Shop) -> None:
    assert len(await shop.orders.search_customers("cust_", limit=7)) == 7
    assert len(await shop.orders.search_customers("cust_", limit=1_000)) >= 60


async def test_an_exact_order_number_comes_before_names(shop: Shop) -> None:
    everyone = await shop.orders.search_customers("2", limit=1_000)
    assert len(everyone) > 1
    last = everyone[-1]
    assert ids(await shop.orders.search_customers(last.order_ids[0]))[0] == last.customer_id
