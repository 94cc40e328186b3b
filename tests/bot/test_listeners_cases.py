"""The picker, the status line's buttons, and the buttons below a reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.case import (
    CustomerChosen,
    Event,
    Feedback,
    GaveBack,
    Handoff,
    NotACase,
    StatusLine,
    TookOver,
    WrongCustomer,
)
from agent.refunds.ports import Customer
from bot.listeners.boundary import NOT_DONE
from bot.listeners.desk import CANT_CHECK, GUEST, MODAL_LATE, UNKNOWN_CASE
from bot.local.slack.seed import MEENA, RAVI, SUPPORT_CASES
from bot.local.slack.workspace import Message
from tests.bot.office import RUN_ID, Office, case_of, open_office


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


@pytest.fixture
async def root(office: Office) -> Message:
    """A thread that the store knows."""
    root = await office.person("Ravi").post("support-cases", "Order 4471 is broken")
    await office.settled()
    return root


async def last(office: Office, root: Message) -> Event:
    """The newest event, which is no message."""
    *_, event = await office.inbox(case_of(root))
    return event


def place_of(root: Message) -> str:
    return f"{root.channel}:{root.ts}"


def private(office: Office, name: str) -> list[str]:
    return [line.text for line in office.person(name).private]


# The picker -------------------------------------------------------------------------------------


async def test_choosing_a_customer_tells_who_chose_whom(office: Office, root: Message) -> None:
    picker = await office.show_picker(root)

    result = await office.person("Meena").choose(picker, "asha")

    assert result.acked
    event = await last(office, root)
    assert event.fact == CustomerChosen(customer_id="cust_asha", by=MEENA, place=place_of(root))
    assert event.event_id == f"act:T0CARTWISE:{event.ts}:{MEENA}:pick_customer"
    assert office.woken[-1] == case_of(root)


async def test_the_search_offers_name_email_and_id(office: Office, root: Message) -> None:
    picker = await office.show_picker(root)

    offered = await office.person("Ravi").suggest(picker, "vik")

    assert offered == ["Vikram Shah · vikram.shah@example.com · cust_vikram"]
    assert office.searched == ["vik"]


async def test_before_anything_is_typed_the_words_of_the_case_are_searched(
    office: Office, root: Message
) -> None:
    picker = await office.show_picker(root, words="Order 4471 is broken")

    offered = await office.person("Ravi").suggest(picker, "")

    # Nobody here is called 4471, so everybody is offered instead.
    assert office.searched == ["4471", ""]
    assert len(offered) == 2


async def test_the_search_stays_within_slacks_limits(office: Office, root: Message) -> None:
    long_id = "cust_" + "9" * 60
    office.customers = [
        Customer(customer_id=f"cust_{number}", name="Anna " * 40, email="a" * 90)
        for number in range(300)
    ]
    office.customers[0] = Customer(customer_id=long_id, name="Anna Long")
    office.customers[1] = Customer(customer_id="x" * 300, name="Anna Unfit")
    office.customers[2] = Customer(customer_id="y" * 120, name="Anna Wide")
    picker = await office.show_picker(root)

    offered = await office.person("Ravi").suggest(picker, "anna")

    assert office.slack.refused == []
    assert len(offered) == 100
    assert offered[0].endswith(long_id)
    assert all(len(text) <= 75 for text in offered)
    assert offered[5].endswith("… · cust_6")


async def test_a_guest_finds_no_customers(office: Office, root: Message) -> None:
    picker = await office.show_picker(root)

    assert await office.person("Gita").suggest(picker, "asha") == []
    assert await office.person("Kavya").suggest(picker, "asha") == []
    assert office.searched == []


async def test_not_a_case_is_passed_on(office: Office, root: Message) -> None:
    picker = await office.show_picker(root)

    assert (await office.person("Ravi").click(picker, "Not a case")).acked

    fact = (await last(office, root)).fact
    assert isinstance(fact, NotACase)
    assert (fact.by, fact.place.partition(":")[0]) == (RAVI, root.channel)


# The status line and the handoff ----------------------------------------------------------------


async def status_line(office: Office, root: Message) -> Message:
    content = StatusLine(
        customer_id="cust_asha",
        customer_name="Asha Rao",
        status="working",
        by=RAVI,
        can_mend_customer=True,
        can_take_over=True,
    )
    return await office.show(content, case_of(root), thread=root.ts)


async def test_wrong_customer_and_take_over_are_passed_on(office: Office, root: Message) -> None:
    line = await status_line(office, root)
    place = place_of(root)

    assert (await office.person("Meena").click(line, "Wrong customer")).acked
    assert (await last(office, root)).fact == WrongCustomer(by=MEENA, place=place)

    assert (await office.person("Meena").click(line, "Take over")).acked
    assert (await last(office, root)).fact == TookOver(by=MEENA, place=place)


async def test_give_back_is_passed_on(office: Office, root: Message) -> None:
    content = Handoff(text="", reason="A question of taste", run_id=RUN_ID, openers=(RAVI,))
    handoff = await office.show(content, case_of(root), thread=root.ts)

    assert (await office.person("Ravi").click(handoff, "Give back to the agent")).acked

    assert (await last(office, root)).fact == GaveBack(by=RAVI, place=place_of(root))


# Who may not ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Gita", "Kavya"])
@pytest.mark.parametrize("button", ["Take over", "Wrong customer"])
async def test_a_guests_press_is_answered_privately_and_changes_nothing(
    office: Office, root: Message, name: str, button: str
) -> None:
    line = await status_line(office, root)
    before = await office.inbox(case_of(root))

    assert (await office.person(name).click(line, button)).acked

    assert private(office, name) == [GUEST]
    (answer,) = office.person(name).private
    assert answer.thread_ts == root.ts
    assert await office.inbox(case_of(root)) == before


async def test_when_slack_cannot_say_who_pressed_nothing_happens(
    office: Office, root: Message
) -> None:
    line = await status_line(office, root)
    office.slack.faults.server_error("users.info")

    assert (await office.person("Ravi").click(line, "Take over")).acked
    assert private(office, "Ravi") == [CANT_CHECK]
    assert len(await office.inbox(case_of(root))) == 1

    assert (await office.person("Ravi").click(line, "Take over")).acked
    assert len(await office.inbox(case_of(root))) == 2


async def test_a_slow_slack_delays_no_acknowledgement(office: Office, root: Message) -> None:
    line = await status_line(office, root)
    office.slack.faults.slow("users.info", 10)

    assert (await office.person("Ravi").click(line, "Take over")).acked
    assert private(office, "Ravi") == [CANT_CHECK]


async def test_when_no_private_line_can_be_shown_slack_says_that_the_click_did_nothing(
    office: Office, root: Message
) -> None:
    line = await status_line(office, root)
    before = await office.inbox(case_of(root))
    for spoil in (
        lambda: office.slack.faults.slow("chat.postEphemeral", 10),
        lambda: office.slack.faults.server_error("chat.postEphemeral"),
    ):
        spoil()
        assert not (await office.person("Gita").click(line, "Take over")).acked
    assert await office.inbox(case_of(root)) == before


async def test_a_button_of_a_case_the_store_does_not_know_is_answered(office: Office) -> None:
    root = await office.person("Priya").post("approvals", "not a case channel")
    picker = await office.show_picker(replace(root, channel=SUPPORT_CASES))

    assert (await office.person("Ravi").click(picker, "Not a case")).acked
    assert (await office.person("Ravi").choose(picker, "asha")).acked

    assert private(office, "Ravi") == [UNKNOWN_CASE, UNKNOWN_CASE]
    assert office.woken == []


async def test_a_button_that_nobody_knows_is_answered(office: Office, root: Message) -> None:
    picker = await office.show_picker(root)
    button = {
        "type": "button",
        "action_id": "of_old",
        "text": {"type": "plain_text", "text": "Old"},
    }
    block = {"type": "actions", "block_id": "old", "elements": [button]}
    office.slack.workspace.change(replace(picker, blocks=(block,)))

    assert (await office.person("Ravi").click(picker, "Old")).acked

    assert private(office, "Ravi") == [UNKNOWN_CASE]


async def test_a_click_that_cannot_be_stored_is_not_acknowledged_but_answered(
    tmp_path: Path,
) -> None:
    async with open_office(tmp_path, ack_timeout_seconds=0.5) as office:
        root = await office.person("Ravi").post("support-cases", "Hello")
        await office.settled()
        line = await status_line(office, root)
        await office.door.kill()

        result = await office.person("Ravi").click(line, "Take over")

        assert not result.acked
        await office.slack.until(lambda: private(office, "Ravi") == [NOT_DONE])
        office.door.revive()
        assert len(await office.inbox(case_of(root))) == 1


# After the reply --------------------------------------------------------------------------------


@pytest.mark.parametrize(("button", "good"), [("👍", True), ("👎", False)])
async def test_feedback_tells_the_run_and_who_gave_it(
    office: Office, root: Message, button: str, good: bool
) -> None:
    reply = await office.show_reply(root)

    assert (await office.person("Meena").click(reply, button)).acked

    assert (await last(office, root)).fact == Feedback(
        run_id=RUN_ID, good=good, by=MEENA, place=place_of(root)
    )


async def test_the_trace_opens_as_a_modal(office: Office, root: Message) -> None:
    step = {
        "kind": "step",
        "at": 1.0,
        "step": 1,
        "stop_reason": "end_turn",
        "calls": [{"id": "c", "tool": "get_order", "input": {"order_id": "4471"}}],
    }
    result = {"kind": "result", "at": 1.0, "call_id": "c", "tool": "get_order", "is_error": True}
    await office.put(case_of(root), trace=[step, result])
    reply = await office.show_reply(root)
    ravi = office.person("Ravi")

    assert (await ravi.click(reply, "Trace")).acked

    assert ravi.modal is not None
    assert "get_order" in office.slack.render(ravi.modal)
    assert office.slack.refused == []


async def test_a_trace_that_slack_will_not_open_is_explained(office: Office, root: Message) -> None:
    await office.put(case_of(root))
    reply = await office.show_reply(root)
    office.slack.faults.refuse("views.open", "expired_trigger_id")

    assert (await office.person("Ravi").click(reply, "Trace")).acked

    assert private(office, "Ravi") == [MODAL_LATE]


async def test_a_guest_sees_no_trace(office: Office, root: Message) -> None:
    await office.put(case_of(root))
    reply = await office.show_reply(root)

    assert (await office.person("Kavya").click(reply, "Trace")).acked

    assert office.person("Kavya").modal is None
    assert private(office, "Kavya") == [GUEST]
