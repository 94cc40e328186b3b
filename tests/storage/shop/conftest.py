"""Fixtures for the shop's tests: the sample shop, made once and copied for each test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from storage.shop import Shop, open_shop
from tests.storage.shop.world import TODAY, Clock, open_copy


@pytest.fixture(scope="session")
def sample_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sample") / "shop.db"
    shop = open_shop(f"sqlite:///{path}", now=Clock(), sample_on=TODAY)
    asyncio.run(shop.close())
    return path


@pytest.fixture
def shop_file(sample_file: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sample_file, tmp_path / "shop.db"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def shop(shop_file: Path, clock: Clock) -> AsyncIterator[Shop]:
    opened = open_copy(shop_file, clock)
    yield opened
    await opened.close()


@pytest.fixture
async def same_shop(shop_file: Path, clock: Clock, shop: Shop) -> AsyncIterator[Shop]:
    """The same database once more, through an engine of its own."""
    opened = open_copy(shop_file, clock)
    assert opened.shop_id == shop.shop_id
    yield opened
    await opened.close()
