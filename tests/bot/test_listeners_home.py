"""App Home, and the private answers of `/case`: what is open, for whom, and one run."""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent.case import Approval, Post
from agent.run import Status
from bot.listeners import home
from bot.listeners.desk import GUEST
from bot.listeners.payloads import HomeOpened
from bot.local.slack.people import Person
from bot.local.slack.seed import APPROVALS, MEENA, PRIYA, RAVI, SUPPORT_CASES
from bot.local.slack.workspace import Message
from tests.bot.office import RUN_ID, Office, card, case_of, open_office

URL = "https://cartwise.slack.com/archives"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


async def home_of(office: Office, name: str) -> str:
    person = office.person(name)
    await person.open_home()
    await office.settled()
    assert person.home is not None
    return one_line(office.slack.render(person.home))


async def answer_to(office: Office, name: str, text: str) -> str:
    person = office.person(name)
    before = len(person.private)
    assert (await person.slash("/case", text)).acked
    [answer] = person.private[before:]
    return one_line(office.slack.render(answer))


def one_line(shown: str) -> str:
    return " ".join(shown.replace("│", " ").replace("·", " ").split())


def links(blocks: object) -> list[str]:
    """Where the links in these blocks lead, in order."""
    return re.findall(r'"type": "link", "url": "([^"]+)"', json.dumps(blocks))


async def thread(office: Office, **facts: Any) -> Message:
    """A case by Ravi that the store knows, opened an hour ago unless told otherwise."""
    root = await office.person("Ravi").post("support-cases", "It broke")
    await office.settled()
    opened_at = time.time() - 3_600
    defaults: dict[str, Any] = {
        "run_id": f"run_{root.ts}",
        "opened_at": opened_at,
        "openers": [RAVI],
        "customer_name": "Asha <Rao>",
    }
    await office.put(case_of(root), **(defaults | facts))
    return root


def link_to(message: Message) -> str:
    return f"{URL}/{message.channel}/p{message.ts.replace('.', '')}"


def home_blocks(person: Person) -> list[Any]:
    assert person.home is not None
    return person.home.blocks


# Home -------------------------------------------------------------------------------------------


async def test_a_lead_sees_what_waits_for_them_with_a_link_to_the_card(office: Office) -> None:
    root = await thread(office, card=card(), waiting_since=time.time())
    shown = await office.show_card(case_of(root), card())
    post = Post(post_id="post-1", content=Approval(card=card(), openers=(), run_id=RUN_ID))
    await office.sent(case_of(root), post, shown)

    page = await home_of(office, "Priya")

    assert "WAITING FOR YOU Refund ₹2,499.00 for order 4471" in page
    assert "yours" not in page
    assert links(home_blocks(office.person("Priya"))) == [link_to(shown)]
    assert office.slack.refused == []


async def test_a_card_that_is_not_out_yet_is_reached_by_its_thread(office: Office) -> None:
    root = await thread(office, card=card(), waiting_since=time.time())

    await home_of(office, "Priya")

    assert links(home_blocks(office.person("Priya"))) == [link_to(root)]


async def test_a_leads_own_case_waits_for_another_lead(office: Office) -> None:
    await thread(office, card=card(), openers=[PRIYA])

    assert "yours, so another lead decides" in await home_of(office, "Priya")
    assert "yours" not in await home_of(office, "Omar")


async def test_who_approved_first_is_told_that_a_second_lead_is_needed(office: Office) -> None:
    await thread(office, card=card(needs_approvals=2, approved_by=(PRIYA,)))

    assert "you approved, a second lead is needed" in await home_of(office, "Priya")
    assert "you approved" not in await home_of(office, "Omar")


async def test_who_is_no_lead_sees_their_own_cases_only(office: Office) -> None:
    root = await thread(office, status=Status.WAITING_CUSTOMER)
    await thread(office, card=card(), openers=[MEENA])

    page = await home_of(office, "Ravi")

    assert "WAITING FOR YOU" not in page
    assert "OPENED BY YOU Asha <Rao> waiting for the customer" in page
    assert links(home_blocks(office.person("Ravi"))) == [link_to(root)]


async def test_open_cases_come_before_finished_ones_and_each_case_once(office: Office) -> None:
    done = await thread(office, status=Status.DONE, ended_at=time.time())
    working = await thread(
        office, status=Status.RUNNING, opened_at=time.time() - 40 * 86_400, run_id="run_old"
    )
    await office.put(
        case_of(done),
        run_id="run_newer",
        opened_at=time.time(),
        openers=[RAVI],
        customer_name="Asha <Rao>",
        status=Status.HANDED_OFF,
    )

    page = await home_of(office, "Ravi")

    assert links(home_blocks(office.person("Ravi"))) == [link_to(working), link_to(done)]
    assert page.index("with the agent") < page.index("with a colleague")


async def test_cases_that_ended_weeks_ago_are_not_shown(office: Office) -> None:
    await thread(office, opened_at=time.time() - 40 * 86_400, status=Status.DONE)

    page = await home_of(office, "Ravi")

    assert "You opened no case in the last two weeks." in page
    assert "A case begins with a customer's words" in page


async def test_todays_figures_count_since_the_readers_midnight(office: Office) -> None:
    now = time.time()
    day = 86_400
    midnight = (now + 19_800) // day * day - 19_800  # in India, as Slack says of everybody here
    before, after = midnight - 60, min(midnight + 1, now)
    await thread(
        office, opened_at=before, status=Status.DONE, ended_at=after, cost_usd=Decimal("9")
    )
    await thread(
        office, opened_at=before, status=Status.DONE, ended_at=before, cost_usd=Decimal("9")
    )
    await thread(
        office, opened_at=after, status=Status.HANDED_OFF, ended_at=after, cost_usd=Decimal("0.05")
    )
    await thread(office, opened_at=after, card=card(), cost_usd=Decimal("0.021"))

    page = await home_of(office, "Sam")

    figures = page.partition("TODAY ")[2]
    assert figures.startswith(
        "Cases opened 2 Done 1 Handed off 1 Waiting now 1 Refunded ₹2,499.00"
        " Cost of the model $0.07"
    )


