"""A Redis that refuses, hangs, restarts, or whose answers get lost: each call takes effect once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from agent.errors import LeaseLost, StoreAway, StoreError
from agent.ports import CaseStore, Change, Lease, Posted
from agent.run import Status
from storage import open_store
from storage.redis_store import RedisStore
from tests.contracts.samples import (
    CASE_ID,
    case,
    claimed,
    event,
    inbox_ids,
    outbox_ids,
    owned,
    post,
    record_of,
    run,
)
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer

HERE = Posted(channel="C1", message_id="1.1")


@pytest.fixture
async def proxy(server: RedisServer) -> AsyncIterator[RedisProxy]:
    async with RedisProxy(server.port) as between:
        yield between


@pytest.fixture
async def store(proxy: RedisProxy, server: RedisServer) -> AsyncIterator[CaseStore]:
    """Its way to Redis goes through `proxy`. It is open, and Redis knows the scripts."""
    opened = RedisStore(proxy.url, now=time.time)
    await opened.open()
    for script in opened.scripts.values():
        server.ask("SCRIPT", "LOAD", script.source)
    yield opened
    await opened.close()


@contextmanager
def impatience() -> Generator[None]:
    """For calls that are to fail: the others have time, on a busy machine too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.redis_link.CALL_SECONDS", 0.1)
        patch.setattr("storage.redis_link.PAUSES_SECONDS", (0.01,))
        yield


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nobody can tell when
            await asyncio.sleep(0)


# Refusals --------------------------------------------------------------------------------------


async def deliver_is_refused(store: CaseStore, server: RedisServer, why: str) -> None:
    keys = sorted(server.ask("KEYS", "*"))
    with impatience(), pytest.raises(StoreAway, match=why):
        await store.deliver(CASE_ID, event("refused"))
    assert sorted(server.ask("KEYS", "*")) == keys


async def works_again(store: CaseStore) -> None:
    assert await store.deliver(CASE_ID, event("later"))
    newest = (await store.mail(CASE_ID, limit=1)).events
    assert [stored.event.event_id for stored, _ in newest] == ["later"]


async def test_a_full_memory_is_a_redis_that_is_away(store: CaseStore, server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "maxmemory", 1)
    await deliver_is_refused(store, server, "OOM")
    server.ask("CONFIG", "SET", "maxmemory", 0)
    await works_again(store)


