"""What the SQLite store writes: each function here is one transaction's work.

An exception leaves nothing written. The contracts are those of `CaseStore` and `SqliteStore`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.case import Event
from agent.errors import InboxChanged, LeaseLost, StoreError
from agent.ports import Change, Claim, Lease, Posted, StoredEvent
from agent.run import Json, Run
from storage import codec, sqlite_reads
from storage.sqlite_file import Transaction


def deliver(tx: Transaction, case_id: str, event: Event) -> bool:
    db = tx.db
    known = db.execute(
        "SELECT 1 FROM inbox WHERE case_id = ? AND event_id = ?", (case_id, event.event_id)
    )
    if known.fetchone():
        return False
    db.execute(
        "INSERT INTO cases (case_id, schema_version, events, due_at) VALUES (?, ?, 1, ?) "
        "ON CONFLICT (case_id) DO UPDATE SET events = events + 1, "
        "schema_version = max(schema_version, excluded.schema_version), "
        "due_at = min(coalesce(due_at, excluded.due_at), excluded.due_at)",
        (case_id, codec.VERSION, tx.now),
    )
    db.execute(
        "INSERT INTO inbox (case_id, event_id, seq, ts, record) "
        "SELECT case_id, ?, events, ?, ? FROM cases WHERE case_id = ?",
        (event.event_id, event.ts, codec.encode_event(event), case_id),
    )
    return True


def claim(tx: Transaction, case_id: str, owner: str, seconds: float) -> Claim | str | None:
    """A string says why a case can't be worked on by this code."""
    row = tx.db.execute(
        "SELECT token, expires_at, schema_version, record FROM cases WHERE case_id = ?", (case_id,)
    ).fetchone()
    if row is None:
        return None
    token, expires_at, version, raw = row
    if version > codec.VERSION:
        return (
            f"case {case_id} holds records of schema version {version}, and this version of "
            f"Casethread knows up to {codec.VERSION}: it is left alone; run the newer Casethread"
        )
    if expires_at > tx.now:
        return None
    lease = Lease(case_id=case_id, owner=owner, token=token + 1, expires_at=tx.now + seconds)
    tx.db.execute(
        "UPDATE cases SET owner = ?, token = ?, expires_at = ?, "
        "due_at = min(coalesce(due_at, ?), ?) WHERE case_id = ?",
        (owner, lease.token, lease.expires_at, tx.now, tx.now, case_id),
    )
    return Claim(
        lease=lease,
        record=replace(
            sqlite_reads.whole(tx, case_id, raw), inbox=tuple(sqlite_reads.inbox(tx, case_id))
        ),
        has_posts=sqlite_reads.has_posts(tx, case_id),
        interrupted=expires_at > 0,
    )


def renew(tx: Transaction, lease: Lease, seconds: float) -> Lease:
    _held(tx, lease)
    later = replace(lease, expires_at=tx.now + seconds)
    tx.db.execute(
        "UPDATE cases SET expires_at = ? WHERE case_id = ?", (later.expires_at, lease.case_id)
    )
    return later


def release(tx: Transaction, lease: Lease, due_at: float | None) -> bool:
    try:
        _held(tx, lease)
    except LeaseLost:
        return True
    if _unapplied_after(tx, lease.case_id, 0):
        return False
    tx.db.execute(
        "UPDATE cases SET expires_at = 0, due_at = ? WHERE case_id = ?", (due_at, lease.case_id)
    )
    return True


def hand_over(tx: Transaction, lease: Lease) -> None:
    with contextlib.suppress(LeaseLost):
        _held(tx, lease)
        tx.db.execute("UPDATE cases SET expires_at = 0 WHERE case_id = ?", (lease.case_id,))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Held:
    due_at: float
    posts: int


def _held(tx: Transaction, lease: Lease) -> _Held:
    """What a save needs to know of the case. Raises `LeaseLost` unless the lease still lasts."""
    row = tx.db.execute(
        "SELECT due_at, posts FROM cases WHERE case_id = ? AND token = ? AND expires_at > ?",
        (lease.case_id, lease.token, tx.now),
    ).fetchone()
    if row is None:
        raise LeaseLost(f"{lease.owner} has lost its lease {lease.token} on {lease.case_id}")
    due_at, posts = row
    return _Held(due_at=tx.now if due_at is None else min(due_at, tx.now), posts=posts)


