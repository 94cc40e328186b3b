"""The work itself on the page: relaying, choosing, approving, and reading what happened."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import CASES, Desk, photo

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_refund_is_relayed_approved_and_answered_by_keyboard_alone(desk: Desk) -> None:
    keyboard = desk.page.keyboard
    await keyboard.press("Tab")
    await keyboard.press("Enter")  # "Skip to the messages"
    await expect(desk.composer).to_be_focused()
    await keyboard.type("My headphones arrived damaged, order 9001. A refund, please. Vikram")
    await keyboard.press("Enter")
    words = desk.message("My headphones arrived damaged")
    await expect(words).to_be_visible()

    await keyboard.press("Shift+Tab")  # the way into its thread
    for _ in range(3):
        if await words.evaluate("article => article === document.activeElement"):
            break
        await keyboard.press("Shift+Tab")
    await expect(words).to_be_focused()
    await keyboard.press("Enter")
    await expect(desk.reply_field).to_be_focused()
    picker = desk.thread.get_by_role("combobox", name="Find the customer")
    await expect(picker).to_be_visible()
    while not await picker.evaluate("field => field === document.activeElement"):
        await keyboard.press("Shift+Tab")
    await keyboard.type("Vik")
    await expect(desk.page.get_by_role("option", name="Vikram Shah")).to_have_attribute(
        "aria-selected", "true"
    )
    await keyboard.press("Enter")

    await expect(desk.message("Question for the customer", within=desk.thread)).to_be_visible()
    # The window in which a file is chosen is the system's, not the page's.
    await desk.thread.get_by_label("Attach a photo or file").set_input_files([photo()])  # type: ignore[list-item]
    await desk.reply_field.focus()
    await keyboard.type("Here it is.")
    await keyboard.press("Enter")
    await expect(desk.thread.get_by_role("img", name="broken.png")).to_be_visible()
    await expect(desk.run.get_by_text("Waits for a lead").first).to_be_visible()

    await desk.be("Priya Menon")
    await desk.rail.get_by_role("button", name="approvals").focus()
    await keyboard.press("Enter")
    card = desk.message("₹4,999.00 to Vikram Shah")
    await card.focus()
    approve = card.get_by_role("button", name="Approve")
    while not await approve.evaluate("button => button === document.activeElement"):
        await keyboard.press("Tab")
    await keyboard.press("Enter")
    await expect(card).to_contain_text("Approved by @Priya Menon")
    await expect(desk.message("Reply to pass to the customer", within=desk.thread)).to_be_visible()
    await expect(desk.run.get_by_role("status").first).to_have_text("Done")


async def test_a_modal_keeps_the_focus_shows_what_is_wrong_and_gives_the_focus_back(
    desk: Desk, laptop_case: str
) -> None:
    await desk.be("Omar Sheikh")
    await desk.rail.get_by_role("button", name="approvals").click()
    change = desk.message("₹1,49,900.00").get_by_role("button", name="Change amount")
    await change.click()
    modal = desk.page.get_by_role("dialog", name="Approve less")
    amount = modal.get_by_role("textbox", name="Amount in rupees")
    await expect(amount).to_be_focused()
    await desk.page.keyboard.press("Enter")
    await expect(modal.get_by_role("alert")).to_be_visible()
    await expect(amount).to_have_attribute("aria-invalid", "true")
    # Behind the last field is the browser itself: then the document has no element in focus.
    inside = "dialog => dialog.matches(':focus-within') || document.activeElement === document.body"
    for _ in range(8):
        await desk.page.keyboard.press("Tab")
        assert await modal.evaluate(inside)
    await amount.fill("2,00,000")
    await amount.press("Enter")
    await expect(modal.get_by_role("alert")).to_be_visible()
    await amount.press("Escape")
    await expect(modal).not_to_be_attached()
    await expect(change).to_be_focused()


async def test_a_lead_declines_with_a_note(desk: Desk) -> None:
    words = "I changed my mind about everything in order 4480, all unused. Refund, please. Asha"
    await desk.open_case(words, "Asha Rao")
    await desk.until_asked_for_approval("to Asha Rao")
    await desk.be("Omar Sheikh")
    await desk.rail.get_by_role("button", name="approvals").click()
    card = desk.message("to Asha Rao").last
    await card.get_by_role("button", name="Decline").click()
    modal = desk.page.get_by_role("dialog", name="Decline")
    await modal.get_by_role("textbox", name="Note").fill("The desk plant can't come back.")
    await modal.get_by_role("button", name="Decline").click()
    await expect(card).to_contain_text("Declined by @Omar Sheikh")
    await expect(card).to_contain_text("The desk plant can't come back.")
    await expect(card.get_by_role("button", name="Approve")).not_to_be_attached()


async def test_the_search_for_a_customer_can_be_left_and_says_when_nothing_is_found(
    desk: Desk,
) -> None:
    await desk.composer.fill("Something is wrong with my order.")
    await desk.composer.press("Enter")
    await desk.message("Something is wrong").press("Enter")
    search = desk.thread.get_by_role("combobox")
    await search.press("ArrowDown")
    await expect(search).to_have_attribute("aria-expanded", "true")
    first = desk.page.get_by_role("option").first
    await expect(first).to_have_attribute("aria-selected", "true")
    await search.press("ArrowDown")
    await expect(first).to_have_attribute("aria-selected", "false")
    await search.press("Escape")
    await expect(search).to_have_attribute("aria-expanded", "false")
    await expect(desk.thread).to_be_visible()
    await search.press_sequentially("nobody of this name")
    await expect(desk.thread.get_by_text("Nothing found")).to_be_visible()
    await expect(desk.page.get_by_role("option")).to_have_count(0)


async def test_a_run_shows_each_call_with_its_tokens_cost_and_exact_request(
    desk: Desk, laptop_case: str
) -> None:
    await desk.open_thread("C0SUPPORT1", laptop_case)
    await expect(
        desk.run.get_by_role("img", name="Tokens and cost of 3 model calls")
    ).to_be_visible()
    last = desk.run.get_by_role("button", name="Step 3")
    await expect(last).to_contain_text("propose_refund")
    await expect(last).to_contain_text("cached")
    await expect(last).to_contain_text("$")
    await last.click()
    sheet = desk.page.get_by_role("dialog", name="Call 3 of 3")
    await expect(sheet.get_by_role("region", name="Reply")).to_contain_text("149900")
    await sheet.get_by_role("button", name="JSON").click()
    await sheet.get_by_role("searchbox", name="Search in the request").fill("cracked")
    await expect(sheet.locator("mark").first).to_have_text("cracked")
    await sheet.get_by_role("button", name="Copy the reply").click()
    copied = await desk.page.evaluate("navigator.clipboard.readText()")
    assert '"stop_reason": "tool_use"' in copied
    await desk.page.keyboard.press("ArrowLeft")
    await expect(desk.page.get_by_role("dialog", name="Call 2 of 3")).to_be_visible()
    await desk.page.keyboard.press("Escape")
    await desk.run.get_by_role("tab", name="Payments").click()
    await expect(desk.run.get_by_role("tabpanel")).to_contain_text("₹1,49,900.00 on order 6203")
    await desk.page.keyboard.press("ArrowLeft")
    await expect(desk.run.get_by_role("tab", name="Outbox")).to_be_focused()


async def test_what_somebody_writes_appears_on_others_pages_by_itself(
    desk: Desk, new_desk: NewDesk
) -> None:
    other = await new_desk()
    await other.open()
    await other.be("Priya Menon")
    # What other tests wrote to her is read first.
    await other.go_to("random")
    await other.go_to("support-cases")
    await expect(other.rail.get_by_role("button", name="random", exact=True)).to_be_visible()
    await desk.go_to("random")
    await desk.composer.fill("@priya please have a look")
    await desk.composer.press("Enter")
    unread = other.rail.get_by_role("button", name=re.compile("^random, .*1 for you$"))
    await unread.click()
    await expect(other.message("please have a look")).to_contain_text("@Priya Menon")
    await expect(other.rail.get_by_role("button", name="random", exact=True)).to_be_visible()


async def test_a_call_that_is_looked_at_is_fetched_again_after_a_cut(
    new_desk: NewDesk, laptop_case: str
) -> None:
    desk = await new_desk()
    sockets: list[WebSocketRoute] = []

    async def passed_on(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    await desk.page.route_web_socket("**/api/live*", passed_on)
    await desk.open_thread(CASES, laptop_case)
    await desk.run.get_by_role("button", name="Step 3").click()
    await expect(desk.page.get_by_role("region", name="Reply")).to_be_visible()
    async with desk.page.expect_response("**/api/exchange/**"):
        await sockets[-1].close()
