"""A local workspace, a browser, and a page of it for each test."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize, async_playwright, expect

from tests.browser.desk import CASES, RAVI, WAIT_MS, Desk, photo

REPOSITORY = Path(__file__).parents[2]
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

NewDesk = Callable[..., Awaitable[Desk]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a machine that is busy may be too slow once: such a test is tried a second
    time, and the report says so. Tests that share a workspace share a process, too, for there is
    one in each process."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))
            lone = "lone_workspace" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("lone workspace" if lone else "workspace"))


@pytest.fixture(scope="session")
def chromium() -> str:
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip(
            "No Chromium on this machine, so the page isn't tested in a browser. "
            "On Debian or Ubuntu: apt-get install chromium; elsewhere any Chrome will do."
        )
    return found


@asynccontextmanager
async def local_workspace(folder: Path) -> AsyncGenerator[str]:
    """A local workspace in a process of its own; its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.browser.serve",
        str(folder),
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    told = b""
    async with asyncio.timeout(50):
        while not (address := re.search(rb"http://127\.0\.0\.1:\d+", told)):
            line = await process.stdout.readline()
            assert line, told
            told += line
    try:
        yield address[0].decode()
    finally:
        process.terminate()
        await process.communicate()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def workspace(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    """Shared by all tests: none may leave the bot down, a fault on or the clock ahead."""
    async with local_workspace(tmp_path_factory.mktemp("workspace") / "state") as address:
        yield address


@dataclass
class Spare:
    """A workspace that one test after the other has to itself."""

    address: str
    used: bool = False


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def spare(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Spare]:
    async with local_workspace(tmp_path_factory.mktemp("spare") / "state") as address:
        yield Spare(address=address)


@pytest_asyncio.fixture(loop_scope="session")
async def lone_workspace(spare: Spare) -> str:
    """For a test that changes it for good: begun anew where another one had it before."""
    if spare.used:
        async with (
            aiohttp.ClientSession(headers={"Origin": spare.address}) as session,
            session.post(f"{spare.address}/api/fresh", json={}) as answer,
        ):
            assert answer.ok, await answer.text()
    spare.used = True
    return spare.address


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: str) -> AsyncGenerator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def new_desk(browser: Browser, workspace: str) -> AsyncGenerator[NewDesk]:
    """Makes pages, each as of a browser that was never here. None may have had a problem."""
    desks: list[Desk] = []

    async def make(
        width: int = 1440,
        height: int = 900,
        theme: str = "light",
        address: str = workspace,
        touch: bool = False,
    ) -> Desk:
        context = await browser.new_context(
            viewport=ViewportSize(width=width, height=height),
            color_scheme="dark" if theme == "dark" else "light",
            has_touch=touch,
            is_mobile=touch,
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(WAIT_MS)
        desk = Desk(await context.new_page(), address)
        desks.append(desk)
        return desk

    yield make
    problems = [problem for desk in desks for problem in desk.problems]
    for desk in desks:
        await desk.page.context.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def desk(new_desk: NewDesk) -> Desk:
    desk = await new_desk()
    await desk.open()
    return desk


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def laptop_case(browser: Browser, workspace: str) -> AsyncGenerator[str]:
    """A case whose card stays open for all tests; the thread's ts."""
    context = await browser.new_context()
    desk = Desk(await context.new_page(), workspace)
    words = "The screen of my laptop arrived cracked, order 6203. I want my money back. Meera"
    ts = await desk.open_case(words, "Meera Iyer")
    await desk.until_in_thread(ts, "Question for the customer")
    picture = photo()
    content = base64.b64encode(picture["buffer"]).decode()
    await desk.act(
        RAVI,
        "post",
        channel=CASES,
        thread_ts=ts,
        text="Here is the photo.",
        files=[{"name": picture["name"], "content_base64": content}],
    )
    await desk.until_asked_for_approval("₹1,49,900.00 to Meera Iyer")
    yield ts
    await context.close()
