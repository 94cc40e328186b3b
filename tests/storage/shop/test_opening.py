"""Opening a shop: a new one, one of somebody's own, and what can't be opened."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from agent.refunds.ports import RefundStatus
from storage.shop import Shop, ShopError, open_shop
from tests.storage.shop.world import RULES, Clock, at_once, open_copy, proposal


async def test_a_shops_id_is_made_once_and_differs_between_shops(
    tmp_path: Path, clock: Clock
) -> None:
    seen: list[str] = []
    for name in ("one.db", "one.db", "two.db"):
        shop = open_copy(tmp_path / name, clock)
        seen.append(shop.shop_id)
        await shop.close()
    assert seen[0] == seen[1] != seen[2]


def test_many_openings_of_a_new_shop_at_once_are_one_shop(tmp_path: Path) -> None:
    async def open_and_close(_number: int) -> str:
        shop = open_copy(tmp_path / "shop.db", Clock())
        await shop.close()
        return shop.shop_id

    assert len(set(at_once(6, open_and_close))) == 1


async def test_a_new_shop_without_the_sample_is_empty(tmp_path: Path, clock: Clock) -> None:
    shop = open_copy(tmp_path / "shop.db", clock)
    assert await shop.orders.search_customers("") == []
    assert await shop.orders.customer("cust_asha") is None
    await shop.close()


async def test_a_refund_that_the_shop_wrote_itself_reserves_money(
    shop: Shop, shop_file: Path
) -> None:
    with sqlite3.connect(shop_file) as connection:
        connection.execute(
            "INSERT INTO refunds (idempotency_key, order_id, amount_paise, status)"
            " VALUES ('by hand', '4502', 80000, 'paid')"
        )
    connection.close()
    (by_hand,) = await shop.ledger.history("4502")
    assert (by_hand.customer_id, by_hand.reason, by_hand.approvals) == ("", "", ())
    assert by_hand.proposed_paise == 80_000
    refused = await shop.ledger.propose(proposal("4502", 9_901), RULES)
    assert refused.status is RefundStatus.REFUSED
    assert refused.refundable_paise == 9_900


async def test_names_are_found_in_any_case_beyond_ascii(shop: Shop, shop_file: Path) -> None:
    with sqlite3.connect(shop_file) as connection:
        connection.execute("INSERT INTO customers (id, name) VALUES ('cust_x', 'Émile Ölund')")
    connection.close()
    (found,) = await shop.orders.search_customers("émile öl")
    assert (found.customer_id, found.email, found.order_ids) == ("cust_x", None, ())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("not a url", "not a database URL"),
        ("sqlite://", "must be a file"),
        ("sqlite:///:memory:", "must be a file"),
        ("nosuch://host/db", "driver"),
        ("sqlite:///{folder}/missing/shop.db", "can't be opened"),
        ("sqlite:///{folder}/text.db", "can't be opened"),
    ],
)
def test_a_shop_that_can_not_be_opened_says_why_in_one_line(
    tmp_path: Path, url: str, words: str
) -> None:
    (tmp_path / "text.db").write_text("This is no database. " * 100)
    with pytest.raises(ShopError, match=words) as refused:
        open_shop(url.format(folder=tmp_path), now=Clock())
    assert "\n" not in str(refused.value)


async def test_the_event_loop_goes_on_while_a_transaction_waits(
    shop: Shop, shop_file: Path
) -> None:
    writer = sqlite3.connect(shop_file, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    proposing = asyncio.create_task(shop.ledger.propose(proposal("4502", 100), RULES))
    # Readers aren't kept by a writer, nor the loop by the proposal that waits for it.
    assert await shop.orders.order("cust_asha", "4502") is not None
    assert not proposing.done()
    writer.execute("COMMIT")
    writer.close()
    assert (await proposing).status is RefundStatus.INTENDED
