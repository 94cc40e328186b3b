"""What is SQLite's own in the store: the file, its lock, durability, cost."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ConfigurationError, LeaseLost, StoreError
from agent.ports import Change, Posted
from agent.run import Status
from storage import sqlite_file, sqlite_reads
from storage.sqlite import SqliteStore, open_sqlite, open_sqlite_to_read
from tests.contracts.samples import CASE_ID, case, event, owned, post, run


def now() -> float:
    return 1_700_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = open_sqlite(path, now=now)
    yield opened
    await opened.close()


# One process -----------------------------------------------------------------------------------


async def test_a_second_start_on_the_same_file_is_refused_naming_it(
    store: SqliteStore, path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"another Casethread process uses .*store\.db"):
        open_sqlite(path, now=now)
    await store.close()
    await open_sqlite(path, now=now).close()


def test_a_start_that_failed_leaves_no_lock_behind(path: Path) -> None:
    path.write_text("this is no database, and long enough to be taken for one" * 20)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="not a database"):
            open_sqlite(path, now=now)


async def test_leases_of_the_process_before_are_void_and_their_tokens_stay_used(
    path: Path,
) -> None:
    before = open_sqlite(path, now=now)
    await before.deliver(CASE_ID, event())
    old = await owned(before, "before", seconds=10**6)
    await before.close()

    after = open_sqlite(path, now=now)
    assert await after.ready(limit=10) == [CASE_ID]
    with pytest.raises(LeaseLost):
        await after.renew(old, seconds=8)
    claim = await after.claim(CASE_ID, "after", seconds=8)
    assert claim
    assert claim.lease.token > old.token
    assert claim.interrupted
    await after.close()


DELIVER_AND_WAIT = """
import asyncio, sys
from pathlib import Path
from storage.sqlite import open_sqlite
from tests.contracts.samples import CASE_ID, event

async def main() -> None:
    store = open_sqlite(Path(sys.argv[1]), now=lambda: 1_700_000_000.0)
    await store.deliver(CASE_ID, event("e1"))
    await store.claim(CASE_ID, "killed", seconds=10**6)
    await store.deliver(CASE_ID, event("e2"))
    print("delivered", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_what_was_delivered_is_there_after_a_kill_and_the_file_is_free(path: Path) -> None:
    killed = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        DELIVER_AND_WAIT,
        str(path),
        cwd=Path(__file__).parent.parent.parent,
        stdout=asyncio.subprocess.PIPE,
    )
    assert killed.stdout
    assert await killed.stdout.readline() == b"delivered\n"
    with pytest.raises(ConfigurationError):
        open_sqlite(path, now=now)
    os.kill(killed.pid, signal.SIGKILL)
    await killed.wait()

    store = open_sqlite(path, now=now)
    assert await store.ready(limit=10) == [CASE_ID]
    lease = await owned(store, "next")
    assert [stored.event for stored in await store.inbox(lease)] == [event("e1"), event("e2")]
    await store.close()


async def test_only_what_a_lease_needs_does_not_wait_for_the_disk(store: SqliteStore) -> None:
    async def waits() -> bool:
        level = await store._read(lambda tx: tx.db.execute("PRAGMA synchronous").fetchone()[0])
        return {1: False, 2: True}[level]

    await store.deliver(CASE_ID, event())
    assert await waits()
    lease = await owned(store)
    assert await waits()
    await store.renew(lease, seconds=8)
    assert not await waits()
    change = Change(case=case(), run=None, applied=("e1",), posts=(post(),))
    await store.save(lease, change)
    assert await waits()
    await store.hand_over(lease)
    assert not await waits()
    lease = await owned(store)
    await store.sent(lease, {"p1": Posted(channel="", message_id="")})
    assert await waits()
    await store.release(lease, due_at=None)
    assert not await waits()
    await store.freeze("d", {})
    assert await waits()


# The file --------------------------------------------------------------------------------------


async def test_every_commit_is_forced_to_the_disk(store: SqliteStore) -> None:
    def pragma(name: str) -> Any:
        return store._db.execute(f"PRAGMA {name}").fetchone()[0]

    settings = {
        name: await asyncio.wrap_future(store._thread.submit(pragma, name))
        for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 5_000,
    }


