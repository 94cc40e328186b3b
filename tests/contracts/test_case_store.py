"""What every `CaseStore` keeps to: delivering, saving, sending, reading. Leases have their own."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from agent.case import Words
from agent.errors import InboxChanged, StoreError
from agent.ports import CaseStore, Change, Clock, Record
from agent.run import Status, Usage
from tests.contracts.conftest import SetClock
from tests.contracts.samples import (
    CASE_ID,
    case,
    claimed,
    event,
    inbox_ids,
    owned,
    post,
    record_of,
    run,
)

# Delivering ------------------------------------------------------------------------------------


async def test_an_event_for_a_new_case_makes_its_row(store: CaseStore) -> None:
    assert await store.case(CASE_ID) is None
    assert await store.deliver(CASE_ID, event("e1"))
    assert await store.case(CASE_ID) == Record(case=None, run=None, messages=())


async def test_a_delivered_event_is_in_the_inbox_as_it_was(
    store: CaseStore, other: CaseStore
) -> None:
    sent = event("e1", text="₹145.05 🙂 \u200d <b>")
    await store.deliver(CASE_ID, sent)
    lease = await owned(other)
    assert [stored.event for stored in await other.inbox(lease)] == [sent]


async def test_text_that_utf8_cannot_hold_comes_back_as_it_was(store: CaseStore) -> None:
    sent = event("e1", text="half a pair: \ud83d")
    await store.deliver(CASE_ID, sent)
    lease = await owned(store)
    assert [stored.event for stored in await store.inbox(lease)] == [sent]


async def test_a_second_delivery_of_an_id_changes_nothing(
    store: CaseStore, clock: SetClock
) -> None:
    await store.deliver(CASE_ID, event("e1", text="first"))
    await store.deliver("later case", event("e9"))
    clock.go_on(5)
    assert not await store.deliver(CASE_ID, event("e1", at=9.0, text="second"))
    lease = await owned(store)
    [stored] = await store.inbox(lease)
    assert stored.event == event("e1", text="first")


async def test_an_id_is_known_even_after_its_event_was_applied(store: CaseStore) -> None:
    lease = await claimed(store)
    assert not await store.deliver(CASE_ID, event("first"))
    assert await inbox_ids(store, lease) == []
    assert await store.release(lease, due_at=None)
    assert not await store.deliver(CASE_ID, event("first"))
    assert await store.ready(limit=10) == []


async def test_the_same_id_in_another_case_is_another_event(store: CaseStore) -> None:
    assert await store.deliver("case a", event("e1"))
    assert await store.deliver("case b", event("e1"))
    assert sorted(await store.ready(limit=10)) == ["case a", "case b"]


async def test_a_new_event_makes_a_waiting_case_ready_at_once(
    store: CaseStore, clock: SetClock
) -> None:
    lease = await claimed(store)
    await store.release(lease, due_at=clock() + 3_600)
    assert await store.ready(limit=10) == []
    await store.deliver(CASE_ID, event("e2"))
    assert await store.ready(limit=10) == [CASE_ID]


async def test_a_new_event_does_not_cost_a_case_its_place(
    store: CaseStore, clock: SetClock
) -> None:
    await store.deliver("case a", event("e1"))
    clock.go_on(1)
    await store.deliver("case b", event("e1"))
    clock.go_on(1)
    await store.deliver("case a", event("e2"))
    assert await store.ready(limit=10) == ["case a", "case b"]


async def test_events_are_taken_in_the_order_of_ts_and_then_of_arrival(store: CaseStore) -> None:
    for event_id, at in (("late", 30.0), ("tie a", 20.5), ("early", 3.25), ("tie b", 20.5)):
        await store.deliver(CASE_ID, event(event_id, at=1_700_000_000 + at))
    lease = await owned(store)
    assert [(stored.event.event_id, stored.seq) for stored in await store.inbox(lease)] == [
        ("early", 3),
        ("tie a", 2),
        ("tie b", 4),
        ("late", 1),
    ]


# Saving ----------------------------------------------------------------------------------------


async def test_a_save_is_loaded_whole(store: CaseStore, other: CaseStore) -> None:
    lease = await claimed(store)
    a_case = case(words=(Words(message_id="1", author="U1", text="Hi"),), run_ids=("r1",), posts=2)
    a_run = run(
        usage=Usage(uncached=10, output=3),
        cost_usd=Decimal("0.0123"),
        results=({"type": "tool_result", "content": "1.10"},),
        message_count=2,
    )
    messages: tuple[dict[str, Any], ...] = (
        {"role": "user", "content": "₹ \ud83d"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": "x"}]},
    )
    await store.save(lease, Change(case=a_case, run=a_run, messages=messages))
    expected = Record(case=a_case, run=a_run, messages=messages)
    assert await store.case(CASE_ID) == expected
    assert await other.case(CASE_ID) == expected
    await store.release(lease, due_at=None)
    claim = await other.claim(CASE_ID, "next", seconds=8)
    assert claim
    assert claim.record == expected


async def test_messages_and_trace_of_a_save_are_appended(store: CaseStore) -> None:
    lease = await claimed(store)
    for n in range(3):
        await store.save(
            lease,
            Change(
                case=case(),
                run=run(message_count=2 * n + 2, steps=n),
                messages=({"n": 2 * n}, {"n": 2 * n + 1}),
                trace=({"step": n},),
            ),
        )
    record = await record_of(store)
    assert record.run
    assert record.run.steps == 2
    assert [message["n"] for message in record.messages] == [0, 1, 2, 3, 4, 5]
    assert await store.trace("r1") == [{"step": 0}, {"step": 1}, {"step": 2}]


async def test_a_save_without_a_run_keeps_the_run_there_is(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run(message_count=1), messages=({"n": 0},)))
    await store.save(lease, Change(case=case(posts=1), run=None))
    record = await record_of(store)
    assert record.case == case(posts=1)
    assert record.run == run(message_count=1)
    assert record.messages == ({"n": 0},)


async def test_a_case_is_loaded_with_its_latest_run(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run("r1", message_count=1), messages=({},)))
    ended = run("r1", message_count=1, status=Status.DONE)
    await store.save(lease, Change(case=case(), run=ended))
    await store.save(lease, Change(case=case(), run=run("r2")))
    assert await record_of(store) == Record(case=case(), run=run("r2"), messages=())


async def test_a_save_whose_messages_do_not_follow_the_stored_ones_is_refused(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run(message_count=1), messages=({"n": 0},)))
    for count, messages in ((3, ({"n": 2},)), (1, ({"n": 0},)), (0, ())):
        with pytest.raises(StoreError, match="r1 has 1 messages"):
            await store.save(
                lease,
                Change(case=case(posts=9), run=run(message_count=count), messages=messages),
            )
    assert await record_of(store) == Record(
        case=case(), run=run(message_count=1), messages=({"n": 0},)
    )


@pytest.mark.parametrize(
    "change",
    [
        Change(case=case("another"), run=None),
        Change(case=case(), run=run(case_id="another")),
        Change(case=case(), run=None, messages=({},)),
        Change(case=case(), run=None, trace=({},)),
    ],
)
async def test_a_save_that_contradicts_itself_is_refused(store: CaseStore, change: Change) -> None:
    lease = await claimed(store)
    with pytest.raises(StoreError):
        await store.save(lease, change)


async def test_applied_events_leave_the_inbox(store: CaseStore) -> None:
    lease = await claimed(store)
    for event_id in ("e2", "e3", "e4"):
        await store.deliver(CASE_ID, event(event_id))
    await store.save(lease, Change(case=case(), run=None, applied=("e2", "e4")))
    assert await inbox_ids(store, lease) == ["e3"]


async def test_a_claim_and_a_save_tell_what_is_in_the_inbox_at_that_moment(
    store: CaseStore, other: CaseStore
) -> None:
    await store.release(await claimed(store), due_at=None)
    await other.deliver(CASE_ID, event("e2", at=2.0))
    await other.deliver(CASE_ID, event("e3", at=1.0))
    claim = await store.claim(CASE_ID, "worker", seconds=8)
    assert claim
    lease = claim.lease
    assert [stored.event.event_id for stored in claim.record.inbox] == ["e3", "e2"]
    assert list(claim.record.inbox) == list(await store.inbox(lease))
    await other.deliver(CASE_ID, event("e4", at=3.0))
    left = await store.save(lease, Change(case=case(), run=None, applied=("e2",)))
    assert [stored.event.event_id for stored in left] == ["e3", "e4"]
    assert not await store.save(lease, Change(case=case(), run=None, applied=("e3", "e4")))


async def test_a_save_that_has_not_seen_the_newest_event_is_refused_and_writes_nothing(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    [seen] = await store.inbox(lease)
    await store.deliver(CASE_ID, event("e3", at=0.5))
    change = Change(
        case=case(posts=1),
        run=run(message_count=1),
        messages=({"n": 0},),
        trace=({"step": 0},),
        applied=("e2",),
        posts=(post("p1"),),
        images={"d1": b"1"},
        inbox_seen=seen.seq,
    )
    with pytest.raises(InboxChanged):
        await store.save(lease, change)
    assert await store.case(CASE_ID) == Record(case=case(), run=None)
    assert await inbox_ids(store, lease) == ["e3", "e2"]
    assert await store.outbox(lease) == []
    assert await store.images(["d1"]) == {}
    assert await store.trace("r1") == []

    newest = max(stored.seq for stored in await store.inbox(lease))
    await store.save(lease, replace(change, inbox_seen=newest))
    assert await inbox_ids(store, lease) == ["e3"]


async def test_events_that_the_save_itself_applies_do_not_count_as_unseen(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    await store.save(lease, Change(case=case(), run=None, applied=("e2",), inbox_seen=0))
    assert await store.inbox(lease) == []


async def test_a_save_that_does_not_ask_about_the_inbox_is_never_refused_for_it(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    await store.save(lease, Change(case=case(posts=1), run=None))
    assert (await record_of(store)).case == case(posts=1)


# Reading ---------------------------------------------------------------------------------------


async def test_runs_are_listed_newest_first(store: CaseStore) -> None:
    for n, (case_id, status) in enumerate(
        [("a", Status.DONE), ("b", Status.WAITING_APPROVAL), ("c", Status.DONE)]
    ):
        lease = await claimed(store, case_id)
        a_run = run(f"r{n}", case_id, status=status, opened_at=100.0 + n)
        await store.save(lease, Change(case=case(case_id), run=a_run))
    lease = await claimed(store, "d")
    same_moment = run("r3", "d", opened_at=102.0)
    await store.save(lease, Change(case=case("d"), run=same_moment))

    assert [line.run.run_id async for line in store.runs()] == ["r3", "r2", "r1", "r0"]
    assert [line.run.run_id async for line in store.runs(status=Status.DONE)] == ["r2", "r0"]
    [waiting] = [line async for line in store.runs(status=Status.WAITING_APPROVAL)]
    assert (waiting.run.run_id, waiting.case.case_id) == ("r1", "b")
    assert [line.run.run_id async for line in store.runs(since=101.0)] == ["r3", "r2", "r1"]
    [recent] = [line async for line in store.runs(status=Status.DONE, since=100.5)]
    assert recent.run.run_id == "r2"
    assert [line async for line in store.runs(status=Status.HANDED_OFF)] == []


async def test_a_run_moves_to_the_list_of_its_new_status(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run()))
    await store.save(lease, Change(case=case(), run=run(status=Status.HANDED_OFF)))
    assert [line async for line in store.runs(status=Status.RUNNING)] == []
    assert [line.run async for line in store.runs(status=Status.HANDED_OFF)] == [
        run(status=Status.HANDED_OFF)
    ]


async def test_one_run_is_found_by_its_id(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run("r1")))
    await store.save(lease, Change(case=case(), run=run("r2")))
    line = await store.run("r1")
    assert line
    assert (line.run, line.case) == (run("r1"), case())


async def test_what_is_not_there_reads_as_nothing(store: CaseStore) -> None:
    assert await store.case("nowhere") is None
    assert await store.run("nowhere") is None
    assert await store.trace("nowhere") == []
    assert [line async for line in store.runs()] == []
    assert await store.frozen("nowhere") is None
    assert await store.posted("nowhere", "p1") is None
    assert await store.images(["nowhere"]) == {}
    assert await store.images([]) == {}


async def test_images_are_found_by_digest_and_kept_once(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, images={"d1": b"\0\xff", "d2": b"two"}))
    await store.save(lease, Change(case=case(), run=None, images={"d1": b"other", "d3": b""}))
    assert await store.images(["d3", "d1", "none"]) == {"d1": b"\0\xff", "d3": b""}


async def test_a_prompt_is_frozen_once_and_for_ever(store: CaseStore, other: CaseStore) -> None:
    await store.freeze("d1", {"system": "Hello ₹", "tools": [1.5, None]})
    await other.freeze("d1", {"system": "changed"})
    assert await store.frozen("d1") == {"system": "Hello ₹", "tools": [1.5, None]}


async def test_whoever_remembers_a_fact_first_wins(store: CaseStore, other: CaseStore) -> None:
    assert await store.remember("shop", "one") == "one"
    assert await other.remember("shop", "two") == "one"
    assert await other.remember("salt", "three") == "three"


# Records of a newer version --------------------------------------------------------------------


async def save_newer(store: CaseStore, clock: Clock, newer: str) -> None:
    """A case, due now, whose case or run was written by a later release."""
    lease = await claimed(store)
    version: dict[str, Any] = {"schema_version": 99}
    await store.save(
        lease,
        Change(
            case=case(**(version if newer == "case" else {})),
            run=run(**(version if newer == "run" else {})),
        ),
    )
    assert await store.release(lease, due_at=clock())


@pytest.mark.parametrize("newer", ["case", "run"])
async def test_a_case_with_a_newer_record_is_not_ready_and_cannot_be_claimed(
    store: CaseStore, clock: SetClock, newer: str, caplog: pytest.LogCaptureFixture
) -> None:
    await save_newer(store, clock, newer)
    clock.go_on(60)
    assert await store.deliver(CASE_ID, event("kept"))
    await store.deliver("known", event("e1"))
    with caplog.at_level(logging.ERROR):
        assert await store.ready(limit=1) == ["known"]
        assert await store.claim(CASE_ID, "worker", seconds=8) is None
        assert await store.claim(CASE_ID, "worker", seconds=8) is None
    [refusal] = caplog.messages
    assert CASE_ID in refusal
    assert "99" in refusal


@pytest.mark.parametrize(("newer", "named"), [("case", f"case {CASE_ID}"), ("run", "run r1")])
async def test_reading_a_newer_record_names_it_and_both_versions(
    store: CaseStore, clock: SetClock, newer: str, named: str
) -> None:
    await save_newer(store, clock, newer)
    for read in (store.case(CASE_ID), store.run("r1")):
        with pytest.raises(StoreError, match=rf"{named} .*version 99.* up to 1\b"):
            await read


async def test_a_list_of_runs_leaves_a_newer_one_out_and_says_so_once(
    store: CaseStore, clock: SetClock, caplog: pytest.LogCaptureFixture
) -> None:
    await save_newer(store, clock, "run")
    lease = await claimed(store, "known")
    await store.save(lease, Change(case=case("known"), run=run("r2", "known")))
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            assert [line.run.run_id async for line in store.runs()] == ["r2"]
    [refusal] = caplog.messages
    assert "run r1" in refusal
