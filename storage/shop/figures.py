"""Sums over the shop's refunds, for people to look at."""

from __future__ import annotations

from agent.refunds.ports import RefundStatus
from storage.shop.database import Database, refunds
from storage.shop.rows import sum_paise


async def refunded_since(database: Database, at: float) -> int:
    """What the agent's refunds that were paid at that Unix time or later come to, in paise."""
    return await database.read(
        lambda connection: sum_paise(
            connection,
            refunds.c.status == RefundStatus.PAID.value,
            refunds.c.run_id.is_not(None),
            refunds.c.settled_at >= at,
        )
    )
