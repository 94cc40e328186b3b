"""Many fresh cases in one test, and something that happens at one of a worker's writes."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from agent.claude import Claude
from bot.local.claude import LocalClaude
from tests.agent.bench import Bench, Clock, new_bench, refunds_of

WRITES = {"save", "propose", "hold", "decide", "show_anew", "close", "record", "pay"}
Part = TypeVar("Part")
Hook = Callable[[], Awaitable[None]]


class Killed(BaseException):
    """The end of a worker, which nothing in it can catch."""


class Fate:
    """Counts writes; `before` and `after` act at the one with this number, or the next of that
    name."""

    def __init__(self, number: int | None, *, name: str = "") -> None:
        self.number = number
        self.name = name
        self.writes = 0
        self.before: Hook | None = None
        self.after: Hook | None = None

    async def write(self, name: str, doing: Callable[[], Awaitable[Any]]) -> Any:
        mine = self.writes == self.number or name == self.name
        self.writes += 1
        if name == self.name:
            self.name = ""
        if mine and self.before is not None:
            await self.before()
        result = await doing()
        if mine and self.after is not None:
            await self.after()
        return result

    def over(self, part: Part) -> Part:
        """The part, each of whose writes may be where it happens."""
        return cast("Part", _Watched(part, self))


@dataclass(frozen=True)
class _Watched:
    part: Any
    fate: Fate

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.part, name)
        if name not in WRITES:
            return method

        async def write(*given: Any, **named: Any) -> Any:
            return await self.fate.write(name, lambda: method(*given, **named))

        return write


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """Makes fresh benches, with one local Claude for all of them."""

    folder: Path
    sample: Path
    """The sample shop's file, to copy."""
    claude: LocalClaude
    client: Claude
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    @asynccontextmanager
    async def new(self, fate: Fate) -> AsyncGenerator[Bench]:
        """A bench, at one of whose writes `fate` happens."""
        folder = self.folder / str(next(self._numbers))
        folder.mkdir()
        shutil.copy(self.sample, folder / "shop.db")
        async with new_bench(folder, self.claude, Clock(), client=self.client) as bench:
            shop = bench.shop
            bench.store = fate.over(bench.store)
            bench.agent = refunds_of(
                shop, ledger=fate.over(shop.ledger), payments=fate.over(shop.payments)
            )
            yield bench
