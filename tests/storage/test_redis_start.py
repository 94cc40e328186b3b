"""What a start on Redis refuses, what it warns of, and what the operator reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.errors import ConfigurationError, StoreAway, StoreError
from agent.ports import CaseStore
from storage import check_store, open_store
from storage.redis_link import Link
from storage.sqlite import open_sqlite
from tests.contracts.samples import CASE_ID, event
from tests.redis_proxy import RedisProxy, bulk
from tests.redis_server import RedisServer

FIT = {"redis_mode": "standalone", "maxmemory_policy": "noeviction", "aof_enabled": 1}


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.redis_link.CALL_SECONDS", 0.1)


async def refusal(url: str, *, read_only: bool = False) -> str:
    store = open_store(url, read_only=read_only)
    with pytest.raises(ConfigurationError) as raised:
        await check_store(store)
    await store.close()
    message = str(raised.value)
    assert message.startswith("CASETHREAD_STORE_URL: ")
    assert "\n" not in message
    assert "secret" not in message
    return message


async def warnings(store: CaseStore) -> list[str]:
    found = list(await check_store(store))
    await store.close()
    return found


# What fits -------------------------------------------------------------------------------------


async def test_a_redis_that_is_as_it_should_be_gives_no_warning(server: RedisServer) -> None:
    assert await warnings(open_store(server.url())) == []
    assert server.ask("KEYS", "*") == ["casethread:layout"]


async def test_a_second_start_finds_the_database_ours(server: RedisServer) -> None:
    for _ in range(2):
        assert await warnings(open_store(server.url())) == []


async def test_other_programs_keys_beside_ours_do_no_harm(server: RedisServer) -> None:
    server.ask("SET", "docket:worker", "x")
    assert await warnings(open_store(server.url())) == []


async def test_a_database_has_its_own_cases(server: RedisServer) -> None:
    first, second = open_store(server.url(0)), open_store(server.url(1))
    await first.deliver(CASE_ID, event())
    assert await second.case(CASE_ID) is None
    await first.close()
    await second.close()


async def test_sqlite_has_nothing_to_warn_of(tmp_path: Path) -> None:
    assert await warnings(open_sqlite(tmp_path / "store.db", now=lambda: 1.0)) == []


async def test_the_first_call_of_any_kind_looks_first(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    store = open_store(server.url())
    with pytest.raises(ConfigurationError, match="noeviction"):
        await store.remember("shop", "one")
    server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    assert await store.remember("shop", "one") == "one"
    await store.close()


# What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("maxmemory", ["0", "100mb"])
async def test_an_eviction_policy_is_refused_with_or_without_a_limit(
    server: RedisServer, maxmemory: str
) -> None:
    server.ask("CONFIG", "SET", "maxmemory", maxmemory)
    server.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    message = await refusal(server.url())
    assert "maxmemory-policy volatile-lru" in message
    assert "set maxmemory-policy noeviction" in message
    server.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")
    server.ask("CONFIG", "SET", "maxmemory", "0")
    assert server.ask("DBSIZE") == 0


async def test_a_cluster_is_refused(tmp_path: Path) -> None:
    cluster = RedisServer(tmp_path, "--cluster-enabled", "yes")
    assert "is a Redis cluster" in await refusal(cluster.url())
    cluster.kill()


async def test_a_sentinel_is_refused(server: RedisServer) -> None:
    async with RedisProxy(server.port) as proxy:
        proxy.answers[b"INFO"] = bulk({"redis_mode": "sentinel"})
        assert "Sentinel" in await refusal(proxy.url)


async def test_a_replica_is_refused_for_writing_and_is_good_enough_to_read(
    server: RedisServer,
) -> None:
    await warnings(open_store(server.url()))
    server.ask("REPLICAOF", "127.0.0.1", "1")
    assert "name its primary" in await refusal(server.url())
    assert await warnings(open_store(server.url(), read_only=True)) == []
    server.ask("REPLICAOF", "NO", "ONE")


@pytest.mark.usefixtures("impatience")
async def test_nobody_at_the_address_is_said_with_host_and_port_only() -> None:
    message = await refusal("redis://user:secret@127.0.0.1:1/0")
    assert "can't reach Redis at 127.0.0.1:1/0" in message


@pytest.mark.usefixtures("impatience")
async def test_a_server_without_tls_is_refused(server: RedisServer) -> None:
    message = await refusal(server.url().replace("redis:", "rediss:"))
    assert "can't reach Redis" in message


async def test_a_wrong_password_is_said_without_showing_any(tmp_path: Path) -> None:
    locked = RedisServer(tmp_path, password="right-%3F")
    for given in (":secret@", "user:secret@", ""):
        url = locked.url().replace("//", f"//{given}")
        assert "refuses the user or password" in await refusal(url)
    url = locked.url().replace("//", "//:right-%253F@")
    assert len(await warnings(open_store(url))) == 1
    locked.kill()


async def test_a_database_number_that_is_not_there_is_refused(server: RedisServer) -> None:
    assert "DB index is out of range" in await refusal(server.url(99))


async def test_a_newer_layout_is_refused_and_left_alone(server: RedisServer) -> None:
    server.ask("SET", "casethread:layout", "99")
    for read_only in (True, False):
        assert "newer Casethread's (layout 99" in await refusal(server.url(), read_only=read_only)
    assert server.ask("KEYS", "*") == ["casethread:layout"]


async def test_keys_of_another_program_under_our_name_are_refused(server: RedisServer) -> None:
    server.ask("SET", "casethread:layout", "theirs")
    assert "another program uses keys" in await refusal(server.url())
    server.ask("DEL", "casethread:layout")
    server.ask("HSET", "casethread:layout", "version", "1")
    assert "WRONGTYPE" in await refusal(server.url())


# What is warned of -----------------------------------------------------------------------------


async def test_a_missing_append_only_file_is_warned_of_once(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.ask("CONFIG", "SET", "appendonly", "no")
    store = open_store(server.url())
    [warning] = await check_store(store)
    assert "set appendonly yes" in warning
    assert list(await check_store(store)) == [warning]
    assert caplog.messages == [warning]
    await store.close()
    server.ask("CONFIG", "SET", "appendonly", "yes")


async def test_a_user_who_may_not_ask_for_info_is_warned_and_can_work(server: RedisServer) -> None:
    server.ask(
        "ACL", "SETUSER", "bot", "on", ">pw", "~casethread:*", "+@all", "-@dangerous", "-@admin"
    )
    store = open_store(server.url().replace("//", "//bot:pw@"))
    eviction, persistence = await check_store(store)
    assert "noeviction" in eviction
    assert "appendonly" in persistence
    assert await store.deliver(CASE_ID, event())
    assert await store.ready(limit=1) == [CASE_ID]
    await store.close()


async def test_settings_that_redis_does_not_tell_are_warned_of(server: RedisServer) -> None:
    async with RedisProxy(server.port) as proxy:
        proxy.answers[b"INFO"] = bulk({"redis_mode": "standalone"})
        assert len(await warnings(open_store(proxy.url))) == 2
        proxy.answers[b"INFO"] = bulk(FIT)
        assert await warnings(open_store(proxy.url)) == []


@pytest.mark.usefixtures("impatience")
async def test_a_redis_that_still_loads_is_away_and_not_misconfigured(
    server: RedisServer,
) -> None:
    async with RedisProxy(server.port) as proxy:
        proxy.answers[b"GET"] = b"-LOADING Redis is loading the dataset in memory\r\n"
        store = open_store(proxy.url)
        with pytest.raises(StoreAway, match="loading"):
            await check_store(store)
        await store.close()


async def test_a_redis_is_judged_by_what_it_says_once_it_has_loaded(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([FIT | {"loading": "1", "aof_enabled": "0"}, FIT])

    async def info(link: Link) -> Mapping[str, object]:
        return next(said)

    monkeypatch.setattr("storage.redis_start._info", info)
    assert await warnings(open_store(server.url())) == []


# Looking on ------------------------------------------------------------------------------------


async def test_a_reader_sees_the_running_bots_cases_and_writes_nothing(server: RedisServer) -> None:
    store, reader = open_store(server.url()), open_store(server.url(), read_only=True)
    await store.deliver(CASE_ID, event())
    keys = sorted(server.ask("KEYS", "*"))
    assert await reader.case(CASE_ID)
    assert len((await reader.mail(CASE_ID)).events) == 1
    assert [line async for line in reader.runs()] == []
    for writing in (
        reader.deliver(CASE_ID, event("e2")),
        reader.claim(CASE_ID, "reader", seconds=8),
        reader.freeze("d", {}),
        reader.remember("shop", "one"),
    ):
        with pytest.raises(StoreError, match="reading only"):
            await writing
    assert sorted(server.ask("KEYS", "*")) == keys
    await store.close()
    await reader.close()


async def test_a_reader_needs_cases_and_makes_nothing(server: RedisServer) -> None:
    assert "start Casethread once" in await refusal(server.url(), read_only=True)
    assert server.ask("DBSIZE") == 0


async def test_a_closed_store_says_so(server: RedisServer) -> None:
    store = open_store(server.url())
    await store.ready(limit=1)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.ready(limit=1)
