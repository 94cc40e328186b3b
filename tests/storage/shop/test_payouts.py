"""The ledger's own payments."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from agent.refunds.ports import KeyReused, Refund
from storage.shop import Shop
from tests.storage.shop.world import RULES, proposal


@pytest.fixture
async def refund(shop: Shop) -> Refund:
    return await shop.ledger.propose(proposal("4502", 89_900), RULES)


async def test_the_same_key_is_paid_once_and_answered_alike(shop: Shop, refund: Refund) -> None:
    first = await shop.payments.pay(refund)
    assert first.status == "paid"
    assert first.reference
    assert await shop.payments.pay(refund) == first
    assert await shop.payments.look_up(refund) == first


async def test_a_look_up_of_what_was_never_paid_finds_nothing(shop: Shop, refund: Refund) -> None:
    assert await shop.payments.look_up(refund) is None


async def test_two_keys_have_two_references(shop: Shop, refund: Refund) -> None:
    other = replace(refund, key="run_2:call_1")
    assert await shop.payments.pay(refund) != await shop.payments.pay(other)


@pytest.mark.parametrize(
    "changed",
    [{"amount_paise": 89_800}, {"order_id": "4480"}, {"customer_id": "cust_meera"}],
)
async def test_the_same_key_with_other_parameters_is_an_error(
    shop: Shop, refund: Refund, changed: dict[str, object]
) -> None:
    first = await shop.payments.pay(refund)
    with pytest.raises(KeyReused):
        await shop.payments.pay(replace(refund, **changed))
    with pytest.raises(KeyReused):
        await shop.payments.look_up(replace(refund, **changed))
    assert await shop.payments.look_up(refund) == first


async def test_a_database_that_gives_way_leaves_the_outcome_unknown(
    shop: Shop, shop_file: Path, refund: Refund
) -> None:
    with sqlite3.connect(shop_file) as connection:
        connection.execute("ALTER TABLE payouts RENAME TO gone")
    connection.close()
    paid = await shop.payments.pay(refund)
    assert (paid.status, paid.reference) == ("unknown", None)
    assert "payouts" in paid.detail
    found = await shop.payments.look_up(refund)
    assert found is not None
    assert found.status == "unknown"
