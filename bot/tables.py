"""Runs and traces on a terminal and as JSON; the commands and the played cases show the same.

Whatever people or the model wrote is shown literally, control characters made visible.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from agent.ports import RunLine
from agent.run import Json, Run, Status
from agent.trace import steps
from bot.text import cut, visible

STATUS_STYLES = {
    Status.RUNNING: "cyan",
    Status.WAITING_CUSTOMER: "yellow",
    Status.WAITING_APPROVAL: "yellow",
    Status.DONE: "green",
    Status.HANDED_OFF: "magenta",
}

_INPUT_LIMIT = 160
_WORDS_LIMIT = 200
_MOST_EXTRA_FACTS = 6


def run_json(line: RunLine) -> Json:
    """One run as `casethread runs --json` has it: times in ISO 8601 (UTC), cost in dollars."""
    run = line.run
    return {
        "run_id": run.run_id,
        "case": run.case_id,
        "customer_id": run.customer_id,
        "agent": run.agent,
        "status": run.status.value,
        "steps": run.steps,
        "cost_usd": float(run.cost_usd),
        "opened_at": _iso(run.opened_at),
        "waiting_since": None if run.waiting_since is None else _iso(run.waiting_since),
    }


def run_table(lines: Sequence[RunLine]) -> Table:
    """One row a run, in the order given."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("run_id", "case", "customer_id", "agent", "status"):
        table.add_column(name, no_wrap=True)
    table.add_column("steps", justify="right")
    table.add_column("cost_usd", justify="right")
    table.add_column("opened_at", no_wrap=True)
    table.add_column("waiting_since", no_wrap=True)
    for run in (line.run for line in lines):
        table.add_row(
            Text(run.run_id),
            Text(run.case_id),
            Text(visible(run.customer_id)),
            Text(run.agent),
            Text(run.status, style=STATUS_STYLES[run.status]),
            str(run.steps),
            f"{run.cost_usd:.4f}",
            _local(run.opened_at),
            "" if run.waiting_since is None else _local(run.waiting_since),
        )
    return table


def trace_json(entries: Sequence[Json]) -> list[Json]:
    """The trace as `casethread trace --json` has it: results folded into their step's calls,
    times in ISO 8601 (UTC), costs in dollars as numbers."""
    return [
        {
            name: float(value)
            if name.endswith("cost_usd")
            else _iso(value)
            if name == "at"
            else value
            for name, value in entry.items()
        }
        for entry in steps(entries)
    ]


def run_heading(line: RunLine) -> Text:
    """Who, what and when, in two lines."""
    run, case = line.run, line.case
    heading = Text.assemble(
        (run.run_id, "bold"), " · ", (run.status.value, STATUS_STYLES[run.status]), "\n"
    )
    customer = f"{visible(case.customer_name)} ({visible(run.customer_id)})"
    facts = [f"case {run.case_id}", customer, f"{run.agent} on {run.model}"]
    facts.append(f"opened {_local(run.opened_at)}")
    if run.waiting_since is not None:
        facts.append(f"waiting since {_local(run.waiting_since)}")
    return heading.append(" · ".join(facts), style="dim")


def trace_table(
    run: Run,
    entries: Sequence[Json],
    *,
    names: Mapping[str, str] | None = None,
    brief: bool = False,
) -> Table:
    """A row for each model call and for what happened between them, and the totals.

    `names`: people's names by id. `brief` leaves out times, stop reasons and request ids.
    """
    table = Table(box=None, header_style="bold", footer_style="bold", pad_edge=False)
    usage, cost = run.usage, f"${run.cost_usd:.4f}"
    total = f"{run.steps} model call{'' if run.steps == 1 else 's'}"
    if not brief:
        table.add_column("time", no_wrap=True, style="dim")
    table.add_column("step", justify="right")
    table.add_column("what", total, overflow="fold", min_width=30, ratio=1)
    for name, sum_ in (
        ("in", usage.uncached),
        ("from cache", usage.cache_read),
        ("to cache", usage.cache_write),
        ("out", usage.output),
    ):
        table.add_column(name, f"{sum_:,}", justify="right", no_wrap=True)
    table.add_column("cost", cost, justify="right", no_wrap=True)
    table.add_column("so far", cost, justify="right", no_wrap=True)
    table.show_footer = True
    for entry in steps(entries):
        cells = _step(entry, brief=brief) if entry["kind"] == "step" else _between(entry, names)
        table.add_row(*([] if brief else [_clock(entry["at"])]), *cells)
    return table


def _step(entry: Json, *, brief: bool) -> Iterator[str | Text]:
    what = Text("\n").join(map(_call, entry["calls"])) or Text("the reply")
    if not entry["calls"] and entry["stop_reason"] != "end_turn":
        what = Text(str(entry["stop_reason"]))
    if not brief:
        facts = [entry["stop_reason"], f"{entry['seconds']} s", entry["request_id"]]
        what.append("\n" + " · ".join(str(fact) for fact in facts if fact), style="dim")
    yield str(entry["step"])
    yield what
    for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"):
        yield f"{entry[name]:,}"
    yield _dollars(entry["cost_usd"])
    yield _dollars(entry["total_cost_usd"])


def _call(call: Json) -> Text:
    given: Any = call["input"] if isinstance(call["input"], dict) else {"": call["input"]}
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in given.items()
    )
    shown = Text(f"{call['tool']}({cut(visible(arguments), _INPUT_LIMIT)})")
    return shown.append(" → error", style="red") if call["is_error"] else shown


def _between(entry: Json, names: Mapping[str, str] | None) -> list[str | Text]:
    """What is no model call: a pause, a decision, a payment, a failed attempt, the end."""
    by = (names or {}).get(entry.get("by", ""), entry.get("by", ""))
    style = "dim"
    match entry["kind"]:
        case "start":
            words = f"run {entry['run_number']} of the case starts"
        case "pause" if entry["waits_for"] == "customer":
            words, style = f"asks the customer: {_words(entry['question'])}", "yellow"
        case "pause":
            words, style = f"asks a lead: {_words(entry['title'])}", "yellow"
        case "decision":
            note = f": “{_words(entry['note'])}”" if entry.get("note") else ""
            words, style = f"{entry['verdict']}{f' by {by}' if by else ''}{note}", "yellow"
        case "payment":
            words, style = f"paid: {_words(entry['text'])}", "green"
        case "attempt":
            words, style = f"no usable answer: {_words(entry['error'])}", "red"
        case "end":
            why = f": {_words(entry['reason'])}" if entry.get("reason") else ""
            words, style = f"{entry['status']}{why}", STATUS_STYLES[Status(entry["status"])]
        case kind:
            known = ("kind", "at")
            facts = [f"{name} {value}" for name, value in entry.items() if name not in known]
            words = f"{kind}: {_words(', '.join(facts[:_MOST_EXTRA_FACTS]))}".rstrip(": ")
    return ["", Text(words, style=style)]


def _words(text: object) -> str:
    return cut(" ".join(visible(str(text)).split()), _WORDS_LIMIT)


def _dollars(amount: str) -> str:
    return f"${float(amount):.4f}"


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _local(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%d %b %Y %H:%M}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%H:%M:%S}"
