"""Something between a store and its Redis that goes wrong on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType

GREETING = (b"SETINFO", b"SELECT", b"AUTH")
"""What a new connection begins with; it goes through always."""


class RedisProxy:
    """Passes calls on, but for what is asked for; made for one call at a time.

    The next `drop_answers` calls are carried out, and the connection is cut instead of answering.
    The next `hold_calls` calls have their connection cut at once and are kept in `held`, to arrive
    when `let_arrive` is called. Calls with a word of `answers` in them are answered with that and
    not passed on. After `go_deaf` the connections that there are hear nothing more, while new ones
    work; `unheard` counts what they missed.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self.drop_answers = 0
        self.hold_calls = 0
        self.held: list[bytes] = []
        self.answers: dict[bytes, bytes] = {}
        self.calls = 0
        self.unheard = 0
        self._made = 0
        self._deaf = 0
        self._drops = False

    async def __aenter__(self) -> RedisProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._tasks: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    def go_deaf(self) -> None:
        self._deaf = self._made

    async def let_arrive(self) -> list[bytes]:
        """Carry out what was held, in its order; returns the answers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._to)
        answers: list[bytes] = []
        while self.held:
            writer.write(self.held.pop(0))
            answers.append(await reader.read(65_536))
        writer.close()
        await writer.wait_closed()
        return answers

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._made += 1
        number = self._made
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self._to)
        answering = asyncio.create_task(self._pass_answers_on(to_reader, writer))
        try:
            while call := await reader.read(1_048_576):
                if number <= self._deaf:
                    self.unheard += 1
                    continue
                answer = self._answer(call)
                if answer is None:
                    to_writer.write(call)
                elif answer:
                    writer.write(answer)
                else:
                    return
        except (asyncio.CancelledError, ConnectionError):
            return
        finally:
            answering.cancel()
            writer.close()
            to_writer.close()

    def _answer(self, call: bytes) -> bytes | None:
        """What to answer at once; nothing: to cut the connection; None: to pass the call on."""
        self._drops = False
        if any(word in call for word in GREETING):
            return None
        self.calls += 1
        for word, answer in self.answers.items():
            if word in call:
                return answer
        if self.hold_calls:
            self.hold_calls -= 1
            self.held.append(call)
            return b""
        if self.drop_answers:
            self.drop_answers -= 1
            self._drops = True
        return None

    async def _pass_answers_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while answer := await reader.read(1_048_576):
            if self._drops:
                break
            writer.write(answer)
        writer.close()


def bulk(lines: Mapping[str, object]) -> bytes:
    """An answer to INFO, as Redis' protocol has it."""
    text = "".join(f"{name}:{value}\r\n" for name, value in lines.items())
    return f"${len(text)}\r\n{text}\r\n".encode()
