"""The page's server: routes, who may ask, and how errors are told. What an answer holds is made by
the parts of the world."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import ValidationError

import bot.local
from agent.errors import ConfigurationError, StoreError
from bot.local.slack.seed import SUPPORT_CASES
from bot.local.slack.workspace import Json
from bot.local.workspace.people import people_json
from bot.local.workspace.refusals import (
    NeedsFreshError,
    NotHereError,
    NotNowError,
    NotYoursError,
)
from bot.local.workspace.requests import MarkRead, read_act
from bot.local.workspace.world import World
from bot.thread import Thread

PAGE = Path(bot.local.__file__).parent / "page"
MAX_BODY_BYTES = 48 * 1024 * 1024
MOST_MESSAGES = 200
SEED_STORY = "seed"
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
# What a browser may show as it is; everything else that people upload is only ever saved.
_SHOWN_INLINE = ("image/png", "image/jpeg", "image/gif", "image/webp")
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; script-src 'self';"
    " object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-cache",
}

Code = Literal["bad_request", "not_found", "forbidden", "conflict", "needs_fresh"]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageServer:
    """Answers for the world that `world` gives at the moment; `begin_anew` empties it and puts
    another in its place."""

    def __init__(
        self, *, world: Callable[[], World], begin_anew: Callable[[], Awaitable[None]]
    ) -> None:
        self._current = world
        self._begin_anew = begin_anew

    def application(self) -> web.Application:
        application = web.Application(
            client_max_size=MAX_BODY_BYTES,
            middlewares=[_only_from_here, _telling_errors, self._comparing],
        )
        application.on_response_prepare.append(_add_headers)
        application.on_shutdown.append(self._hang_up)
        application.add_routes(
            [
                web.get("/", self._page),
                web.get("/archives/{channel}/{message}", self._page),
                web.get("/static/{path:.+}", self._static),
                web.get("/api/me", self._me),
                web.get("/api/workspace", self._workspace),
                web.get("/api/channel/{channel}", self._channel),
                web.get("/api/thread/{channel}/{ts}", self._thread),
                web.get("/api/file/{file}/{name}", self._file),
                web.get("/api/home", self._home),
                web.get("/api/modal", self._modal),
                web.post("/api/act", self._act),
                web.get("/api/live", self._live),
                web.get("/api/cases", self._cases),
                web.get("/api/case/{channel}/{ts}", self._case),
                web.get("/api/exchange/{request_id}", self._exchange),
                web.get("/api/image/{digest}", self._image),
                web.get("/api/trouble", self._trouble),
                web.post("/api/trouble/{kind}", self._make_trouble),
                web.post("/api/fresh", self._fresh),
                web.get("/api/stories", self._stories),
                web.post("/api/stories/{name}/{step:start|next|stop}", self._story_step),
            ]
        )
        return application

    async def _hang_up(self, _: web.Application) -> None:
        with contextlib.suppress(NotNowError):
            await self._world.changes.close()

    @property
    def _world(self) -> World:
        return self._current()

    # The page itself

    async def _page(self, _: web.Request) -> web.StreamResponse:
        return web.FileResponse(PAGE / "index.html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        path = (PAGE / request.match_info["path"]).resolve()
        if not path.is_relative_to(PAGE.resolve()) or not path.is_file():
            raise NotHereError("There is no such file.")
        return web.FileResponse(path)

    # What a person sees

    async def _me(self, _: web.Request) -> web.Response:
        world = self._world
        return web.json_response(
            {
                "people": people_json(world.slack.workspace),
                "claude": {
                    "kind": "real" if world.claude is None else "stand-in",
                    "model": world.settings.model,
                },
                "first_visit": world.is_untouched,
                "seed_story": SEED_STORY,
                "home_channel": SUPPORT_CASES,
            }
        )

    async def _workspace(self, request: web.Request) -> web.Response:
        return web.json_response(self._world.reader.workspace(self._viewer(request)))

    async def _channel(self, request: web.Request) -> web.Response:
        limit = request.query.get("limit", "50")
        if not limit.isdecimal() or not 1 <= int(limit) <= MOST_MESSAGES:
            raise ValueError(f"limit must be between 1 and {MOST_MESSAGES}")
        found = self._world.reader.channel(
            request.match_info["channel"],
            self._viewer(request),
            before=request.query.get("before"),
            limit=int(limit),
        )
        return web.json_response(found)

    async def _thread(self, request: web.Request) -> web.Response:
        info = request.match_info
        found = self._world.reader.thread(info["channel"], info["ts"], self._viewer(request))
        return web.json_response(found)

    async def _file(self, request: web.Request) -> web.Response:
        file = self._world.slack.workspace.files.get(request.match_info["file"])
        if file is None:
            raise NotHereError("There is no such file.")
        inline = file.mimetype in _SHOWN_INLINE
        return _bytes(file.content, file.mimetype if inline else "application/octet-stream")

    async def _home(self, request: web.Request) -> web.Response:
        return web.json_response(self._world.reader.home(self._viewer(request)))

    async def _modal(self, request: web.Request) -> web.Response:
        return web.json_response(self._world.reader.modal(self._viewer(request)))

    async def _act(self, request: web.Request) -> web.Response:
        act = read_act(await request.read())
        world = self._world
        done = await world.hands.do(act)
        if isinstance(act, MarkRead):
            world.changes.poke("workspace", act.by)
            world.changes.poke_channel(act.channel, act.thread_ts, act.by)
        return web.json_response(done)

    async def _live(self, request: web.Request) -> web.StreamResponse:
        return await self._world.changes.serve(request, self._viewer(request))

    # The run beside the thread

    async def _cases(self, _: web.Request) -> web.Response:
        return web.json_response(await self._world.inspector.cases())

    async def _case(self, request: web.Request) -> web.Response:
        world, info = self._world, request.match_info
        team = world.slack.workspace.team.id
        thread = Thread(team=team, channel=info["channel"], ts=info["ts"])
        return web.json_response(await world.inspector.case(thread.case_id))

    async def _exchange(self, request: web.Request) -> web.Response:
        found = await self._world.inspector.exchange(request.match_info["request_id"])
        return web.json_response(found)

    async def _image(self, request: web.Request) -> web.Response:
        content = await self._world.inspector.image(request.match_info["digest"])
        return _bytes(content, _image_type(content))

    # Trouble and stories

    async def _trouble(self, _: web.Request) -> web.Response:
        return web.json_response(self._world.troubles.as_json())

    async def _make_trouble(self, request: web.Request) -> web.Response:
        troubles = self._world.troubles
        await troubles.make(request.match_info["kind"])
        return web.json_response({"ok": True, "trouble": troubles.as_json()})

    async def _fresh(self, _: web.Request) -> web.Response:
        await self._begin_anew()
        return web.json_response({"ok": True})

    async def _stories(self, _: web.Request) -> web.Response:
        return web.json_response(self._world.player.as_json())

    async def _story_step(self, request: web.Request) -> web.Response:
        player, name = self._world.player, request.match_info["name"]
        match request.match_info["step"]:
            case "start":
                await player.start(name)
            case "next":
                await player.next(name)
            case _:
                await player.stop(name)
        return web.json_response({"ok": True} | player.as_json())

    # Inside

    @web.middleware
    async def _comparing(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method == "GET" and request.path.startswith("/api/"):
            self._world.changes.compare()
        return await handler(request)

    def _viewer(self, request: web.Request) -> str:
        """Whose eyes it is seen with."""
        user = self._world.slack.workspace.users.get(request.query.get("as", ""))
        if user is None or user.is_bot:
            raise ValueError("`as` must be the id of a person here")
        return user.id


@web.middleware
async def _only_from_here(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Serve this machine's own page alone: a name that was bound to this address by somebody else
    (DNS rebinding) and another site's page in the same browser are turned away."""
    if not _is_local(f"//{request.host}", request):
        return _error("forbidden", "This page is served to localhost only.")
    origin = request.headers.get("Origin")
    must_have = request.method != "GET" or "Upgrade" in request.headers
    if (must_have or origin is not None) and origin != f"http://{request.host}":
        return _error("forbidden", "This was asked for by another page than ours.")
    return await handler(request)


