"""The sample shop is what its page says."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.shop import Shop, open_shop
from storage.shop.database import open_database
from storage.shop.sample.build import build_sample
from tests.storage.shop.world import TODAY, Clock

NAMED = ("Asha", "Vikram", "Meera", "Farhan", "Lakshmi", "Daniel")


@pytest.fixture
def rows(sample_file: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(sample_file)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("customer_id", "order_id", "items", "paid_paise", "method", "delivered_days_ago"),
    [
        ("cust_asha", "4471", "Bluetooth speaker", 249_900, "UPI", 3),
        ("cust_asha", "4480", "Notebook, Mug, Desk plant", 210_000, "card", 5),
        ("cust_asha", "4502", "Kettle", 89_900, "card", 2),
        ("cust_vikram", "9001", "Headphones", 499_900, "card", 4),
        ("cust_vikram", "5120", "Running shoes", 329_900, "cash on delivery", 12),
        ("cust_meera", "6203", "Laptop", 14_990_000, "card", 6),
        ("cust_meera", "6210", "Phone case", 14_505, "UPI", 1),
        ("cust_farhan", "7004", "Saree", 185_000, "UPI", None),
        ("cust_farhan", "7011", "Shampoo", 42_000, "UPI", 9),
        ("cust_lakshmi", "8100", "Mixer", 560_000, "card", 14),
        ("cust_lakshmi", "8101", "Books", 100_000, "UPI", 8),
        ("cust_lakshmi", "8102", "Table lamp", 129_900, "card", None),
        ("cust_daniel", "8800", "Watch", 1_299_900, "card", 4),
    ],
)
async def test_the_named_orders_are_there(
    shop: Shop,
    customer_id: str,
    order_id: str,
    items: str,
    paid_paise: int,
    method: str,
    delivered_days_ago: int | None,
) -> None:
    order = await shop.orders.order(customer_id, order_id)
    assert order is not None
    assert ", ".join(item.name for item in order.items) == items
    assert (order.paid_paise, order.payment_method) == (paid_paise, method)
    delivered = None if delivered_days_ago is None else TODAY - timedelta(days=delivered_days_ago)
    assert order.delivered_on == delivered


@pytest.mark.parametrize(
    ("order_id", "refundable_paise", "status"),
    [("8100", 60_000, "delivered"), ("8101", 100_000, "delivered"), ("8102", 0, "cancelled")],
)
async def test_lakshmis_earlier_refunds_are_rows(
    shop: Shop, order_id: str, refundable_paise: int, status: str
) -> None:
    order = await shop.orders.order("cust_lakshmi", order_id)
    assert order is not None
    assert (order.refundable_paise, order.status) == (refundable_paise, status)
    rows = await shop.ledger.history(order_id)
    assert sum(row.amount_paise for row in rows) == order.refunded_paise
    assert order.refunded_paise == order.paid_paise - refundable_paise


async def test_the_undelivered_saree_and_the_sellers_note_are_there(shop: Shop) -> None:
    saree = await shop.orders.order("cust_farhan", "7004")
    watch = await shop.orders.order("cust_daniel", "8800")
    assert saree is not None
    assert (saree.status, saree.shipped_on) == ("shipped", TODAY - timedelta(days=9))
    assert "delivered" in (saree.tracking or "")
    assert watch is not None
    assert "refund 50,000" in (watch.notes or "")


def test_there_are_enough_customers_and_orders_for_the_picker(rows: sqlite3.Connection) -> None:
    assert count(rows, "customers") >= 60
    assert count(rows, "orders") >= 200
    assert count(rows, "refunds WHERE status = 'paid'") >= 10


def test_nobody_else_shares_a_given_name_or_an_orders_number_with_the_named(
    rows: sqlite3.Connection,
) -> None:
    names = [name for (name,) in rows.execute("SELECT name FROM customers")]
    assert len(set(names)) == len(names)
    given = [name.split()[0] for name in names]
    assert all(given.count(name) == 1 for name in NAMED)
    others = rows.execute("SELECT phone FROM customers WHERE id NOT LIKE 'cust_%a%'").fetchall()
    orders = [order for (order,) in rows.execute("SELECT id FROM orders WHERE length(id) = 4")]
    words = [word for (phone,) in others for word in phone.split()]
    assert not [word for word in words if word.startswith(tuple(orders))]


def test_no_refund_is_larger_than_what_was_paid(rows: sqlite3.Connection) -> None:
    over = rows.execute(
        "SELECT o.id FROM orders o JOIN refunds r ON r.order_id = o.id"
        " GROUP BY o.id HAVING sum(r.amount_paise) > o.paid_paise"
    )
    assert over.fetchall() == []


def test_every_order_follows_its_own_dates(rows: sqlite3.Connection) -> None:
    wrong = rows.execute(
        "SELECT id FROM orders WHERE shipped_on < placed_on OR delivered_on < shipped_on"
        " OR (status = 'delivered') <> (delivered_on IS NOT NULL)"
        f" OR delivered_on > '{TODAY}' OR placed_on > '{TODAY}'"
    )
    assert wrong.fetchall() == []


def test_the_same_day_and_seed_make_the_same_shop(sample_file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.db"
    fill(again, TODAY)
    assert dump(again) == dump(sample_file)
    fill(tmp_path / "other_seed.db", TODAY, seed=1)
    assert dump(tmp_path / "other_seed.db") != dump(sample_file)


def test_a_shop_that_has_customers_is_not_filled_again(sample_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    fill(path, TODAY)
    shop = open_shop(f"sqlite:///{path}", now=Clock(), sample_on=TODAY + timedelta(days=1))
    asyncio.run(shop.close())
    assert dump(path) == dump(sample_file)


def fill(path: Path, today: date, **seed: int) -> None:
    database = open_database(f"sqlite:///{path}")
    assert build_sample(database, today=today, **seed)
    database.close()


def dump(path: Path) -> list[list[Any]]:
    connection = sqlite3.connect(path)
    tables = ("customers", "orders", "order_items", "refunds")
    dumped = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
    connection.close()
    return dumped


def count(rows: sqlite3.Connection, table: str) -> int:
    return rows.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
