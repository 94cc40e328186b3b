"""What stands between the processes and Redis: it can cut, refuse and answer in Redis' place."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, Self, cast

import hiredis

_CHUNK = 65_536
_SCRIPTS = (b"EVALSHA", b"EVAL")
_NOTHING = object()
# Its own annotation is for commands of one word.
_pack = cast("Any", hiredis.pack_command)  # pyright: ignore[reportUnknownMemberType]


@dataclass(kw_only=True, eq=False)
class _Way:
    """One connection. `open` counts commands that were passed on and have no answer yet."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    open: int = 0
    cut: bool = False
    in_transaction: bool = False

    def close(self) -> None:
        for writer in (self.client, self.server):
            writer.close()


@dataclass(kw_only=True)
class RedisProxy:
    """Passes on to the Redis at `upstream`, a port here. Knows RESP only as far as to count."""

    upstream: int
    port: int = 0
    commands: int = 0
    spoilt: int = 0
    """How many commands were answered by the proxy or lost their answer."""
    _cuts: int = 0
    _errors: list[bytes] = field(default_factory=list[bytes])
    _away_until: float = 0.0
    _ways: set[_Way] = field(default_factory=set[_Way])
    _server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self._close_all()

    # What can go wrong

    def cut_after_write(self, times: int) -> None:
        """So many scripts are carried out, and their connections cut instead of an answer."""
        self._cuts += times

    def answer(self, error: str, times: int) -> None:
        """So many commands are not passed on and get this error, like `READONLY …`."""
        self._errors += [f"-{error}\r\n".encode()] * times

    def refuse(self, seconds: float) -> None:
        """All connections are cut, and new ones too for so long."""
        self._away_until = _now() + seconds
        self._close_all()

    def clear(self) -> None:
        """Forget what is still to go wrong."""
        self._cuts, self._away_until = 0, 0.0
        self._errors.clear()

    # Passing on

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if _now() < self._away_until:
            client.close()
            return
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            client.close()
            return
        way = _Way(client=client, server=server)
        self._ways.add(way)
        pumps = [
            asyncio.create_task(self._commands(reader, way)),
            asyncio.create_task(self._answers(answers, way)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._ways.discard(way)
            way.close()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _commands(self, reader: asyncio.StreamReader, way: _Way) -> None:
        parser = hiredis.Reader(notEnoughData=_NOTHING)
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                parser.feed(data)
                while (command := parser.gets()) is not _NOTHING:
                    self._command(command, way)
                await way.server.drain()

    def _command(self, command: Any, way: _Way) -> None:
        self.commands += 1
        name = bytes(command[0]).upper()
        # Answers have to keep their order, so only where none is on its way; and in a transaction
        # the refusal of one command would not be the whole truth.
        if self._errors and way.open == 0 and name != b"MULTI" and not way.in_transaction:
            self.spoilt += 1
            way.client.write(self._errors.pop())
            return
        way.in_transaction = name == b"MULTI" or (way.in_transaction and name != b"EXEC")
        if self._cuts and name in _SCRIPTS:
            self._cuts -= 1
            self.spoilt += 1
            way.cut = True
        way.open += 1
        way.server.write(_pack(tuple(command)))

    async def _answers(self, reader: asyncio.StreamReader, way: _Way) -> None:
        parser = hiredis.Reader(notEnoughData=_NOTHING)
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                if way.cut:
                    return
                parser.feed(data)
                while parser.gets() is not _NOTHING:
                    way.open -= 1
                way.client.write(data)
                await way.client.drain()

    def _close_all(self) -> None:
        for way in self._ways:
            way.close()


def _now() -> float:
    return asyncio.get_running_loop().time()
