"""A local workspace at work, and a client that speaks to it as the page does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import aiohttp
from aiohttp import web

from bot.local.slack.seed import APPROVALS, PRIYA, RAVI, SUPPORT_CASES
from bot.local.workspace.folder import StateFolder
from bot.local.workspace.serving import serving
from bot.local.workspace.web import PageServer
from bot.local.workspace.world import World, open_world
from bot.settings import Settings, load_settings

Json = dict[str, Any]
Found = TypeVar("Found")

WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.05


@contextlib.asynccontextmanager
async def page(
    folder: Path, *, fresh: bool = False, env: Mapping[str, str] | None = None
) -> AsyncGenerator[Page]:
    """A page on a workspace that is kept in the folder; the bot may still be starting."""
    settings: Settings = load_settings(env=env or {}, env_file=None)
    async with (
        serving(settings, port=0, fresh=fresh, folder=folder) as url,
        aiohttp.ClientSession() as session,
    ):
        yield Page(url, session)


@contextlib.asynccontextmanager
async def page_without_bot(folder: Path) -> AsyncGenerator[tuple[Page, World]]:
    """A page on a workspace whose bot is down, and the workspace itself."""
    state = StateFolder(folder)
    state.open(fresh=False)
    async with contextlib.AsyncExitStack() as parts:
        parts.callback(state.close)
        settings = load_settings(env={}, env_file=None)
        world = await parts.enter_async_context(open_world(settings, state))
        server = PageServer(world=lambda: world, begin_anew=_never)
        runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        parts.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        session = await parts.enter_async_context(aiohttp.ClientSession())
        yield Page(f"http://127.0.0.1:{runner.addresses[0][1]}", session), world


async def _never() -> None:
    raise AssertionError("nobody begins anew here")


class Page:
    """What the page does: asks, acts as somebody, and waits until something shows."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session

    # Asking

    async def get(self, path: str) -> Json:
        """The answer of a GET that goes well."""
        async with self.session.get(self.url + path) as response:
            body: Json = await response.json()
            assert response.status == 200, body
            return body

    async def refused(self, method: str, path: str, body: Any = None) -> tuple[int, Json]:
        """Status and answer of a request that is turned away."""
        headers = {"Origin": self.url}
        async with self.session.request(
            method, self.url + path, json=body, headers=headers
        ) as response:
            assert response.status >= 400, await response.text()
            return response.status, await response.json()

    async def post(self, path: str, body: Any = None) -> Json:
        headers = {"Origin": self.url}
        async with self.session.post(self.url + path, json=body, headers=headers) as response:
            answer: Json = await response.json()
            assert response.status == 200, answer
            return answer

    async def act(self, user: str, kind: str, **fields: Any) -> Json:
        """The answer, whether it is ok or not."""
        return await self.post("/api/act", {"as": user, "kind": kind, **fields})

    async def did(self, user: str, kind: str, **fields: Any) -> Json:
        """The answer of an act that must go well."""
        answer = await self.act(user, kind, **fields)
        assert answer["ok"], answer
        return answer

    async def until(
        self, path: str, look: Callable[[Json], Found | None], seconds: float = 0
    ) -> Found:
        """Ask again until `look` finds something in the answer."""
        seen: Json = {}
        try:
            async with asyncio.timeout(seconds or WAIT_SECONDS):
                while True:
                    seen = await self.get(path)
                    found = look(seen)
                    if found:
                        return found
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"{path} never showed it; at last: {seen}") from None

    @contextlib.asynccontextmanager
    async def live(self, user: str) -> AsyncGenerator[Live]:
        """The page's socket."""
        url = f"{self.url}/api/live?as={user}"
        async with self.session.ws_connect(url, headers={"Origin": self.url}) as socket:
            yield Live(socket, await socket.receive_json(timeout=WAIT_SECONDS))

    # Whole deeds

    async def bot_is(self, state: str) -> Json:
        """Wait for the bot's process to be in that state; /api/trouble."""
        return await self.until(
            "/api/trouble", lambda seen: seen if seen["bot"]["state"] == state else None
        )

    async def trouble(self, kind: str) -> Json:
        return (await self.post(f"/api/trouble/{kind}", {}))["trouble"]

    async def case(self, words: str, customer: str, user: str = RAVI) -> str:
        """Post a customer's words and choose whose they are; the thread's ts."""
        posted = await self.did(user, "post", channel=SUPPORT_CASES, text=words)
        ts: str = posted["message"]["ts"]
        picker = await self.shown(ts, "Whose case is this?")
        block, element = element_of(picker, "external_select")
        place = {"channel": SUPPORT_CASES, "ts": picker["ts"]}
        ids = {"place": place, "block_id": block["block_id"], "action_id": element["action_id"]}
        offered = await self.did(user, "options", **ids, query=customer.split()[0])
        option = next(
            each for each in offered["options"] if each["text"]["text"].startswith(customer)
        )
        await self.did(user, "choose", **ids, option=option)
        return ts

    async def shown(self, ts: str, text: str, user: str = RAVI) -> Json:
        """The newest message in the thread that has this text, once it is there."""
        return await self.until(
            f"/api/thread/{SUPPORT_CASES}/{ts}?as={user}", lambda seen: newest(seen, text)
        )

    async def card(self, text: str, user: str = PRIYA) -> Json:
        """The newest message in the approvals channel that has this text."""
        return await self.until(
            f"/api/channel/{APPROVALS}?as={user}", lambda seen: newest(seen, text)
        )

    async def click(self, user: str, message: Json, text: str) -> Json:
        """Press the button with that text, as it is in this version of the message."""
        block, element = button_of(message["blocks"], text)
        return await self.act(
            user,
            "click",
            place={"channel": message["channel"], "ts": message["ts"]},
            block_id=block["block_id"],
            action_id=element["action_id"],
            element=element,
        )

    async def status(self, ts: str, status: str) -> Json:
        """Wait for the thread's newest run to have this status; /api/case."""

        def look(seen: Json) -> Json | None:
            return seen if seen["live"]["status"] == status else None

        return await self.until(f"/api/case/{SUPPORT_CASES}/{ts}", look)


