"""Faults on demand: what the API, the network or a proxy can do to a request that is in order.

A request that breaks a rule is refused before any fault, so a fault never hides a mistake. Faults
wait in a queue; each is used up (`times`) or runs out (`seconds`) before the next begins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["error", "error_in_stream", "not_json", "cut", "hang"]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to a request: an error answer, or an answer that doesn't arrive as it should."""

    kind: Kind
    status: int = 200
    error_type: str = ""
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(kw_only=True)
class _Queued:
    fault: Fault
    times: int | None
    until: float | None


class Faults:
    """Add faults by its methods; `now` gives seconds, as for the cache."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._queue: deque[_Queued] = deque()
        self._gate = asyncio.Event()
        self._gate.set()
        self._hung = asyncio.Event()

    def overloaded(
        self, times: int = 1, *, seconds: float | None = None, should_retry: bool | None = None
    ) -> None:
        """529, for so many requests or, with `seconds`, for so long."""
        self.error(
            529,
            "overloaded_error",
            "Overloaded",
            times=times,
            seconds=seconds,
            should_retry=should_retry,
        )

    def rate_limited(self, times: int = 1, *, retry_after: str | float | None = None) -> None:
        """429; `retry_after` is the header's value (seconds or a date)."""
        self.error(
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit.",
            times=times,
            retry_after=retry_after,
        )

    def server_error(
        self, times: int = 1, *, status: int = 500, should_retry: bool | None = None
    ) -> None:
        self.error(
            status,
            "timeout_error" if status == 504 else "api_error",
            "Internal server error",
            times=times,
            should_retry=should_retry,
        )

    def credit_exhausted(self, times: int = 1) -> None:
        """The 400 with which the API says that there is no credit left."""
        self.error(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & "
            "Billing to upgrade or purchase credits.",
            times=times,
        )

    def error(
        self,
        status: int,
        error_type: str,
        message: str,
        *,
        times: int = 1,
        seconds: float | None = None,
        retry_after: str | float | None = None,
        should_retry: bool | None = None,
    ) -> None:
        """Any error answer; `should_retry` sets `x-should-retry`, which the SDK obeys."""
        headers: list[tuple[str, str]] = []
        if retry_after is not None:
            headers.append(("retry-after", str(retry_after)))
        if should_retry is not None:
            headers.append(("x-should-retry", str(should_retry).lower()))
        self._add(
            Fault(
                kind="error",
                status=status,
                error_type=error_type,
                message=message,
                headers=tuple(headers),
            ),
            times,
            seconds,
        )

    def not_json(self, times: int = 1, *, content_type: str = "application/json") -> None:
        """A 200 whose body is a page of HTML, as from a proxy.

        The SDK (anthropic 2.14) raises JSONDecodeError for it; but with `content_type` `text/html`
        it returns the page as a `str` in place of the message.
        """
        self._add(Fault(kind="not_json", headers=(("content-type", content_type),)), times)

    def cut(self, times: int = 1) -> None:
        """The connection is closed after half of the answer, or of its events."""
        self._add(Fault(kind="cut"), times)

    def overloaded_in_stream(self, times: int = 1) -> None:
        """The answer breaks off in the middle with an `error` event; a 529 when it isn't streamed.

        A stream's status is 200 by then, so the SDK (anthropic 2.14) raises an `APIStatusError`
        and retries nothing.
        """
        fault = Fault(
            kind="error_in_stream",
            status=529,
            error_type="overloaded_error",
            message="Overloaded",
        )
        self._add(fault, times)

    def hang(self, times: int = 1) -> None:
        """No answer until `release`."""
        self._add(Fault(kind="hang"), times)

    def hold(self) -> None:
        """From now on requests are received but not looked at until `release`."""
        self._gate.clear()

    def release(self) -> None:
        """Open the gate, and let go what hangs."""
        self._gate.set()
        self._hung.set()
        self._hung = asyncio.Event()

    def clear(self) -> None:
        """Forget all faults that are still to come, and release."""
        self._queue.clear()
        self.release()

    async def pass_gate(self) -> None:
        await self._gate.wait()

    async def wait_for_release(self) -> None:
        await self._hung.wait()

    def next(self) -> Fault | None:
        """The fault of the request at hand; counts it."""
        while self._queue:
            first = self._queue[0]
            if first.until is not None:
                if self._now() < first.until:
                    return first.fault
            elif first.times:
                first.times -= 1
                return first.fault
            self._queue.popleft()
        return None

    def _add(self, fault: Fault, times: int, seconds: float | None = None) -> None:
        until = None if seconds is None else self._now() + seconds
        self._queue.append(_Queued(fault=fault, times=times, until=until))
