"""Cases that are opened by the command, the shortcuts or from Home, and what Home shows."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Locator, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import SAM, Desk, photo

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

RANDOM = "C0RANDOM01"
WORDS = "My speaker arrived cracked, order 4471. My money back, please."


async def home_of(desk: Desk, name: str) -> Locator:
    """The person's Home, as the bot has published it."""
    await desk.be(name)
    await desk.rail.get_by_role("button", name="Casethread Home").click()
    home = desk.page.get_by_role("region", name="Home of Casethread")
    await expect(home.get_by_role("heading", level=4).first).to_be_visible()
    return home


async def reach(desk: Desk, wanted: Locator) -> None:
    """By the Tab key alone."""
    for _ in range(20):
        if await wanted.evaluate("element => element === document.activeElement"):
            return
        await desk.page.keyboard.press("Tab")
    await expect(wanted).to_be_focused()


async def test_a_case_by_command_and_keyboard_alone_up_to_the_approved_refund(
    lone_workspace: str, new_desk: NewDesk
) -> None:
    desk = await new_desk(address=lone_workspace)
    await desk.open()
    await desk.until_bot_is_up()
    keyboard = desk.page.keyboard
    await keyboard.press("Tab")
    await keyboard.press("Enter")  # "Skip to the messages"
    await keyboard.type("/ca")
    offered = desk.page.get_by_role("listbox", name="Suggestions")
    await expect(offered).to_contain_text("/case [status | RUN_ID | help]")
    await keyboard.type("se")
    await keyboard.press("Enter")
    modal = desk.page.get_by_role("dialog", name="New case")
    await expect(modal.get_by_role("combobox", name="Customer")).to_be_focused()
    await keyboard.type("Asha")
    found = desk.page.get_by_role("option", name="Asha Rao")
    await expect(found).to_have_attribute("aria-selected", "true")
    await keyboard.press("Enter")
    await keyboard.press("Tab")
    await expect(modal.get_by_role("textbox", name="The customer's words")).to_be_focused()
    await keyboard.type(WORDS)
    await keyboard.press("Tab")
    photos = modal.get_by_label("Photos")
    await expect(photos).to_be_focused()

    # The window in which files are chosen is the system's, not the page's.
    other = {**photo(), "name": "other.png"}
    await photos.set_input_files([photo(), other])  # type: ignore[list-item]
    chosen = modal.get_by_role("list", name="Chosen files").get_by_role("listitem")
    await expect(chosen).to_have_text(["broken.png", "other.png"])
    previews = chosen.locator("img")
    for number in range(2):
        await expect(previews.nth(number)).to_have_js_property("naturalWidth", 320)
    await keyboard.press("Shift+Tab")
    await expect(modal.get_by_role("button", name="Remove other.png")).to_be_focused()
    await keyboard.press("Enter")
    await expect(chosen).to_have_text(["broken.png"])
    await expect(photos).to_be_focused()

    await reach(desk, modal.get_by_role("button", name="Open the case"))
    await keyboard.press("Enter")
    await expect(modal).not_to_be_attached()
    await expect(desk.composer).to_be_focused()
    root = desk.message("New case, opened by @Ravi Kumar")
    await expect(root).to_contain_text(WORDS)
    await expect(root.get_by_role("img", name="broken.png")).to_be_visible()
    await expect(desk.message("The case is open")).to_contain_text("Only visible to you")

    await desk.be("Priya Menon")
    await desk.go_to("approvals")
    card = desk.message("₹2,499.00 to Asha Rao")
    await card.get_by_role("button", name="Approve").press("Enter")
    await expect(card).to_contain_text("Approved by @Priya Menon")
    await desk.be("Ravi Kumar")
    await desk.go_to("support-cases")
    await root.press("Enter")
    await expect(desk.message("Reply to pass to the customer", within=desk.thread)).to_be_visible()
    await expect(desk.run.get_by_role("status").first).to_have_text("Done")
    # The photo came with the modal, so nobody was asked for one.
    await expect(desk.message("Question for the customer", within=desk.thread)).to_have_count(0)

    home = await home_of(desk, "Ravi Kumar")
    await expect(home).to_contain_text(re.compile(r"Asha Rao · done"))
    await expect(home).to_contain_text("Refunded\n₹2,499.00", use_inner_text=True)


async def test_the_modal_tells_which_files_it_takes_and_what_is_missing(
    desk: Desk, laptop_case: str
) -> None:
    await desk.page.get_by_role("button", name="Shortcuts").first.click()
    await desk.page.get_by_role("menuitem", name="New case").click()
    modal = desk.page.get_by_role("dialog", name="New case")
    await expect(modal).to_be_visible()
    assert await desk.findings() == []
    bill = {"name": "bill.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"}
    await modal.get_by_label("Photos").set_input_files([bill, photo()])  # type: ignore[list-item]
    await expect(modal.get_by_role("alert")).to_contain_text("bill.pdf can't be added")
    await expect(modal.get_by_role("listitem")).to_have_text(["broken.png"])
    await modal.get_by_role("button", name="Open the case").click()
    await expect(modal.get_by_role("alert").first).to_contain_text("complete this required field")
    await expect(modal.get_by_role("listitem")).to_have_text(["broken.png"])
    assert await desk.findings() == []
    await desk.page.keyboard.press("Escape")
    await expect(modal).not_to_be_attached()