class Live:
    """One socket; `hello` is what it said first."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, hello: Json) -> None:
        self.hello = hello
        self._socket = socket

    async def until(self, *wanted: Json) -> list[Json]:
        """All changes that were told until the wanted ones were among them."""
        seen: list[Json] = []
        async with asyncio.timeout(WAIT_SECONDS):
            while not all(each in seen for each in wanted):
                notice = await self._socket.receive_json()
                seen += notice["changes"]
        return seen

    async def closed(self) -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            async for _ in self._socket:
                continue

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()


async def turn(page: Page, *states: str) -> Json:
    """Wait until the story that is played is in one of these states; what is played."""
    wanted = states or ("waiting",)
    return await page.until(
        "/api/stories",
        lambda seen: seen["playing"] if seen["playing"]["state"] in wanted else None,
    )


async def begin(page: Page, story: str, turns: int) -> Json:
    """Let a story's people act so many times, then stop it at the next turn; what was played."""

    await page.post(f"/api/stories/{story}/start", {})
    for _ in range(turns):
        await turn(page)
        await page.post(f"/api/stories/{story}/next", {})
    await turn(page)
    return (await page.post(f"/api/stories/{story}/stop", {}))["playing"]


async def play(page: Page, story: str) -> Json:
    """Play a story to its end; what was played."""
    await page.post(f"/api/stories/{story}/start", {})
    while True:
        playing = await turn(page, "waiting", "done", "failed")
        if playing["state"] != "waiting":
            return playing
        await page.post(f"/api/stories/{story}/next", {})


async def holds(look: Callable[[], object]) -> None:
    """Wait until it is true."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if look():
                return
            await asyncio.sleep(LOOK_SECONDS)


def newest(seen: Json, text: str) -> Json | None:
    found = [each for each in seen["messages"] if text in each["text"]]
    return found[-1] if found else None


def button_of(blocks: list[Json], text: str) -> tuple[Json, Json]:
    for block in blocks:
        for element in block.get("elements", ()) if block["type"] == "actions" else ():
            if element["type"] == "button" and element["text"]["text"] == text:
                return block, element
    raise LookupError(f"no button {text!r}")


def element_of(message: Json, kind: str) -> tuple[Json, Json]:
    for block in message["blocks"]:
        inner = [*block.get("elements", ()), block.get("accessory", {})]
        for element in inner:
            if element.get("type") == kind:
                return block, element
    raise LookupError(f"no {kind}")
