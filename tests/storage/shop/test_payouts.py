"""The ledger's own payments."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError, TimeoutError

from agent.refunds.ports import KeyReused, Payment, Refund
from storage.shop import Shop
from storage.shop.database import payouts
from storage.shop.payouts import ShopPayments
from tests.storage.shop.world import HOUR, NOON, RULES, Clock, Refusing, proposal


@pytest.fixture
async def refund(shop: Shop) -> Refund:
    return await shop.ledger.propose(proposal("4502", 89_900), RULES)


async def test_the_same_key_is_paid_once_and_answered_alike(shop: Shop, refund: Refund) -> None:
    first = await shop.payments.pay(refund)
    assert first.status == "paid"
    assert re.fullmatch("CW[0-9A-F]{10}", first.reference or "")
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
    with pytest.raises(KeyReused, match=r"^Key run_1:call_1 paid something else"):
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
    unknown = Payment(status="unknown", detail="no such table: payouts")
    assert await shop.payments.pay(refund) == unknown
    assert await shop.payments.look_up(refund) == unknown


async def test_a_database_that_is_too_busy_leaves_the_outcome_unknown(
    shop: Shop, refund: Refund
) -> None:
    busy = Refusing(shop.database, [TimeoutError("too busy"), TimeoutError("still too busy")])
    payments = ShopPayments(busy, now=lambda: NOON)
    assert await payments.pay(refund) == Payment(status="unknown", detail="too busy")
    assert await payments.look_up(refund) == Payment(status="unknown", detail="still too busy")


async def test_a_key_that_was_paid_in_between_is_found(shop: Shop, refund: Refund) -> None:
    first = await shop.payments.pay(refund)
    behind = Refusing(shop.database, [IntegrityError("INSERT", None, Exception("not unique"))])
    assert await ShopPayments(behind, now=lambda: NOON).pay(refund) == first


async def test_a_payment_is_kept_with_all_that_it_was_for(
    shop: Shop, clock: Clock, refund: Refund
) -> None:
    clock.now += HOUR
    paid = await shop.payments.pay(refund)
    [row] = await shop.database.read(
        lambda connection: connection.execute(select(payouts)).mappings().all()
    )
    assert dict(row) == {
        "idempotency_key": "run_1:call_1",
        "order_id": "4502",
        "customer_id": "cust_asha",
        "amount_paise": 89_900,
        "reference": paid.reference,
        "paid_at": NOON + HOUR,
    }
