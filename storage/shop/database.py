"""The shop's database: its tables, its engine and the one way to run a transaction on it.

What a refund, an order or a customer means stands in the other modules; here are only columns,
locks and threads.

Tables are made when they are missing, so that a shop's own database may bring `customers`,
`orders` and `order_items` and get the rest. Columns that a shop's own code may leave out of a
refund it made by hand are nullable or have defaults.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Date,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    create_engine,
    event,
    false,
    insert,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError

from agent.refunds.ports import RefundStatus

BUSY_TIMEOUT_SECONDS = 10
_THREADS = 4
_READ_ONLY = "casethread_read_only"

Result = TypeVar("Result")

metadata = MetaData()

# SQLite numbers rows by itself only for a column whose type is exactly INTEGER.
_ROW_NUMBER = BigInteger().with_variant(Integer, "sqlite")

customers = Table(
    "customers",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("email", String(320)),
    Column("phone", String(40)),
)

orders = Table(
    "orders",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("customer_id", String(100), ForeignKey("customers.id"), nullable=False, index=True),
    Column("status", String(20), nullable=False),
    Column("paid_paise", BigInteger, CheckConstraint("paid_paise >= 0"), nullable=False),
    Column("payment_method", String(40), nullable=False),
    Column("placed_on", Date, nullable=False),
    Column("promised_on", Date),
    Column("shipped_on", Date),
    Column("delivered_on", Date),
    Column("tracking", Text),
    Column("notes", Text),
)

order_items = Table(
    "order_items",
    metadata,
    Column("id", _ROW_NUMBER, primary_key=True),
    Column("order_id", String(100), ForeignKey("orders.id"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("category", String(60), nullable=False),
    Column("quantity", Integer, CheckConstraint("quantity > 0"), nullable=False),
    Column("price_paise", BigInteger, CheckConstraint("price_paise >= 0"), nullable=False),
)

# No foreign key on the order or the customer: a refused proposal may name an order that does not
# exist, and it is kept like any other.
refunds = Table(
    "refunds",
    metadata,
    Column("id", _ROW_NUMBER, primary_key=True),
    Column("idempotency_key", String(255), nullable=False, unique=True),
    Column("order_id", String(100), nullable=False, index=True),
    Column("customer_id", String(100)),
    Column("status", String(20), nullable=False),
    Column("amount_paise", BigInteger, CheckConstraint("amount_paise > 0"), nullable=False),
    Column("proposed_paise", BigInteger),
    Column("reason", String(40)),
    Column("explanation", Text),
    Column("run_id", String(100)),
    Column("call_id", String(100)),
    Column("digest", String(128)),
    Column("shown_digest", String(128)),
    Column("automatic", Boolean, nullable=False, server_default=false()),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("needs_approvals", Integer, nullable=False, server_default="0"),
    Column("approvals", JSON),
    Column("refusal", String(40)),
    Column("refundable_paise", BigInteger),
    Column("decided_by", String(100)),
    Column("decided_at", Double),
    Column("decision_id", String(255)),
    Column("decision_digest", String(128)),
    Column("note", Text),
    Column("reference", String(255)),
    Column("failure", Text),
    Column("created_at", Double, nullable=False, server_default="0"),
    Column("intended_at", Double),
    Column("settled_at", Double),
    CheckConstraint(
        "status IN ({})".format(", ".join(f"'{status.value}'" for status in RefundStatus)),
        name="refunds_status",
    ),
    Index("refunds_of_customer", "customer_id", "created_at"),
)

payouts = Table(
    "payouts",
    metadata,
    Column("idempotency_key", String(255), primary_key=True),
    Column("order_id", String(100), nullable=False),
    Column("customer_id", String(100), nullable=False),
    Column("amount_paise", BigInteger, CheckConstraint("amount_paise > 0"), nullable=False),
    Column("reference", String(255), nullable=False),
    Column("paid_at", Double, nullable=False),
)

# Who may still change a refund that waits: no owner of its case older than the newest that looked.
fences = Table(
    "fences",
    metadata,
    Column("idempotency_key", String(255), primary_key=True),
    Column("token", BigInteger, nullable=False),
)

shop_meta = Table(
    "shop_meta",
    metadata,
    Column("name", String(60), primary_key=True),
    Column("value", String(255), nullable=False),
)


# Statements are built once: building one costs more than running it.
_LOCK_CUSTOMER = (
    select(customers.c.id).where(customers.c.id == bindparam("customer_id")).with_for_update()
)
_LOCK_ORDER = select(orders.c.id).where(orders.c.id == bindparam("order_id")).with_for_update()


class ShopError(Exception):
    """The shop's database can't be opened; the message is one line for the operator."""


class Database:
    """An engine and the few threads its transactions run in, so that no event loop waits.

    Each transaction is one plain function of a connection: one hop to a thread and back. A
    caller that is cancelled leaves its transaction to finish by itself.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="shop")

    async def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` on one consistent view of the database. It must not write."""
        return await self._in_thread(lambda: self._transact(work, read_only=True))

    async def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work` in one transaction, committed when it returns, undone when it raises.

        SQLite lets one writer at a time past `BEGIN IMMEDIATE`; elsewhere `work` takes the row
        locks it needs.
        """
        return await self._in_thread(lambda: self.write_now(work))

    def write_now(self, work: Callable[[Connection], Result]) -> Result:
        """`write` in the caller's own thread, for opening and filling a shop."""
        return self._transact(work, read_only=False)

    def close(self) -> None:
        """Let running transactions finish and give the connections back."""
        self._threads.shutdown()
        self._engine.dispose()

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _transact(self, work: Callable[[Connection], Result], *, read_only: bool) -> Result:
        with self._engine.connect() as connection:
            connection.execution_options(**{_READ_ONLY: read_only})
            with connection.begin():
                return work(connection)


