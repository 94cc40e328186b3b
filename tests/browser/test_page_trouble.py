"""Trouble and stories on the page, and the first visit."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Locator, expect

from bot.local.stories import STORIES
from tests.browser.conftest import NewDesk
from tests.browser.desk import CASES, Desk

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    # The bot's process is started more than once in some.
    pytest.mark.timeout(120),
]


STORY_MS = 60_000
"""Between two turns a bot may be killed and started again."""


async def open_trouble(desk: Desk) -> Locator:
    await desk.page.get_by_role("button", name="Trouble").click()
    return desk.page.get_by_role("dialog", name="Trouble")


async def test_a_killed_bot_is_seen_to_be_down_and_comes_back(desk: Desk) -> None:
    trouble = await open_trouble(desk)
    await trouble.get_by_role("button", name="Kill the bot").click()
    await expect(trouble.get_by_role("status")).to_contain_text("The bot is down")
    await expect(trouble.get_by_role("button", name="Kill the bot")).to_have_attribute(
        "aria-disabled", "true"
    )
    await trouble.get_by_role("button", name=re.compile("^Start the bot")).click()
    await expect(trouble.get_by_role("status")).to_contain_text("The bot is up, restarted")
    await expect(trouble.get_by_role("list")).to_contain_text("The bot was killed")


async def test_a_restarted_bot_comes_back_by_itself(desk: Desk) -> None:
    trouble = await open_trouble(desk)
    await expect(trouble.get_by_role("status")).to_contain_text("The bot is up")
    process = await trouble.get_by_text(re.compile(r"^pid \d+$")).inner_text()
    await trouble.get_by_role("button", name="Restart the bot").click()
    await expect(trouble.get_by_text(process)).not_to_be_attached()
    await expect(trouble.get_by_role("status")).to_contain_text("The bot is up, restarted")


async def test_faults_are_seen_without_the_menu_count_down_and_end_at_a_click(desk: Desk) -> None:
    trouble = await open_trouble(desk)
    for cause in ("Claude is overloaded", "Slack answers 429", "The next payment times out"):
        await trouble.get_by_role("button", name=cause).click()
    await desk.page.keyboard.press("Escape")
    seen = desk.page.get_by_role("group", name="Trouble that is on")
    await expect(seen).to_contain_text(re.compile(r"Claude.*, 2\d s"))
    await expect(seen).to_contain_text(re.compile(r"Slack.*, [1-9] s"))
    await expect(seen).to_contain_text("payment")
    trouble = await open_trouble(desk)
    await trouble.get_by_role("button", name="End all of it").click()
    await expect(seen).not_to_contain_text(re.compile("Claude|Slack|payment"))


async def test_escape_closes_what_is_open_wherever_the_focus_is_and_nothing_around_it(
    desk: Desk, laptop_case: str
) -> None:
    await desk.open_thread(CASES, laptop_case)
    escape = desk.page.keyboard
    trouble = await open_trouble(desk)
    await trouble.get_by_text("Make trouble").click()
    await desk.page.evaluate("document.activeElement.blur()")
    await escape.press("Escape")
    await expect(trouble).not_to_be_attached()
    await expect(desk.page.get_by_role("button", name="Trouble")).to_be_focused()

    for name, opened in (
        ("Trouble", trouble),
        ("Stories", desk.page.get_by_role("dialog", name="Stories")),
        ("You are", desk.page.get_by_role("menu", name="Who am I?")),
    ):
        await desk.page.get_by_role("button", name=name).click()
        await expect(opened).to_be_visible()
        await desk.reply_field.focus()
        await escape.press("Escape")
        await expect(opened).not_to_be_attached()
        await expect(desk.reply_field).to_be_focused()
    message = desk.thread.get_by_role("article").first
    for name, role in (("Add a reaction", "dialog"), ("More actions", "menu")):
        await message.hover()
        await message.get_by_role("button", name=name).click()
        opened = desk.page.get_by_role(role, name=name)  # type: ignore[arg-type]
        await expect(opened).to_be_visible()
        await desk.page.evaluate("document.activeElement.blur()")
        await escape.press("Escape")
        await expect(opened).not_to_be_attached()
    await expect(desk.thread).to_be_visible()


async def test_the_clock_jumps_and_who_did_not_answer_is_reminded_then_given_up(
    lone_workspace: str, new_desk: NewDesk
) -> None:
    desk = await new_desk(address=lone_workspace)
    words = "The screen of my laptop arrived cracked, order 6203. I want my money back. Meera"
    ts = await desk.open_case(words, "Meera Iyer")
    await desk.until_in_thread(ts, "Question for the customer")
    await desk.open_thread(CASES, ts)
    asked = await desk.thread.get_by_role("article").count()
    trouble = await open_trouble(desk)
    seen = desk.page.get_by_role("group", name="Trouble that is on")
    await trouble.get_by_role("button", name="Claude is overloaded").click()
    await trouble.get_by_role("button", name="Slack answers 429").click()
    await expect(seen).to_contain_text(re.compile("Slack.*Claude"))
    await trouble.get_by_role("button", name="Jump 1 minute ahead").click()
    await expect(seen).to_have_text("Clock +1 min")
    await trouble.get_by_role("button", name="Jump 4 hours ahead").click()
    await expect(seen).to_contain_text("Clock +4 h 1 min")
    await expect(desk.thread.get_by_role("article")).to_have_count(asked + 1)
    await trouble.get_by_role("button", name="Jump 3 days ahead").click()
    await expect(seen).to_contain_text("Clock +3 d 4 h 1 min")
    await expect(desk.run.get_by_role("status").first).to_have_text("With a colleague")


async def test_an_event_delivered_twice_changes_nothing(desk: Desk) -> None:
    await desk.composer.fill("Delivered twice: where is my parcel?")
    await desk.composer.press("Enter")
    message = desk.message("Delivered twice")
    await expect(message.get_by_role("button", name="1 reply")).to_be_visible()
    trouble = await open_trouble(desk)
    await trouble.get_by_role("button", name="Deliver the last event twice").click()
    await expect(trouble.get_by_role("list").get_by_role("listitem").first).to_contain_text(
        re.compile("twice|again|once more", re.IGNORECASE)
    )
    await desk.message("Delivered twice").press("Enter")
    await expect(desk.thread.get_by_role("article")).to_have_count(2)


@pytest.mark.timeout(240)
async def test_every_story_plays_to_its_end_with_next(
    lone_workspace: str, new_desk: NewDesk
) -> None:
    desk = await new_desk(address=lone_workspace)
    await desk.open()
    for story in STORIES:
        await play(desk, f"{story.summary[0].upper()}{story.summary[1:]}")


async def play(desk: Desk, summary: str) -> None:
    await desk.page.get_by_role("button", name="Stories").click()
    await desk.page.get_by_role("button", name=re.compile("^" + re.escape(summary[:20]))).click()
    bar = desk.page.get_by_role("region", name="Story")
    over = bar.get_by_text("The end.")
    following = bar.get_by_role("button", name="Next")
    while True:
        await expect(over.or_(following)).to_be_visible(timeout=STORY_MS)
        if await over.is_visible():
            break
        turn = await bar.inner_text()
        await following.click()
        await expect(bar).not_to_have_text(turn, use_inner_text=True)
    await expect(bar).to_contain_text("Everything ended as it should")
    await bar.get_by_role("button", name="Close").click()
    await expect(bar).not_to_be_attached()


async def test_a_first_visit_offers_a_story_and_can_be_declined_for_good(
    lone_workspace: str, new_desk: NewDesk
) -> None:
    desk = await new_desk(address=lone_workspace)
    await desk.open()
    welcome = desk.page.get_by_role("region", name="Welcome")
    await expect(welcome).to_contain_text("Watch a refund happen")
    await expect(welcome.get_by_role("button", name="Play it")).to_be_visible()
    await welcome.get_by_role("button", name="I'll look around myself").click()
    await expect(welcome).not_to_be_attached()
    await desk.open()
    await expect(desk.composer).to_be_visible()
    await expect(welcome).not_to_be_attached()


async def test_the_offered_story_goes_when_a_first_case_is_opened(
    lone_workspace: str, new_desk: NewDesk
) -> None:
    desk = await new_desk(address=lone_workspace)
    await desk.open()
    welcome = desk.page.get_by_role("region", name="Welcome")
    await expect(welcome).to_be_visible()
    await desk.go_to("random")
    await desk.composer.fill("Where do cases go?")
    await desk.composer.press("Enter")
    await desk.go_to("support-cases")
    await expect(welcome).to_be_visible()
    await desk.composer.fill("My kettle never came, order 4502. Asha")
    await desk.composer.press("Enter")
    await expect(desk.message("My kettle never came")).to_be_visible()
    await expect(welcome).not_to_be_attached()
    await desk.open()
    await expect(desk.message("My kettle never came")).to_be_visible()
    await expect(welcome).not_to_be_attached()
