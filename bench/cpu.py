"""CPU of this process for one refund run, each way of doing it in each round.

Rounds instead of one way after the other: what else the machine does then falls on all of them,
and what counts is the median of the ratios within a round.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anthropic

from bench.engine import engine_desk, wake_up_costs
from bench.langgraph_agent import HOW_TO_GET_IT, graph_agent, is_installed
from bench.plain import Save, canned, plain_loop, redis_saver, sqlite_saver
from bench.report import Table, spread
from bench.runs import Desk, bare_calls, desk
from bench.server import WORDS, claude_elsewhere
from tests.redis_server import RedisServer

WARM_UP = 3
ROUNDS = 30
CALLS = 5
SHOP, STORE = "shop", "sqlite-store"
"""How the names of their threads begin."""
BARE = "bare SDK"
HARNESS_SQLITE, HARNESS_REDIS = "Casethread, SQLite", "Casethread, Redis"
LANGGRAPH = "LangGraph, SQLite"


@dataclass(kw_only=True)
class Way:
    """One way to do the run; seconds of CPU in each round, of which the shop's and the store's."""

    name: str
    play: Callable[[], Awaitable[None]]
    seconds: list[float] = field(default_factory=list[float])
    shop: list[float] = field(default_factory=list[float])
    store: list[float] = field(default_factory=list[float])


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", "--appendonly", "yes")
    try:
        with claude_elsewhere() as base_url:
            ways = await _without_engine(folder, base_url, server)
            engines = [
                await _with_engine(folder, base_url, "SQLite", None, "memory://"),
                await _with_engine(folder, base_url, "Redis", server.url(3), server.url(3)),
            ]
            costs = [
                await wake_up_costs("memory://", "in memory, beside SQLite"),
                await wake_up_costs(server.url(4), "Redis"),
            ]
    finally:
        server.kill()
    return [_ways_table(ways), _parts_table(ways), _engine_table(engines), _wake_up_table(costs)]


async def _without_engine(folder: Path, base_url: str, server: RedisServer) -> list[Way]:
    async with AsyncExitStack() as parts:
        bare, aiohttp = await _clients(parts, base_url)
        on_sqlite = await parts.enter_async_context(desk(folder / "sqlite", base_url))
        on_redis = await parts.enter_async_context(
            desk(folder / "on-redis", base_url, store_url=server.url(1))
        )
        into_sqlite = await parts.enter_async_context(sqlite_saver(folder / "plain.db"))
        into_redis = await parts.enter_async_context(redis_saver(server.url(2)))
        frozen = on_sqlite.harness.agent.frozen
        messages = (await on_sqlite.refund()).messages
        tools = canned(messages)

        async def plain(save: Save) -> None:
            steps = await plain_loop(bare, frozen, messages[0], tools, run_id="r1", save=save)
            _all_done(steps)

        ways = [
            Way(name=BARE, play=lambda: bare_calls(bare, frozen, messages)),
            Way(name="SDK on aiohttp", play=lambda: bare_calls(aiohttp, frozen, messages)),
            Way(name="plain loop, SQLite", play=lambda: plain(into_sqlite)),
            Way(name="plain loop, Redis", play=lambda: plain(into_redis)),
            Way(name=HARNESS_SQLITE, play=lambda: _refund(on_sqlite)),
            Way(name=HARNESS_REDIS, play=lambda: _refund(on_redis)),
        ]
        if is_installed():
            path = folder / "langgraph.db"
            graph = await parts.enter_async_context(graph_agent(path, base_url, frozen, tools))

            numbers = itertools.count()

            async def on_graph() -> None:
                answers = ["Here it is.", "Approved."]
                run_id = f"run {next(numbers)}"
                _all_done(await graph.run(WORDS, answers, run_id=run_id))

            ways.append(Way(name=LANGGRAPH, play=on_graph))
        await _play(ways)
        return ways


async def _with_engine(
    folder: Path, base_url: str, name: str, store_url: str | None, engine_url: str
) -> tuple[str, list[Way]]:
    """The run without and with the engine, beside the bare SDK."""
    async with AsyncExitStack() as parts:
        bare, _ = await _clients(parts, base_url)
        one = await parts.enter_async_context(
            engine_desk(folder / f"engine-{name}", base_url, store_url, engine_url)
        )
        frozen = one.harness.agent.frozen
        messages = (await one.refund()).messages
        ways = [
            Way(name=BARE, play=lambda: bare_calls(bare, frozen, messages)),
            Way(name=name, play=lambda: _refund(one)),
        ]
        await _play(ways)
        return name, ways


async def _clients(
    parts: AsyncExitStack, base_url: str
) -> tuple[anthropic.AsyncAnthropic, anthropic.AsyncAnthropic]:
    """The SDK as it comes, and on its aiohttp transport."""
    bare = anthropic.AsyncAnthropic(api_key="sk-ant-local", base_url=base_url, max_retries=0)
    aiohttp = anthropic.AsyncAnthropic(
        api_key="sk-ant-local",
        base_url=base_url,
        max_retries=0,
        http_client=anthropic.DefaultAioHttpClient(),
    )
    await parts.enter_async_context(bare)
    await parts.enter_async_context(aiohttp)
    return bare, aiohttp


async def _refund(one: Desk) -> None:
    record = await one.refund()
    _all_done(record.run.steps if record.run else 0)


def _all_done(calls: int) -> None:
    if calls != CALLS:
        raise RuntimeError(f"a run took {calls} calls, not {CALLS}")


async def _play(ways: Sequence[Way]) -> None:
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            # What one way brought in is no work of the others' garbage collections.
            gc.collect()
            gc.freeze()
        for way in ways:
            before = _cpu()
            await way.play()
            used = [after - earlier for after, earlier in zip(_cpu(), before, strict=True)]
            if number >= WARM_UP:
                for kept, seconds in zip((way.seconds, way.shop, way.store), used, strict=True):
                    kept.append(seconds)
    gc.unfreeze()


def _cpu() -> tuple[float, float, float]:
    return time.process_time(), _cpu_of_threads(SHOP), _cpu_of_threads(STORE)


def _cpu_of_threads(prefix: str) -> float:
    return sum(
        time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.name.startswith(prefix) and thread.ident is not None
    )


# Tables -----------------------------------------------------------------------------------------


def _ratios(way: Way, base: Way) -> list[float]:
    return [ours / theirs for ours, theirs in zip(way.seconds, base.seconds, strict=True)]


def _milliseconds(values: Sequence[float]) -> list[float]:
    return [value * 1000 for value in values]


def _ways_table(ways: Sequence[Way]) -> Table:
    by_name = {way.name: way for way in ways}
    note = HOW_TO_GET_IT
    if graph := by_name.get(LANGGRAPH):
        times = [
            f"{statistics.median(_ratios(graph, by_name[name])):.1f}× of {name}"
            for name in (HARNESS_SQLITE, HARNESS_REDIS)
        ]
        note = f"LangGraph takes {' and '.join(times)}."
    return Table(
        title=f"CPU of a refund run, {ROUNDS} rounds, and its ratio to the bare SDK's",
        headings=("", "ms", "least", "most", "ratio", "least", "most"),
        rows=[
            (
                way.name,
                *spread(_milliseconds(way.seconds)),
                *spread(_ratios(way, by_name[BARE]), "{:.2f}×"),
            )
            for way in ways
        ],
        note=note,
    )


def _parts_table(ways: Sequence[Way]) -> Table:
    by_name = {way.name: way for way in ways}
    sdk = statistics.median(by_name["SDK on aiohttp"].seconds)
    rows: list[Sequence[str]] = []
    for name in (HARNESS_SQLITE, HARNESS_REDIS):
        way = by_name[name]
        whole, shop, store = (
            statistics.median(values) for values in (way.seconds, way.shop, way.store)
        )
        values = _milliseconds([whole, sdk, shop, store, whole - sdk - shop - store])
        rows.append((name, *(f"{value:.1f}" for value in values)))
    return Table(
        title="What it is made of, ms",
        headings=("", "all", "SDK on aiohttp", "shop", "store's thread", "rest"),
        rows=rows,
        note="The Redis store has no thread: its work is in the rest.",
    )


def _engine_table(engines: Sequence[tuple[str, list[Way]]]) -> Table:
    rows: list[Sequence[str]] = []
    for name, (bare, ours) in engines:
        median, least, most = spread(_ratios(ours, bare), "{:.2f}×")
        rows.append(
            (
                f"Casethread, {name}",
                f"{statistics.median(_milliseconds(bare.seconds)):.1f}",
                f"{statistics.median(_milliseconds(ours.seconds)):.1f}",
                median,
                least,
                most,
            )
        )
    return Table(
        title="With the engine's four wake-ups, and the ratio to the bare SDK",
        headings=("", "bare SDK, ms", "ms", "ratio", "least", "most"),
        rows=rows,
    )


def _wake_up_table(costs: Sequence[tuple[str, float, float]]) -> Table:
    return Table(
        title="One wake-up",
        headings=("engine", "CPU, ms", "CPU while idle"),
        rows=[(name, f"{each * 1000:.1f}", f"{idle:.1%}") for name, each, idle in costs],
    )