def open_database(url: str) -> Database:
    """Connect to `url` (any SQLAlchemy URL) and make the tables that are missing.

    Raises `ShopError` when the URL is no URL, its driver is missing, the database can't be
    reached, or it is SQLite in memory: that would forget payments with the process.
    """
    try:
        engine = _engine(url)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise ShopError(f"The driver of the shop's database is not installed: {error}") from error
    except ArgumentError:
        raise ShopError("The shop's URL is not a database URL, like sqlite:///shop.db.") from None
    database = Database(engine)
    try:
        database.write_now(metadata.create_all)
    except SQLAlchemyError as error:
        database.close()
        raise cannot_open(error) from error
    return database


def cannot_open(error: SQLAlchemyError) -> ShopError:
    """The driver's own words for what went wrong, in one line, without the statement."""
    words = str(getattr(error, "orig", error)).partition("\n")[0]
    return ShopError(f"The shop's database can't be opened: {words}")


def shop_id(database: Database) -> str:
    """The shop's own random id, made once and kept; it tells two shops apart for ever."""

    def read_or_make(connection: Connection) -> str:
        where = shop_meta.c.name == "shop_id"
        known: str | None = connection.scalar(select(shop_meta.c.value).where(where))
        if known is not None:
            return known
        made = f"shop_{secrets.token_hex(8)}"
        connection.execute(insert(shop_meta).values(name="shop_id", value=made))
        return made

    try:
        return database.write_now(read_or_make)
    except IntegrityError:  # another process made it in between
        return database.write_now(read_or_make)


def holds_everything(connection: Connection) -> bool:
    """SQLite locks no rows: a transaction that writes holds the whole database from its start."""
    return connection.dialect.name == "sqlite"


def lock(connection: Connection, *, customer_id: str, order_id: str) -> None:
    """Hold the customer's row and then the order's until the transaction ends.

    In this order everywhere, so that two transactions can't wait for each other.
    """
    if holds_everything(connection):
        return
    connection.execute(_LOCK_CUSTOMER, {"customer_id": customer_id})
    connection.execute(_LOCK_ORDER, {"order_id": order_id})


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        # Not a snapshot: what is read after a lock was got must be what is there by then.
        return create_engine(parsed, isolation_level="READ COMMITTED", pool_pre_ping=True)
    if parsed.database in (None, "", ":memory:"):
        raise ShopError("The shop's database must be a file: sqlite:///PATH.")
    engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # None takes the driver's own idea of transactions away; _begin_sqlite brings ours.
    connection.isolation_level = None
    # SQLite's own lower() leaves every letter beyond ASCII as it is.
    connection.create_function("lower", 1, _lower, deterministic=True)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    # A reader that turned into a writer could fail at once, without waiting its turn.
    read_only: bool = connection.get_execution_options().get(_READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