def _unapplied_after(tx: Transaction, case_id: str, seq: int) -> bool:
    found = tx.db.execute(
        "SELECT 1 FROM inbox WHERE case_id = ? AND applied = 0 AND seq > ? LIMIT 1", (case_id, seq)
    )
    return found.fetchone() is not None


def save(tx: Transaction, lease: Lease, change: Change) -> Sequence[StoredEvent]:
    """Writes the change alone: its rows don't grow with the history of the case."""
    held = _held(tx, lease)
    case_id, run = lease.case_id, change.run
    if change.case.case_id != case_id or (run is not None and run.case_id != case_id):
        raise StoreError(f"a save of {case_id} holds records of another case")
    tx.db.executemany(
        "UPDATE inbox SET applied = 1 WHERE case_id = ? AND event_id = ?",
        [(case_id, event_id) for event_id in change.applied],
    )
    if change.inbox_seen is not None and _unapplied_after(tx, case_id, change.inbox_seen):
        raise InboxChanged(f"{case_id} has an event after number {change.inbox_seen}")
    if run is not None:
        _save_run(tx, run, change)
    elif change.messages or change.trace:
        raise StoreError(f"a save of {case_id} holds messages without a run")
    tx.db.executemany(
        "INSERT INTO outbox (case_id, post_id, seq, token, record) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (case_id, post_id) DO NOTHING",
        [
            (case_id, post.post_id, seq, lease.token, codec.encode_post(post))
            for seq, post in enumerate(change.posts, held.posts + 1)
        ],
    )
    tx.db.executemany(
        "INSERT INTO images (digest, bytes) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING",
        list(change.images.items()),
    )
    due_at = change.due_at
    inbox = sqlite_reads.inbox(tx, case_id)
    if due_at is None or inbox or sqlite_reads.has_posts(tx, case_id):
        due_at = held.due_at
    version = max(change.case.schema_version, run.schema_version if run else 0)
    tx.db.execute(
        "UPDATE cases SET record = ?, schema_version = ?, posts = ?, due_at = ? WHERE case_id = ?",
        (
            codec.encode_case(change.case),
            version,
            held.posts + len(change.posts),
            due_at,
            case_id,
        ),
    )
    return inbox


def _save_run(tx: Transaction, run: Run, change: Change) -> None:
    row = tx.db.execute("SELECT messages FROM runs WHERE run_id = ?", (run.run_id,)).fetchone()
    first = run.message_count - len(change.messages)
    stored = row[0] if row else 0
    if stored != first:
        raise StoreError(
            f"run {run.run_id} has {stored} messages stored, and a save would go on after {first}"
        )
    values = (str(run.status), run.message_count, codec.encode_run(run), run.run_id)
    if row:
        tx.db.execute(
            "UPDATE runs SET status = ?, messages = ?, record = ? WHERE run_id = ?", values
        )
    else:
        tx.db.execute(
            "INSERT INTO runs (status, messages, record, run_id, case_id, opened_at) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (*values, run.case_id, run.opened_at),
        )
    tx.db.executemany(
        "INSERT INTO messages (run_id, n, record) VALUES (?, ?, ?)",
        [(run.run_id, n, codec.encode_json(each)) for n, each in enumerate(change.messages, first)],
    )
    tx.db.executemany(
        "INSERT INTO trace (run_id, record) VALUES (?, ?)",
        [(run.run_id, codec.encode_json(each)) for each in change.trace],
    )


def sent(tx: Transaction, lease: Lease, posted: Mapping[str, Posted]) -> None:
    _held(tx, lease)
    changed = tx.db.executemany(
        "UPDATE outbox SET sent = 1, channel = ?, message_id = ? WHERE case_id = ? AND post_id = ?",
        [
            (each.channel, each.message_id, lease.case_id, post_id)
            for post_id, each in posted.items()
        ],
    )
    if changed.rowcount != len(posted):
        raise StoreError(f"{lease.case_id} doesn't have all of the posts {sorted(posted)}")


def freeze(tx: Transaction, digest: str, frozen: Json) -> None:
    tx.db.execute(
        "INSERT INTO frozen (digest, record) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING",
        (digest, codec.encode_json(frozen)),
    )


def remember(tx: Transaction, name: str, value: str) -> str:
    tx.db.execute(
        "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", (name, value)
    )
    return str(tx.db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()[0])
