"""The HTTP side: tokens, the table of methods, limits and faults, the log of calls; files and
response URLs. What a method does is in the `api_*` modules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

from bot.local.slack import api_chat, api_conversations, api_directory
from bot.local.slack.blocks import RefusedError
from bot.local.slack.calls import Args, Call
from bot.local.slack.faults import Faults
from bot.local.slack.rate_limits import RateLimits
from bot.local.slack.socket_mode import SocketMode
from bot.local.slack.surfaces import Surfaces
from bot.local.slack.workspace import App, Json, Workspace, as_object

SIGN_IN_PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"


@dataclass(frozen=True, kw_only=True)
class ApiCall:
    """One call as it was answered. `error` is None when it went well; `is_fault` when it was
    spoilt on request; `at` is in seconds of the clock. Acknowledgements and response URLs that
    break a rule stand here too, under the name of their payload."""

    method: str
    args: Json
    error: str | None
    details: tuple[str, ...]
    at: float
    app_id: str | None
    is_fault: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, kw_only=True)
class _Method:
    """`tier` is Slack's, 0 for none."""

    run: Callable[[Call], Json]
    tier: int


_METHODS: dict[str, _Method] = {
    "auth.test": _Method(run=api_directory.auth_test, tier=0),
    "bots.info": _Method(run=api_directory.bots_info, tier=3),
    "chat.delete": _Method(run=api_chat.delete, tier=3),
    "chat.getPermalink": _Method(run=api_chat.get_permalink, tier=0),
    "chat.postEphemeral": _Method(run=api_chat.post_ephemeral, tier=4),
    "chat.postMessage": _Method(run=api_chat.post_message, tier=4),
    "chat.update": _Method(run=api_chat.update, tier=3),
    "conversations.history": _Method(run=api_conversations.history, tier=3),
    "conversations.info": _Method(run=api_conversations.info, tier=3),
    "conversations.list": _Method(run=api_conversations.list_channels, tier=2),
    "conversations.members": _Method(run=api_conversations.members, tier=4),
    "conversations.open": _Method(run=api_conversations.open_direct, tier=3),
    "conversations.replies": _Method(run=api_conversations.replies, tier=3),
    "files.info": _Method(run=api_directory.files_info, tier=4),
    "reactions.add": _Method(run=api_directory.reactions_add, tier=3),
    "reactions.get": _Method(run=api_directory.reactions_get, tier=3),
    "reactions.remove": _Method(run=api_directory.reactions_remove, tier=2),
    "usergroups.list": _Method(run=api_directory.usergroups_list, tier=2),
    "usergroups.users.list": _Method(run=api_directory.usergroups_users_list, tier=2),
    "users.info": _Method(run=api_directory.users_info, tier=4),
    "views.open": _Method(run=api_directory.views_open, tier=4),
    "views.publish": _Method(run=api_directory.views_publish, tier=4),
    "views.push": _Method(run=api_directory.views_push, tier=4),
    "views.update": _Method(run=api_directory.views_update, tier=4),
}


