"""The way to one Redis: its client, its scripts, how often a call is tried, what an error means.

redis-py's own retries are off: it can't tell which of our calls may be repeated. Here each may,
since the scripts find a repetition; so this is the one layer that repeats.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, repeat
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import hiredis
from redis.asyncio import ConnectionPool
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from agent.errors import ConfigurationError, StoreAway, StoreError

CALL_SECONDS = 3.0
"""After this long a call isn't tried once more; with the last attempt, well below a lease."""
ATTEMPT_SECONDS = 1.5
"""After this long without an answer the connection is given up."""
LAG_SECONDS = 0.1
"""An end that is noticed so much later tells of a busy process, not of Redis."""
PAUSES_SECONDS = (0.02, 0.1, 0.3, 0.6)
"""Between attempts; the last one again and again."""
CONNECTIONS = 32
"""As many calls are under way at once; more wait for their turn."""

_REFUSES_FOR_NOW = re.compile(
    r"\b(BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|NOREPLICAS|OOM|READONLY|TRYAGAIN|UNBLOCKED)\b"
)

Value = str | bytes | int | float


class _Busy(TimeoutError):
    """No answer, and the reason is in this process: other connections are as good as before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    source: str
    sha: str


def read_script(*names: str) -> Script:
    """The Lua of these files as one; the last of them answers."""
    folder = files("storage") / "redis_scripts"
    source = "\n".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names)
    return Script(source=source, sha=hashlib.sha1(source.encode()).hexdigest())


class Link:
    """Calls to the Redis at `url`, like `redis://USER:PASSWORD@HOST:PORT/DB` or `rediss://…`.

    Nothing is connected before the first call. Raises `ConfigurationError` when it is no such URL.
    A call raises `StoreAway` when Redis can't be reached, doesn't answer or refuses for a while,
    after it was tried for some seconds, and `StoreError` when it refuses for good. It may have
    arrived all the same, and more than once.
    """

    def __init__(self, url: str) -> None:
        self.place = _place(url)
        """Host, port and number of the database, for the operator."""
        # It only makes the connections. They are kept here: a call through its own keeping costs
        # half as much again.
        self._pool = ConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            # One deadline around each attempt costs less than redis-py's around each write and
            # each read.
            socket_timeout=None,
            socket_connect_timeout=ATTEMPT_SECONDS,
        )
        try:
            self._idle: list[AbstractConnection] = [self._pool.make_connection()]
        except (TypeError, ValueError, RedisError) as error:
            raise ConfigurationError(
                "CASETHREAD_STORE_URL: an option after the ? is not known or not right; see "
                "redis-py's options for TLS, which begin with ssl_"
            ) from error
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._closed = False

    async def run(self, script: Script, keys: Sequence[str], *arguments: Value) -> Any:
        """What the script answers."""
        ends = _call_ends()
        given = (len(keys), *keys, *arguments)
        try:
            return await self._call(ends, "EVALSHA", script.sha, *given)
        except NoScriptError:
            return await self._call(ends, "EVAL", script.source, *given)

    async def command(self, *words: Value) -> Any:
        """What Redis answers to a command that may be repeated."""
        return await self._call(_call_ends(), *words)

    async def close(self) -> None:
        """Calls under way come to their end first. Again is no error."""
        if self._closed:
            return
        self._closed = True
        for _ in range(CONNECTIONS):
            await self._turns.acquire()
        while self._idle:
            await self._idle.pop().disconnect()

    async def _call(self, ends: float, *words: Value) -> Any:
        loop = asyncio.get_running_loop()
        packed = _pack(words)
        for pause in chain(PAUSES_SECONDS, repeat(PAUSES_SECONDS[-1])):
            if self._closed:
                break
            try:
                return await self._attempt(packed)
            except NoScriptError:
                raise
            except (OSError, RedisError) as error:
                why = _why(error)
                if not _may_pass(error):
                    raise StoreError(f"Redis at {self.place}: {why}") from error
                # A wrong password doesn't get right by trying.
                if isinstance(error, AuthenticationError) or loop.time() + pause >= ends:
                    raise StoreAway(f"Redis at {self.place} is away: {why}") from error
                if not isinstance(error, ResponseError | _Busy):
                    # The way is broken or Redis has gone, and then the others are dead too.
                    for idle in self._idle.copy():
                        await idle.disconnect(nowait=True)
            await asyncio.sleep(pause)
        raise StoreError("the store is closed")

    async def _attempt(self, packed: bytes) -> Any:
        await self._take_turn()
        connection = self._idle.pop() if self._idle else self._pool.make_connection()
        began = time.monotonic()
        try:
            # It connects where it must. Whatever cuts this short disconnects it.
            async with asyncio.timeout(ATTEMPT_SECONDS):
                await connection.send_packed_command(packed)
                return cast("Any", await connection.read_response())
        except TimeoutError:
            if time.monotonic() - began > ATTEMPT_SECONDS + LAG_SECONDS:
                raise _Busy("this process was too busy to read the answer") from None
            raise
        finally:
            self._idle.append(connection)
            self._turns.release()

    async def _take_turn(self) -> None:
        if not self._turns.locked():
            # It doesn't wait, so it needs no deadline: one costs more than the turn.
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise _Busy("no connection is free") from None


def _pack(words: tuple[Value, ...]) -> bytes:
    """A command as it goes over the wire; redis-py's packing is in Python and costs far more."""
    # Its own types say that it takes one word and answers nothing.
    pack = cast(
        "Callable[[tuple[Value, ...]], bytes]",
        hiredis.pack_command,  # pyright: ignore[reportUnknownMemberType]
    )
    return pack(words)


def _call_ends() -> float:
    return asyncio.get_running_loop().time() + CALL_SECONDS


def _why(error: Exception) -> str:
    # redis-py takes the codes it knows off the words.
    code = error.status_code if isinstance(error, RedisError) else None
    return f"{code} {error}" if code else str(error) or "no answer"


def _may_pass(error: Exception) -> bool:
    """Whether the same call may succeed later: Redis is away, or refuses for a while."""
    if isinstance(error, ResponseError):
        # In a script's error, Redis 6 has the code of the refused command in the middle.
        return _REFUSES_FOR_NOW.search(str(error)) is not None or isinstance(
            error, (ClusterDownError, OutOfMemoryError, ReadOnlyError, TryAgainError)
        )
    return isinstance(error, (OSError, ConnectionError, RedisTimeoutError))


def _place(url: str) -> str:
    """Raises `ConfigurationError`, whose message has nothing of the URL that could be secret."""
    trouble = ConfigurationError(
        "CASETHREAD_STORE_URL must be redis://HOST:PORT/DB, or rediss:// for TLS, with "
        "USER:PASSWORD@ before the host where Redis asks for them, and no options but those of "
        "TLS, which begin with ssl_"
    )
    parts = urlsplit(url)
    try:
        port = parts.port or 6379
    except ValueError:
        raise trouble from None
    number = parts.path.removeprefix("/") or "0"
    options = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    if (
        parts.scheme not in ("redis", "rediss")
        or not parts.hostname
        or not number.isdecimal()
        or parts.fragment
        or not all(name.startswith("ssl_") for name in options)
        or (options and parts.scheme == "redis")
    ):
        raise trouble
    return f"{parts.hostname}:{port}/{number}"
