"""The sheet the sample shop is written on before it becomes rows, all at once.

Days are counted back from the day the shop is made: `3` is three days before it.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Connection, insert

from agent.refunds.ports import RefundStatus
from storage.shop.database import customers, order_items, orders, refunds


@dataclass(frozen=True, kw_only=True)
class Item:
    name: str
    category: str
    price_paise: int
    quantity: int = 1


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Rows by table, as of `today`."""

    today: date
    customers: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    orders: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    items: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refunds: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def customer(self, customer_id: str, name: str, *, email: str, phone: str) -> None:
        self.customers.append({"id": customer_id, "name": name, "email": email, "phone": phone})

    def order(
        self,
        order_id: str,
        customer_id: str,
        *items: Item,
        status: str,
        payment_method: str,
        placed: int,
        promised: int,
        shipped: int | None = None,
        delivered: int | None = None,
        tracking: str | None = None,
        notes: str | None = None,
    ) -> int:
        """Write an order and its items; gives what was paid for it, in paise.

        Cash on delivery is paid at the door, so only a delivered order of that kind is paid.
        """
        price = sum(item.price_paise * item.quantity for item in items)
        unpaid = payment_method == CASH_ON_DELIVERY and status != "delivered"
        paid = 0 if unpaid else price
        self.orders.append(
            {
                "id": order_id,
                "customer_id": customer_id,
                "status": status,
                "paid_paise": paid,
                "payment_method": payment_method,
                "placed_on": self.day(placed),
                "promised_on": self.day(promised),
                "shipped_on": None if shipped is None else self.day(shipped),
                "delivered_on": None if delivered is None else self.day(delivered),
                "tracking": tracking,
                "notes": notes,
            }
        )
        for item in items:
            self.items.append(
                {
                    "order_id": order_id,
                    "name": item.name,
                    "category": item.category,
                    "quantity": item.quantity,
                    "price_paise": item.price_paise,
                }
            )
        return paid

    def refund(
        self, order_id: str, customer_id: str, amount_paise: int, *, reason: str, days: int
    ) -> None:
        """Write a refund the shop paid by hand, so many days ago: one an order."""
        paid_at = datetime.combine(self.day(days), time(9), tzinfo=UTC).timestamp()
        self.refunds.append(
            {
                "idempotency_key": f"sample-{order_id}",
                "order_id": order_id,
                "customer_id": customer_id,
                "status": RefundStatus.PAID.value,
                "amount_paise": amount_paise,
                "reason": reason,
                "reference": f"CWS{order_id}",
                "created_at": paid_at,
                "intended_at": paid_at,
                "settled_at": paid_at,
            }
        )

    def day(self, days_ago: int) -> date:
        return self.today - timedelta(days=days_ago)

    def write(self, connection: Connection) -> None:
        connection.execute(insert(customers), self.customers)
        connection.execute(insert(orders), self.orders)
        connection.execute(insert(order_items), self.items)
        connection.execute(insert(refunds), self.refunds)


CARD = "card"
UPI = "UPI"
CASH_ON_DELIVERY = "cash on delivery"
