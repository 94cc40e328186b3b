"""What happened in a run, entry by entry: kept in the store, and written to the log.

An entry is a JSON object with `kind`, `at` (Unix seconds) and its own fields: `step` (a model
call), `result` (a tool's), `attempt` (a call without a usable answer), `pause`, `decision`,
`payment`, `line`, `end`. `steps` joins results to their step as readers want them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from decimal import Decimal

from agent.messages import blocks_of
from agent.run import Json, Run
from agent.turn import Failure, Turn

log = logging.getLogger("casethread.trace")

# What people wrote and what tools were given goes to the log only at debug level.
_PRIVATE = ("input", "text", "note", "reason", "question", "title", "content")


def step_entry(run: Run, turn: Turn, cost: Decimal, *, at: float) -> Json:
    """One model call; `run` already counts it."""
    usage = turn.usage
    return {
        "kind": "step",
        "at": at,
        "step": run.steps,
        "stop_reason": turn.stop_reason,
        "calls": [
            {"id": block.get("id"), "tool": block.get("name"), "input": block.get("input")}
            for block in blocks_of(turn.content)
            if block.get("type") == "tool_use"
        ],
        "input_tokens": usage.uncached,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "output_tokens": usage.output,
        "cost_usd": str(cost),
        "total_cost_usd": str(run.cost_usd),
        "seconds": round(turn.seconds, 3),
        "request_id": turn.request_id,
    }


def attempt_entry(run: Run, failure: Failure, cost: Decimal, *, at: float) -> Json:
    """A call without a usable answer. `cost` is an estimate, or zero."""
    return {
        "kind": "attempt",
        "at": at,
        "step": run.steps + 1,
        "error": failure.what,
        "temporary": failure.temporary,
        "estimated_cost_usd": str(cost),
        "total_cost_usd": str(run.cost_usd),
        "seconds": round(failure.seconds, 3),
        "request_id": failure.request_id,
    }


def steps(entries: Iterable[Json]) -> list[Json]:
    """The entries as readers want them: each step's calls with `is_error`, results folded in."""
    shown: list[Json] = []
    calls: dict[str, Json] = {}
    for entry in entries:
        if entry["kind"] == "result":
            calls.get(entry["call_id"], {})["is_error"] = entry["is_error"]
        elif entry["kind"] == "step":
            told = [
                {"tool": call["tool"], "input": call["input"], "is_error": None}
                for call in entry["calls"]
            ]
            calls |= {call["id"]: shown for call, shown in zip(entry["calls"], told, strict=True)}
            shown.append({**entry, "calls": told})
        else:
            shown.append(entry)
    return shown


def write_log(run: Run, entry: Json) -> None:
    """One JSON line; what people wrote only at debug level."""
    if not log.isEnabledFor(logging.INFO):
        return
    private = log.isEnabledFor(logging.DEBUG)
    line = {"run": run.run_id, "agent": run.agent} | {
        key: value for key, value in entry.items() if private or key not in _PRIVATE
    }
    if not private and "calls" in line:
        line["calls"] = [call["tool"] for call in entry["calls"]]
    log.info(json.dumps(line, ensure_ascii=False))
