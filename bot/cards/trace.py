"""A run's trace as a modal: one short paragraph a step, and what happened between the steps.

Entries are the store's (`agent.trace`); one that lacks a field is shown without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agent.run import Json, Run
from agent.trace import steps
from bot.cards.message import Block, note, rich_text, section, spoken, words
from bot.text import cut, visible

View = dict[str, Any]

_MOST_ENTRIES = 40
_MOST_CALLS = 8
_INPUT_LIMIT = 200
_ENTRY_LIMIT = 1_200
_NOT_SHOWN = frozenset({"kind", "at", "run_id", "case", "agent"})


def trace_modal(
    run: Run, entries: Sequence[Json], *, customer_name: str = "", link: str = ""
) -> View:
    """The latest entries, oldest first, under one line about the whole run.

    `customer_name` and `link`, to the case's thread, for who comes from elsewhere.
    """
    told = steps(entries)
    left_out = max(0, len(told) - _MOST_ENTRIES)
    blocks: list[Block] = [rich_text(section(words(_about(run))))]
    where = [spoken(customer_name, 100), f"<{link}|go to the thread>" if link else ""]
    if any(where):
        blocks.append(note(" · ".join(filter(None, where))))
    if left_out:
        blocks.append(
            note(f"{left_out} earlier entries: `casethread trace {spoken(run.run_id, 100)}`")
        )
    if not told:
        blocks.append(rich_text(section(words("Nothing has happened in this run yet."))))
    blocks += [_entry(entry) for entry in told[left_out:]]
    return {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Trace", "emoji": False},
        "close": {"type": "plain_text", "text": "Close", "emoji": False},
        "blocks": blocks,
    }


def _about(run: Run) -> str:
    status = run.status.replace("_", " ")
    return (
        f"{cut(visible(run.run_id), 100)} · {status} · {run.steps} steps"
        f" · ${run.cost_usd:.4f} · {cut(visible(run.model), 100)}"
    )


def _entry(entry: Json) -> Block:
    heading, lines = _step(entry) if entry["kind"] == "step" else _between(entry)
    text = cut(visible("\n".join(lines)), _ENTRY_LIMIT)
    rest = [words(f"\n{text}")] if text else []
    return rich_text(section(words(cut(visible(heading), 200), bold=True), *rest))


def _step(entry: Json) -> tuple[str, list[str]]:
    stop = entry.get("stop_reason")
    heading = f"Step {entry.get('step', '?')}" + (f" · {stop}" if stop else "")
    return heading, [*_calls(entry), *filter(None, [_tokens(entry), _cost(entry)])]


def _calls(entry: Json) -> Iterator[str]:
    calls = entry.get("calls") or ()
    for call in calls[:_MOST_CALLS]:
        given = json.dumps(call.get("input") or {}, ensure_ascii=False)
        failed = " → error" if call.get("is_error") else ""
        yield f"{call.get('tool', 'tool')} {cut(given, _INPUT_LIMIT)}{failed}"
    if len(calls) > _MOST_CALLS:
        yield f"and {len(calls) - _MOST_CALLS} more calls"


def _tokens(entry: Json) -> str:
    named = (
        ("input_tokens", "in"),
        ("cache_read_tokens", "from cache"),
        ("cache_write_tokens", "to cache"),
        ("output_tokens", "out"),
    )
    counts = [f"{entry[key]} {name}" for key, name in named if entry.get(key) is not None]
    return f"tokens: {', '.join(counts)}" if counts else ""


def _cost(entry: Json) -> str:
    facts = [
        f"${entry['cost_usd']}" if entry.get("cost_usd") is not None else "",
        f"${entry['total_cost_usd']} so far" if entry.get("total_cost_usd") is not None else "",
        f"{entry['seconds']} s" if entry.get("seconds") is not None else "",
        str(entry.get("request_id") or ""),
    ]
    return " · ".join(filter(None, facts))


def _between(entry: Json) -> tuple[str, list[str]]:
    """A pause, decision, payment or handoff: its plain fields, one a line."""
    heading = str(entry["kind"]).replace("_", " ").capitalize()
    return heading, [
        f"{name.replace('_', ' ')}: {cut(str(value), _INPUT_LIMIT)}"
        for name, value in entry.items()
        if name not in _NOT_SHOWN and isinstance(value, str | int | float) and value != ""
    ]
