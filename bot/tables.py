"""Runs and traces on a terminal and as JSON; the commands and the played cases show the same.

Whatever people or the model wrote is shown literally, control characters made visible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

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

_INPUT_LIMIT = 500
_BRIEF_LIMIT = 80
_WORDS_LIMIT = 300
_ALWAYS = ("kind", "at")
# A step's call just above has the words already.
_TOLD_BY_THE_CALL = ("pause", "end")


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
    table.add_column("run_id", no_wrap=True)
    table.add_column("case", overflow="fold", min_width=14)
    for name in ("customer_id", "agent", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("steps", "cost_usd"):
        table.add_column(name, justify="right", no_wrap=True)
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
    table.add_column("what", total, overflow="fold", min_width=30)
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
        if brief and entry["kind"] == "start":
            continue
        if entry["kind"] == "step":
            cells = _step(entry, brief=brief)
        else:
            cells = _between(entry, names or {}, brief=brief)
        table.add_row(*([] if brief else [_clock(entry["at"])]), *cells)
    return table


def _step(entry: Json, *, brief: bool) -> list[str | Text]:
    limit = _BRIEF_LIMIT if brief else _INPUT_LIMIT
    stop_reason = str(entry["stop_reason"])
    what = Text("\n").join(_call(call, limit) for call in entry["calls"])
    if not what:
        what = Text("the reply" if stop_reason == "end_turn" else stop_reason)
    if not brief:
        facts = [stop_reason, f"{entry['seconds']} s", entry["request_id"]]
        what.append("\n" + " · ".join(str(fact) for fact in facts if fact), style="dim")
    tokens = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return [
        str(entry["step"]),
        what,
        *(f"{entry[name]:,}" for name in tokens),
        _dollars(entry["cost_usd"]),
        _dollars(entry["total_cost_usd"]),
    ]


def _call(call: Json, limit: int) -> Text:
    given = call["input"]
    if isinstance(given, dict):
        arguments = ", ".join(
            f"{name}={json.dumps(value, ensure_ascii=False)}"
            for name, value in cast("Json", given).items()
        )
    else:
        arguments = json.dumps(given, ensure_ascii=False)
    shown = Text(f"{call['tool']}({cut(visible(arguments), limit)})")
    return shown.append(" → error", style="red") if call["is_error"] else shown


def _between(entry: Json, names: Mapping[str, str], *, brief: bool) -> list[str | Text]:
    """What is no model call: a pause, a decision, a payment, a failed attempt, the end."""
    by = names.get(entry.get("by") or "", entry.get("by"))
    style, detail = "dim", ""
    match entry["kind"]:
        case "start":
            words = f"run {entry['run_number']} of the case starts"
        case "pause" if entry["waits_for"] == "customer":
            words, detail, style = "waits for the customer", entry["question"], "yellow"
        case "pause":
            words, detail, style = "waits for a lead", entry["title"], "yellow"
        case "decision":
            words, detail = f"{entry['verdict']}{f' by {by}' if by else ''}", entry.get("note")
            style = "yellow"
        case "payment":
            words, detail, style = "paid", entry["text"], "green"
        case "attempt":
            words, detail, style = "no usable answer", entry["error"], "red"
        case "end":
            words, detail = str(entry["status"]), entry.get("reason")
            style = STATUS_STYLES[Status(entry["status"])]
        case kind:
            words = str(kind)
            detail = ", ".join(f"{name} {entry[name]}" for name in entry if name not in _ALWAYS)
    costs: list[str | Text] = []
    # A lost call's cost is an estimate, which the "~" says.
    if entry["kind"] == "attempt" and float(entry["estimated_cost_usd"]):
        costs = ["", "", "", "", f"~{_dollars(entry['estimated_cost_usd'])}"]
        costs.append(_dollars(entry["total_cost_usd"]))
    if detail and (not brief or entry["kind"] not in _TOLD_BY_THE_CALL):
        words = f"{words}: {_words(detail)}"
    return ["", Text(words, style=style), *costs]


def _words(text: object) -> str:
    return cut(" ".join(visible(str(text)).split()), _WORDS_LIMIT)


def _dollars(amount: str) -> str:
    return f"${float(amount):.4f}"


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _local(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M}"


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone():%H:%M:%S}"
