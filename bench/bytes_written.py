"""Bytes written for a step, in runs of different lengths: what a step costs must not grow.

SQLite by the kernel's count of what this process gave to write calls (Linux), Redis by the
server's count of what it received.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anthropic

from agent.run import Json
from bench.langgraph_agent import HOW_TO_GET_IT, graph_agent, is_installed
from bench.plain import Save, canned, plain_loop, redis_saver, sqlite_saver
from bench.report import Table
from bench.runs import CASE_ID, Desk, desk
from bench.server import LONG_WORDS, claude_elsewhere
from tests.redis_server import RedisServer

STEPS = (5, 10, 20, 40)
Count = Callable[[], int]


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", "--appendonly", "yes")
    written: dict[str, list[float]] = {}
    try:
        for steps in STEPS:
            place = folder / str(steps)
            place.mkdir()
            with claude_elsewhere(steps=steps) as base_url:
                for name, total in (await _totals(place, base_url, server, steps)).items():
                    written.setdefault(name, []).append(total)
    finally:
        server.kill()
    return [_table(written)]


async def _totals(
    folder: Path, base_url: str, server: RedisServer, steps: int
) -> Mapping[str, float]:
    """Bytes for a whole run of so many steps, by who does it."""
    totals: dict[str, float] = {}
    server.ask("FLUSHALL")

    async def count(name: str, counter: Count, run: Callable[[], Awaitable[int]]) -> None:
        before = counter()
        done = await run()
        totals[name] = counter() - before
        if done != steps:
            raise RuntimeError(f"{name}: a run took {done} steps, not {steps}")

    def received() -> int:
        return int(server.ask("INFO", "stats")["total_net_input_bytes"])

    async with AsyncExitStack() as parts:
        client = anthropic.AsyncAnthropic(api_key="sk-ant-local", base_url=base_url, max_retries=0)
        await parts.enter_async_context(client)
        on_sqlite = await parts.enter_async_context(
            desk(folder / "sqlite", base_url, max_steps=steps)
        )
        on_redis = await parts.enter_async_context(
            desk(folder / "redis", base_url, store_url=server.url(1), max_steps=steps)
        )
        into_sqlite = await parts.enter_async_context(sqlite_saver(folder / "plain.db"))
        into_redis = await parts.enter_async_context(redis_saver(server.url(2)))
        # The first run alone brings the prompt and the scripts along.
        await _run(on_sqlite)
        await _run(on_redis)
        await count("Casethread, SQLite", _given_to_write_calls, lambda: _run(on_sqlite))
        await count("Casethread, Redis", received, lambda: _run(on_redis))

        frozen = on_sqlite.harness.agent.frozen
        messages = await _messages(on_sqlite)
        tools = canned(messages)

        async def plain(save: Save) -> int:
            return await plain_loop(client, frozen, messages[0], tools, run_id="r1", save=save)

        await count("plain loop, SQLite", _given_to_write_calls, lambda: plain(into_sqlite))
        await count("plain loop, Redis", received, lambda: plain(into_redis))
        if is_installed():
            graph = await parts.enter_async_context(
                graph_agent(folder / "graph.db", base_url, frozen, tools)
            )
            await count(
                "LangGraph, SQLite",
                _given_to_write_calls,
                lambda: graph.run(LONG_WORDS, (), run_id="r1"),
            )
    return totals


async def _run(one: Desk) -> int:
    """One more case, to its end; how many steps it took."""
    record = await one.store.case(await one.open(LONG_WORDS))
    return record.run.steps if record and record.run else 0


async def _messages(one: Desk) -> Sequence[Json]:
    """Of the desk's first case."""
    record = await one.store.case(CASE_ID.format(0))
    return record.messages if record else ()


def _given_to_write_calls() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def _table(written: Mapping[str, Sequence[float]]) -> Table:
    rows: list[Sequence[str]] = []
    for name, totals in written.items():
        a_step = [total / steps for total, steps in zip(totals, STEPS, strict=True)]
        whole = totals[-1] / totals[0]
        rows.append((name, *(f"{each:,.0f}" for each in a_step), f"×{whole:.1f}"))
    return Table(
        title="Bytes written per step, in runs of so many steps",
        headings=("", *(f"{steps} steps" for steps in STEPS), "in all"),
        rows=rows,
        note=f"In all: {STEPS[-1]} steps against {STEPS[0]}; ×{STEPS[-1] // STEPS[0]} is flat."
        + ("" if is_installed() else f" {HOW_TO_GET_IT}"),
    )
