"""The run beside the thread: everything the store, the shop and the stand-in know about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from agent.messages import with_stored
from agent.ports import CaseStore, Clock, Record, RunLine
from agent.run import FINAL, Json, Status
from agent.trace import steps
from bot.local.claude import Exchange, LocalClaude
from bot.local.workspace.refusals import NotHereError
from bot.records import agents_refunds, read_records
from bot.settings import Settings
from bot.thread import Thread

_SECRET_HEADERS = ("x-api-key", "authorization", "cookie")


class Inspector:
    """Reads beside the running bot. Without `claude` (the real one is in use) exchanges are put
    together from the record."""

    def __init__(
        self,
        settings: Settings,
        claude: LocalClaude | None,
        *,
        store: Path,
        shop: Path,
        now: Clock,
    ) -> None:
        self._settings = settings
        self._claude = claude
        self._file = store
        self._shop = shop
        self._now = now

    async def cases(self) -> Json:
        """One line a case, as its newest run stands, newest first."""
        async with self._store() as store:
            lines = [line async for line in store.runs()] if store is not None else []
        newest: dict[str, Json] = {}
        for line in lines:
            run, case = line.run, line.case
            thread = Thread.parse(case.case_id)
            newest.setdefault(
                case.case_id,
                {
                    "case_id": case.case_id,
                    "channel": thread.channel,
                    "ts": thread.ts,
                    "run_id": run.run_id,
                    "customer_id": run.customer_id,
                    "customer_name": case.customer_name,
                    "agent": run.agent,
                    "status": run.status.value,
                    "steps": run.steps,
                    "cost_usd": str(run.cost_usd),
                    "opened_at": run.opened_at,
                    "waiting_since": run.waiting_since,
                    "ended_at": run.ended_at,
                    "runs": len(case.run_ids),
                },
            )
        return {"cases": list(newest.values())}

    async def case(self, case_id: str) -> Json:
        """The whole case; `case` is null when the store doesn't know it."""
        async with self._store() as store:
            record = None if store is None else await store.case(case_id)
            if store is None or record is None:
                return _no_case(case_id, self._now())
            lines = [line async for line in store.runs() if line.run.case_id == case_id]
            lines.reverse()
            traces = [await store.trace(line.run.run_id) for line in lines]
            mail = await store.mail(case_id)
        payments = await self._payments(lines, traces)
        status = record.run.status if record.run is not None else None
        return {
            "case_id": case_id,
            "case": to_jsonable_python(record.case),
            "runs": [
                {
                    "run": to_jsonable_python(line.run),
                    "steps": steps(trace),
                    "payments": [row for row in payments if row["run_id"] == line.run.run_id],
                }
                for line, trace in zip(lines, traces, strict=True)
            ],
            "messages": list(_latest_messages(record)),
            "inbox": [
                {"seq": kept.seq, "event": to_jsonable_python(kept.event), "applied": applied}
                for kept, applied in mail.events
            ],
            "outbox": [
                {
                    "seq": entry.seq,
                    "token": entry.token,
                    "post": to_jsonable_python(entry.post),
                    "sent": to_jsonable_python(posted),
                }
                for entry, posted in mail.posts
            ],
            "live": {
                "status": status,
                "working": status is Status.RUNNING,
                "ended": status in FINAL,
                "now": self._now(),
            },
            "chart": self._chart(traces),
        }

    async def exchange(self, request_id: str) -> Json:
        """The exact request and reply of one model call. Raises `NotHereError`."""
        if self._claude is None:
            return await self._recorded(request_id)
        for exchange in self._claude.requests:
            if exchange.request_id == request_id:
                return self._kept(exchange)
        raise NotHereError("There is no such model call.")

    async def image(self, digest: str) -> bytes:
        """A photo as it went to the model. Raises `NotHereError`."""
        async with self._store() as store:
            found: Mapping[str, bytes] = {} if store is None else await store.images([digest])
        if digest not in found:
            raise NotHereError("There is no such image.")
        return found[digest]

    # Inside

    @asynccontextmanager
    async def _store(self) -> AsyncGenerator[CaseStore | None]:
        """None before the bot has made its store."""
        if not self._file.exists():
            yield None
            return
        store = read_records(self._settings)
        try:
            yield store
        finally:
            await store.close()

    async def _payments(
        self, lines: Sequence[RunLine], traces: Sequence[Sequence[Json]]
    ) -> list[Json]:
        """The refund rows of these runs, on all orders that their tools were called with."""
        own = {line.run.run_id for line in lines}
        rows: list[Json] = []
        if not self._shop.exists():
            return rows
        for order_id in dict.fromkeys(_orders(entry for trace in traces for entry in trace)):
            found = await agents_refunds(self._settings, order_id)
            rows += [to_jsonable_python(row) for row in found if row.run_id in own]
        return rows

    def _chart(self, traces: Sequence[Sequence[Json]]) -> list[Json]:
        exchanges = self._claude.requests if self._claude is not None else []
        uncached = {each.request_id: str(each.uncached_cost_usd) for each in exchanges}
        return [
            {
                "step": entry["step"],
                "at": entry["at"],
                "request_id": entry["request_id"],
                "uncached": entry["input_tokens"],
                "cache_read": entry["cache_read_tokens"],
                "cache_write": entry["cache_write_tokens"],
                "output": entry["output_tokens"],
                "cost_usd": entry["cost_usd"],
                "total_cost_usd": entry["total_cost_usd"],
                "uncached_cost_usd": uncached.get(entry["request_id"]),
            }
            for trace in traces
            for entry in trace
            if entry["kind"] == "step"
        ]

    def _kept(self, exchange: Exchange) -> Json:
        body = dict(exchange.body) if exchange.body is not None else None
        earlier = self._previous(exchange)
        return {
            "request_id": exchange.request_id,
            "source": "stand-in",
            "outcome": exchange.outcome,
            "status": exchange.status,
            "script": exchange.script,
            "error": exchange.error,
            "request": {"headers": _safe(exchange.headers.items()), "body": body},
            "reply": exchange.message,
            "usage": asdict(exchange.usage) if exchange.usage is not None else None,
            "cost_usd": str(exchange.cost_usd),
            "uncached_cost_usd": str(exchange.uncached_cost_usd),
            "new_from": len(earlier),
        }

    def _previous(self, exchange: Exchange) -> Sequence[Any]:
        """The messages of the answered request that this one continues."""
        messages: list[Any] = _messages(exchange)
        before: list[Any] = []
        if self._claude is None:
            return before
        for each in self._claude.requests:
            if each.request_id == exchange.request_id:
                break
            found = _messages(each)
            if each.outcome == "answered" and len(before) < len(found) < len(messages):
                before = found if found == messages[: len(found)] else before
        return before

    async def _recorded(self, request_id: str) -> Json:
        async with self._store() as store:
            if store is None:
                raise NotHereError("There is no such model call.")
            async for line in store.runs():
                for entry in await store.trace(line.run.run_id):
                    if entry["kind"] == "step" and entry["request_id"] == request_id:
                        return await self._rebuilt(store, line, entry)
        raise NotHereError("There is no such model call.")

    async def _rebuilt(self, store: CaseStore, line: RunLine, entry: Json) -> Json:
        """A request from the record: what the run was frozen with, and the messages up to the
        step. Earlier runs of a case are kept without their messages at hand."""
        run = line.run
        record = await store.case(run.case_id)
        latest = record is not None and record.run is not None and record.run.run_id == run.run_id
        whole = _latest_messages(record) if latest else ()
        turns = [index for index, each in enumerate(whole) if each["role"] == "assistant"]
        step = int(entry["step"])
        at = turns[step - 1] if step <= len(turns) else None
        before = turns[step - 2] if at is not None and step > 1 else 0
        frozen = await store.frozen(run.frozen) or {}
        return {
            "request_id": entry["request_id"],
            "source": "record",
            "outcome": "answered",
            "status": 200,
            "script": None,
            "error": None,
            "request": {
                "headers": {},
                "body": frozen | {"messages": list(whole[:at]) if at is not None else []},
            },
            "reply": whole[at] | {"stop_reason": entry["stop_reason"]} if at is not None else None,
            "usage": {
                "uncached": entry["input_tokens"],
                "read": entry["cache_read_tokens"],
                "written_5m": entry["cache_write_tokens"],
                "written_1h": 0,
                "output": entry["output_tokens"],
                "thinking": None,
            },
            "cost_usd": entry["cost_usd"],
            "uncached_cost_usd": None,
            "new_from": before,
        }


def _no_case(case_id: str, now: float) -> Json:
    return {
        "case_id": case_id,
        "case": None,
        "runs": [],
        "messages": [],
        "inbox": [],
        "outbox": [],
        "live": {"status": None, "working": False, "ended": False, "now": now},
        "chart": [],
    }


def _orders(entries: Iterable[Json]) -> Iterable[str]:
    for entry in entries:
        for call in entry.get("calls", ()):
            order_id = call["input"].get("order_id") if isinstance(call["input"], dict) else None
            if isinstance(order_id, str):
                yield order_id.strip()


def _latest_messages(record: Record | None) -> Sequence[Json]:
    """Those of the case's latest run, with the photos that the model sees."""
    if record is None or record.run is None:
        return ()
    return with_stored(record.messages, record.run.photos)


def _messages(exchange: Exchange) -> list[Any]:
    return list((exchange.body or {}).get("messages", ()))


def _safe(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: "(not shown)" if name in _SECRET_HEADERS else value for name, value in headers}
