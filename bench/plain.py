"""What one would write in an afternoon: a loop that keeps its whole record as one JSON text.

It saves the record after each step, so a crash loses at most a step; it has none of the other
guarantees (no leases, no inbox, no outbox, no exactly-once effects). Its tools are canned.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
from redis.asyncio import Redis

from agent.run import Json
from bench.runs import request_of

Save = Callable[[str, str], Awaitable[None]]


def canned(messages: Sequence[Json]) -> Mapping[str, str]:
    """The result of each tool by its name, from a conversation that was recorded."""
    blocks = [block for message in messages for block in message["content"]]
    names = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    results = (block for block in blocks if block["type"] == "tool_result")
    return {names[block["tool_use_id"]]: json.dumps(block["content"]) for block in results}


async def plain_loop(
    client: anthropic.AsyncAnthropic,
    frozen: Json,
    first: Json,
    tools: Mapping[str, str],
    *,
    run_id: str,
    save: Save,
) -> int:
    """Call the model and the tools until it answers in words; how many calls that took."""
    create: Any = client.messages.create
    settings = request_of(frozen)
    messages: list[Any] = [first]
    record: Json = {"run_id": run_id, "status": "running", "steps": 0, "messages": messages}
    while record["status"] == "running":
        answer: anthropic.types.Message = await create(messages=messages, **settings)
        record["steps"] += 1
        messages.append(
            {
                "role": "assistant",
                "content": [block.model_dump(exclude_none=True) for block in answer.content],
            }
        )
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": tools[block.name]}
            for block in answer.content
            if block.type == "tool_use"
        ]
        if results:
            messages.append({"role": "user", "content": results})
        else:
            record["status"] = "done"
        await save(run_id, json.dumps(record))
    return record["steps"]


@asynccontextmanager
async def sqlite_saver(path: Path) -> AsyncGenerator[Save]:
    """Into a file, as durably as our own store does."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE runs (run_id TEXT PRIMARY KEY, record TEXT NOT NULL)")

    async def save(run_id: str, record: str) -> None:
        db.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (run_id, record))

    try:
        yield save
    finally:
        db.close()


@asynccontextmanager
async def redis_saver(url: str) -> AsyncGenerator[Save]:
    async with Redis.from_url(url) as client:  # pyright: ignore[reportUnknownMemberType]

        async def save(run_id: str, record: str) -> None:
            await client.set(f"plain:{run_id}", record)

        yield save
