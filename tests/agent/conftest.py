from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bot.local.claude import LocalClaude
from tests.agent.bench import Bench, Clock, new_bench, new_client, open_sample
from tests.agent.worlds import Worlds


@pytest.fixture(scope="session")
def sample_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample shop's file, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("sample")
    shop = open_sample(folder, Clock())
    shop.database.close()
    shop.policies.close()
    return folder / "shop.db"


@pytest.fixture
async def bench(tmp_path: Path, sample_shop: Path) -> AsyncGenerator[Bench]:
    shutil.copy(sample_shop, tmp_path / "shop.db")
    clock = Clock()
    async with LocalClaude(now=clock) as claude, new_bench(tmp_path, claude, clock) as bench:
        yield bench
        assert [each.error for each in claude.refused] == []


@pytest.fixture
async def worlds(tmp_path: Path, sample_shop: Path) -> AsyncGenerator[Worlds]:
    async with LocalClaude() as claude:
        client = new_client(claude)
        yield Worlds(folder=tmp_path, sample=sample_shop, claude=claude, client=client)
        await client.close()
        assert [each.error for each in claude.refused] == []
