"""Where a list of messages stands, and what the mouse, a finger and Escape do in it."""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.async_api import expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import CASES, OMAR, RAVI, Desk

pytestmark = pytest.mark.asyncio(loop_scope="session")

RANDOM = "C0RANDOM01"
LONG = "Words that need several lines, and more of them where there is less room. " * 5


async def write(desk: Desk, count: int, thread_ts: str | None = None) -> str:
    """Long messages in the channel, or notes among staff in a case's thread; what tells the last
    one from others."""
    mark = ""
    for number in range(count):
        mark = str(uuid4())
        fields = {"channel": RANDOM, "text": f"{mark} {LONG}"}
        if thread_ts is not None:
            fields |= {"channel": CASES, "text": f"// {mark} {LONG}", "thread_ts": thread_ts}
        await desk.act(RAVI if number % 2 else OMAR, "post", **fields)
    return mark


async def test_a_list_that_was_hidden_is_at_its_end_when_it_is_shown_again(
    new_desk: NewDesk,
) -> None:
    desk = await new_desk(width=500, height=800)
    last = await write(desk, 8)
    await desk.open(f"/#{RANDOM}")
    await expect(desk.message(last)).to_be_in_viewport()
    await desk.message(last).press("Enter")
    await expect(desk.thread).to_be_visible()
    await expect(desk.message(last)).to_be_hidden()
    last = await write(desk, 2)
    await expect(desk.page.locator("article").filter(has_text=last)).to_be_attached()
    await desk.thread.get_by_role("button", name="Back to the channel").click()
    await expect(desk.message(last)).to_be_in_viewport()
    last = await write(desk, 2)
    await expect(desk.message(last)).to_be_in_viewport()


async def test_a_thread_behind_its_run_is_at_its_end_when_it_is_shown_again(
    new_desk: NewDesk, laptop_case: str
) -> None:
    desk = await new_desk(width=1200)
    last = await write(desk, 4, laptop_case)
    await desk.open_thread(CASES, laptop_case)
    await expect(desk.message(last, within=desk.thread)).to_be_in_viewport()
    await desk.thread.get_by_role("button", name="Run").click()
    await expect(desk.thread).to_be_hidden()
    last = await write(desk, 2, laptop_case)
    await expect(desk.page.locator("article").filter(has_text=last)).to_be_attached()
    await desk.run.get_by_role("button", name="Thread").click()
    await expect(desk.message(last, within=desk.thread)).to_be_in_viewport()


async def test_a_channel_stays_at_its_end_when_a_thread_takes_some_of_its_room(
    new_desk: NewDesk,
) -> None:
    desk = await new_desk()
    last = await write(desk, 12)
    await desk.open(f"/#{RANDOM}")
    await expect(desk.message(last)).to_be_in_viewport()
    await desk.message(last).press("Enter")
    await expect(desk.thread).to_be_visible()
    await expect(desk.message(last)).to_be_in_viewport(ratio=0.9)


async def test_who_scrolls_up_is_not_taken_back_by_what_arrives(new_desk: NewDesk) -> None:
    desk = await new_desk()
    first = await write(desk, 1)
    last = await write(desk, 12)
    await desk.open(f"/#{RANDOM}")
    await expect(desk.message(last)).to_be_in_viewport()
    await desk.message(first).scroll_into_view_if_needed()
    last = await write(desk, 1)
    await expect(desk.message(last)).to_be_attached()
    await expect(desk.message(first)).to_be_in_viewport()
    await expect(desk.message(last)).not_to_be_in_viewport()


async def test_the_tap_that_shows_the_tools_presses_none_of_them(new_desk: NewDesk) -> None:
    desk = await new_desk(width=500, height=800, touch=True)
    first, second = await write(desk, 1), await write(desk, 1)
    await desk.open(f"/#{RANDOM}")
    await desk.message(first).tap()
    shown = desk.message(first).get_by_role("button", name="Add a reaction")
    await expect(shown).to_be_visible()
    tool, above = await shown.bounding_box(), await desk.message(first).bounding_box()
    below = await desk.message(second).bounding_box()
    assert tool
    assert above
    assert below
    x = tool["x"] + tool["width"] / 2
    y = below["y"] + max(tool["y"] + tool["height"] - 3 - above["y"], 2)
    await desk.page.touchscreen.tap(x, y)
    tools = desk.message(second).get_by_role("button", name="Add a reaction")
    await expect(tools).to_be_visible()
    await expect(desk.page.locator("[data-menu]")).to_have_count(0)
    await tools.tap()
    await expect(desk.page.get_by_role("dialog", name="Add a reaction")).to_be_visible()


async def test_escape_leaves_an_edit_and_not_the_thread_around_it(desk: Desk) -> None:
    root = await desk.act(RAVI, "post", channel=RANDOM, text=f"Said in a thread {uuid4()}")
    await desk.open_thread(RANDOM, root["message"]["ts"])
    await desk.thread.get_by_role("article").first.press("e")
    editor = desk.thread.get_by_role("textbox", name="Edit message")
    await expect(editor).to_be_focused()
    await editor.press("Escape")
    await expect(editor).not_to_be_attached()
    await expect(desk.thread).to_be_visible()
