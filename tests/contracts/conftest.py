"""The stores that a contract suite runs on, each as a way to open it once more.

A second store object on the same records stands for another process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from agent.ports import CaseStore
from storage.redis_store import RedisStore
from storage.sqlite import SqliteStore
from storage.sqlite_file import connect
from tests.redis_server import RedisServer

OpenStore = Callable[[], CaseStore]


class SetClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.seconds = 1_700_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def go_on(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--appendonly", "yes")
    yield server
    server.kill()


@pytest.fixture(params=["sqlite", "redis"])
def open_one_more(
    request: pytest.FixtureRequest, clock: SetClock, tmp_path: Path
) -> Callable[[], CaseStore]:
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        # Without the lock file, which would refuse the second one.
        return lambda: SqliteStore(lambda: connect(path), now=clock)
    server: RedisServer = request.getfixturevalue("redis_server")
    server.ask("FLUSHDB")
    return lambda: RedisStore(server.url(), now=clock)


@pytest.fixture
async def store(open_one_more: OpenStore) -> AsyncIterator[CaseStore]:
    opened = open_one_more()
    yield opened
    await opened.close()


@pytest.fixture
async def other(store: CaseStore, open_one_more: OpenStore) -> AsyncIterator[CaseStore]:
    """The same records, opened by somebody else."""
    opened = open_one_more()
    yield opened
    await opened.close()
