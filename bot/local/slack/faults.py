"""Everything that can go wrong between Slack and the app, on request."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal

from bot.local.slack.socket_mode import SocketMode

FaultKind = Literal["refuse", "server_error", "slow", "drop_answer"]


@dataclass(kw_only=True)
class _Fault:
    kind: FaultKind
    method: str
    times: int
    error: str = ""
    seconds: float = 0.0


class Faults:
    """Faults wait until they are met; each says how many calls it spoils.

    A `method` is a Web API method's name; `files` is a file's download, `response_url` a use of
    one. `now` gives seconds: what lasts, lasts by this clock.
    """

    def __init__(self, sockets: SocketMode, now: Callable[[], float]) -> None:
        self._sockets = sockets
        self._now = now
        self._faults: list[_Fault] = []
        self._limited_until: dict[str | None, float] = {}

    # Events

    def deliver_twice(self, n: int = 1) -> None:
        """The next n events are sent twice, with the same event id."""
        self._sockets.twice += n

    def redeliver_last(self) -> None:
        """The newest event is sent once more, as a first retry."""
        self._sockets.redeliver_last()

    @contextlib.contextmanager
    def reorder(self) -> Generator[None]:
        """Events that happen inside are held, and sent at the end newest first."""
        self._sockets.hold()
        try:
            yield
        finally:
            self._sockets.release()

    def give_up_events(self) -> None:
        """Events that wait for a delivery never come: Slack stops trying after some minutes."""
        self._sockets.give_up()

    async def disconnect_sockets(self, *, announce: bool = False) -> None:
        """Closes the app's sockets; with `announce` after a polite disconnect message."""
        await self._sockets.disconnect_all(announce=announce)

    # Calls

    def rate_limited(self, seconds: float, method: str | None = None) -> None:
        """For so many seconds every call (of the method) is answered with 429 and Retry-After."""
        self._limited_until[method] = self._now() + seconds

    def drop_answer(self, method: str, times: int = 1) -> None:
        """The call is carried out, then its connection is cut instead of an answer."""
        self._faults.append(_Fault(kind="drop_answer", method=method, times=times))

    def refuse(self, method: str, error: str, times: int = 1) -> None:
        """The call is answered with this error code and not carried out."""
        self._faults.append(_Fault(kind="refuse", method=method, times=times, error=error))

    def server_error(self, method: str, times: int = 1) -> None:
        """The call is answered with 503 and not carried out."""
        self._faults.append(_Fault(kind="server_error", method=method, times=times))

    def slow(self, method: str, seconds: float, times: int = 1) -> None:
        """The call is carried out only after so many seconds, even when its sender has left."""
        self._faults.append(_Fault(kind="slow", method=method, times=times, seconds=seconds))

    def clear(self) -> None:
        """Forgets every fault of calls that was not met yet."""
        self._faults.clear()
        self._limited_until.clear()

    # For the server

    def take(self, kind: FaultKind, method: str) -> tuple[str, float] | None:
        """Uses up one fault of that kind for a call: its error and seconds; None without one."""
        for fault in self._faults:
            if (fault.kind, fault.method) == (kind, method):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault.error, fault.seconds
        return None

    def retry_after_seconds(self, method: str) -> int | None:
        """How long a call of the method must wait, in whole seconds; None when it needn't."""
        now = self._now()
        until = max(self._limited_until.get(key, 0.0) for key in (method, None))
        return max(1, math.ceil(until - now)) if until > now else None
