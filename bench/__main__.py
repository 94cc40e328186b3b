"""`make bench`: what the harness costs beside the bare SDK, and what a step writes."""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

import anthropic
from rich.console import Console
from rich.table import Table

from bench.runs import Desk, bare_calls, desk
from bench.server import LONG_WORDS, claude_elsewhere

WARM_UP = 3
ROUNDS = 30
STEPS = (5, 10, 20, 40)


def main() -> None:
    console = Console()
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    with tempfile.TemporaryDirectory() as folder:
        console.print(asyncio.run(cpu_table(Path(folder))))
        console.print(asyncio.run(bytes_table(Path(folder))))


async def cpu_table(folder: Path) -> Table:
    """CPU of this process for one refund run (five calls, two pauses), pair by pair."""
    bare_seconds: list[float] = []
    harness_seconds: list[float] = []
    with claude_elsewhere() as base_url:
        async with (
            anthropic.AsyncAnthropic(
                api_key="sk-ant-local", base_url=base_url, max_retries=0
            ) as client,
            desk(_new(folder / "cpu"), base_url) as one,
        ):
            for number in range(WARM_UP + ROUNDS):
                started = time.process_time()
                record = await one.refund()
                harness = time.process_time() - started
                assert record.run is not None
                assert (record.run.status, record.run.steps) == ("done", 5), record.run
                started = time.process_time()
                await bare_calls(client, one.harness.agent.frozen, record.messages)
                bare = time.process_time() - started
                if number >= WARM_UP:
                    harness_seconds.append(harness)
                    bare_seconds.append(bare)
    ratios = [ours / theirs for ours, theirs in zip(harness_seconds, bare_seconds, strict=True)]
    table = Table(title=f"CPU of a refund run, {ROUNDS} pairs", title_justify="left")
    for heading in ("", "median", "least", "most"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, seconds in (("bare SDK, ms", bare_seconds), ("harness, ms", harness_seconds)):
        table.add_row(name, *(f"{value * 1000:.1f}" for value in _spread(seconds)))
    table.add_row("ratio", *(f"{value:.2f}×" for value in _spread(ratios)))
    return table


async def bytes_table(folder: Path) -> Table:
    """Bytes that this process writes for one step, in runs of different lengths."""
    table = Table(title="Bytes written per step", title_justify="left")
    for heading in ("steps", "bytes a step", "against the shortest"):
        table.add_column(heading, justify="right")
    first = 0.0
    with claude_elsewhere(steps=max(STEPS)) as base_url:
        for steps in STEPS:
            async with desk(_new(folder / f"steps{steps}"), base_url, max_steps=steps) as one:
                written = await _bytes_of_last_steps(one)
            first = first or written
            table.add_row(str(steps), f"{written:,.0f}", f"{written / first:.2f}×")
    return table


async def _bytes_of_last_steps(one: Desk) -> float:
    """Per step of a whole run: what was written to files, by the kernel's count."""
    before = _written()
    case_id = await one.open(LONG_WORDS)
    after = _written()
    record = await one.store.case(case_id)
    assert record is not None
    assert record.run is not None
    return (after - before) / record.run.steps


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _written() -> int:
    """Bytes that this process gave to write calls so far (Linux)."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def _spread(values: list[float]) -> tuple[float, float, float]:
    return statistics.median(values), min(values), max(values)


if __name__ == "__main__":
    main()
