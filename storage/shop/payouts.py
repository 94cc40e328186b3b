"""The ledger's own payments: one row a key. A stand-in for a provider, inside the shop."""

import secrets
from collections.abc import Callable

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import (
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
    TimeoutError,
)

from agent.refunds.ports import KeyReused, Payment, Refund
from storage.shop.database import Database, payouts

# Statements are built once: building one costs more than running it.
_NEW_PAYOUT = insert(payouts)
_BY_KEY = select(payouts).where(payouts.c.idempotency_key == bindparam("key"))

# The database was lost, locked or too busy: a commit may have gone through or not.
_OUTCOME_UNKNOWN = (OperationalError, InterfaceError, InternalError, TimeoutError)


class ShopPayments:
    """`Payments` by the shop's database: paying is writing the row. `now` gives Unix seconds.

    Both methods raise `KeyReused` when the key paid something else before.
    """

    def __init__(self, database: Database, *, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def pay(self, refund: Refund) -> Payment:
        def pay_once(connection: Connection) -> Payment:
            earlier = _find(connection, refund)
            if earlier is not None:
                return earlier
            reference = f"CW{secrets.token_hex(5).upper()}"
            connection.execute(
                _NEW_PAYOUT,
                {
                    "idempotency_key": refund.key,
                    "order_id": refund.order_id,
                    "customer_id": refund.customer_id,
                    "amount_paise": refund.amount_paise,
                    "reference": reference,
                    "paid_at": self._now(),
                },
            )
            return Payment(status="paid", reference=reference)

        try:
            try:
                return await self._database.write(pay_once)
            except IntegrityError:  # the same key was paid in between: find it
                return await self._database.write(pay_once)
        except _OUTCOME_UNKNOWN as error:
            return Payment(status="unknown", detail=str(getattr(error, "orig", error)))

    async def look_up(self, refund: Refund) -> Payment | None:
        try:
            return await self._database.read(lambda connection: _find(connection, refund))
        except _OUTCOME_UNKNOWN as error:
            return Payment(status="unknown", detail=str(getattr(error, "orig", error)))


def _find(connection: Connection, refund: Refund) -> Payment | None:
    row = connection.execute(_BY_KEY, {"key": refund.key}).mappings().one_or_none()
    if row is None:
        return None
    paid = (row["order_id"], row["customer_id"], row["amount_paise"])
    if paid != (refund.order_id, refund.customer_id, refund.amount_paise):
        raise KeyReused(f"Key {refund.key} paid something else before.")
    return Payment(status="paid", reference=row["reference"])
