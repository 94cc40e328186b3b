"""What the ledger's transactions lock, as a database with row locks is asked for it.

SQLite has none: there a transaction holds the whole database. So the ledger is told here that it
runs on another one, and its statements are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from sqlalchemy import Connection, Engine, Select, Update, create_mock_engine, event
from sqlalchemy.dialects import postgresql

from agent.refunds.ports import Payment, RefundStatus
from storage.shop import Shop, database, ledger
from storage.shop.database import holds_everything
from tests.storage.shop.world import NOON, RULES, approve, decline, proposal, waiting

CUSTOMER = "SELECT customers.id FROM customers WHERE customers.id = 'cust_asha' FOR UPDATE"
ORDER = "SELECT orders.id FROM orders WHERE orders.id = '4471' FOR UPDATE"


def _holds_nothing(_connection: Connection) -> bool:
    return False


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every SELECT so far, as PostgreSQL would get it."""
    heard: list[str] = []
    for module in (database, ledger):
        monkeypatch.setattr(module, "holds_everything", _holds_nothing)

    def listen(
        _connection: object,
        statement: object,
        _many: object,
        values: dict[str, Any],
        _options: object,
    ) -> None:
        if isinstance(statement, Select):
            text = str(
                statement.params(values).compile(
                    dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}
                )
            )
            heard.append(" ".join(text.split()))

    event.listen(Engine, "before_execute", listen)
    yield heard
    event.remove(Engine, "before_execute", listen)


@pytest.mark.parametrize("url", ["postgresql://", "mysql://", "mssql://", "oracle://"])
def test_rows_are_locked_on_every_database_but_sqlite(url: str) -> None:
    def run_nothing(*_given: object) -> None: ...

    assert not holds_everything(cast("Connection", create_mock_engine(url, run_nothing)))
    assert holds_everything(cast("Connection", create_mock_engine("sqlite://", run_nothing)))


async def test_a_proposal_locks_its_customer_and_then_its_order_before_it_reads(
    shop: Shop, statements: list[str]
) -> None:
    await shop.ledger.propose(proposal(), RULES)
    assert statements[:2] == [CUSTOMER, ORDER]


async def test_whatever_changes_a_row_locks_its_customer_its_order_and_it_and_reads_it_then(
    shop: Shop, statements: list[str]
) -> None:
    asked = await waiting(shop)
    changes: list[Callable[[], Awaitable[object]]] = [
        lambda: shop.ledger.show_anew(asked.key, 1, token=1),
        lambda: shop.ledger.decide(asked.key, approve(replace(asked, version=2)), RULES),
        lambda: shop.ledger.record(asked.key, Payment(status="paid")),
        lambda: shop.ledger.close(asked.key, RefundStatus.EXPIRED, at=NOON, token=1),
    ]
    for change in changes:
        statements.clear()
        await change()
        _find, *locked = statements[:4]
        assert locked[:2] == [CUSTOMER, ORDER]
        assert re.fullmatch(r"SELECT refunds\..* WHERE refunds\.id = \d+ FOR UPDATE", locked[2])


async def test_where_there_is_no_row_nothing_is_locked(shop: Shop, statements: list[str]) -> None:
    assert await shop.ledger.hold("run_1:call_1", token=1) is None
    assert len(statements) == 1
    assert "FOR UPDATE" not in statements[0]


@pytest.mark.parametrize(
    "meddling", ["status = 'paid'", "version = 7", "shown_digest = 'of another card'"]
)
async def test_a_row_that_changed_under_its_lock_all_the_same_is_left_alone(
    shop: Shop, meddling: str
) -> None:
    refund = await waiting(shop)

    def meddle(connection: Connection, statement: object, *_rest: object) -> None:
        if isinstance(statement, Update):
            connection.exec_driver_sql(f"UPDATE refunds SET {meddling}")

    event.listen(Engine, "before_execute", meddle)
    try:
        with pytest.raises(RuntimeError, match=r"^Refund run_1:call_1 changed under its lock\.$"):
            await shop.ledger.decide(refund.key, approve(refund), RULES)
    finally:
        event.remove(Engine, "before_execute", meddle)
    assert await shop.ledger.find(refund.key) == refund


async def test_a_change_leaves_a_row_of_the_same_digest_alone(shop: Shop) -> None:
    refund = await waiting(shop)
    alike = await waiting(shop, replace(proposal(key="run_2:call_1"), digest=refund.digest))
    decided = await shop.ledger.decide(refund.key, decline(refund), RULES)
    assert decided.result == "declined"
    assert await shop.ledger.find(alike.key) == alike
