"""A table of results, for the terminal and for `docs/performance.md`.

The document's words are written by hand; between the marks of a part its tables are replaced.
"""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table as RichTable


@dataclass(frozen=True, kw_only=True)
class Table:
    """Cells as they are shown; the first column names the row."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def spread(values: Sequence[float], form: str = "{:.1f}") -> tuple[str, str, str]:
    """The median, the least and the most."""
    return (
        form.format(statistics.median(values)),
        form.format(min(values)),
        form.format(max(values)),
    )


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def for_terminal(table: Table) -> RichTable:
    shown = RichTable(
        title=table.title,
        title_justify="left",
        caption=escape(table.note) or None,
        caption_justify="left",
    )
    for number, heading in enumerate(table.headings):
        shown.add_column(heading, justify="right" if number else "left", no_wrap=number == 0)
    for row in table.rows:
        shown.add_row(*row)
    return shown


def machine() -> str:
    """What the figures depend on, in a line."""
    redis = subprocess.run(["redis-server", "--version"], capture_output=True, text=True)
    version = re.search(r"v=(\S+)", redis.stdout)
    parts = [
        f"{platform.system()} {platform.machine()}",
        _processor(),
        f"{os.cpu_count()} cores",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        f"Redis {version[1]}" if version else "",
    ]
    return ", ".join(filter(None, parts))


def write(path: Path, results: Mapping[str, Sequence[Table]]) -> None:
    """Put the tables of these parts into the document, with the machine they were made on."""
    text = path.read_text(encoding="utf-8")
    for name, tables in results.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{path} has no place for {name}: {begin} and {end}")
        shown = "\n\n".join(map(_markdown, tables))
        text = f"{before}{begin}\n{shown}\n\nMeasured on: {machine()}.\n{end}{after}"
    path.write_text(text, encoding="utf-8")


def _markdown(table: Table) -> str:
    lines = [
        f"**{table.title}**",
        "",
        _row(table.headings),
        _row(["---", *["---:"] * (len(table.headings) - 1)]),
        *map(_row, table.rows),
    ]
    return "\n".join([*lines, *(["", table.note] if table.note else [])])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "")