class WebApi:
    """Answers requests; `calls` is everything that was answered, in order."""

    def __init__(
        self,
        workspace: Workspace,
        surfaces: Surfaces,
        sockets: SocketMode,
        faults: Faults,
        rate_limits: Literal["real", "off"],
    ) -> None:
        self._workspace = workspace
        self._surfaces = surfaces
        self._sockets = sockets
        self._faults = faults
        self._limits = RateLimits() if rate_limits == "real" else None
        self.calls: list[ApiCall] = []

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/api/{method}", self._on_call),
            web.get("/api/{method}", self._on_call),
            web.get("/files-pri/{key}/{name}", self._on_file),
            web.get("/files-pri/{key}/download/{name}", self._on_file),
            web.post("/response/{key}", self._on_response_url),
            web.get("/link", self._sockets.serve),
        ]

    def record(
        self,
        method: str,
        args: Any,
        refusal: RefusedError | None,
        *,
        app: App | None = None,
        is_fault: bool = False,
    ) -> None:
        self.calls.append(
            ApiCall(
                method=method,
                args=as_object(args) or {},
                error=refusal.error if refusal else None,
                details=refusal.details if refusal else (),
                at=self._workspace.now(),
                app_id=app.id if app else None,
                is_fault=is_fault,
            )
        )
        self._workspace.bell.ring()

    async def _on_call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        values = await _arguments(request)
        token = _bearer(request) or str(values.pop("token", ""))
        values.pop("token", None)
        app = self._app(token)
        limited = await self._met_before_work(request, method, values, app)
        if limited is not None:
            return limited
        try:
            answer = self._answer(method, values, token, app)
        except RefusedError as refusal:
            self.record(method, values, refusal, app=app)
            return _refusal(refusal)
        self.record(method, values, None, app=app)
        if self._faults.take("drop_answer", method):
            return _cut(request)
        scopes = ",".join(sorted(app.scopes)) if app else ""
        return web.json_response({"ok": True} | answer, headers={"x-oauth-scopes": scopes})

    async def _met_before_work(
        self, request: web.Request, method: str, values: Json, app: App | None
    ) -> web.Response | None:
        """The answer of a fault or a limit that stands before the work."""
        slow = self._faults.take("slow", method)
        if slow:
            await asyncio.sleep(slow[1])
        seconds = self._faults.retry_after_seconds(method)
        is_fault = seconds is not None
        if seconds is None and self._limits:
            tier = _METHODS[method].tier if method in _METHODS else 0
            channel = str(values.get("channel", ""))
            now = asyncio.get_running_loop().time()
            seconds = self._limits.retry_after_seconds(method, tier, channel, now)
        if seconds is not None:
            refusal = RefusedError("ratelimited")
            self.record(method, values, refusal, app=app, is_fault=is_fault)
            return _refusal(refusal, status=429, headers={"Retry-After": str(seconds)})
        if self._faults.take("server_error", method):
            refusal = RefusedError("service_unavailable")
            self.record(method, values, refusal, app=app, is_fault=True)
            return web.Response(status=503, text="upstream connect error")
        refused = self._faults.take("refuse", method)
        if refused:
            refusal = RefusedError(refused[0])
            self.record(method, values, refusal, app=app, is_fault=True)
            return _refusal(refusal)
        return None

    def _answer(self, method: str, values: Json, token: str, app: App | None) -> Json:
        if method == "apps.connections.open":
            return self._open_connection(token)
        if method not in _METHODS:
            raise RefusedError("unknown_method", req_method=method)
        if not token:
            raise RefusedError("not_authed")
        if app is None:
            raise RefusedError("invalid_auth")
        if token == app.app_token:
            raise RefusedError("not_allowed_token_type")
        return _METHODS[method].run(
            Call(
                method=method,
                args=Args(values),
                app=app,
                workspace=self._workspace,
                surfaces=self._surfaces,
            )
        )

    def _open_connection(self, token: str) -> Json:
        app = self._app(token)
        if not token:
            raise RefusedError("not_authed")
        if app is None:
            raise RefusedError("invalid_auth")
        if token != app.app_token:
            raise RefusedError("not_allowed_token_type")
        base = self._workspace.base_url.replace("http", "ws", 1)
        return {"url": f"{base}/link?ticket={self._sockets.issue_ticket()}&app_id={app.id}"}

    def _app(self, token: str) -> App | None:
        for app in self._workspace.apps.values():
            if token and token in (app.bot_token, app.app_token):
                return app
        return None

    async def _on_file(self, request: web.Request) -> web.StreamResponse:
        """A file's bytes; without the right, a page to sign in, with status 200."""
        app = self._app(_bearer(request))
        file_id = request.match_info["key"].partition("-")[2]
        file = self._workspace.files.get(file_id)
        slow = self._faults.take("slow", "files")
        if slow:
            await asyncio.sleep(slow[1])
        if self._faults.take("server_error", "files"):
            return web.Response(status=503, text="upstream connect error")
        if self._faults.take("drop_answer", "files"):
            return _cut(request)
        if app is None or "files:read" not in app.scopes:
            self.record("files", {"file": file_id}, RefusedError("sign_in_page"), app=app)
            return web.Response(text=SIGN_IN_PAGE, content_type="text/html")
        if file is None:
            return web.Response(status=404, text="not found")
        self.record("files", {"file": file_id}, None, app=app)
        return web.Response(body=file.content, content_type=file.mimetype)

    async def _on_response_url(self, request: web.Request) -> web.StreamResponse:
        content: Json = {}
        if self._faults.take("server_error", "response_url"):
            return web.Response(status=503, text="upstream connect error")
        try:
            content = as_object(await request.json()) or {}
            self.answer_response_url(request.match_info["key"], content)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except RefusedError as refusal:
            self.record("response_url", content, refusal)
            is_gone = refusal.error in ("used_url", "expired_url", "invalid_url")
            return _refusal(refusal, status=404 if is_gone else 400)
        self.record("response_url", content, None)
        if self._faults.take("drop_answer", "response_url"):
            return _cut(request)
        return web.Response(text="ok")

    def answer_response_url(self, key: str, content: Json) -> None:
        """One use of a response_url, from the web or from a command's acknowledgement."""
        url = self._surfaces.use_response_url(key)
        api_chat.answer_response_url(self._workspace, url, content)


async def _arguments(request: web.Request) -> Json:
    values: Json = dict(request.query)
    if request.content_type == "application/json":
        try:
            values |= as_object(json.loads(await request.text())) or {}
        except ValueError:
            return {}
    elif request.method == "POST":
        values |= dict(await request.post())
    return values


def _bearer(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if scheme == "Bearer" else ""


def _refusal(
    refusal: RefusedError, *, status: int = 200, headers: dict[str, str] | None = None
) -> web.Response:
    body: Json = {"ok": False, "error": refusal.error} | refusal.extra
    if refusal.details:
        body["response_metadata"] = {"messages": list(refusal.details)}
        if refusal.error == "invalid_blocks":
            body["errors"] = list(refusal.details)
    return web.json_response(body, status=status, headers=headers)


def _cut(request: web.Request) -> web.Response:
    """Cuts the connection: the caller never learns what became of the call."""
    if request.transport:
        request.transport.abort()
    return web.Response()
