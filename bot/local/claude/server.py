"""The HTTP server: receives requests, applies rules, faults and scripts, keeps the records."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from bot.local.claude.answers import answer_to
from bot.local.claude.beside import served
from bot.local.claude.blocks import digest_of, setting
from bot.local.claude.caching import Cache, Segment, segments_of
from bot.local.claude.clerk import clerk_turn
from bot.local.claude.exchange import Account, Exchange, Outcome, account_of
from bot.local.claude.faults import Fault, Faults
from bot.local.claude.models import Model, model_named
from bot.local.claude.refusals import RefusedError, error_body
from bot.local.claude.rules import (
    BINDING_BETA,
    betas_of,
    check_content_type,
    check_headers,
    check_messages,
    check_settings,
    check_tools,
)
from bot.local.claude.script import (
    Request,
    ScriptedTurn,
    ScriptError,
    Scripts,
    Turn,
    check_turn,
)
from bot.local.claude.streaming import stream
from bot.local.claude.thinking import Checked, Thinking
from bot.local.claude.wire import check_shape, parse

MAX_REQUEST_BYTES = 32 * 1024 * 1024
_HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True, kw_only=True)
class _Accepted:
    """A request that broke no rule."""

    body: dict[str, Any]
    model: Model
    checked: Checked
    segments: list[Segment]
    betas: set[str]


class LocalClaude:
    """A strict, scripted stand-in for Claude's Messages API, on a real socket.

        async with LocalClaude() as claude:
            claude.script("order 4471", [call("get_order", order_id="4471"), say("Done.")])
            AsyncAnthropic(base_url=claude.base_url, api_key="sk-ant-local")

    `api_key`: the only key it takes; by default any that begins with `sk-ant-`. `secret` signs
    thinking: give a restarted stand-in the same one. `clerk`: what no script answers is answered
    by a refund clerk who goes by rules (`bot.local.claude.clerk`); without him it is answered with
    polite words. `now`: Unix seconds, for the cache, for faults that last and for the clerk's day.
    Leaving the context raises the first script error nobody took out of `script_errors`.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        secret: str = "the local stand-in's secret",
        clerk: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.faults = Faults(now)
        self.requests: list[Exchange] = []
        self.script_errors: list[Exception] = []
        self._host = host
        self._port = port
        self._api_key = api_key
        self._clerk = clerk
        self._now = now
        self._scripts = Scripts()
        self._cache = Cache()
        self._thinking = Thinking(secret.encode())
        self._changed = asyncio.Event()
        self._stopping = False
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen; afterwards `base_url` is known."""
        application = web.Application(client_max_size=MAX_REQUEST_BYTES)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Let go of held and hanging requests without an answer, and close the socket."""
        self._stopping = True
        self.faults.release()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
        if error is None and self.script_errors:
            raise self.script_errors[0]

    @property
    def base_url(self) -> str:
        return f"http://{self._host}:{self._port}"

    def script(self, match: str, turns: Sequence[ScriptedTurn]) -> None:
        """The answers to conversations whose first user message contains `match`.

        Of several that match, the one registered last counts.
        """
        self._scripts.add(match, turns)

    def unscript(self, match: str) -> None:
        """Forget the scripts that were registered with this `match`."""
        self._scripts.remove(match)

    @property
    def refused(self) -> list[Exchange]:
        """Requests that broke a rule of the API."""
        return [exchange for exchange in self.requests if exchange.outcome == "refused"]

    @property
    def unscripted(self) -> list[Exchange]:
        """Requests answered with the stand-in's own words, for want of a script or a turn."""
        return [
            exchange
            for exchange in self.requests
            if exchange.outcome == "answered" and exchange.script is None and not exchange.clerk
        ]

    def account(self, match: str = "") -> Account:
        """Sums over the answers in conversations whose first user message contains `match`."""
        return account_of(found for found in self.requests if match in found.first_text)

    def cost_usd(self, match: str = "") -> Decimal:
        """What those answers would have cost; see `account`."""
        return self.account(match).cost_usd

    async def arrived(self, count: int, *, timeout_seconds: float = 10) -> None:
        """Wait until so many requests in all have been received, answered or not."""
        await self.until(lambda: len(self.requests) >= count, timeout_seconds=timeout_seconds)

    async def until(self, predicate: Callable[[], object], *, timeout_seconds: float = 10) -> None:
        """Wait until it holds, looking again whenever a request arrives or is answered."""
        async with asyncio.timeout(timeout_seconds):
            while not predicate():
                await self._changed.wait()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        number = len(self.requests)
        request_id = f"req_local_{number:06}"
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append(Exchange(request_id=request_id, headers=headers))
        try:
            raw = await self._receive(request)
            if (request.method, request.path) != ("POST", "/v1/messages"):
                return self._beside(request, number, raw)
            body = parse(raw)
            self._update(number, body=body)
            await self.faults.pass_gate()
            if self._gone(request):
                return self._abandon(number)
            accepted = self._accept(body, headers)
        except ConnectionResetError:  # whoever asked died while asking
            return self._abandon(number)
        except RefusedError as refusal:
            return self._error(
                number, "refused", refusal.status, refusal.error_type, refusal.message
            )
        fault = self.faults.next()
        if fault is not None and fault.kind == "hang":
            await self.faults.wait_for_release()
            if self._gone(request):
                return self._abandon(number)
        streamed = bool(accepted.body.get("stream"))
        if fault is not None and (
            fault.kind == "error" or (fault.kind == "error_in_stream" and not streamed)
        ):
            return self._error(
                number, "fault", fault.status, fault.error_type, fault.message, fault.headers
            )
        if fault is not None and fault.kind == "not_json":
            self._update(number, outcome="fault", status=200)
            return web.Response(
                body=_HTML.encode(), headers=[("request-id", request_id), *fault.headers]
            )
        return await self._answer(request, number, accepted, fault)

    async def _receive(self, request: web.Request) -> bytes:
        try:
            return await request.read()
        except web.HTTPRequestEntityTooLarge:
            raise RefusedError(
                "Request exceeds the maximum size",
                status=413,
                error_type="request_too_large",
            ) from None

    def _beside(self, request: web.Request, number: int, raw: bytes) -> web.Response:
        exchange = self.requests[number]
        check_headers(exchange.headers, self._api_key)
        answer = served(
            request.method,
            request.path,
            query=request.query,
            raw=raw,
            knows=self._thinking.knows,
        )
        self._update(number, outcome="served", status=200)
        return web.json_response(answer, headers={"request-id": exchange.request_id})

    def _accept(self, body: dict[str, Any], headers: dict[str, str]) -> _Accepted:
        check_headers(headers, self._api_key)
        check_content_type(headers)
        check_shape(body, self._thinking.knows)
        model = model_named(body["model"])
        betas = betas_of(headers)
        check_settings(body, model, betas)
        check_messages(body, model, paused=self._thinking.ends_paused(body["messages"]))
        check_tools(body)
        binding = setting(setting(body, "thinking"), "block_binding")
        checked = self._thinking.check(
            body,
            binds=model.binds_thinking,
            drop=binding.get("prefix_mismatch_behavior") == "drop_block",
        )
        return _Accepted(
            body=body,
            model=model,
            checked=checked,
            segments=segments_of(body, checked.messages),
            betas=betas,
        )

    async def _answer(
        self, request: web.Request, number: int, accepted: _Accepted, fault: Fault | None
    ) -> web.StreamResponse:
        body = accepted.body
        first = Request(body=body)
        self._update(
            number,
            first_text=first.first_text,
            conversation=digest_of(body["model"], body["messages"][0]["content"]).hex()[:16],
            dropped=tuple(accepted.checked.dropped),
        )
        try:
            turn, match = self._choose(body)
        except ScriptError as error:
            self.script_errors.append(error)
            return self._error(
                number,
                "script_error",
                500,
                "api_error",
                f"The stand-in's script is wrong: {error}",
                (("x-should-retry", "false"),),
            )
        charged = self._cache.charge(
            accepted.segments,
            accepted.model,
            total=turn.usage.input if turn.usage else None,
            now=self._now(),
        )
        message, usage = answer_to(
            body,
            turn,
            model=accepted.model,
            prefix=accepted.checked.prefix,
            thinking=self._thinking,
            charged=charged,
        )
        if BINDING_BETA in accepted.betas:
            message["input_transformations"] = [
                {"type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch"}
                for path in accepted.checked.dropped
            ]
        broken = fault is not None and fault.kind in ("cut", "error_in_stream")
        self._update(
            number,
            outcome="fault" if broken else "answered",
            status=200,
            script=match,
            clerk=match is None and self._clerk,
            message=message,
            usage=usage,
        )
        headers = {"request-id": self.requests[number].request_id}
        cut = fault is not None and fault.kind == "cut"
        if body.get("stream"):
            in_stream = fault is not None and fault.kind == "error_in_stream"
            error = (fault.error_type, fault.message) if fault is not None and in_stream else None
            return await stream(request, message, headers=headers, cut=cut, error=error)
        response = web.json_response(message, headers=headers)
        return await _cut(request, response) if cut else response

    def _choose(self, body: dict[str, Any]) -> tuple[Turn, str | None]:
        try:
            turn, match = self._scripts.choose(body)
        except Exception as error:
            # A turn can be a function of whoever embeds the stand-in; its failure, of any kind
            # (a failed assertion, most likely), is shown to them and not to the bot.
            raise ScriptError(f"a scripted turn failed: {error!r}") from error
        if match is None and self._clerk:
            today = datetime.fromtimestamp(self._now(), UTC).date()
            turn = clerk_turn(body, today=today)
        check_turn(turn, body)
        return turn, match

    def _error(
        self,
        number: int,
        outcome: Outcome,
        status: int,
        error_type: str,
        message: str,
        headers: Sequence[tuple[str, str]] = (),
    ) -> web.Response:
        request_id = self.requests[number].request_id
        self._update(number, outcome=outcome, status=status, error=message)
        return web.json_response(
            error_body(error_type, message, request_id),
            status=status,
            headers=[("request-id", request_id), *headers],
        )

    def _abandon(self, number: int) -> web.Response:
        """The answer to nobody; a client that is still there sees its connection closed."""
        self._update(number, outcome="abandoned")
        return web.Response(status=503)

    def _gone(self, request: web.Request) -> bool:
        if self._stopping and request.transport is not None:
            request.transport.abort()
        return self._stopping or request.transport is None or request.transport.is_closing()

    def _update(self, number: int, **changes: Any) -> None:
        self.requests[number] = replace(self.requests[number], **changes)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def _cut(request: web.Request, whole: web.Response) -> web.StreamResponse:
    """Promise the whole answer, send half of it, and close the connection."""
    body = whole.body
    content = body if isinstance(body, bytes) else b""
    response = web.StreamResponse(headers=whole.headers)
    response.content_length = len(content)
    await response.prepare(request)
    await response.write(content[: len(content) // 2])
    if request.transport is not None:
        request.transport.close()
    return response
