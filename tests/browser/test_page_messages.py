"""Messages on the page: writing, changing, deleting, reacting, files, and what is never markup."""

from __future__ import annotations

import asyncio
import base64
import re
from uuid import uuid4

import pytest
from playwright.async_api import Route, WebSocketRoute, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import RAVI, Desk, photo

pytestmark = pytest.mark.asyncio(loop_scope="session")

RANDOM = "C0RANDOM01"


async def go_to_random(desk: Desk) -> None:
    await desk.go_to("random")


async def test_arrow_up_edits_the_last_message_of_ones_own(desk: Desk) -> None:
    await go_to_random(desk)
    await desk.composer.fill("Tea at for?")
    await desk.composer.press("Enter")
    await expect(desk.message("Tea at for?")).to_be_visible()
    await desk.composer.press("ArrowUp")
    editor = desk.place.get_by_role("textbox", name="Edit message")
    await expect(editor).to_be_focused()
    await expect(editor).to_have_value("Tea at for?")
    await editor.fill("Tea at four?")
    await editor.press("Enter")
    await expect(desk.message("Tea at four?")).to_contain_text("(edited)")


async def test_a_message_is_deleted_only_after_a_question(desk: Desk) -> None:
    # Others of a first try may be there still.
    words = f"Wrong channel, sorry {uuid4()}"
    await desk.act(RAVI, "post", channel=RANDOM, text=words)
    await go_to_random(desk)
    wrong = desk.message(words)
    await wrong.press("Delete")
    question = desk.page.get_by_role("alertdialog", name="Delete this message?")
    await expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    await desk.page.keyboard.press("Escape")
    await expect(wrong).to_be_visible()
    await wrong.press("Delete")
    await question.get_by_role("button", name="Delete").press("Enter")
    await expect(wrong).not_to_be_attached()


async def test_a_key_right_after_another_finds_what_that_one_did(new_desk: NewDesk) -> None:
    desk = await new_desk()
    # A machine so busy that no frame is drawn between two keys.
    await desk.page.add_init_script("window.requestAnimationFrame = () => 0")
    words = f"Wrong thread, sorry {uuid4()}"
    await desk.act(RAVI, "post", channel=RANDOM, text=words)
    await desk.open()
    await go_to_random(desk)
    await desk.message(words).focus()
    for key in ("Delete", "Escape", "Delete", "Tab", "Enter"):
        await desk.page.keyboard.press(key)
    await expect(desk.message(words)).not_to_be_attached()


async def test_what_changes_before_the_page_listens_is_shown_too(new_desk: NewDesk) -> None:
    desk = await new_desk()
    listens = asyncio.Event()

    async def late(socket: WebSocketRoute) -> None:
        await listens.wait()
        socket.connect_to_server()

    await desk.page.route_web_socket("**/api/live*", late)

    await desk.act(RAVI, "post", channel=RANDOM, text="Something is there")
    await desk.open()
    await go_to_random(desk)
    for name in ("Priya Menon", "Omar Sheikh"):
        await desk.be(name)
        await expect(desk.message("Something is there").first).to_be_visible()
        words = f"Nobody told me {uuid4()}"
        await desk.act(RAVI, "post", channel=RANDOM, text=words)
        await expect(desk.message(words)).to_have_count(0)
        listens.set()
        await expect(desk.message(words)).to_be_visible()
        listens.clear()


async def test_a_reaction_is_given_and_taken_back_by_keyboard(desk: Desk) -> None:
    await desk.act(RAVI, "post", channel=RANDOM, text="The courier is here")
    await go_to_random(desk)
    message = desk.message("The courier is here")
    await message.press("r")
    await expect(desk.page.get_by_role("button", name="thumbs up", exact=True)).to_be_focused()
    await desk.page.keyboard.press("Enter")
    given = message.get_by_role("button", name="thumbs up: 1, Ravi Kumar")
    await expect(given).to_have_attribute("aria-pressed", "true")
    await expect(message).to_be_focused()
    await given.press("Enter")
    await expect(given).not_to_be_attached()


async def test_a_photo_is_shown_before_and_after_it_is_sent_and_in_full_size(desk: Desk) -> None:
    await go_to_random(desk)
    await desk.place.get_by_label("Attach a photo or file").set_input_files([photo()])  # type: ignore[list-item]
    await expect(desk.place.get_by_role("list", name="Attached")).to_contain_text("broken.png")
    await desk.place.get_by_role("button", name="Send").click()
    await expect(desk.place.get_by_role("list", name="Attached")).not_to_be_attached()
    preview = desk.place.get_by_role("button", name="Show broken.png in full size").last
    await preview.press("Enter")
    await expect(desk.page.get_by_role("dialog", name="broken.png")).to_be_visible()
    await desk.page.keyboard.press("Escape")
    await expect(preview).to_be_focused()