@pytest.mark.parametrize("name", ["Gita", "Kavya"])
async def test_guests_and_partners_get_a_page_that_says_why_it_is_empty(
    office: Office, name: str
) -> None:
    await thread(office, card=card())

    page = await home_of(office, name)

    assert "Guests and people of other organisations open no cases" in page
    assert "4471" not in page
    assert "TODAY" not in page


async def test_who_cant_be_looked_up_sees_nothing_for_now(office: Office) -> None:
    office.slack.faults.refuse("users.info", "internal_error")

    page = await home_of(office, "Ravi")

    assert "I can't check with Slack who you are just now" in page
    assert "TODAY" not in page
    assert "TODAY" in await home_of(office, "Ravi")


async def test_home_offers_a_new_case(office: Office) -> None:
    ravi = office.person("Ravi")
    assert "Nothing waits for you." in await home_of(office, "Priya")
    await home_of(office, "Ravi")
    assert ravi.home is not None

    assert (await ravi.click(ravi.home, "New case")).acked

    assert await office.slack.until(lambda: ravi.modal)


async def test_the_messages_tab_is_no_home(office: Office) -> None:
    event = HomeOpened(user=RAVI, tab="messages")

    await home.opened(office.desk, event)

    assert office.person("Ravi").home is None


async def test_a_page_that_slack_did_not_take_is_published_when_the_event_comes_again(
    office: Office,
) -> None:
    office.slack.faults.server_error("views.publish")

    assert "TODAY" in await home_of(office, "Ravi")


async def test_who_cant_be_looked_up_as_a_lead_is_told_so(office: Office) -> None:
    await thread(office, card=card())
    office.slack.faults.refuse("usergroups.users.list", "internal_error")

    page = await home_of(office, "Priya")

    assert "I can't check with Slack just now whether you are a support lead." in page
    assert "4471" not in page


# /case ------------------------------------------------------------------------------------------


async def test_the_status_is_ones_open_cases_and_what_waits_for_leads(office: Office) -> None:
    mine = await thread(office, status=Status.RUNNING)
    await thread(office, status=Status.DONE, ended_at=time.time())
    theirs = await thread(office, card=card(), openers=[MEENA])

    told = await answer_to(office, "Ravi", "status")

    assert "Your open cases Asha <Rao> with the agent" in told
    assert "Waiting for a lead Refund ₹2,499.00 for order 4471" in told
    [answer] = office.person("Ravi").private
    assert links(answer.blocks) == [link_to(mine), link_to(theirs)]
    assert f"<{link_to(mine)}|Asha &lt;Rao&gt;>: with the agent" in answer.text


async def test_a_status_of_nothing_says_so(office: Office) -> None:
    told = await answer_to(office, "Ravi", "status")

    assert "You have no open case." in told
    assert "Nothing waits for a lead." in told


async def test_a_run_is_shown_with_its_trace_and_a_link_to_its_thread(office: Office) -> None:
    trace = [{"kind": "end", "at": 5.0, "status": "done"}]
    root = await thread(office, trace=trace, run_id="run_abc")
    ravi = office.person("Ravi")

    assert (await ravi.slash("/case", "run_abc")).acked

    modal = await office.slack.until(lambda: ravi.modal)
    assert modal is not None
    shown = one_line(office.slack.render(modal))
    assert "run_abc done" in shown
    assert "Asha <Rao> go to the thread" in shown
    assert "End status: done" in shown
    assert link_to(root) in str(modal.blocks)
    assert ravi.private == []


async def test_an_unknown_run_is_said_to_be_unknown(office: Office) -> None:
    assert "I know no run run_zzz." in await answer_to(office, "Ravi", "run_zzz")


@pytest.mark.parametrize("text", ["refund everything", "<!channel>", "stauts"])
async def test_anything_else_is_told_what_there_is(office: Office, text: str) -> None:
    told = await answer_to(office, "Ravi", text)

    assert f"I don't know “{text}”. There is:" in told
    assert "/case status: your open cases" in told
    assert [each for each in office.slack.notifications if "channel" in str(each)] == []


async def test_help_says_what_there_is(office: Office) -> None:
    told = await answer_to(office, "Ravi", "help")

    assert "There is: /case: opens a new case" in told
    assert "I don't know" not in told


@pytest.mark.parametrize("text", ["", "status", "help", RUN_ID])
async def test_guests_use_no_command(office: Office, text: str) -> None:
    await office.put(f"T0CARTWISE:{SUPPORT_CASES}:1.000000")

    assert GUEST in await answer_to(office, "Gita", text)
    assert office.person("Gita").modal is None


async def test_a_command_without_a_store_is_told(office: Office) -> None:
    await office.door.kill()

    assert "Something went wrong" in await answer_to(office, "Ravi", "status")
    office.door.revive()


async def test_a_link_to_a_card_in_its_own_thread_leads_into_the_thread(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        root = await thread(office, card=card())
        content = Approval(card=card(), openers=(), run_id=RUN_ID)
        shown = await office.show(content, case_of(root), thread=root.ts)
        await office.sent(case_of(root), Post(post_id="post-1", content=content), shown)

        await home_of(office, "Priya")

        [link] = links(home_blocks(office.person("Priya")))
        assert link == f"{link_to(shown)}?thread_ts={root.ts}&cid={root.channel}"
        assert shown.channel != APPROVALS
