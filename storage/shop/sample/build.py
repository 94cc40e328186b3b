"""Makes the sample shop."""

from datetime import date
from pathlib import Path
from random import Random

from sqlalchemy import Connection, func, select

from storage.shop.database import Database, customers
from storage.shop.sample.named import write_named
from storage.shop.sample.others import write_others
from storage.shop.sample.sheet import Sheet

SAMPLE_POLICIES = Path(__file__).parent / "policies"

_SEED = 4471


def build_sample(database: Database, *, today: date, seed: int = _SEED) -> bool:
    """Fill a shop that has no customers, in one transaction; False when it has some.

    The same seed and day give the same shop. The six named customers are the same for any seed.
    """

    def fill(connection: Connection) -> bool:
        if connection.scalar(select(func.count()).select_from(customers)):
            return False
        sheet = Sheet(today=today)
        write_named(sheet)
        write_others(sheet, Random(seed))
        sheet.write(connection)
        return True

    return database.write_now(fill)
