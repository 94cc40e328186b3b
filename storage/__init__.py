"""Everything that remembers: the cases here, the shop and its payments in `shop`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from agent.errors import ConfigurationError
from agent.ports import CaseStore, Clock
from storage.redis_store import RedisStore
from storage.sqlite import open_sqlite, open_sqlite_to_read


def open_store(url: str, *, now: Clock = time.time, read_only: bool = False) -> CaseStore:
    """The store at an address, made if it is new; `read_only` looks at it and makes nothing.

    `sqlite:///relative.db` or `sqlite:////absolute.db`: one process at a time may have it, besides
    those that only read. Call it before serving: it waits for the disk.

    `redis://USER:PASSWORD@HOST:PORT/DB` (`rediss://` for TLS; user and password may be left out):
    for any number of processes. It is connected with the first call; `check_store` is one.

    Raises `ConfigurationError` when the URL, the file or its folder is not as it must be.
    """
    scheme, found, rest = url.partition("://")
    if found and scheme in ("redis", "rediss"):
        return RedisStore(url, now=now, read_only=read_only)
    if not found or scheme != "sqlite" or not rest.startswith("/") or "?" in rest:
        # The scheme alone: what follows it may hold a password.
        named = f"a {scheme}:// address" if found and scheme != "sqlite" else "not of that form"
        raise ConfigurationError(
            "CASETHREAD_STORE_URL: cases are kept in sqlite:///PATH (sqlite:////PATH for an "
            f"absolute path) or redis://HOST:PORT/DB, and it is {named}"
        )
    name = rest.removeprefix("/")
    if not name or name.startswith(":"):
        raise ConfigurationError(
            "CASETHREAD_STORE_URL: sqlite:/// needs the path of a file, like "
            "sqlite:///casethread.db"
        )
    # The real path, so that two names of one file have one lock.
    path = Path(name).resolve()
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: the folder {path.parent} does not exist: make it, or choose "
            "another path"
        )
    if read_only:
        return open_sqlite_to_read(path, now=now)
    return open_sqlite(path, now=now)


async def check_store(store: CaseStore) -> Sequence[str]:
    """Make sure that the store can be used, at the start; returns what the operator is warned of.

    The warnings are logged too. Raises `ConfigurationError` when it isn't as it must be, and
    `StoreAway` when it is away for a while.
    """
    return await store.open() if isinstance(store, RedisStore) else ()
