"""The shop's customers and orders, read only."""

import re
from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    or_,
    select,
    true,
)

from agent.refunds.ports import Customer, Order, OrderItem, RefundStatus
from storage.shop.database import Database, customers, order_items, orders, refunds
from storage.shop.rows import IS_RESERVING

# Statements are built once: building one costs more than running it.
_ORDER = select(orders).where(
    orders.c.id == bindparam("order_id"), orders.c.customer_id == bindparam("customer_id")
)
_ITEMS = (
    select(order_items)
    .where(order_items.c.order_id == bindparam("order_id"))
    .order_by(order_items.c.id)
)
_REFUNDS = select(
    func.sum(case((refunds.c.status == RefundStatus.PAID.value, refunds.c.amount_paise))),
    func.sum(case((IS_RESERVING, refunds.c.amount_paise))),
).where(refunds.c.order_id == bindparam("order_id"))
_MOST_WORDS = 8
_NOT_DIALLED = " -()."
_DIALLED = re.compile(r"\+?[0-9]+")


class ShopOrders:
    """`Orders` over the shop's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def order(self, customer_id: str, order_id: str) -> Order | None:
        return await self._database.read(
            lambda connection: _order(connection, customer_id, order_id)
        )

    async def customer(self, customer_id: str) -> Customer | None:
        def read(connection: Connection) -> Customer | None:
            found = _customers(connection, customers.c.id == customer_id, (), limit=1)
            return found[0] if found else None

        return await self._database.read(read)

    async def search_customers(self, query: str, *, limit: int = 20) -> Sequence[Customer]:
        """See `Orders`. Every word of the query has to match, at the beginning of a word.

        A phone number may be typed with or without its separators and two-digit country code,
        an order number with or without a leading "#". Whoever has one of the words as their id
        or as an order's number comes first, the others by name.
        """
        bare = (word.lstrip("#") for word in query.lower().split()[:_MOST_WORDS])
        words = [word for word in bare if word]
        each = and_(true(), *(_begins(word) for word in words))
        condition = or_(each, _phone_begins("".join(words)))
        return await self._database.read(
            lambda connection: _customers(connection, condition, words, limit=limit)
        )


def _order(connection: Connection, customer_id: str, order_id: str) -> Order | None:
    owned = {"order_id": order_id, "customer_id": customer_id}
    row = connection.execute(_ORDER, owned).mappings().one_or_none()
    if row is None:
        return None
    on_order = {"order_id": order_id}
    items = connection.execute(_ITEMS, on_order).mappings()
    refunded, reserved = connection.execute(_REFUNDS, on_order).one()
    return Order(
        order_id=row["id"],
        customer_id=row["customer_id"],
        status=row["status"],
        items=tuple(
            OrderItem(
                name=item["name"],
                category=item["category"],
                quantity=item["quantity"],
                price_paise=item["price_paise"],
            )
            for item in items
        ),
        paid_paise=row["paid_paise"],
        refunded_paise=int(refunded or 0),
        refundable_paise=row["paid_paise"] - int(reserved or 0),
        payment_method=row["payment_method"],
        placed_on=row["placed_on"],
        promised_on=row["promised_on"],
        shipped_on=row["shipped_on"],
        delivered_on=row["delivered_on"],
        tracking=row["tracking"],
        notes=row["notes"],
    )


def _customers(
    connection: Connection, condition: ColumnElement[bool], words: Sequence[str], *, limit: int
) -> Sequence[Customer]:
    exact = or_(func.lower(customers.c.id).in_(words), _has_order(orders.c.id.in_(words)))
    query = select(customers).where(condition)
    ranked = query.order_by(case((exact, 0), else_=1), func.lower(customers.c.name), customers.c.id)
    found = connection.execute(ranked.limit(limit)).mappings().all()
    owned: dict[str, list[str]] = {row["id"]: [] for row in found}
    of_found = select(orders.c.customer_id, orders.c.id).where(orders.c.customer_id.in_(owned))
    for customer_id, order_id in connection.execute(of_found.order_by(orders.c.id)):
        owned[customer_id].append(order_id)
    return [
        Customer(
            customer_id=row["id"],
            name=row["name"],
            email=row["email"],
            phone=row["phone"],
            order_ids=tuple(owned[row["id"]]),
        )
        for row in found
    ]


def _begins(word: str) -> ColumnElement[bool]:
    """Whether a word of the name or the phone, or the e-mail, an id or an order number, begins so.

    `autoescape` keeps % and _ of the query from being wildcards.
    """
    name, phone = func.lower(customers.c.name), customers.c.phone
    return or_(
        name.startswith(word, autoescape=True),
        name.contains(f" {word}", autoescape=True),
        func.lower(customers.c.email).startswith(word, autoescape=True),
        func.lower(customers.c.id).startswith(word, autoescape=True),
        phone.startswith(word, autoescape=True),
        phone.contains(f" {word}", autoescape=True),
        _phone_begins(word),
        _has_order(func.lower(orders.c.id).startswith(word, autoescape=True)),
    )


def _phone_begins(typed: str) -> ColumnElement[bool]:
    """Whether the phone number, read as digits, begins with what was typed, if that is digits."""
    dialled: ColumnElement[str] = customers.c.phone
    for separator in _NOT_DIALLED:
        dialled = func.replace(dialled, separator, "")
        typed = typed.replace(separator, "")
    if not _DIALLED.fullmatch(typed):
        return false()
    if typed.startswith("+"):
        return dialled.like(f"{typed}%")
    # "__" is any country code of two digits, India's +91 among them.
    return or_(*(dialled.like(f"{code}{typed}%") for code in ("", "+", "+__")))


def _has_order(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists().where(orders.c.customer_id == customers.c.id, condition)
