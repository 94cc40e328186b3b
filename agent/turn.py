"""What became of a request to Claude: a turn, or a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.run import Json, Usage


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A usable answer. `content` and all else in `message` are exactly what the API sent."""

    message: Json
    usage: Usage
    request_id: str | None
    seconds: float

    @property
    def content(self) -> Any:
        return self.message.get("content")

    @property
    def stop_reason(self) -> str | None:
        reason = self.message.get("stop_reason")
        return reason if reason is None else str(reason)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """No usable answer. `temporary`: trying again later can help."""

    temporary: bool
    what: str
    """In a word for the trace: a status or the kind of failure."""
    detail: str
    """For the log; may hold the API's own words."""
    maybe_charged: bool
    """The request was sent and no error answer came back: it may cost money all the same."""
    history_changed: bool = False
    """The API says that a thinking block does not belong to this conversation."""
    request_id: str | None
    seconds: float
