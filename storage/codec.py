"""Records ⇄ JSON, as they lie in a store: one reader for each schema version.

Cases, runs, events and posts carry the version they were written with. A record of a version
this code does not know is refused with `StoreError` and never written over: a store leaves such a
case out of `ready` and out of `claim`, and logs it once, so that an older release beside newer
records neither loops on them nor harms them, and a newer release finds them due as before.

Messages, trace entries and frozen prompts are the API's own JSON and have no version: what goes
in comes out, down to characters that UTF-8 can't hold.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from agent import case as case_records
from agent import run as run_records
from agent.case import Case, Event, Post
from agent.errors import StoreError
from agent.run import Json, Run

VERSION = max(case_records.SCHEMA_VERSION, run_records.SCHEMA_VERSION)
"""The newest version that is known here; events and posts are stamped with it."""


_Record = TypeVar("_Record")


@dataclass(frozen=True, kw_only=True)
class Version:
    """How one version's records are read: `read` turns its JSON into that of the newest one."""

    summary: str
    read: Callable[[Json], Json]


def _as_it_is(record: Json) -> Json:
    return record


VERSIONS: Mapping[int, Version] = {
    1: Version(
        summary="The first form: case, run, event and post with the fields of `agent`'s records.",
        read=_as_it_is,
    ),
}


def encode_case(case: Case) -> bytes:
    return _encode(_CASE, case)


def decode_case(raw: bytes, name: str) -> Case:
    """`name` is for the operator, like that of every `decode_…`. Raises `StoreError`."""
    return _decode(_CASE, raw, f"case {name}")


def encode_run(run: Run) -> bytes:
    return _encode(_RUN, run)


def decode_run(raw: bytes, name: str) -> Run:
    return _decode(_RUN, raw, f"run {name}")


def encode_event(event: Event) -> bytes:
    return _encode(_EVENT, StampedEvent(schema_version=VERSION, event=event))


def decode_event(raw: bytes, name: str) -> Event:
    return _decode(_EVENT, raw, f"event {name}").event


def encode_post(post: Post) -> bytes:
    return _encode(_POST, StampedPost(schema_version=VERSION, post=post))


def decode_post(raw: bytes, name: str) -> Post:
    return _decode(_POST, raw, f"post {name}").post


def encode_json(value: Json) -> bytes:
    """Plain JSON as it is. A lone surrogate, which UTF-8 can't hold, is kept as its escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def decode_json(raw: bytes, name: str) -> Json:
    return _parse(raw, name)


@dataclass(frozen=True, kw_only=True)
class StampedEvent:
    schema_version: int
    event: Event


@dataclass(frozen=True, kw_only=True)
class StampedPost:
    schema_version: int
    post: Post


_CASE = TypeAdapter(Case)
_RUN = TypeAdapter(Run)
_EVENT = TypeAdapter(StampedEvent)
_POST = TypeAdapter(StampedPost)


def _encode(adapter: TypeAdapter[_Record], record: _Record) -> bytes:
    try:
        return adapter.dump_json(record)
    except PydanticSerializationError:
        return encode_json(adapter.dump_python(record, mode="json"))


def _decode(adapter: TypeAdapter[_Record], raw: bytes, name: str) -> _Record:
    fields = _fields(raw, name)
    version = fields.get("schema_version")
    known = VERSIONS.get(version) if isinstance(version, int) else None
    if known is None:
        raise StoreError(
            f"{name} has schema version {version}, and this version of Casethread knows up to "
            f"{VERSION}: it was left as it is; run the newer Casethread that wrote it"
        )
    try:
        return adapter.validate_python(known.read(fields))
    except ValidationError as error:
        # Where and what, without the values: they are people's words.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{name} can't be read: {where}: {first['msg']}") from None


def _fields(raw: bytes, name: str) -> Json:
    fields = _parse(raw, name)
    if not isinstance(fields, dict):
        raise StoreError(f"{name} is not a JSON object")
    return cast("dict[str, Any]", fields)


def _parse(raw: bytes, name: str) -> Any:
    # pydantic's parser, which is the faster one, refuses the escapes of lone surrogates.
    with contextlib.suppress(ValueError):
        return from_json(raw)
    try:
        return json.loads(raw)
    except ValueError as error:
        raise StoreError(f"{name} is not JSON: {error}") from error