async def test_a_save_that_memory_ran_out_for_wrote_nothing(
    store: CaseStore, server: RedisServer
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    before = await record_of(store)
    change = Change(
        case=case(posts=1),
        run=run(message_count=1),
        messages=({},),
        trace=({},),
        applied=("e2",),
        posts=(post(),),
        images={"d": b"1"},
    )
    server.ask("CONFIG", "SET", "maxmemory", 1)
    # What takes from Redis is let through at such a time, what adds to it isn't.
    with impatience(), pytest.raises(StoreAway, match="OOM"):
        await store.save(lease, replace(change, applied=()))
    assert await record_of(store) == before
    server.ask("CONFIG", "SET", "maxmemory", 0)
    assert await store.save(lease, change) == []
    assert await outbox_ids(store, lease) == ["p1"]


async def test_a_redis_that_became_a_replica_is_away(store: CaseStore, server: RedisServer) -> None:
    server.ask("REPLICAOF", "127.0.0.1", "1")
    await deliver_is_refused(store, server, "READONLY")
    server.ask("REPLICAOF", "NO", "ONE")
    await works_again(store)


async def test_a_redis_that_cannot_write_its_snapshot_is_away(
    store: CaseStore, server: RedisServer
) -> None:
    blocked = server.folder / "dump.rdb"
    blocked.mkdir()
    server.ask("CONFIG", "SET", "save", "3600 1")
    server.ask("BGSAVE")
    await until(lambda: server.ask("INFO", "persistence")["rdb_last_bgsave_status"] == "err")
    await deliver_is_refused(store, server, "MISCONF")
    blocked.rmdir()
    server.ask("CONFIG", "SET", "save", "")
    await works_again(store)


async def test_a_redis_without_enough_replicas_is_away(
    store: CaseStore, server: RedisServer
) -> None:
    server.ask("CONFIG", "SET", "min-replicas-to-write", 1)
    with impatience(), pytest.raises(StoreAway, match="NOREPLICAS"):
        await store.freeze("d", {})
    server.ask("CONFIG", "SET", "min-replicas-to-write", 0)
    await works_again(store)


@pytest.mark.parametrize(
    "answer",
    [
        "LOADING Redis is loading the dataset in memory",
        "BUSY Redis is busy running a script.",
        "NOREPLICAS Not enough good replicas to write.",
        "MASTERDOWN Link with MASTER is down",
        "CLUSTERDOWN The cluster is down",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "ERR max number of clients reached",
        "ERR Error running script (call to f_1): @user_script:1: -MISCONF Redis is configured",
        "NOAUTH Authentication required.",
        "WRONGPASS invalid username-password pair",
    ],
)
async def test_what_redis_refuses_for_a_while_is_no_fault_of_the_record(
    store: CaseStore, server: RedisServer, proxy: RedisProxy, answer: str
) -> None:
    proxy.answers[b"EVALSHA"] = f"-{answer}\r\n".encode()
    await deliver_is_refused(store, server, "is away")
    proxy.answers.clear()
    await works_again(store)


async def test_a_short_refusal_is_waited_for(store: CaseStore, proxy: RedisProxy) -> None:
    proxy.answers[b"EVALSHA"] = b"-LOADING Redis is loading the dataset in memory\r\n"
    before = proxy.calls
    delivery = asyncio.create_task(store.deliver(CASE_ID, event()))
    await until(lambda: proxy.calls >= before + 2)
    proxy.answers.clear()
    assert await delivery


@pytest.mark.parametrize(
    "answer", ["ERR unknown command", "NOPERM this user has no permissions", "WRONGTYPE Operation"]
)
async def test_what_redis_refuses_for_good_is_not_tried_again(
    store: CaseStore, proxy: RedisProxy, answer: str
) -> None:
    proxy.answers[b"EVALSHA"] = f"-{answer}\r\n".encode()
    before = proxy.calls
    with pytest.raises(StoreError) as raised:
        await store.deliver(CASE_ID, event())
    assert not isinstance(raised.value, StoreAway)
    assert proxy.calls == before + 1


async def test_a_redis_that_does_not_answer_is_away_and_taken_up_again(
    store: CaseStore, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.ask("CLIENT", "PAUSE", 60_000, "WRITE")
    with impatience(), monkeypatch.context() as patch:
        patch.setattr("storage.redis_link.ATTEMPT_SECONDS", 0.05)
        with pytest.raises(StoreAway, match="no answer"):
            await store.deliver(CASE_ID, event())
    server.ask("CLIENT", "UNPAUSE")
    assert await store.deliver(CASE_ID, event("e2"))


async def test_one_connection_that_died_unseen_is_enough_to_give_all_idle_ones_up(
    store: CaseStore, proxy: RedisProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.redis_link.ATTEMPT_SECONDS", 0.2)
    await asyncio.gather(*(store.deliver(f"case {n}", event()) for n in range(8)))
    proxy.go_deaf()
    assert await store.deliver(CASE_ID, event())
    await asyncio.gather(*(store.deliver(f"case {n}", event("e2")) for n in range(8)))
    assert proxy.unheard == 1


async def test_a_call_that_finds_no_connection_free_does_not_wait_for_ever(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.redis_link.CONNECTIONS", 1)
    store = open_store(server.url())
    await store.remember("shop", "one")
    server.ask("CLIENT", "PAUSE", 60_000, "WRITE")
    slow = asyncio.create_task(store.deliver(CASE_ID, event()))
    await asyncio.sleep(0)
    with impatience(), pytest.raises(StoreAway, match="no connection is free"):
        await store.ready(limit=1)
    server.ask("CLIENT", "UNPAUSE")
    assert await slow
    assert await store.ready(limit=1) == [CASE_ID]
    await store.close()


# Lost answers ----------------------------------------------------------------------------------


async def test_a_delivery_whose_answer_got_lost_was_a_delivery(
    store: CaseStore, proxy: RedisProxy
) -> None:
    proxy.drop_answers = 2
    assert await store.deliver(CASE_ID, event())
    assert not await store.deliver(CASE_ID, event())
    assert len((await store.mail(CASE_ID)).events) == 1


async def test_a_claim_whose_answer_got_lost_finds_its_own_lease(
    store: CaseStore, proxy: RedisProxy
) -> None:
    await store.deliver(CASE_ID, event())
    proxy.drop_answers = 2
    lease = await owned(store)
    assert lease.token == 1
    assert await store.claim(CASE_ID, "worker", seconds=8) is None
    await store.save(lease, Change(case=case(), run=None))


@pytest.mark.parametrize("interrupted", [True, False])
async def test_a_claim_whose_answer_got_lost_still_knows_whether_the_last_owner_was_interrupted(
    store: CaseStore, proxy: RedisProxy, interrupted: bool
) -> None:
    lease = await claimed(store)
    if interrupted:
        await store.renew(lease, seconds=0)
    else:
        await store.hand_over(lease)
    proxy.drop_answers = 2
    claim = await store.claim(CASE_ID, "worker", seconds=8)
    assert claim
    assert claim.interrupted == interrupted


async def test_a_hand_over_whose_answer_got_lost_is_one(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    proxy.drop_answers = 2
    await store.hand_over(lease)
    assert await store.claim(CASE_ID, "next", seconds=8)


async def test_a_renewal_whose_answer_got_lost_is_a_renewal(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    proxy.drop_answers = 2
    assert (await store.renew(lease, seconds=60)).token == lease.token


async def test_a_save_whose_answer_got_lost_is_saved_once(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    await store.deliver(CASE_ID, event("e3"))
    proxy.drop_answers = 2
    left = await store.save(
        lease,
        Change(
            case=case(posts=1),
            run=run(message_count=1),
            messages=({"n": 0},),
            trace=({"step": 0},),
            applied=("e2",),
            posts=(post("p1"),),
            inbox_seen=3,
        ),
    )
    assert [stored.event.event_id for stored in left] == ["e3"]
    record = await record_of(store)
    assert (record.case, record.messages) == (case(posts=1), ({"n": 0},))
    assert await store.trace("r1") == [{"step": 0}]
    assert await outbox_ids(store, lease) == ["p1"]
    assert len([line async for line in store.runs()]) == 1


async def test_an_event_between_a_save_and_its_repetition_does_not_count_against_it(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await held_back(proxy, store, lease, Change(case=case(posts=1), run=None, inbox_seen=1))
    await store.deliver(CASE_ID, event("e2"))
    [answer] = await proxy.let_arrive()
    assert b"saved" in answer
    assert b"e2" in answer


async def test_a_sent_post_whose_answer_got_lost_is_sent(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post(),)))
    proxy.drop_answers = 2
    await store.sent(lease, {"p1": HERE})
    assert await outbox_ids(store, lease) == []
    assert await store.posted(CASE_ID, "p1") == HERE


async def test_a_release_whose_answer_got_lost_is_a_release(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    proxy.drop_answers = 2
    assert await store.release(lease, due_at=None)
    assert await store.claim(CASE_ID, "next", seconds=8)


async def test_facts_and_prompts_whose_answers_got_lost_are_kept(
    store: CaseStore, proxy: RedisProxy
) -> None:
    proxy.drop_answers = 2
    assert await store.remember("shop", "one") == "one"
    proxy.drop_answers = 2
    await store.freeze("d", {"system": "one"})
    assert await store.frozen("d") == {"system": "one"}


async def test_reading_goes_on_over_a_new_connection(store: CaseStore, proxy: RedisProxy) -> None:
    lease = await claimed(store)
    for look in (store.inbox, store.outbox):
        proxy.drop_answers = 1
        await look(lease)
    proxy.drop_answers = 1
    assert [line async for line in store.runs()] == []


# What arrives late -----------------------------------------------------------------------------


async def held_back(proxy: RedisProxy, store: CaseStore, lease: Lease, change: Change) -> None:
    """A save whose first try hangs on the way; the second one arrives."""
    proxy.hold_calls = 1
    await store.save(lease, change)
    assert len(proxy.held) == 1


async def test_a_save_that_arrives_again_after_a_later_one_changes_nothing(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await held_back(proxy, store, lease, Change(case=case(posts=1), run=run()))
    await store.save(lease, Change(case=case(posts=2), run=run(status=Status.DONE)))
    [answer] = await proxy.let_arrive()
    assert b"lost" in answer
    record = await record_of(store)
    assert (record.case, record.run) == (case(posts=2), run(status=Status.DONE))


async def test_a_save_that_arrives_again_under_the_next_lease_changes_nothing(
    store: CaseStore, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await held_back(proxy, store, lease, Change(case=case(posts=1), run=None))
    await store.release(lease, due_at=None)
    assert await store.claim(CASE_ID, "worker", seconds=8)
    [answer] = await proxy.let_arrive()
    assert b"lost" in answer


async def test_a_release_that_arrives_again_does_not_take_a_case_from_who_works_on(
    store: CaseStore, server: RedisServer, proxy: RedisProxy
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    proxy.hold_calls = 1
    assert not await store.release(lease, due_at=None)
    await store.save(lease, Change(case=case(), run=run(), applied=("e2",)))
    await proxy.let_arrive()
    await store.save(lease, Change(case=case(posts=1), run=run()))


async def test_a_redis_that_forgot_a_claim_and_gave_its_token_away_keeps_the_two_apart(
    store: CaseStore, server: RedisServer
) -> None:
    lease = await claimed(store)
    forgotten = replace(lease, owner="of the crash")
    with pytest.raises(LeaseLost):
        await store.save(forgotten, Change(case=case(posts=9), run=None))
    with pytest.raises(LeaseLost):
        await store.renew(forgotten, seconds=8)
    assert await store.release(forgotten, due_at=None)
    await store.save(lease, Change(case=case(), run=None))


# Restarts --------------------------------------------------------------------------------------


async def test_forgotten_scripts_are_sent_again(store: CaseStore, server: RedisServer) -> None:
    lease = await claimed(store)
    for flushed in range(2):
        server.ask("SCRIPT", "FLUSH")
        await store.save(lease, Change(case=case(posts=flushed), run=None))
        server.ask("SCRIPT", "FLUSH")
        assert await inbox_ids(store, lease) == []


async def test_a_call_outlasts_a_restart_of_redis_and_nothing_is_lost(server: RedisServer) -> None:
    store = open_store(server.url())
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run(message_count=1), messages=({},)))
    server.kill()
    saving = asyncio.create_task(
        store.save(lease, Change(case=case(posts=1), run=run(message_count=2), messages=({},)))
    )
    delivery = asyncio.create_task(store.deliver(CASE_ID, event("during")))
    await asyncio.sleep(0)
    server.start()
    await saving
    assert await delivery
    record = await record_of(store)
    assert (record.case, record.messages) == (case(posts=1), ({}, {}))
    assert await inbox_ids(store, lease) == ["during"]
    await store.close()


async def test_a_redis_that_is_gone_is_away(server: RedisServer) -> None:
    store = open_store(server.url())
    await store.deliver(CASE_ID, event())
    server.kill()
    with impatience(), pytest.raises(StoreAway, match=rf"127\.0\.0\.1:{server.port}/0 is away"):
        await store.ready(limit=1)
    server.start()
    assert await store.ready(limit=1) == [CASE_ID]
    await store.close()


async def test_a_call_that_is_cut_short_leaves_no_answer_to_the_next_one(
    store: CaseStore, server: RedisServer
) -> None:
    await store.remember("shop", "one")
    server.ask("CLIENT", "PAUSE", 60_000, "WRITE")
    asking = asyncio.create_task(store.remember("shop", "two"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    server.ask("CLIENT", "UNPAUSE")
    assert await store.ready(limit=1) == []
    assert asking.cancelled()
