"""What a story is: its opening, the stand-in's answers, people's acts, and how it has to end."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.run import Status
from bot.local.claude import Request, ScriptedTurn

if TYPE_CHECKING:
    from bot.local.play.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Refund:
    """A row that the agent left in the shop; `status` is the ledger's word."""

    order_id: str
    status: str
    amount_paise: int


@dataclass(frozen=True, kw_only=True)
class Expected:
    """How a case has to end."""

    statuses: tuple[Status, ...]
    """Of its runs, oldest first."""
    model_calls: tuple[int, ...]
    """In each run."""
    orders: tuple[str, ...]
    """Whose refunds are looked at."""
    refunds: tuple[Refund, ...] = ()
    """All that the agent proposed on them in this case, oldest first."""
    posts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Words → how many of the bot's posts in the thread hold them."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """One case to play. Its scripts are found by words of the first user message."""

    name: str
    summary: str
    match: str
    """Words that this story's conversations alone begin with."""
    scripts: Mapping[str, Sequence[ScriptedTurn]]
    act: Callable[[Stage], Awaitable[None]]
    expected: Expected


def result_of(request: Request, place: int = -1) -> Any:
    """The JSON of a tool result that the turn answers; the last one unless `place` says which.

    Raises `ValueError` when the tool gave words instead.
    """
    return json.loads(request.results[place])


def reference_of(request: Request) -> str:
    """The reference of the refund that was just issued. Raises `ValueError` when none was."""
    told = result_of(request)
    if told.get("status") != "issued":
        raise ValueError(f"no refund was issued: {told}")
    return str(told["reference"])


def said_by_tool(request: Request, words: str) -> None:
    """Raises `ValueError` unless the last tool result holds these words."""
    if words not in request.results[-1]:
        raise ValueError(f"the tool should have said {words!r}, and said {request.results[-1]!r}")