async def test_only_its_owner_may_read_the_files(store: SqliteStore, path: Path) -> None:
    await store.deliver(CASE_ID, event())
    modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}
    assert {"store.db", "store.db.lock", "store.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    for opening in (open_sqlite, open_sqlite_to_read):
        with pytest.raises(ConfigurationError, match="another program's database"):
            opening(path, now=now)
    assert path.read_bytes() == before


async def test_a_file_of_a_newer_layout_is_refused(path: Path) -> None:
    await open_sqlite(path, now=now).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")
    for opening in (open_sqlite, open_sqlite_to_read):
        with pytest.raises(ConfigurationError, match=r"newer Casethread \(layout 99"):
            opening(path, now=now)


async def test_a_closed_store_says_so(store: SqliteStore) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.ready(limit=1)


async def test_an_error_of_sqlite_is_a_store_error_and_the_store_goes_on(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE facts RENAME TO elsewhere")
        with pytest.raises(StoreError, match="no such table"):
            await store.remember("shop", "one")
        db.execute("ALTER TABLE elsewhere RENAME TO facts")
    assert await store.remember("shop", "two") == "two"


# Looking on ------------------------------------------------------------------------------------


async def test_a_reader_sees_what_the_running_bot_saved_and_writes_nothing(
    store: SqliteStore, path: Path
) -> None:
    reader = open_sqlite_to_read(path, now=now)
    await store.deliver(CASE_ID, event())
    lease = await owned(store, "bot")
    await store.save(lease, Change(case=case(), run=run(), trace=({"step": 0},)))
    assert [line.run async for line in reader.runs(status=Status.RUNNING)] == [run()]
    assert await reader.trace("r1") == [{"step": 0}]
    with pytest.raises(StoreError, match="readonly"):
        await reader.deliver(CASE_ID, event("e2"))
    await reader.close()
    assert not await store.release(lease, due_at=None)


async def test_a_reader_needs_no_running_bot(store: SqliteStore, path: Path) -> None:
    await store.deliver(CASE_ID, event())
    await store.close()
    before = content(path)
    reader = open_sqlite_to_read(path, now=now)
    assert await reader.case(CASE_ID)
    await reader.close()
    assert content(path) == before


def content(path: Path) -> bytes:
    return path.read_bytes()


def test_a_reader_does_not_make_a_missing_file(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="start Casethread once"):
        open_sqlite_to_read(path, now=now)
    assert list(path.parent.iterdir()) == []
    path.touch()
    with pytest.raises(ConfigurationError, match="empty"):
        open_sqlite_to_read(path, now=now)


# Cost ------------------------------------------------------------------------------------------


async def test_the_event_loop_goes_on_while_the_disk_is_waited_for(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        delivery = asyncio.create_task(store.deliver(CASE_ID, event()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not delivery.done()
        db.execute("COMMIT")
    assert await delivery


def plan(db: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> list[str]:
    rows = db.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
    return [row[3] for row in rows]


def test_looking_for_ready_cases_and_open_runs_scans_no_table(path: Path) -> None:
    with closing(sqlite_file.connect(path)) as db:
        by_due_time = plan(db, sqlite_reads.READY, (1.0, 1.0, 1, 10))
        values = ("running", 9.0, 9, 9)
        by_status = [plan(db, each, values) for each in sqlite_reads.RUNS_BY_STATUS]
        by_time = [plan(db, each, values[1:]) for each in sqlite_reads.ALL_RUNS]
    assert by_due_time == ["SEARCH cases USING INDEX cases_due (due_at<?)"]
    with_case = "SEARCH cases USING INDEX sqlite_autoindex_cases_1 (case_id=?)"
    at_place, below = "opened_at=? AND rowid<?", "opened_at>? AND opened_at<?"
    assert by_status == [
        [f"SEARCH runs USING INDEX runs_status (status=? AND {place})", with_case]
        for place in (at_place, below)
    ]
    assert by_time == [
        [f"SEARCH runs USING INDEX runs_opened ({place})", with_case] for place in (at_place, below)
    ]


async def test_a_list_of_runs_longer_than_one_look_is_whole_and_in_order(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.sqlite.RUNS_AT_ONCE", 2)
    await store.deliver(CASE_ID, event())
    lease = await owned(store, "bot")
    for n in range(6):
        await store.save(lease, Change(case=case(), run=run(f"r{n}")))
    newest_first = [f"r{n}" for n in reversed(range(6))]
    assert [line.run.run_id async for line in store.runs()] == newest_first
    assert [line.run.run_id async for line in store.runs(status=Status.RUNNING)] == newest_first


async def test_saving_a_step_costs_the_same_however_long_the_history_is(
    store: SqliteStore,
) -> None:
    await store.deliver(CASE_ID, event())
    lease = await owned(store)
    rows: list[int] = []
    for step in range(41):
        before = store._db.total_changes
        await store.save(
            lease,
            Change(
                case=case(),
                run=run(message_count=2 * step + 2),
                messages=({"content": "x" * 1_000}, {"content": "y" * 1_000}),
                trace=({"step": step},),
                posts=(post(f"p{step}"),),
            ),
        )
        rows.append(store._db.total_changes - before)
    assert rows[5] == rows[40] == 6
