"""Whether everybody can use the page: axe on all of it, wide and narrow, light and dark."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.async_api import expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import CASES, OMAR, Desk

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024, 1440])
async def test_axe_finds_nothing_serious(
    new_desk: NewDesk, laptop_case: str, width: int, theme: str
) -> None:
    desk = await new_desk(width=width, theme=theme)
    if width < 760:  # wider ones show the channel beside the thread
        await desk.open()
        await expect(desk.message("The screen of my laptop")).to_be_visible()
        assert await desk.findings() == []

    await desk.open_thread(CASES, laptop_case)
    await expect(desk.message("Question for the customer", within=desk.thread)).to_be_visible()
    assert await desk.findings() == []

    over = desk.thread.get_by_role("button", name="Run")
    if width < 1360:
        await over.click()
    await desk.run.get_by_role("button", name="Step 3").click()
    await expect(desk.page.get_by_role("dialog", name="Call 3 of 3")).to_be_visible()
    await expect(desk.page.get_by_role("region", name="Reply")).to_be_visible()
    assert await desk.findings() == []

    await desk.page.keyboard.press("Escape")
    await desk.page.get_by_role("button", name="Trouble").click()
    await expect(desk.page.get_by_role("dialog", name="Trouble")).to_be_visible()
    assert await desk.findings() == []


async def test_axe_finds_nothing_serious_in_a_modal_and_an_open_search(
    desk: Desk, laptop_case: str
) -> None:
    await desk.be("Priya Menon")
    await desk.rail.get_by_role("button", name="approvals").click()
    await desk.message("₹1,49,900.00 to").get_by_role("button", name="Change amount").click()
    modal = desk.page.get_by_role("dialog", name="Approve less")
    await modal.get_by_role("textbox", name="Amount in rupees").press("Enter")
    await expect(modal.get_by_role("alert")).to_be_visible()
    assert await desk.findings() == []
    await desk.page.keyboard.press("Escape")
    await expect(modal).not_to_be_attached()

    await desk.be("Ravi Kumar")
    await desk.rail.get_by_role("button", name="support-cases").click()
    await desk.composer.fill("A search that is open")
    await desk.composer.press("Enter")
    await desk.message("A search that is open").press("Enter")
    await desk.thread.get_by_role("combobox").press("ArrowDown")
    await expect(desk.page.get_by_role("option").first).to_be_visible()
    assert await desk.findings() == []


async def test_a_narrow_screen_shows_one_pane_at_a_time_with_a_way_back(
    new_desk: NewDesk, laptop_case: str
) -> None:
    desk = await new_desk(width=390, height=844)
    await desk.open_thread(CASES, laptop_case)
    await expect(desk.place).not_to_be_visible()
    await desk.thread.get_by_role("button", name="Run").click()
    await expect(desk.run).to_be_visible()
    await expect(desk.thread).not_to_be_visible()
    await desk.run.get_by_role("button", name="Back", exact=True).click()
    await desk.thread.get_by_role("button", name="Back to the channel").click()
    await expect(desk.place).to_be_visible()
    await desk.place.get_by_role("button", name="Back to the channels").click()
    await expect(desk.rail).to_be_visible()
    await desk.rail.get_by_role("button", name="random").click()
    await expect(desk.composer).to_be_visible()
    wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not await desk.page.evaluate(wider)


async def test_the_colours_follow_the_system_until_one_chooses_and_are_remembered(
    new_desk: NewDesk,
) -> None:
    desk = await new_desk(theme="dark")
    await desk.open()
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = await desk.page.evaluate(paper)
    switch = desk.page.get_by_role("button", name=re.compile("^Colours: "))
    await switch.press("Enter")
    await expect(switch).to_have_accessible_name("Colours: light. Switch to dark")
    light = await desk.page.evaluate(paper)
    assert light != dark
    await desk.open()
    assert await desk.page.evaluate(paper) == light


async def test_new_messages_are_said_to_a_screen_reader(desk: Desk, new_desk: NewDesk) -> None:
    other = await new_desk()
    await other.open()
    await other.be("Meena Joshi")
    for each in (desk, other):
        await each.go_to("random")
    await other.composer.fill("Anybody there?")
    await other.composer.press("Enter")
    await expect(desk.page.locator("[aria-live=polite]")).to_contain_text(
        "Meena Joshi: Anybody there?"
    )


async def test_what_came_while_the_tab_was_hidden_is_said_when_it_is_seen_again(
    desk: Desk,
) -> None:
    here, away = f"You see this {uuid4()}", f"You are away {uuid4()}"
    await desk.go_to("random")
    said = desk.page.locator("[aria-live=polite]")
    await desk.act(OMAR, "post", channel="C0RANDOM01", text=here)
    await expect(said).to_contain_text(here)
    see = """state => {
        Object.defineProperty(document, "visibilityState", {get: () => state, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    await desk.page.evaluate(see, "hidden")
    await desk.act(OMAR, "post", channel="C0RANDOM01", text=away)
    await expect(desk.message(away)).to_be_visible()
    await expect(said).not_to_contain_text(away)
    await desk.page.evaluate(see, "visible")
    await expect(said).to_contain_text(away)
