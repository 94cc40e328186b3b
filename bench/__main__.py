"""`make bench`, or `python -m bench [NAME…]`: measure, show the tables, write them down."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import click
from rich.console import Console

from bench import bytes_written, cpu, parked, scale, slack
from bench.report import Table, for_terminal, machine, write

DOCUMENT = Path(__file__).parent.parent / "docs" / "performance.md"


class Measure(Protocol):
    def __call__(self, folder: Path, *, full: bool) -> Awaitable[Sequence[Table]]:
        """Measure with `folder` for files; `full` takes as long as it should."""
        ...


PARTS: Mapping[str, Measure] = {
    "cpu": cpu.measure,
    "bytes": bytes_written.measure,
    "slack": slack.measure,
    "scale": scale.measure,
    "parked": parked.measure,
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--full", is_flag=True, help="The steady load on Slack lasts 60 s instead of 20.")
@click.option("--write", "write_down", is_flag=True, help="Put the tables into the document.")
def main(names: Sequence[str], *, full: bool, write_down: bool) -> None:
    """Measure these parts, or all of them."""
    console = Console()
    console.print(machine(), highlight=False)
    results: dict[str, Sequence[Table]] = {}
    for name in dict.fromkeys(names or PARTS):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            results[name] = asyncio.run(_measured(PARTS[name], Path(folder), full=full))
        for table in results[name]:
            console.print(for_terminal(table))
    if write_down:
        write(DOCUMENT, results)


async def _measured(measure: Measure, folder: Path, *, full: bool) -> Sequence[Table]:
    return await measure(folder, full=full)


if __name__ == "__main__":
    main()
