"""CPU of this process for one refund run, each way of doing it in each round.

Rounds instead of one way after the other: what else the machine does then falls on all of them,
and what counts is the median of the ratios within a round. Casethread runs on uvloop, as its
processes do; the others on asyncio's own loop, as they come. The bare SDK runs on both.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anthropic
import uvloop

from agent.run import Json
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
BARE, SDK = "bare SDK", "SDK on aiohttp and uvloop"
HARNESS_SQLITE, HARNESS_REDIS = "Casethread, SQLite", "Casethread, Redis"
LANGGRAPH = "LangGraph, SQLite"


Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Loop:
    """An event loop that runs while something is asked of it, and what is open on it."""

    runner: asyncio.Runner
    parts: ExitStack

    def run(self, work: Callable[[], Awaitable[Part]]) -> Part:
        async def whole() -> Part:
            return await work()

        return self.runner.run(whole())

    def open(self, part: AbstractAsyncContextManager[Part]) -> Part:
        async def close() -> None:
            await part.__aexit__(None, None, None)

        opened = self.run(part.__aenter__)
        self.parts.callback(self.run, close)
        return opened


@contextmanager
def _loops() -> Generator[tuple[Loop, Loop]]:
    """Asyncio's own, and the one of our processes."""
    with (
        asyncio.Runner() as plain,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as fast,
        ExitStack() as parts,
    ):
        yield Loop(runner=plain, parts=parts), Loop(runner=fast, parts=parts)


@dataclass(kw_only=True)
class Way:
    """One way to do the run; seconds of CPU in each round, of which the shop's and the store's."""

    name: str
    loop: Loop
    play: Callable[[], Awaitable[None]]
    before: Callable[[], None] | None = None
    """Done before each round, and not measured."""
    seconds: list[float] = field(default_factory=list[float])
    shop: list[float] = field(default_factory=list[float])
    store: list[float] = field(default_factory=list[float])


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    # Loops of their own can't run in a thread that has one.
    return await asyncio.to_thread(_measure, folder)


def _measure(folder: Path) -> Sequence[Table]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", "--appendonly", "yes")
    try:
        with claude_elsewhere() as base_url:
            with _loops() as (plain, ours):
                ways = _without_engine(plain, ours, folder, base_url, server)
            with _loops() as (plain, ours):
                at = engine_desk(folder / "engine", base_url, server.url(3))
                bare, engine = _with_engine(plain, ours, base_url, at)
            with _loops() as (_, ours):
                each, idle = ours.run(lambda: wake_up_costs(server.url(4)))
    finally:
        server.kill()
    return [_ways_table(ways), _parts_table(ways), _engine_table(bare, engine, each, idle)]


def _without_engine(
    plain: Loop, ours: Loop, folder: Path, base_url: str, server: RedisServer
) -> list[Way]:
    on_sqlite = ours.open(desk(folder / "sqlite", base_url))
    on_redis = ours.open(desk(folder / "on-redis", base_url, store_url=server.url(1)))
    frozen = on_sqlite.harness.agent.frozen
    messages = _messages(ours, on_sqlite)
    tools = canned(messages)
    bare = _client(plain, base_url)
    bare_on_ours = _client(ours, base_url)
    aiohttp = _client(ours, base_url, http_client=anthropic.DefaultAioHttpClient())
    into_sqlite = plain.open(sqlite_saver(folder / "plain.db"))
    into_redis = plain.open(redis_saver(server.url(2)))

    async def afternoon(save: Save) -> None:
        steps = await plain_loop(bare, frozen, messages[0], tools, run_id="r1", save=save)
        _all_done(steps)

    ways = [
        Way(name=BARE, loop=plain, play=lambda: bare_calls(bare, frozen, messages)),
        Way(
            name=f"{BARE}, on uvloop",
            loop=ours,
            play=lambda: bare_calls(bare_on_ours, frozen, messages),
        ),
        Way(name=SDK, loop=ours, play=lambda: bare_calls(aiohttp, frozen, messages)),
        Way(name="plain loop, SQLite", loop=plain, play=lambda: afternoon(into_sqlite)),
        Way(name="plain loop, Redis", loop=plain, play=lambda: afternoon(into_redis)),
        _whole(HARNESS_SQLITE, ours, on_sqlite),
        _whole(HARNESS_REDIS, ours, on_redis),
    ]
    if is_installed():
        graph = plain.open(graph_agent(folder / "langgraph.db", base_url, frozen, tools))
        numbers = itertools.count()

        async def on_graph() -> None:
            answers = ["Here it is.", "Approved."]
            run_id = f"run {next(numbers)}"
            _all_done(await graph.run(WORDS, answers, run_id=run_id))

        ways.append(Way(name=LANGGRAPH, loop=plain, play=on_graph))
    _play(ways)
    return ways