async def test_a_thread_with_a_photo_is_at_its_end_when_it_is_opened(new_desk: NewDesk) -> None:
    desk = await new_desk()
    tall = photo(height=600)
    content = base64.b64encode(tall["buffer"]).decode()
    root = await desk.act(RAVI, "post", channel=RANDOM, text="How it looks")
    ts = root["message"]["ts"]
    files = [{"name": "tall.png", "content_base64": content}]
    for words in ("The first one", "Another", "One more", "And the last one"):
        await desk.act(RAVI, "post", channel=RANDOM, thread_ts=ts, text=words, files=files)
    arrived = asyncio.Event()

    async def late(route: Route) -> None:
        await arrived.wait()
        await route.continue_()

    await desk.page.route("**/api/file/**", late)
    # Nothing else may make the page look again once the photos arrive.
    await desk.page.route_web_socket("**/api/live*", lambda _: None)
    async with (
        desk.page.expect_response("**/api/act"),  # which marks the thread as read
        desk.page.expect_response("**/api/case/**"),
    ):
        await desk.open_thread(RANDOM, ts)
    await expect(desk.message("And the last one", within=desk.thread)).to_be_visible()
    arrived.set()
    picture = desk.message("And the last one", within=desk.thread).get_by_role("img")
    await expect(picture).to_be_in_viewport(ratio=0.9)
    box = desk.thread.locator(".scroll")
    at_end = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 2"
    assert await box.evaluate(at_end)


async def test_what_people_write_is_never_markup(desk: Desk) -> None:
    words = '<img src=x onerror="document.title=1"> & <b>bold</b> <!channel> </script>'
    await desk.act(RAVI, "post", channel=RANDOM, text=words)
    await go_to_random(desk)
    message = desk.message("onerror=")
    await expect(message).to_contain_text('<img src=x onerror="document.title=1"> & <b>bold</b>')
    await expect(message.get_by_role("img")).to_have_count(0)
    await expect(message.locator("b")).to_have_count(0)


async def test_names_are_offered_while_one_writes(desk: Desk) -> None:
    await go_to_random(desk)
    await desk.composer.press_sequentially("Ask @pri")
    offered = desk.page.get_by_role("listbox", name="Suggestions")
    await expect(offered.get_by_role("option")).to_have_text(["PMPriya Menon@priya"])
    await desk.composer.press("Tab")
    await expect(desk.composer).to_have_value("Ask @priya ")
    await desk.composer.press("Shift+Enter")
    await desk.composer.press_sequentially("please")
    await desk.composer.press("Enter")
    await expect(desk.message("Ask @Priya Menon")).to_contain_text("please")


async def test_an_unknown_command_is_kept_and_not_posted(desk: Desk) -> None:
    await go_to_random(desk)
    await desk.composer.fill("/nonsense now")
    await desk.composer.press("Enter")
    await expect(desk.page.get_by_role("alert")).to_contain_text("/nonsense is no command here")
    await expect(desk.composer).to_have_value("/nonsense now")
    await expect(desk.message("/nonsense")).to_have_count(0)


async def test_each_person_sees_their_own_channels_and_is_told_privately_what_they_may_not(
    desk: Desk, laptop_case: str
) -> None:
    channels = desk.rail.get_by_role("region", name="Channels").get_by_role("button")
    await desk.be("Gita Bose")
    await expect(channels).to_have_count(1)
    await desk.be("Sam Fernandes")
    await expect(channels).to_have_count(3)
    await desk.rail.get_by_role("button", name="approvals").click()
    card = desk.message("₹1,49,900.00 to Meera Iyer")
    await card.get_by_role("button", name="Approve").click()
    refusal = desk.place.get_by_role("article", name=re.compile("only visible to you"))
    await expect(refusal.last).to_contain_text("Only visible to you")
    await expect(card.get_by_role("button", name="Approve")).to_be_visible()
    await desk.be("Ravi Kumar")
    await expect(card).to_be_visible()
    await expect(refusal).to_have_count(0)


async def test_a_permalink_leads_to_the_message_in_its_thread(desk: Desk, laptop_case: str) -> None:
    question = await desk.until_in_thread(laptop_case, "Question for the customer")
    place = question["ts"].replace(".", "")
    await desk.open(f"/archives/C0SUPPORT1/p{place}?thread_ts={laptop_case}")
    await expect(desk.message("Question for the customer", within=desk.thread)).to_be_focused()
