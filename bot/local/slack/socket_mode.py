"""Socket Mode: the app's sockets, envelopes and acknowledgements.

An event waits here until the app acknowledges it: it goes to one open socket; when that socket
closes, to another at once or to the next that connects; when nobody acknowledges it in time, again
after growing delays. An interactive payload is sent once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from aiohttp import WSMsgType, web

from bot.local.slack.workspace import Bell, Json, as_object

MAX_SOCKETS = 10
NEWEST_ACKS = 10_000


@dataclass(frozen=True, kw_only=True)
class Ack:
    """What came of an interactive payload: `error` is None when the app acknowledged it."""

    error: str | None = None
    payload: Json | None = None


@dataclass(kw_only=True, eq=False)
class Delivery:
    """One event on its way. `socket` is where an unanswered envelope is; `resting` between two
    attempts; `envelopes` are all ids it was sent under, each of which acknowledges it; `since` is
    when it happened, in monotonic seconds."""

    payload: Json
    attempt: int = 0
    reason: str = ""
    socket: Socket | None = None
    resting: bool = False
    timer: asyncio.TimerHandle | None = None
    envelopes: list[str] = field(default_factory=list[str])
    since: float = field(default_factory=time.monotonic)


@dataclass(kw_only=True, eq=False)
class Socket:
    response: web.WebSocketResponse
    outbox: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])


class SocketMode:
    """`retry_delays_seconds` are the waits before each repeat after an unanswered attempt."""

    def __init__(
        self,
        *,
        app_id: str,
        bell: Bell,
        ack_timeout_seconds: float,
        retry_delays_seconds: Sequence[float],
        queue_limit: int,
    ) -> None:
        self._app_id = app_id
        self._bell = bell
        self._ack_timeout_seconds = ack_timeout_seconds
        self._retry_delays_seconds = tuple(retry_delays_seconds)
        self._queue_limit = queue_limit
        self._tickets: set[str] = set()
        self._sockets: deque[Socket] = deque()
        self._waiting: list[Delivery] = []
        self._answers: dict[str, tuple[Socket, asyncio.Future[Ack]]] = {}
        self._held: list[Json] | None = None
        self._last: Json | None = None
        self.twice = 0
        self.undelivered: list[Json] = []
        self.ack_seconds: deque[float] = deque(maxlen=NEWEST_ACKS)
        """How long after it happened each of the newest acknowledged events was acknowledged."""

    @property
    def connected(self) -> int:
        return len(self._sockets)

    @property
    def unacknowledged(self) -> int:
        """How many events the app hasn't acknowledged yet."""
        return len(self._waiting)

    @property
    def pending(self) -> list[Json]:
        """The payloads of those events, oldest first."""
        return [delivery.payload for delivery in self._waiting]

    def issue_ticket(self) -> str:
        """A one-time right to connect."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    # Sending

    def send_event(self, payload: Json) -> None:
        """Queues an event; one too many is dropped into `undelivered`."""
        if self._held is not None:
            self._held.append(payload)
            return
        self._last = payload
        copies = 1
        if self.twice:
            self.twice -= 1
            copies = 2
        for _ in range(copies):
            self._enqueue(Delivery(payload=payload))

    def redeliver_last(self) -> None:
        """Sends the newest event once more, as Slack does when it missed the acknowledgement."""
        if self._last is None:
            raise LookupError("no event was sent yet")
        self._enqueue(Delivery(payload=self._last, attempt=1, reason="timeout"))

    def give_up(self) -> None:
        """Nothing that waits is delivered any more, as when the app was away for too long."""
        for delivery in self._waiting:
            self._cancel_timer(delivery)
            self.undelivered.append(delivery.payload)
        self._waiting.clear()
        self._bell.ring()

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        """Sends what was held, newest first."""
        held, self._held = self._held or [], None
        for payload in reversed(held):
            self.send_event(payload)

    async def request(self, kind: str, payload: Json, *, accepts_response: bool) -> Ack:
        """Sends an interactive payload (`interactive` or `slash_commands`) and waits for its
        acknowledgement."""
        if not self._sockets:
            return Ack(error="no app is connected")
        socket = self._next_socket()
        envelope_id = secrets.token_hex(16)
        answer: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        self._answers[envelope_id] = (socket, answer)
        self._put(socket, kind, envelope_id, payload, accepts_response=accepts_response)
        try:
            return await asyncio.wait_for(answer, self._ack_timeout_seconds)
        except TimeoutError:
            return Ack(error="the app did not respond in time")
        finally:
            del self._answers[envelope_id]

    # Sockets

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One connection of the app, from the ticket to the close."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            raise web.HTTPForbidden(text="this ticket is unknown or used")
        self._tickets.discard(ticket)
        if len(self._sockets) >= MAX_SOCKETS:
            raise web.HTTPTooManyRequests(text="too_many_websockets")
        response = web.WebSocketResponse()
        await response.prepare(request)
        socket = Socket(response=response)
        writer = asyncio.create_task(self._write(socket))
        try:
            self._sockets.append(socket)
            socket.outbox.put_nowait(json.dumps(self._hello()))
            for delivery in self._waiting:
                if delivery.resting:
                    self._rest_over(delivery)
            self._pump()
            self._bell.ring()
            async for received in response:
                if received.type is WSMsgType.TEXT:
                    self._received(str(received.data))
        finally:
            writer.cancel()
            self._closed(socket)
        return response

    async def disconnect_all(self, *, announce: bool = False) -> None:
        """Closes every socket; with `announce` the way Slack does when it refreshes them."""
        for socket in list(self._sockets):
            self._closed(socket)
            if announce:
                notice = {"type": "disconnect", "reason": "refresh_requested"}
                with contextlib.suppress(ConnectionResetError):
                    await socket.response.send_str(json.dumps(notice))
            await socket.response.close()

    def stop(self) -> None:
        for delivery in self._waiting:
            self._cancel_timer(delivery)

    # Inside

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self._sockets),
            "connection_info": {"app_id": self._app_id},
            "debug_info": {"host": "local", "approximate_connection_time": 18060},
        }

    async def _write(self, socket: Socket) -> None:
        with contextlib.suppress(ConnectionResetError):
            while True:
                await socket.response.send_str(await socket.outbox.get())

    def _next_socket(self) -> Socket:
        self._sockets.rotate(-1)
        return self._sockets[-1]

    def _put(
        self,
        socket: Socket,
        kind: str,
        envelope_id: str,
        payload: Json,
        *,
        accepts_response: bool,
        retry: Json | None = None,
    ) -> None:
        envelope: Json = {
            "type": kind,
            "envelope_id": envelope_id,
            "payload": payload,
            "accepts_response_payload": accepts_response,
        }
        socket.outbox.put_nowait(json.dumps(envelope | (retry or {})))

    def _enqueue(self, delivery: Delivery) -> None:
        if len(self._waiting) >= self._queue_limit:
            self.undelivered.append(delivery.payload)
            return
        self._waiting.append(delivery)
        self._pump()

    def _pump(self) -> None:
        for delivery in self._waiting:
            if not self._sockets:
                return
            if delivery.socket is None and not delivery.resting:
                self._attempt(delivery)

    def _attempt(self, delivery: Delivery) -> None:
        socket = self._next_socket()
        envelope_id = secrets.token_hex(16)
        delivery.socket = socket
        delivery.envelopes.append(envelope_id)
        retry = {"retry_attempt": delivery.attempt, "retry_reason": delivery.reason}
        self._put(
            socket, "events_api", envelope_id, delivery.payload, accepts_response=False, retry=retry
        )
        loop = asyncio.get_running_loop()
        delivery.timer = loop.call_later(self._ack_timeout_seconds, self._unanswered, delivery)

    def _unanswered(self, delivery: Delivery) -> None:
        delivery.socket = None
        if delivery.attempt >= len(self._retry_delays_seconds):
            self._waiting.remove(delivery)
            self.undelivered.append(delivery.payload)
            self._bell.ring()
            return
        delay_seconds = self._retry_delays_seconds[delivery.attempt]
        delivery.attempt += 1
        delivery.reason = "timeout"
        delivery.resting = True
        loop = asyncio.get_running_loop()
        delivery.timer = loop.call_later(delay_seconds, self._rested, delivery)

    def _rested(self, delivery: Delivery) -> None:
        self._rest_over(delivery)
        self._pump()

    def _rest_over(self, delivery: Delivery) -> None:
        self._cancel_timer(delivery)
        delivery.resting = False

    def _received(self, text: str) -> None:
        try:
            answer = as_object(json.loads(text)) or {}
        except ValueError:
            return
        envelope_id = str(answer.get("envelope_id"))
        if envelope_id in self._answers:
            _, future = self._answers[envelope_id]
            if not future.done():
                future.set_result(Ack(payload=as_object(answer.get("payload"))))
        for delivery in self._waiting:
            if envelope_id in delivery.envelopes:
                self._cancel_timer(delivery)
                self._waiting.remove(delivery)
                self.ack_seconds.append(time.monotonic() - delivery.since)
                break
        self._bell.ring()

    def _closed(self, socket: Socket) -> None:
        if socket not in self._sockets:
            return
        self._sockets.remove(socket)
        for delivery in self._waiting:
            if delivery.socket is socket:
                self._cancel_timer(delivery)
                delivery.socket = None
        for place, future in self._answers.values():
            if place is socket and not future.done():
                future.set_result(Ack(error="the app's connection closed"))
        self._pump()
        self._bell.ring()

    def _cancel_timer(self, delivery: Delivery) -> None:
        if delivery.timer:
            delivery.timer.cancel()
            delivery.timer = None
