"""Everything that remembers: the cases here, the shop and its payments in `shop`."""

from __future__ import annotations

import time
from pathlib import Path

from agent.errors import ConfigurationError
from agent.ports import CaseStore, Clock
from storage.sqlite import open_sqlite, open_sqlite_to_read


def open_store(url: str, *, now: Clock = time.time, read_only: bool = False) -> CaseStore:
    """The store at `sqlite:///relative.db` or `sqlite:////absolute.db`, made if it is new.

    One process at a time may have it; `read_only` looks at it beside that one and makes nothing.
    Call it before serving: it waits for the disk. Raises `ConfigurationError` when the URL, the
    file or its folder is not as it must be.
    """
    scheme, found, rest = url.partition("://")
    if not found or scheme != "sqlite" or not rest.startswith("/") or "?" in rest:
        # The scheme alone: what follows it may hold a password.
        named = f"a {scheme}:// address" if found and scheme != "sqlite" else "not of that form"
        raise ConfigurationError(
            "CASETHREAD_STORE_URL: this version keeps cases in sqlite:///PATH only "
            f"(sqlite:////PATH for an absolute path), and it is {named}"
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