def _with_engine(
    plain: Loop,
    ours: Loop,
    base_url: str,
    at: AbstractAsyncContextManager[Desk],
) -> tuple[Way, Way]:
    """The bare SDK, and the run with the engine beside it."""
    bare = _client(plain, base_url)
    one = ours.open(at)
    frozen = one.harness.agent.frozen
    messages = _messages(ours, one)
    ways = (
        Way(name=BARE, loop=plain, play=lambda: bare_calls(bare, frozen, messages)),
        _whole(HARNESS_REDIS, ours, one),
    )
    _play(ways)
    return ways


def _client(
    loop: Loop, base_url: str, http_client: anthropic.DefaultAioHttpClient | None = None
) -> anthropic.AsyncAnthropic:
    client = anthropic.AsyncAnthropic(
        api_key="sk-ant-local", base_url=base_url, max_retries=0, http_client=http_client
    )
    return loop.open(client)


def _messages(loop: Loop, one: Desk) -> Sequence[Json]:
    """Of a whole run."""
    return loop.run(one.refund).messages


def _whole(name: str, loop: Loop, one: Desk) -> Way:
    return Way(name=name, loop=loop, play=lambda: _refund(one), before=one.forget_refunds)


async def _refund(one: Desk) -> None:
    record = await one.refund()
    _all_done(record.run.steps if record.run else 0)


def _all_done(calls: int) -> None:
    if calls != CALLS:
        raise RuntimeError(f"a run took {calls} calls, not {CALLS}")


def _play(ways: Sequence[Way]) -> None:
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            # What one way brought in is no work of the others' garbage collections.
            gc.collect()
            gc.freeze()
        for way in ways:
            if way.before is not None:
                way.before()
            before = _cpu()
            way.loop.run(way.play)
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


def _ratios_without_shop(way: Way, base: Way) -> list[float]:
    """As those have it whose tools are canned."""
    return [
        (ours - shop) / theirs
        for ours, shop, theirs in zip(way.seconds, way.shop, base.seconds, strict=True)
    ]


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
    sdk = statistics.median(by_name[SDK].seconds)
    rows: list[Sequence[str]] = []
    for name in (HARNESS_SQLITE, HARNESS_REDIS):
        way = by_name[name]
        whole, shop, store = (
            statistics.median(values) for values in (way.seconds, way.shop, way.store)
        )
        values = _milliseconds([whole, sdk, shop, store, whole - sdk - shop - store])
        ratio = statistics.median(_ratios_without_shop(way, by_name[BARE]))
        rows.append((name, *(f"{value:.1f}" for value in values), f"{ratio:.2f}×"))
    return Table(
        title="What it is made of, ms",
        headings=("", "all", SDK, "shop", "store's thread", "rest", "ratio without the shop"),
        rows=rows,
        note="The Redis store has no thread: its work is in the rest.",
    )


def _engine_table(bare: Way, ours: Way, each: float, idle: float) -> Table:
    return Table(
        title="With the engine's four wake-ups, and the ratio to the bare SDK",
        headings=("", "bare SDK, ms", "ms", "ratio", "least", "most"),
        rows=[
            (
                ours.name,
                f"{statistics.median(_milliseconds(bare.seconds)):.1f}",
                f"{statistics.median(_milliseconds(ours.seconds)):.1f}",
                *spread(_ratios(ours, bare), "{:.2f}×"),
            )
        ],
        note=f"A wake-up takes {each * 1000:.1f} ms of CPU, the engine {idle:.1%} of a core while "
        "there are none. Beside SQLite there is no engine.",
    )