async def test_status_and_help_are_answered_privately(desk: Desk, laptop_case: str) -> None:
    for command in ("/case status", "/case help", "/case one two"):
        await desk.composer.fill(command)
        await desk.composer.press("Enter")
        await expect(desk.composer).to_have_value("")
    status = desk.message("Meera Iyer · waiting for a lead").last
    await expect(status).to_contain_text("Only visible to you")
    await expect(status).to_contain_text("Your open cases")
    await expect(desk.message("There is:").first).to_contain_text("/case RUN_ID")
    await expect(desk.message("I don't know “one two”").last).to_be_visible()
    await status.get_by_role("button", name="Meera Iyer").first.click()
    await expect(desk.message("The screen of my laptop", within=desk.thread)).to_be_visible()
    await desk.be("Meena Joshi")
    await expect(desk.message("The screen of my laptop")).to_be_visible()
    await expect(desk.message("Meera Iyer · waiting for a lead")).to_have_count(0)


async def test_a_case_is_opened_from_the_menu_of_a_message_in_its_own_thread(desk: Desk) -> None:
    await desk.composer.fill("Where is my refund for order 8102? Lakshmi")
    await desk.composer.press("Enter")
    message = desk.message("Where is my refund for order 8102?").last
    await expect(message.get_by_role("button", name="1 reply")).to_be_visible()
    await open_from_menu(desk, message)
    modal = desk.page.get_by_role("dialog", name="Open a case")
    await choose(desk, modal, "Lakshmi Nair")
    assert await desk.findings() == []
    await modal.get_by_role("button", name="Open the case").click()
    await expect(modal).not_to_be_attached()
    await message.press("Enter")
    await expect(desk.message("Reply to pass to the customer", within=desk.thread)).to_be_visible()
    await expect(desk.thread).to_contain_text("chosen by @Ravi Kumar")


async def test_a_case_is_opened_from_a_message_elsewhere_in_a_new_thread(desk: Desk) -> None:
    await desk.act(SAM, "post", channel=RANDOM, text="Is gift card order 8800 ours? Daniel asks")
    await desk.until_bot_is_up()
    await desk.go_to("random")
    await open_from_menu(desk, desk.message("Daniel asks").last)
    modal = desk.page.get_by_role("dialog", name="New case")
    field = modal.get_by_role("textbox", name="The customer's words")
    await expect(field).to_have_value("Is gift card order 8800 ours? Daniel asks")
    await choose(desk, modal, "Daniel Thomas")
    await modal.get_by_role("button", name="Open the case").click()
    await expect(modal).not_to_be_attached()
    await desk.go_to("support-cases")
    root = desk.message("Daniel asks").last
    await expect(root).to_contain_text("New case, opened by @Ravi Kumar")
    await root.get_by_role("button", name="Where the customer's words stand").click()
    await expect(desk.place).to_have_accessible_name("random")
    await expect(desk.message("Daniel asks", within=desk.thread).first).to_be_visible()


async def test_home_shows_a_lead_what_waits_and_an_agent_what_they_opened(
    desk: Desk, laptop_case: str
) -> None:
    home = await home_of(desk, "Priya Menon")
    await expect(home.get_by_role("heading", name="Waiting for you")).to_be_visible()
    await expect(home).to_contain_text("You opened no case")
    await home.get_by_role("button", name="Refund ₹1,49,900.00 to Meera Iyer").click()
    await expect(desk.place).to_have_accessible_name("approvals")
    await expect(desk.message("₹1,49,900.00 to Meera Iyer")).to_be_visible()

    home = await home_of(desk, "Priya Menon")
    # Somebody else looks at the same place: it is their Home that is asked for.
    await desk.be("Ravi Kumar")
    await expect(home).to_contain_text("Meera Iyer · waiting for a lead")
    await expect(home.get_by_role("heading", name="Waiting for you")).to_have_count(0)
    await expect(home.get_by_role("heading", name="Today")).to_be_visible()
    await home.get_by_role("button", name="New case").click()
    modal = desk.page.get_by_role("dialog", name="New case")
    await expect(modal).to_be_visible()
    await desk.page.keyboard.press("Escape")
    await expect(modal).not_to_be_attached()
    await expect(home.get_by_role("button", name="New case")).to_be_focused()
    await home.get_by_role("button", name="Meera Iyer").first.click()
    await expect(desk.message("The screen of my laptop", within=desk.thread)).to_be_visible()

    home = await home_of(desk, "Gita Bose")
    await expect(home).to_contain_text("there is nothing to see here")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
async def test_axe_finds_nothing_serious_on_home(
    new_desk: NewDesk, laptop_case: str, width: int, theme: str
) -> None:
    desk = await new_desk(width=width, theme=theme)
    await desk.open("/#home")
    home = desk.page.get_by_role("region", name="Home of Casethread")
    await expect(home).to_contain_text("Meera Iyer")
    assert await desk.findings() == []
    wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not await desk.page.evaluate(wider)


async def open_from_menu(desk: Desk, message: Locator) -> None:
    await message.hover()
    await message.get_by_role("button", name="More actions").click()
    await desk.page.get_by_role("menuitem", name="Open a case").click()


async def choose(desk: Desk, modal: Locator, customer: str) -> None:
    await modal.get_by_role("combobox", name="Customer").fill(customer)
    await desk.page.get_by_role("option", name=customer).click()
