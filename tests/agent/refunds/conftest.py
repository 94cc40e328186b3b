from __future__ import annotations

import shutil
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from tests.agent.bench import Clock, open_sample
from tests.agent.refunds.desk import Desk


@pytest.fixture
async def desk(tmp_path: Path, sample_shop: Path) -> AsyncGenerator[Desk]:
    shutil.copy(sample_shop, tmp_path / "shop.db")
    clock = Clock()
    shop = open_sample(tmp_path, clock)
    yield Desk(shop, clock)
    await shop.close()


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's clock stands where it is tomorrow already."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        yield
    time.tzset()
