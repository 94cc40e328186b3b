"""What is Redis' own in the store: two processes, clocks, the index of due cases, cost."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agent.errors import LeaseLost, StoreError
from agent.ports import Change, Posted
from agent.run import Status
from storage import codec
from storage.redis_store import RUNS_AT_ONCE, RedisStore
from tests.contracts.samples import CASE_ID, case, claimed, event, owned, post, run
from tests.redis_proxy import RedisProxy
from tests.redis_server import RedisServer

HEAD = f"casethread:{{{CASE_ID}}}"


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[RedisStore]:
    opened = RedisStore(server.url(), now=time.time)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def other(server: RedisServer, store: RedisStore) -> AsyncIterator[RedisStore]:
    """Another process, by whose clock it is ten minutes later."""
    opened = RedisStore(server.url(), now=time.time)
    opened._now = lambda: time.time() + 600
    await opened.open()
    yield opened
    await opened.close()


def redis_time(server: RedisServer) -> float:
    seconds, microseconds = server.ask("TIME")
    return int(seconds) + int(microseconds) / 1e6


# Two processes ---------------------------------------------------------------------------------


async def test_of_two_processes_that_claim_at_once_one_owns_the_case_and_the_other_writes_nothing(
    store: RedisStore, other: RedisStore
) -> None:
    for n in range(500):
        case_id = f"case {n}"
        await store.deliver(case_id, event())
        claims = await asyncio.gather(
            store.claim(case_id, "one", seconds=8), other.claim(case_id, "two", seconds=8)
        )
        [lease] = [claim.lease for claim in claims if claim]
        keeper, loser, name = (store, other, "two") if claims[0] else (other, store, "one")
        with pytest.raises(LeaseLost):
            await loser.save(
                replace(lease, owner=name), Change(case=case(case_id, posts=9), run=None)
            )
        await keeper.save(lease, Change(case=case(case_id), run=None, applied=("e1",)))
        record = await loser.case(case_id)
        assert record
        assert record.case == case(case_id)


async def test_many_calls_at_once_share_a_few_connections(
    store: RedisStore, server: RedisServer
) -> None:
    await asyncio.gather(*(store.deliver(f"case {n % 50}", event(f"e{n}")) for n in range(500)))
    assert server.ask("INFO", "clients")["connected_clients"] <= 40
    assert len(await store.ready(limit=100)) == 50


# Clocks ----------------------------------------------------------------------------------------


async def test_a_lease_lasts_as_long_for_a_process_whose_clock_is_ahead(
    store: RedisStore, other: RedisStore
) -> None:
    lease = await claimed(store)
    assert await other.claim(CASE_ID, "other", seconds=8) is None
    assert await other.ready(limit=10) == []
    await store.save(lease, Change(case=case(), run=None))


async def test_a_case_is_due_after_the_time_that_was_meant_whatever_the_clock(
    other: RedisStore, server: RedisServer
) -> None:
    lease = await claimed(other)
    due_at = other._now() + 3_600
    await other.save(lease, Change(case=case(), run=None, due_at=due_at))
    for released in (False, True):
        if released:
            await other.release(lease, due_at=due_at)
        due = float(server.ask("HGET", HEAD, "due")) - redis_time(server)
        assert 3_590 < due < 3_601


async def test_a_lease_says_its_end_by_the_clock_of_who_has_it(other: RedisStore) -> None:
    lease = await claimed(other)
    assert 590 < lease.expires_at - 8 - time.time() < 601


# The index of due cases ------------------------------------------------------------------------


async def test_cases_that_are_owned_or_newer_neither_hide_others_nor_cost_anything(
    store: RedisStore, server: RedisServer
) -> None:
    for n in range(40):
        await store.deliver(f"owned {n:02}", event())
        await store.claim(f"owned {n:02}", "worker", seconds=60)
        newer = await claimed(store, f"newer {n:02}")
        change = Change(case=case(newer.case_id, schema_version=99), run=None)
        await store.save(newer, change)
        await store.release(newer, due_at=time.time())
    for n in range(40):
        await store.deliver(f"waits {n:02}", event())
    await store.ready(limit=1)
    server.ask("CONFIG", "RESETSTAT")
    assert await store.ready(limit=3) == ["waits 00", "waits 01", "waits 02"]
    done = commands(server.ask("INFO", "commandstats"))
    assert done == {"evalsha": 1, "time": 1, "zrangebyscore": 1}


async def test_a_case_is_in_one_place_of_the_index_at_most(
    store: RedisStore, server: RedisServer
) -> None:
    def scores() -> list[float]:
        return [
            float(score)
            for version in (codec.VERSION, 99)
            if (score := server.ask("ZSCORE", f"casethread:due:{version}", CASE_ID)) is not None
        ]

    await store.deliver(CASE_ID, event())
    [due] = scores()
    lease = await owned(store, seconds=60)
    [taken] = scores()
    assert 59 < taken - due < 70
    await store.renew(lease, seconds=120)
    [renewed] = scores()
    assert 119 < renewed - due < 130
    parked = Change(case=case(), run=None, applied=("e1",), due_at=time.time() + 600)
    await store.save(lease, parked)
    [later] = scores()
    assert 599 < later - due < 610
    await store.renew(lease, seconds=60)
    assert scores() == [later]
    await store.save(lease, replace(parked, case=case(schema_version=99)))
    assert len(scores()) == 1
    await store.release(lease, due_at=None)
    assert scores() == []


async def test_a_newer_release_finds_due_what_an_older_one_left_alone(
    store: RedisStore, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(schema_version=2), run=None))
    await store.release(lease, due_at=time.time())
    await store.deliver("known", event())
    assert await store.ready(limit=10) == ["known"]
    indexes = ("casethread:due:1", "casethread:due:2")
    monkeypatch.setattr("storage.redis_store.DUE", indexes)
    assert await store.ready(limit=10) == [CASE_ID, "known"]
    assert await store.ready(limit=1) == [CASE_ID]


# What is kept ----------------------------------------------------------------------------------


async def test_nothing_of_an_open_case_goes_by_itself(
    store: RedisStore, server: RedisServer
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    await store.freeze("d", {})
    await store.remember("shop", "one")
    await store.save(
        lease,
        Change(
            case=case(),
            run=run(status=Status.WAITING_CUSTOMER, message_count=1),
            messages=({},),
            trace=({},),
            posts=(post("p1"), post("p2")),
            images={"d": b"1"},
        ),
    )
    await store.sent(lease, {"p1": Posted(channel="C1", message_id="1.1")})
    keys = server.ask("KEYS", "*")
    assert {key.removeprefix(HEAD) for key in keys} == {
        "",
        ":arrived",
        ":events",
        ":messages:r1",
        ":open",
        ":posts",
        ":run:r1",
        ":said",
        ":sent",
        ":trace:r1",
        ":unsent",
        "casethread:due:1",
        "casethread:facts",
        "casethread:frozen:d",
        "casethread:image:d",
        "casethread:layout",
        "casethread:run-cases",
        "casethread:run-count",
        "casethread:runs",
        "casethread:runs:waiting_customer",
    }
    assert {server.ask("TTL", key) for key in keys} == {-1}


async def test_a_run_is_in_the_list_of_its_status_alone(
    store: RedisStore, server: RedisServer
) -> None:
    lease = await claimed(store)
    for status in (Status.RUNNING, Status.WAITING_CUSTOMER, Status.RUNNING, Status.DONE):
        await store.save(lease, Change(case=case(), run=run(status=status)))
    assert server.ask("KEYS", "casethread:runs:*") == ["casethread:runs:done"]
    assert server.ask("ZCARD", "casethread:runs") == 1


async def test_a_run_that_moved_on_while_a_list_was_read_is_not_in_it(
    store: RedisStore, server: RedisServer
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run()))
    [line] = server.ask("ZRANGE", "casethread:runs", 0, -1)
    server.ask("ZADD", "casethread:runs:done", 1, line)
    assert [line async for line in store.runs(status=Status.DONE)] == []


async def test_a_run_of_one_case_is_not_saved_in_another(store: RedisStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run()))
    lease = await claimed(store, "another")
    with pytest.raises(StoreError, match="run of another case"):
        await store.save(lease, Change(case=case("another"), run=run("r1", "another")))


async def test_a_list_of_runs_longer_than_one_look_is_whole_and_in_order(
    store: RedisStore,
) -> None:
    lease = await claimed(store)
    count = 2 * RUNS_AT_ONCE + 1
    for n in range(count):
        await store.save(lease, Change(case=case(), run=run(f"r{n}")))
    newest_first = [f"r{n}" for n in reversed(range(count))]
    assert [line.run.run_id async for line in store.runs()] == newest_first


# Cost ------------------------------------------------------------------------------------------


async def test_saving_a_step_costs_the_same_however_long_the_history_is(
    store: RedisStore, server: RedisServer
) -> None:
    lease = await claimed(store)

    async def cost(step: int) -> tuple[dict[str, int], int]:
        """Commands that Redis carried out, bytes that it was sent."""
        server.ask("CONFIG", "RESETSTAT")
        await store.save(
            lease,
            Change(
                case=case(),
                run=run(message_count=2 * step + 2),
                messages=({"content": "x" * 1_000}, {"content": "y" * 1_000}),
                trace=({"step": "s"},),
            ),
        )
        info = server.ask("INFO", "all")
        return commands(info), info["total_net_input_bytes"]

    costs = [await cost(step) for step in range(41)]
    assert costs[5][0] == costs[40][0]
    assert abs(costs[5][1] - costs[40][1]) < 10


def commands(stats: dict[str, Any]) -> dict[str, int]:
    """How often Redis carried out which command, but for those of the test's own looking."""
    own = ("client", "config", "hello", "info", "select")
    named = {
        name.removeprefix("cmdstat_"): stat for name, stat in stats.items() if "cmdstat_" in name
    }
    return {name: stat["calls"] for name, stat in named.items() if not name.startswith(own)}


async def test_every_call_is_one_round_trip(store: RedisStore, server: RedisServer) -> None:
    for script in store.scripts.values():
        server.ask("SCRIPT", "LOAD", script.source)
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=run(), posts=(post(),)))
    here = {"p1": Posted(channel="C1", message_id="1.1")}
    async with RedisProxy(server.port) as proxy:
        through = RedisStore(proxy.url, now=time.time)
        await through.open()
        for call in (
            through.deliver(CASE_ID, event("e2")),
            through.claim(CASE_ID, "other", seconds=8),
            through.renew(lease, seconds=8),
            through.case(CASE_ID),
            through.inbox(lease),
            through.outbox(lease),
            through.sent(lease, here),
            through.posted(CASE_ID, "p1"),
            through.save(lease, Change(case=case(), run=run(), applied=("e2",))),
            through.hand_over(lease),
            through.release(lease, due_at=None),
            through.ready(limit=10),
            through.remember("shop", "one"),
        ):
            before = proxy.calls
            await call
            assert proxy.calls == before + 1, call
        await through.close()
