"""What the scripts of the Redis store are given and what they answer, from and to records.

An event lies in Redis as `SEQ:MARK:RECORD`, a post as `SEQ:TOKEN:RECORD`, the place of a sent post
as the JSON of `Posted`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.errors import StoreError
from agent.ports import Change, Lease, Mail, OutboxEntry, Posted, Record, RunLine, StoredEvent
from agent.run import Run
from storage import codec
from storage.redis_link import Value


def save_arguments(lease: Lease, change: Change, number: int) -> Sequence[Value]:
    """What `save.lua` takes after the clock. Raises `StoreError` if it contradicts itself."""
    case_id, run = lease.case_id, change.run
    if change.case.case_id != case_id or (run is not None and run.case_id != case_id):
        raise StoreError(f"a save of {case_id} holds records of another case")
    if run is None and (change.messages or change.trace):
        raise StoreError(f"a save of {case_id} holds messages without a run")
    arguments: list[Value] = [
        lease.token,
        lease.owner,
        number,
        _version(change),
        codec.encode_case(change.case),
        or_nothing(change.due_at),
        or_nothing(change.inbox_seen),
        len(change.applied),
        len(change.posts),
        len(change.images),
        len(change.messages),
        len(change.trace),
        *_run_arguments(run, change),
        *change.applied,
    ]
    for post in change.posts:
        arguments += (post.post_id, codec.encode_post(post))
    for image in change.images.items():
        arguments += image
    arguments += map(codec.encode_json, change.messages)
    arguments += map(codec.encode_json, change.trace)
    return arguments


def _version(change: Change) -> int:
    """The newest among the records that are written."""
    version = change.case.schema_version
    if change.run is not None:
        version = max(version, change.run.schema_version)
    return max(version, codec.VERSION) if change.posts else version


def _run_arguments(run: Run | None, change: Change) -> Sequence[Value]:
    if run is None:
        return ("", "", "", "", "")
    first = run.message_count - len(change.messages)
    return (run.run_id, str(run.status), repr(run.opened_at), first, codec.encode_run(run))


def or_nothing(number: float | None) -> Value:
    """A number, or nothing, as the scripts take it; `repr` keeps every digit."""
    return "" if number is None else repr(number)


def place_arguments(posted: Mapping[str, Posted]) -> Sequence[Value]:
    arguments: list[Value] = []
    for post_id, place in posted.items():
        arguments += (post_id, codec.encode_json(vars(place)))
    return arguments


def place(raw: bytes, post_id: str) -> Posted:
    return Posted(**codec.decode_json(raw, f"place of {post_id}"))


def record(whole: Sequence[Any], case_id: str) -> Record:
    """What `whole.lua` has of a case."""
    raw_case, run_id, raw_run, messages = whole
    name = f"run {run_id.decode()}" if run_id else ""
    return Record(
        case=codec.decode_case(raw_case, case_id) if raw_case else None,
        run=codec.decode_run(raw_run, run_id.decode()) if raw_run else None,
        messages=tuple(codec.decode_json(each, name) for each in messages),
    )


def events(answer: Sequence[bytes]) -> list[StoredEvent]:
    """Unapplied events, in the order of their `ts`, then of arrival."""
    each = iter(answer)
    found = [_event(event_id, packed) for event_id, packed in zip(each, each, strict=True)]
    found.sort(key=lambda stored: (stored.event.ts, stored.seq))
    return found


def _event(event_id: bytes, packed: bytes) -> StoredEvent:
    seq, _, raw = packed.split(b":", 2)
    return StoredEvent(seq=int(seq), event=codec.decode_event(raw, event_id.decode()))


def entries(answer: Sequence[bytes]) -> list[OutboxEntry]:
    each = iter(answer)
    return [_entry(post_id, packed) for post_id, packed in zip(each, each, strict=True)]


def _entry(post_id: bytes, packed: bytes) -> OutboxEntry:
    seq, token, raw = packed.split(b":", 2)
    post = codec.decode_post(raw, post_id.decode())
    return OutboxEntry(seq=int(seq), token=int(token), post=post)


def mail(answer: Sequence[Sequence[Any]]) -> Mail:
    arrived, said = (iter(part) for part in answer)
    return Mail(
        events=[
            (_event(event_id, packed), unapplied is None)
            for event_id, packed, unapplied in zip(arrived, arrived, arrived, strict=True)
        ],
        posts=[
            (_entry(post_id, packed), place(raw, post_id.decode()) if raw is not None else None)
            for post_id, packed, raw in zip(said, said, said, strict=True)
        ],
    )


def lines(answer: Sequence[bytes]) -> tuple[Sequence[RunLine], Sequence[str]]:
    """The runs that can be read, and why the others can't."""
    found: list[RunLine] = []
    refusals: list[str] = []
    each = iter(answer)
    for row in zip(each, each, each, each, strict=True):
        try:
            found.append(line(row))
        except StoreError as error:
            refusals.append(str(error))
    return found, refusals


def line(row: Sequence[bytes]) -> RunLine:
    run_id, run, case_id, case = row
    return RunLine(
        run=codec.decode_run(run, run_id.decode()), case=codec.decode_case(case, case_id.decode())
    )
