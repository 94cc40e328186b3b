"""The shop: its customers, orders, refunds and policies, whoever pays, and what makes it one.

`open_shop` is the way in; the modules beside it each implement one of the refund agent's ports.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from agent.refunds.ports import Ledger, Orders, Payments
from storage.shop.database import Database, ShopError, cannot_open, open_database, shop_id
from storage.shop.figures import refunded_since
from storage.shop.ledger import ShopLedger
from storage.shop.orders import ShopOrders
from storage.shop.payouts import ShopPayments
from storage.shop.policies import FolderPolicies, PolicyError, open_policies, read_policies
from storage.shop.sample.build import SAMPLE_POLICIES, build_sample

__all__ = [
    "SAMPLE_POLICIES",
    "FolderPolicies",
    "PolicyError",
    "Shop",
    "ShopError",
    "open_policies",
    "open_shop",
]


@dataclass(frozen=True, kw_only=True)
class Shop:
    """An open shop. `shop_id` was made at random when its database was, and never changes."""

    shop_id: str
    orders: Orders
    ledger: Ledger
    payments: Payments
    policies: FolderPolicies
    database: Database

    async def refunded_since(self, at: float) -> int:
        """What the agent's refunds that were paid at that Unix time or later come to, in paise."""
        return await refunded_since(self.database, at)

    async def close(self) -> None:
        """Let running transactions finish and close everything."""
        await asyncio.to_thread(self.database.close)
        self.policies.close()


def open_shop(
    url: str,
    *,
    now: Callable[[], float],
    policies: Path = SAMPLE_POLICIES,
    sample_on: date | None = None,
) -> Shop:
    """Open the shop at `url` (any SQLAlchemy URL; `sqlite:///PATH`) with a folder of policies.

    Makes the tables that are missing. With `sample_on`, a shop without customers is filled with
    the sample as of that day. `now` gives Unix seconds.

    Blocks while it connects: meant for the start. Raises `ShopError` or `PolicyError`, each with
    words for the operator.
    """
    rules = read_policies(policies)
    database = open_database(url)
    try:
        if sample_on is not None:
            build_sample(database, today=sample_on)
        identity = shop_id(database)
    except SQLAlchemyError as error:
        database.close()
        raise cannot_open(error) from error
    return Shop(
        shop_id=identity,
        orders=ShopOrders(database),
        ledger=ShopLedger(database, now=now),
        payments=ShopPayments(database, now=now),
        policies=FolderPolicies(rules),
        database=database,
    )
