"""Records as they are stored: what was written once stays readable as it was meant."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from agent.case import Content, Fact, Message
from agent.errors import StoreError
from storage import codec
from tests.storage import records_v1

FIXTURES = Path(__file__).parent.parent / "fixtures" / "records"
V1 = json.loads((FIXTURES / "v1.json").read_text(encoding="utf-8"))

CASE, RUN, EVENT, POST = "case", "run", "events", "posts"
DECODE: dict[str, Callable[[bytes, str], Any]] = {
    CASE: codec.decode_case,
    RUN: codec.decode_run,
    EVENT: codec.decode_event,
    POST: codec.decode_post,
}
ENCODE: dict[str, Callable[[Any], bytes]] = {
    CASE: codec.encode_case,
    RUN: codec.encode_run,
    EVENT: codec.encode_event,
    POST: codec.encode_post,
}
RECORDS_V1: dict[str, list[Any]] = {
    CASE: [records_v1.CASE],
    RUN: [records_v1.RUN],
    EVENT: list(records_v1.EVENTS),
    POST: list(records_v1.POSTS),
}


def stored(fixture: dict[str, Any], kind: str) -> list[bytes]:
    held = fixture[kind] if isinstance(fixture[kind], list) else [fixture[kind]]
    return [json.dumps(each).encode() for each in held]


@pytest.mark.parametrize("kind", DECODE)
def test_records_of_version_1_are_read_as_they_were_meant(kind: str) -> None:
    read = [DECODE[kind](raw, "x") for raw in stored(V1, kind)]
    assert len(read) == len(RECORDS_V1[kind])
    for got, expected in zip(read, RECORDS_V1[kind], strict=True):
        for field in fields(expected):
            assert getattr(got, field.name) == getattr(expected, field.name), field.name
            assert type(getattr(got, field.name)) is type(getattr(expected, field.name))


@pytest.mark.parametrize("kind", ENCODE)
def test_records_are_written_in_the_form_of_the_newest_fixture(kind: str) -> None:
    """A new field in a record is a new schema version: older code would drop it unseen."""
    written = [json.loads(ENCODE[kind](record)) for record in RECORDS_V1[kind]]
    assert written == [json.loads(raw) for raw in stored(V1, kind)]


@pytest.mark.parametrize("record", [records_v1.CASE, records_v1.RUN, records_v1.PENDING])
def test_the_fixture_uses_every_field(record: Any) -> None:
    unused = [
        field.name
        for field in fields(record)
        if field.name != "schema_version"
        and field.default is not MISSING
        and getattr(record, field.name) == field.default
    ]
    assert unused == []


@pytest.mark.parametrize(
    ("union", "kind", "part"), [(Fact, EVENT, "event"), (Content, POST, "post")]
)
def test_the_fixture_has_every_kind_of_event_and_post(union: Any, kind: str, part: str) -> None:
    kinds = {each.kind for each in get_args(get_args(union)[0])}
    inner = {EVENT: "fact", POST: "content"}[kind]
    assert {each[part][inner]["kind"] for each in V1[kind]} == kinds


def test_every_version_has_a_reader_a_summary_and_a_fixture() -> None:
    assert list(codec.VERSIONS) == list(range(1, codec.VERSION + 1))
    for number, version in codec.VERSIONS.items():
        assert version.summary
        assert "\n" not in version.summary
        assert (FIXTURES / f"v{number}.json").exists()


@pytest.mark.parametrize("kind", DECODE)
@pytest.mark.parametrize("version", [2, 99, 0, None, "1"])
def test_a_record_of_an_unknown_version_is_refused_naming_it(kind: str, version: Any) -> None:
    record = json.loads(stored(V1, kind)[0]) | {"schema_version": version, "new": {}}
    with pytest.raises(StoreError, match=rf"the-name has schema version {version}.* up to 1\b"):
        DECODE[kind](json.dumps(record).encode(), "the-name")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff"])
def test_what_is_no_record_is_a_store_error_that_names_it(raw: bytes) -> None:
    with pytest.raises(StoreError, match="run r1"):
        codec.decode_run(raw, "r1")
    if raw not in (b"[]", b"null"):
        with pytest.raises(StoreError, match="run r1"):
            codec.decode_json(raw, "run r1")


def test_a_record_with_a_wrong_field_names_the_field_and_not_its_value() -> None:
    record = V1["case"] | {"openers": ["U1", {"secret": "words of a person"}]}
    with pytest.raises(StoreError, match=r"openers\.1") as raised:
        codec.decode_case(json.dumps(record).encode(), "c1")
    assert "words of a person" not in str(raised.value)


def test_numbers_in_arguments_come_back_exactly() -> None:
    chance = random.Random(11)
    numbers = [chance.uniform(0, 10 ** chance.randrange(1, 8)) for _ in range(500)]
    exact = {"numbers": [*numbers, 145.05, 1e22, 2**70, -0.5, 1, 1.0, True, None]}
    pending = replace(records_v1.PENDING, input=exact)
    run = codec.decode_run(codec.encode_run(replace(records_v1.RUN, pending=pending)), "r")
    assert run.pending
    assert json.dumps(run.pending.input) == json.dumps(exact)
    assert json.dumps(codec.decode_json(codec.encode_json(exact), "x")) == json.dumps(exact)


@pytest.mark.parametrize("text", ["\ud83d", "a\udfffb", "\0", "\u2028", "न\u200dक", "😞", "\ufffe"])
def test_any_text_comes_back_as_it_was(text: str) -> None:
    event = replace(records_v1.EVENTS[0], fact=Message(message_id="m", author="U1", text=text))
    assert codec.decode_event(codec.encode_event(event), "e") == event
    run = replace(records_v1.RUN, results=({"content": text},), reply=text)
    assert codec.decode_run(codec.encode_run(run), "r") == run
    assert codec.decode_json(codec.encode_json({text: text}), "x") == {text: text}
