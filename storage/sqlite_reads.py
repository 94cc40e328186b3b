"""What the SQLite store reads: each function here is one transaction's work."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.errors import StoreError
from agent.ports import Mail, OutboxEntry, Posted, Record, RunLine, StoredEvent
from agent.run import Json, Status
from storage import codec
from storage.sqlite_file import Transaction

RUN_LINES = (
    "SELECT runs.run_id, runs.record, runs.case_id, cases.record, runs.opened_at, runs.id "
    "FROM runs JOIN cases ON cases.case_id = runs.case_id"
)
NEWEST_FIRST = "ORDER BY runs.opened_at DESC, runs.id DESC LIMIT ?"
# Two looks for a page: no index of SQLite's finds a place among those of the same moment, and the
# older ones, at once.
SAME_MOMENT = f"runs.opened_at = ? AND runs.id < ? {NEWEST_FIRST}"
OLDER = f"runs.opened_at < ? AND runs.opened_at >= ? {NEWEST_FIRST}"
ALL_RUNS = (f"{RUN_LINES} WHERE {SAME_MOMENT}", f"{RUN_LINES} WHERE {OLDER}")
RUNS_BY_STATUS = (
    f"{RUN_LINES} WHERE runs.status = ? AND {SAME_MOMENT}",
    f"{RUN_LINES} WHERE runs.status = ? AND {OLDER}",
)
READY = (
    "SELECT case_id FROM cases WHERE due_at <= ? AND expires_at <= ? AND schema_version <= ? "
    "ORDER BY due_at, id LIMIT ?"
)


def ready(tx: Transaction, limit: int) -> Sequence[str]:
    rows = tx.db.execute(READY, (tx.now, tx.now, codec.VERSION, limit))
    return [case_id for (case_id,) in rows]


def record(tx: Transaction, case_id: str) -> Record | None:
    row = tx.db.execute("SELECT record FROM cases WHERE case_id = ?", (case_id,)).fetchone()
    return None if row is None else whole(tx, case_id, row[0])


def whole(tx: Transaction, case_id: str, raw: bytes | None) -> Record:
    """A case from its row's record, with its latest run."""
    case = None if raw is None else codec.decode_case(raw, case_id)
    row = tx.db.execute(
        "SELECT run_id, record FROM runs WHERE case_id = ? ORDER BY id DESC LIMIT 1", (case_id,)
    ).fetchone()
    if row is None:
        return Record(case=case, run=None)
    run_id, raw_run = row
    run = codec.decode_run(raw_run, run_id)
    messages = tx.db.execute("SELECT record FROM messages WHERE run_id = ? ORDER BY n", (run_id,))
    return Record(
        case=case,
        run=run,
        messages=tuple(codec.decode_json(record, f"run {run_id}") for (record,) in messages),
    )


def inbox(tx: Transaction, case_id: str) -> Sequence[StoredEvent]:
    rows = tx.db.execute(
        "SELECT seq, event_id, record FROM inbox WHERE case_id = ? AND applied = 0 "
        "ORDER BY ts, seq",
        (case_id,),
    )
    return [
        StoredEvent(seq=seq, event=codec.decode_event(record, event_id))
        for seq, event_id, record in rows
    ]


def outbox(tx: Transaction, case_id: str) -> Sequence[OutboxEntry]:
    rows = tx.db.execute(
        "SELECT seq, token, post_id, record FROM outbox WHERE case_id = ? AND sent = 0 "
        "ORDER BY seq",
        (case_id,),
    )
    return [
        OutboxEntry(seq=seq, token=token, post=codec.decode_post(record, post_id))
        for seq, token, post_id, record in rows
    ]


def has_posts(tx: Transaction, case_id: str) -> bool:
    """Whether the outbox has any."""
    found = tx.db.execute("SELECT 1 FROM outbox WHERE case_id = ? AND sent = 0 LIMIT 1", (case_id,))
    return found.fetchone() is not None


def mail(tx: Transaction, case_id: str, limit: int) -> Mail:
    events = tx.db.execute(
        "SELECT seq, event_id, record, applied FROM inbox WHERE case_id = ? "
        "ORDER BY seq DESC LIMIT ?",
        (case_id, limit),
    ).fetchall()
    posts = tx.db.execute(
        "SELECT seq, token, post_id, record, sent, channel, message_id FROM outbox "
        "WHERE case_id = ? ORDER BY seq DESC LIMIT ?",
        (case_id, limit),
    ).fetchall()
    return Mail(
        events=[
            (StoredEvent(seq=seq, event=codec.decode_event(record, event_id)), bool(applied))
            for seq, event_id, record, applied in reversed(events)
        ],
        posts=[
            (
                OutboxEntry(seq=seq, token=token, post=codec.decode_post(record, post_id)),
                Posted(channel=channel, message_id=message_id) if sent else None,
            )
            for seq, token, post_id, record, sent, channel, message_id in reversed(posts)
        ],
    )


def posted(tx: Transaction, case_id: str, post_id: str) -> Posted | None:
    row = tx.db.execute(
        "SELECT channel, message_id FROM outbox WHERE case_id = ? AND post_id = ? AND sent = 1",
        (case_id, post_id),
    ).fetchone()
    return None if row is None else Posted(channel=row[0], message_id=row[1])


@dataclass(frozen=True, kw_only=True, slots=True)
class RunsPage:
    """Some runs, newest first: those that can be read, and why the others can't."""

    lines: Sequence[RunLine]
    refusals: Sequence[str]
    last: tuple[float, int] | None
    """Time and row of the oldest one; the next page begins behind it. None: this is the end."""


def runs(
    tx: Transaction,
    status: Status | None,
    since: float | None,
    *,
    behind: tuple[float, int],
    limit: int,
) -> RunsPage:
    same_moment, older = ALL_RUNS if status is None else RUNS_BY_STATUS
    given = () if status is None else (str(status),)
    at, oldest = behind[0], -math.inf if since is None else since
    rows = tx.db.execute(same_moment, (*given, *behind, limit)).fetchall()
    rows += tx.db.execute(older, (*given, at, oldest, limit - len(rows))).fetchall()
    lines: list[RunLine] = []
    refusals: list[str] = []
    for *row, _, _ in rows:
        try:
            lines.append(_run_line(*row))
        except StoreError as error:
            refusals.append(str(error))
    last = (rows[-1][-2], rows[-1][-1]) if len(rows) == limit else None
    return RunsPage(lines=lines, refusals=refusals, last=last)


def run(tx: Transaction, run_id: str) -> RunLine | None:
    row = tx.db.execute(f"{RUN_LINES} WHERE runs.run_id = ?", (run_id,)).fetchone()
    return None if row is None else _run_line(*row[:4])


def _run_line(run_id: str, run: bytes, case_id: str, case: bytes) -> RunLine:
    return RunLine(run=codec.decode_run(run, run_id), case=codec.decode_case(case, case_id))


def trace(tx: Transaction, run_id: str) -> Sequence[Json]:
    rows = tx.db.execute("SELECT record FROM trace WHERE run_id = ? ORDER BY id", (run_id,))
    return [codec.decode_json(record, f"run {run_id}") for (record,) in rows]


def images(tx: Transaction, digests: Sequence[str]) -> Mapping[str, bytes]:
    rows = tx.db.execute(
        "SELECT digest, bytes FROM images WHERE digest IN (SELECT value FROM json_each(?))",
        (json.dumps(list(digests)),),
    )
    return dict(rows.fetchall())


def frozen(tx: Transaction, digest: str) -> Json | None:
    row = tx.db.execute("SELECT record FROM frozen WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else codec.decode_json(row[0], f"prompt {digest}")
