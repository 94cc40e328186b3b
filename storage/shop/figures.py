"""Sums over the shop's refunds, for people to look at."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, func, select

from agent.refunds.ports import RefundStatus
from storage.shop.database import Database, refunds

_REFUNDED = select(func.sum(refunds.c.amount_paise)).where(
    refunds.c.status == RefundStatus.PAID.value,
    refunds.c.run_id.is_not(None),
    refunds.c.settled_at >= bindparam("since"),
)


async def refunded_since(database: Database, at: float) -> int:
    """What the agent's refunds that were paid at that Unix time or later come to, in paise."""

    def read(connection: Connection) -> int:
        return int(connection.scalar(_REFUNDED, {"since": at}) or 0)

    return await database.read(read)
