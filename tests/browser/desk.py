"""One person's page in a browser, and what a test does and reads there."""

from __future__ import annotations

import asyncio
import io
import json
import re
from importlib.resources import files
from typing import Any

import aiohttp
from PIL import Image
from playwright.async_api import APIResponse, Locator, Page, expect

Json = dict[str, Any]

RAVI, PRIYA, OMAR, SAM = "U0RAVI0001", "U0PRIYA001", "U0OMAR0001", "U0SAM00001"
CASES, APPROVALS = "C0SUPPORT1", "C0APPROVAL"

WAIT_MS = 20_000
"""How long anything may take that the bot has a part in."""


def photo(height: int = 240) -> Json:
    """A picture as Playwright attaches one."""
    picture = io.BytesIO()
    Image.new("RGB", (320, height), "#45536b").save(picture, "PNG")
    return {"name": "broken.png", "mimeType": "image/png", "buffer": picture.getvalue()}


class Desk:
    """A page. `problems` are errors of its scripts and whatever it asked from elsewhere."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self._check_host(request.url))
        page.on("console", lambda said: self._check_console(said.type, said.text))

    def _check_host(self, url: str) -> None:
        if not url.startswith((self.address, self.address.replace("http", "ws"), "blob:", "data:")):
            self.problems.append(f"asked from elsewhere: {url}")

    def _check_console(self, kind: str, text: str) -> None:
        # What the server refuses on purpose stands in the console as well.
        if kind == "error" and "Failed to load resource" not in text:
            self.problems.append(text)

    # Where things are

    @property
    def rail(self) -> Locator:
        return self.page.get_by_role("navigation", name="Workspace")

    @property
    def place(self) -> Locator:
        return self.page.locator("#place")

    @property
    def thread(self) -> Locator:
        return self.page.get_by_role("region", name="Thread")

    @property
    def run(self) -> Locator:
        return self.page.get_by_role("region", name="Run", exact=True)

    @property
    def composer(self) -> Locator:
        return self.place.get_by_role("textbox", name=re.compile("^Message"))

    async def go_to(self, channel: str) -> None:
        """Open a channel, and wait until what is typed goes there."""
        await self.rail.get_by_role("button", name=channel).click()
        await expect(self.composer).to_have_accessible_name(re.compile(channel))
        await expect(self.composer).to_be_editable()

    @property
    def reply_field(self) -> Locator:
        return self.thread.get_by_role("textbox", name="Reply …")

    def message(self, words: str, *, within: Locator | None = None) -> Locator:
        return (within or self.place).get_by_role("article").filter(has_text=words)

    async def until_bot_is_up(self) -> None:
        """Messages wait for a bot that is still starting; clicks and commands don't."""
        trouble = self.page.get_by_role("button", name="Trouble. The bot is up")
        await expect(trouble).to_be_visible()

    # Going somewhere

    async def open(self, path: str = "/") -> None:
        await self.page.goto(self.address + path)
        await expect(self.page.get_by_role("banner")).to_be_visible()

    async def open_thread(self, channel: str, ts: str) -> None:
        await self.open(f"/#{channel}/{channel}/{ts}")
        await expect(self.thread.get_by_role("article").first).to_be_visible()

    async def be(self, name: str) -> None:
        """By keyboard: open the menu of people, go to the one, choose."""
        await self.rail.get_by_role("button", name="You are").focus()
        await self.page.keyboard.press("Enter")
        wanted = self.page.get_by_role("menuitemradio", name=name)
        await expect(self.page.get_by_role("menu", name="Who am I?")).to_be_visible()
        for _ in range(7):
            if await wanted.evaluate("item => item === document.activeElement"):
                break
            await self.page.keyboard.press("ArrowDown")
        await self.page.keyboard.press("Enter")
        await expect(self.rail.get_by_role("button", name=f"You are {name}")).to_be_visible()

    async def findings(self) -> list[str]:
        """What axe finds serious or worse on the page as it is now."""
        axe = files("axe_playwright_python") / "axe.min.js"
        await self.page.evaluate(axe.read_text(encoding="utf-8"))
        results = await self.page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            f"{found['id']}: {found['nodes'][0]['html']}"
            for found in results["violations"]
            if found["impact"] in ("serious", "critical")
        ]

    # The workspace's own API, to set a test's scene

    async def get(self, path: str) -> Any:
        return await _json(await self.page.request.get(self.address + path))

    async def post(self, path: str, body: Json) -> Any:
        sent = await self.page.request.post(
            self.address + path, data=json.dumps(body), headers=self._headers
        )
        return await _json(sent)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", "Origin": self.address}

    async def act(self, by: str, kind: str, **fields: Any) -> Json:
        answer: Json = await self.post("/api/act", {"as": by, "kind": kind, **fields})
        assert answer["ok"], answer
        return answer

    async def open_case(self, words: str, customer: str) -> str:
        """Ravi relays a customer's words and chooses whose case it is; the thread's ts."""
        posted = await self.act(RAVI, "post", channel=CASES, text=words)
        ts: str = posted["message"]["ts"]
        picker = await self.until_in_thread(ts, "external_select")
        block = next(each for each in picker["blocks"] if each["type"] == "actions")
        where = {
            "place": {"channel": CASES, "ts": picker["ts"]},
            "block_id": block["block_id"],
            "action_id": block["elements"][0]["action_id"],
        }
        found = await self.act(RAVI, "options", query=customer, **where)
        await self.act(RAVI, "choose", option=found["options"][0], **where)
        return ts

    async def until_in_thread(self, ts: str, words: str) -> Json:
        """The message of the case's thread that holds the words, in its text or its blocks."""
        return await self._until(f"/api/thread/{CASES}/{ts}", RAVI, words)

    async def until_asked_for_approval(self, words: str) -> Json:
        return await self._until(f"/api/channel/{APPROVALS}", PRIYA, words)

    async def _until(self, path: str, who: str, words: str) -> Json:
        """Looks again whenever the server tells that person's page of a change."""
        live = f"{self.address}/api/live?as={who}"
        async with (
            asyncio.timeout(WAIT_MS / 1000),
            aiohttp.ClientSession(headers={"Origin": self.address}) as session,
            session.ws_connect(live) as notices,
        ):
            while True:
                shown = await self.get(f"{path}?as={who}")
                for message in reversed(shown["messages"]):
                    if words in json.dumps(message, ensure_ascii=False):
                        return message
                await notices.receive_json()


async def _json(response: APIResponse) -> Any:
    assert response.ok, f"{response.status} {await response.text()}"
    return await response.json()
