"""Takes the pictures of the documents: `python -m tests.browser.screenshots FOLDER`.

The story of the damaged speaker is played on the page as a visitor plays it, and each telling
moment becomes a PNG in the folder. It's no test: it uses the tests' browser and their `Desk`.
"""

from __future__ import annotations

import asyncio
import io
import re
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Locator, Page, ViewportSize, async_playwright, expect

from bot.local.stories.photos import cracked_speaker
from bot.local.workspace.serving import serving
from bot.settings import load_settings
from tests.browser.conftest import CHROMIUMS, SWITCHES
from tests.browser.desk import CASES, Desk

NO_CHROMIUM = """\
No Chromium on this machine, so there is nothing to take pictures with.
On Debian or Ubuntu: apt-get install chromium; elsewhere any Chrome will do."""

SPEECH_BALLOON = "💬"

WIDE = ViewportSize(width=1400, height=880)
NARROW = ViewportSize(width=390, height=780)
TALL = ViewportSize(width=1400, height=1600)

PATIENCE_MS = 60_000
"""The bot is killed six times on the way, and each start of it takes seconds."""


class Camera:
    """Opens pages, and writes what they show into the folder."""

    def __init__(self, browser: Browser, address: str, folder: Path) -> None:
        self._browser = browser
        self._address = address
        self._folder = folder

    async def desk(self, size: ViewportSize, *, dark: bool = False) -> Desk:
        """A page as of a browser that was never here."""
        context = await self._browser.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(PATIENCE_MS)
        return Desk(await context.new_page(), self._address)

    async def take(self, name: str, shown: Page | Locator) -> None:
        page = shown if isinstance(shown, Page) else shown.page
        # What has the focus or the mouse on it would look chosen.
        await page.mouse.move(0, 0)
        await page.evaluate("document.activeElement.blur()")
        picture = Image.open(io.BytesIO(await shown.screenshot()))
        few_colours = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE)
        few_colours.save(self._folder / f"{name}.png", optimize=True)


async def take_all(camera: Camera) -> None:
    """Plays the story as a visitor does, from the first page to the end."""
    desk = await camera.desk(WIDE)
    page, thread = desk.page, desk.thread
    await desk.open()
    await page.get_by_role("button", name="Play it").click()
    story = page.get_by_role("region", name="Story")
    go_on = story.get_by_role("button", name=re.compile("^Next"))

    await go_on.click()
    await expect(story).to_contain_text("chooses Asha Rao")
    await go_on.click()
    await expect(story).to_contain_text("Here you go")
    await expect(desk.message("Question for the customer", within=thread)).to_be_visible()
    await expect(thread).to_contain_text(SPEECH_BALLOON)
    await camera.take("thread", page)
    root = page.url.rpartition("/")[2]

    await go_on.click()
    await expect(story).to_contain_text("Priya Menon")
    await desk.be("Priya Menon")
    await desk.rail.get_by_role("button", name="approvals").click()
    await thread.get_by_role("button", name="Close the thread").click()
    await expect(desk.message("₹2,499.00 to Asha Rao")).to_be_visible()
    await camera.take("approval", page)

    await go_on.click()
    await expect(story).to_contain_text("The end.")
    await story.get_by_role("button", name="Close").click()
    await desk.be("Ravi Kumar")
    await desk.open_thread(CASES, root)
    await expect(desk.message("Reply to pass to the customer", within=thread)).to_be_visible()
    await desk.run.get_by_role("button", name="Step 4").click()
    await expect(page.get_by_role("region", name="Reply")).to_be_visible()
    await camera.take("model-call", page)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Trouble").click()
    await expect(page.get_by_role("dialog", name="Trouble")).to_be_visible()
    await camera.take("trouble", page)
    await page.get_by_role("button", name="Trouble").click()
    await page.set_viewport_size(TALL)
    await expect(desk.run.get_by_role("button", name="Step 5")).to_be_visible()
    await camera.take("run", desk.run)

    for name, other in (
        ("dark", await camera.desk(WIDE, dark=True)),
        ("narrow", await camera.desk(NARROW)),
    ):
        await other.open_thread(CASES, root)
        await other.page.get_by_role("button", name="Close", exact=True).click()
        await expect(other.thread.get_by_role("img", name="cracked-speaker.png")).to_be_visible()
        await other.message("Reply to pass", within=other.thread).scroll_into_view_if_needed()
        await camera.take(name, other.page)
    await take_new_case(camera)


async def take_new_case(camera: Camera) -> None:
    """The command's modal, filled, and Home of a lead for whom a request waits."""
    desk = await camera.desk(WIDE)
    await desk.open()
    await desk.until_bot_is_up()
    await desk.page.get_by_role("button", name="Close", exact=True).click()
    await desk.composer.fill("/case")
    await desk.composer.press("Enter")
    modal = desk.page.get_by_role("dialog", name="New case")
    await modal.get_by_role("combobox", name="Customer").fill("Asha")
    await desk.page.get_by_role("option", name="Asha Rao").click()
    words = "My speaker arrived cracked, order 4471. My money back, please."
    await modal.get_by_role("textbox", name="The customer's words").fill(words)
    photo = cracked_speaker()
    shown = {"name": photo.name, "mimeType": "image/png", "buffer": photo.content}
    await modal.get_by_label("Photos").set_input_files([shown])  # type: ignore[list-item]
    preview = modal.get_by_role("listitem").locator("img")
    await expect(preview).to_have_js_property("naturalWidth", 640)
    await camera.take("new-case", desk.page)
    await modal.get_by_role("button", name="Cancel").click()

    words = "I changed my mind about everything in order 4480, all unused. Refund, please. Asha"
    await desk.open_case(words, "Asha Rao")
    await desk.until_asked_for_approval("4480")
    await desk.be("Priya Menon")
    await desk.rail.get_by_role("button", name="Casethread Home").click()
    await expect(desk.place).to_contain_text("Refund")
    await camera.take("home", desk.page)


async def main(folder: Path) -> None:
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        sys.exit(NO_CHROMIUM)
    expect.set_options(timeout=PATIENCE_MS)
    with tempfile.TemporaryDirectory() as state:
        settings = load_settings(env={}, env_file=None)
        async with (
            serving(settings, port=0, fresh=True, folder=Path(state)) as address,
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(executable_path=chromium, args=SWITCHES)
            await take_all(Camera(browser, address, folder))
            await browser.close()


if __name__ == "__main__":
    pictures = Path(sys.argv[1])
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
