"""What a call that got no answer may have cost: only one that was never sent is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from agent.claude import Claude
from agent.messages import text_block, user
from agent.run import Json
from agent.turn import Failure

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

FROZEN: Json = {"model": "claude-opus-5-5", "system": "Be brief.", "tools": [], "thinking": {}}


async def drop_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")


async def reset_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.transport.abort()


async def drop_within_the_head(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await writer.drain()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncGenerator[str]:
    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    async with await asyncio.start_server(closing, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def failure_at(base_url: str) -> Failure:
    claude = Claude(api_key="sk-ant-local", base_url=base_url, max_retries=0)
    try:
        answer = await claude.ask(FROZEN, [user(text_block("Hello"))], max_tokens=100)
    finally:
        await claude.close()
    assert isinstance(answer, Failure)
    return answer


@pytest.mark.parametrize("serve", [drop_at_once, reset_at_once, drop_within_the_head])
async def test_a_connection_cut_before_the_answer_may_have_cost_money(serve: Serve) -> None:
    async with serving(serve) as base_url:
        failure = await failure_at(base_url)
    assert failure.temporary
    assert failure.maybe_charged


async def test_a_call_that_reached_nobody_is_free(unused_tcp_port: int) -> None:
    failure = await failure_at(f"http://127.0.0.1:{unused_tcp_port}")
    assert (failure.what, failure.temporary, failure.maybe_charged) == ("connection", True, False)
