"""Servers that the storage tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.redis_server import RedisServer


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis that keeps each write, as one has to be set up for us."""
    folder = tmp_path_factory.mktemp("redis")
    started = RedisServer(folder, "--appendonly", "yes", "--appendfsync", "always")
    yield started
    started.kill()


@pytest.fixture
def server(running: RedisServer) -> RedisServer:
    """It is empty."""
    running.ask("FLUSHALL")
    return running
