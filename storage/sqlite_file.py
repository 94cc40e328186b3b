"""One SQLite file that holds a store: its lock, its settings, its tables, how it is opened.

Every message of a `ConfigurationError` here names the file and says how to mend it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ConfigurationError

APPLICATION_ID = 0x43617365
"""Marks our files, so that another program's database is never taken for a store."""

LAYOUT = 1
"""Version of the tables (`user_version`); the records in them have their own."""

BUSY_TIMEOUT_SECONDS = 5.0

TABLES = """
CREATE TABLE cases (
    id INTEGER PRIMARY KEY,
    case_id TEXT NOT NULL UNIQUE,
    schema_version INTEGER NOT NULL,  -- the newest among its records
    record BLOB,                      -- NULL until the first event is applied
    events INTEGER NOT NULL DEFAULT 0,
    posts INTEGER NOT NULL DEFAULT 0,
    due_at REAL,                      -- NULL: wants nothing until an event comes
    owner TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    expires_at REAL NOT NULL DEFAULT 0
);
CREATE INDEX cases_due ON cases (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    case_id TEXT NOT NULL REFERENCES cases (case_id) ON DELETE CASCADE,
    event_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ts TEXT NOT NULL,
    record BLOB NOT NULL,
    applied INTEGER NOT NULL DEFAULT 0,
    UNIQUE (case_id, event_id)
);
CREATE INDEX inbox_unapplied ON inbox (case_id, ts, seq) WHERE applied = 0;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    case_id TEXT NOT NULL REFERENCES cases (case_id) ON DELETE CASCADE,
    post_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    token INTEGER NOT NULL,
    record BLOB NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0,
    channel TEXT NOT NULL DEFAULT '',
    message_id TEXT NOT NULL DEFAULT '',
    UNIQUE (case_id, post_id)
);
CREATE INDEX outbox_unsent ON outbox (case_id, seq) WHERE sent = 0;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,           -- grows, so a case's latest run has the highest
    run_id TEXT NOT NULL UNIQUE,
    case_id TEXT NOT NULL REFERENCES cases (case_id) ON DELETE CASCADE,
    status TEXT NOT NULL,
    opened_at REAL NOT NULL,
    messages INTEGER NOT NULL,
    record BLOB NOT NULL
);
CREATE INDEX runs_case ON runs (case_id);
CREATE INDEX runs_status ON runs (status, opened_at);
CREATE INDEX runs_opened ON runs (opened_at);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    record BLOB NOT NULL,
    UNIQUE (run_id, n)
);

CREATE TABLE trace (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    record BLOB NOT NULL
);
CREATE INDEX trace_run ON trace (run_id);

CREATE TABLE images (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE frozen (digest TEXT PRIMARY KEY, record BLOB NOT NULL);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction:
    """One begun transaction; `now` was read after it began."""

    db: sqlite3.Connection
    now: float


def lock(path: Path) -> int:
    """Take the file for this process: an open file, which holds `PATH.lock` until it is closed.

    The kernel lets go of it when the process ends, however it ends. Raises `ConfigurationError`
    while another process holds it.
    """
    lock_path = path.with_name(f"{path.name}.lock")
    try:
        held = os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ConfigurationError(_cannot_open(lock_path, error.strerror)) from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(held)
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: another Casethread process uses {path} (it holds "
            f"{lock_path}): stop it first, or give this one a file of its own"
        ) from error
    return held


def connect(path: Path) -> sqlite3.Connection:
    """The file, made if it is missing, for reading and writing in the calling thread.

    Transactions are begun by hand. `synchronous=FULL` because what was acknowledged to Slack is
    never sent again: in WAL mode `NORMAL` could lose the last commits in a power cut.
    """
    try:
        # Records hold people's words: only the owner may read them, and SQLite gives its side
        # files the mode of this one.
        path.touch(mode=0o600)
        db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise ConfigurationError(_cannot_open(path, error)) from error
    with _refusing(db, path):
        is_new = _check_ours(db, path)
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise ConfigurationError(
                _cannot_open(path, "this disk can't hold its WAL; choose a local disk")
            )
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")  # macOS: through the drive's own cache as well
        db.execute("PRAGMA foreign_keys = ON")
        if is_new:
            _make_tables(db)
    return db


def connect_to_read(path: Path) -> sqlite3.Connection:
    """The file as it is, beside a running bot or without one; takes no lock, changes nothing."""
    if not path.is_file():
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: there is no {path} yet: start Casethread once, or name the "
            "file it uses"
        )
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_SECONDS)
    except sqlite3.Error as error:
        raise ConfigurationError(_cannot_open(path, error)) from error
    with _refusing(db, path):
        if _check_ours(db, path):
            raise ConfigurationError(
                f"CASETHREAD_STORE_URL: {path} is empty: start Casethread once, or name the file "
                "it uses"
            )
    return db


@contextmanager
def _refusing(db: sqlite3.Connection, path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        db.close()
        raise ConfigurationError(_cannot_open(path, error)) from error
    except ConfigurationError:
        db.close()
        raise


def _make_tables(db: sqlite3.Connection) -> None:
    """All of them or none: a start that is killed here leaves an empty file."""
    db.executescript(
        f"BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION_ID}; "
        f"PRAGMA user_version = {LAYOUT}; COMMIT;"
    )


def _check_ours(db: sqlite3.Connection, path: Path) -> bool:
    """True when the file is empty still. Raises `ConfigurationError` when it isn't for us."""
    if _pragma(db, "schema_version") == 0:
        return True
    if _pragma(db, "application_id") != APPLICATION_ID:
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: {path} is another program's database: name the file that "
            "Casethread uses, or a new one"
        )
    layout = _pragma(db, "user_version")
    if layout > LAYOUT:
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: {path} was made by a newer Casethread (layout {layout}, this "
            f"one knows {LAYOUT}): run that one, or name another file"
        )
    return False


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _cannot_open(path: Path, why: object) -> str:
    return f"CASETHREAD_STORE_URL: can't open {path}: {why}"