def _is_local(address: str, request: web.Request) -> bool:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    bound = request.transport.get_extra_info("sockname") if request.transport else None
    return parts.hostname in _LOCAL_NAMES and (bound is None or port in (None, bound[1]))


@web.middleware
async def _telling_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except NeedsFreshError as error:
        return _error("needs_fresh", str(error))
    except NotNowError as error:
        return _error("conflict", str(error))
    except NotYoursError as error:
        return _error("forbidden", str(error))
    except NotHereError as error:
        return _error("not_found", str(error))
    except (ConfigurationError, StoreError) as error:
        return _error("conflict", str(error))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        return _error("bad_request", f"{place}: {first['msg']}")
    except ValueError as error:
        return _error("bad_request", str(error))


_STATUS: dict[Code, int] = {
    "bad_request": 400,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "needs_fresh": 409,
}


def _error(code: Code, words: str) -> web.Response:
    body: Json = {"ok": False, "error": words, "code": code}
    return web.Response(
        status=_STATUS[code], text=json.dumps(body), content_type="application/json"
    )


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _bytes(content: bytes, content_type: str) -> web.Response:
    """What somebody uploaded: never run, whatever it says it is."""
    shown = "inline" if content_type in _SHOWN_INLINE else "attachment"
    headers = {
        "Content-Disposition": shown,
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return web.Response(body=content, content_type=content_type, headers=headers)


def _image_type(content: bytes) -> str:
    """By its first bytes; photos are kept as the model takes them."""
    for start, kind in (
        (b"\x89PNG", "image/png"),
        (b"\xff\xd8", "image/jpeg"),
        (b"GIF8", "image/gif"),
    ):
        if content.startswith(start):
            return kind
    return "image/webp" if content[8:12] == b"WEBP" else "application/octet-stream"
