"""Deciding on a card, from the button to the event, and every way in which it can't count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.approval import Card, CardOutcome
from agent.case import Approval, Decided, Event, Post
from bot.listeners.approvals import (
    CANT_CHECK,
    COPY,
    NOTE_KEPT,
    OPENER,
    STALE_CARD,
    STALE_MODAL,
    STRANGER,
    UNKNOWN_CARD,
    WRONG_AMOUNT,
)
from bot.listeners.boundary import NOT_DONE
from bot.listeners.desk import GUEST
from bot.local.slack.seed import APPROVALS, LEADS, OMAR, PRIYA, SUPPORT_CASES
from bot.local.slack.workspace import Message
from tests.bot.office import RUN_ID, Office, card, open_office

CASE = f"T0CARTWISE:{SUPPORT_CASES}:1800000000.000100"
BUTTONS = ["Decline", "Change amount"]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


async def open_card(office: Office, shown: Card | None = None) -> Message:
    """A run that waits for a lead, and its card in the approvals channel."""
    await office.put(CASE, card=card())
    return await office.show_card(CASE, shown or card())


async def posted_card(office: Office) -> tuple[Post, Message]:
    """A card as the outbox posts it; the store doesn't know yet that it is out."""
    await office.put(CASE, card=card())
    content = Approval(card=card(), openers=(), run_id=RUN_ID)
    post = Post(post_id=f"{CASE}/4", content=content)
    return post, await office.show_card(CASE, card(), post_id=post.post_id)


async def decided(office: Office) -> list[Event]:
    return await office.inbox(CASE)


def private(office: Office, name: str) -> list[str]:
    return [line.text for line in office.person(name).private]


def omars(verdict: str, **fields: object) -> CardOutcome:
    return CardOutcome(verdict=verdict, by=OMAR, at=1.0, **fields)  # pyright: ignore[reportArgumentType]


# A copy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("button", ["Approve", *BUTTONS])
async def test_a_click_on_a_copy_of_the_card_decides_nothing(office: Office, button: str) -> None:
    post, message = await posted_card(office)
    copy = await office.show_card(CASE, card(), post_id=post.post_id)
    await office.sent(CASE, post, message)

    assert (await office.person("Priya").click(copy, button)).acked

    assert private(office, "Priya") == [COPY]
    assert office.person("Priya").modal is None
    assert await decided(office) == []


async def test_a_click_on_the_card_itself_is_none_on_a_copy(office: Office) -> None:
    post, message = await posted_card(office)
    await office.sent(CASE, post, message)

    await office.person("Priya").click(message, "Approve")

    assert len(await decided(office)) == 1


async def test_a_card_whose_place_is_not_saved_yet_is_taken_for_the_card(office: Office) -> None:
    _, message = await posted_card(office)

    await office.person("Priya").click(message, "Approve")

    assert len(await decided(office)) == 1
    assert private(office, "Priya") == []


# Approve ----------------------------------------------------------------------------------------


async def test_an_approve_click_is_stored_with_what_the_card_showed(office: Office) -> None:
    message = await open_card(office)

    assert (await office.person("Priya").click(message, "Approve")).acked

    (event,) = await decided(office)
    assert event.event_id == f"act:T0CARTWISE:{event.ts}:{PRIYA}:approve"
    assert event.fact == Decided(
        key="run-1:call-1",
        version=1,
        digest="digest-1",
        verdict="approve",
        by=PRIYA,
        place=f"{APPROVALS}:",
    )
    assert office.woken == [CASE]


async def test_approve_clicks_of_members_are_left_to_the_harness(office: Office) -> None:
    message = await open_card(office, card(version=7))

    assert (await office.person("Sam").click(message, "Approve")).acked

    assert private(office, "Sam") == []
    (event,) = await decided(office)
    assert isinstance(event.fact, Decided)
    assert event.fact.version == 7


@pytest.mark.parametrize("name", ["Gita", "Kavya"])
@pytest.mark.parametrize("button", ["Approve", *BUTTONS])
async def test_guests_decide_nothing(office: Office, name: str, button: str) -> None:
    for guest in ("Gita", "Kavya"):
        await office.person(guest).join("approvals")
    message = await open_card(office)

    assert (await office.person(name).click(message, button)).acked

    assert private(office, name) == [GUEST]
    assert await decided(office) == []


@pytest.mark.parametrize("button", ["Approve", *BUTTONS])
async def test_a_card_the_store_does_not_know_decides_nothing(office: Office, button: str) -> None:
    message = await office.show_card(CASE, card())

    assert (await office.person("Priya").click(message, button)).acked

    assert private(office, "Priya") == [UNKNOWN_CARD]
    assert office.person("Priya").modal is None
    assert await decided(office) == []


# Before a modal opens ---------------------------------------------------------------------------


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize(
    ("name", "openers", "words"),
    [("Sam", [], STRANGER), ("Priya", [PRIYA], OPENER)],
)
async def test_who_may_not_decide_gets_words_instead_of_a_modal(
    office: Office, button: str, name: str, openers: list[str], words: str
) -> None:
    await office.put(CASE, card=card(), openers=openers)
    message = await office.show_card(CASE, card())

    assert (await office.person(name).click(message, button)).acked

    assert private(office, name) == [words]
    assert office.person(name).modal is None


async def test_without_four_eyes_an_opener_may_decide(tmp_path: Path) -> None:
    async with open_office(tmp_path, env={"CASETHREAD_FOUR_EYES": "false"}) as office:
        await office.put(CASE, card=card(), openers=[PRIYA])
        message = await office.show_card(CASE, card())

        await office.person("Priya").click(message, "Decline")

        assert office.person("Priya").modal is not None


async def test_when_slack_cannot_say_who_is_an_approver_no_modal_opens(office: Office) -> None:
    message = await open_card(office)
    office.slack.faults.refuse("usergroups.users.list", "internal_error")

    assert (await office.person("Priya").click(message, "Decline")).acked

    assert private(office, "Priya") == [CANT_CHECK]


async def test_a_slow_answer_about_approvers_delays_no_acknowledgement(office: Office) -> None:
    message = await open_card(office)
    office.slack.faults.slow("usergroups.users.list", 10)

    assert (await office.person("Priya").click(message, "Decline")).acked

    assert private(office, "Priya") == [CANT_CHECK]


@pytest.mark.parametrize("button", BUTTONS)
@pytest.mark.parametrize("change", [{"version": 2}, {"digest": "another"}])
async def test_an_old_version_of_a_card_opens_no_modal(
    office: Office, button: str, change: dict[str, object]
) -> None:
    await office.put(CASE, card=replace(card(), **change))  # pyright: ignore[reportArgumentType]
    message = await office.show_card(CASE, card())

    assert (await office.person("Priya").click(message, button)).acked

    assert private(office, "Priya") == [STALE_CARD]
    assert office.person("Priya").modal is None


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (omars("approved"), "Omar Sheikh approved this already."),
        (omars("declined"), "Omar Sheikh declined this already."),
        (omars("refused"), "Omar Sheikh approved this already, but it could no longer be paid."),
        (
            CardOutcome(verdict="approved", by=PRIYA),
            "You approved this already.",
        ),
        (CardOutcome(verdict="expired"), "This request has expired: nobody answered in time."),
        (
            CardOutcome(verdict="withdrawn"),
            "This request was withdrawn: a colleague has the case.",
        ),
    ],
)
async def test_a_decided_card_says_who_decided(
    office: Office, outcome: CardOutcome, words: str
) -> None:
    await office.put(CASE, decided=replace(card(), outcome=outcome))
    message = await office.show_card(CASE, card())

    assert (await office.person("Priya").click(message, "Decline")).acked

    assert private(office, "Priya") == [words]


# Decline ----------------------------------------------------------------------------------------


async def test_a_decline_with_a_note_is_stored_and_closes_the_modal(office: Office) -> None:
    message = await open_card(office)
    priya = office.person("Priya")
    before = office.desk.now()

    await priya.click(message, "Decline")
    view = priya.modal
    assert view is not None
    assert "4471" in office.slack.render(view)
    result = await priya.fill_and_submit({"Note": "  Offer an exchange & say <sorry> "})

    assert result.accepted
    assert priya.modal is None
    (event,) = await decided(office)
    assert event.event_id == f"view:{view.id}"
    assert before <= float(event.ts) <= office.desk.now()
    assert event.fact == Decided(
        key="run-1:call-1",
        version=1,
        digest="digest-1",
        verdict="decline",
        by=PRIYA,
        place=f"{APPROVALS}:",
        note="Offer an exchange & say <sorry>",
    )
    assert office.woken == [CASE]
    assert office.slack.refused == []


async def test_a_note_is_not_needed(office: Office) -> None:
    message = await open_card(office)
    await office.person("Priya").click(message, "Decline")

    assert (await office.person("Priya").fill_and_submit()).accepted


async def test_a_modal_of_an_older_version_keeps_its_note_and_decides_nothing(
    office: Office,
) -> None:
    message = await open_card(office)
    priya = office.person("Priya")
    await priya.click(message, "Decline")
    await office.put(CASE, card=card(version=2))

    result = await priya.fill_and_submit({"Note": "No receipt"})

    assert result.errors == {"Note": STALE_MODAL}
    assert priya.modal is not None
    assert priya.modal.values["note"]["input"]["value"] == "No receipt"
    assert await decided(office) == []


async def test_a_modal_that_comes_second_says_who_decided(office: Office) -> None:
    message = await open_card(office)
    await office.person("Priya").click(message, "Decline")
    await office.put(CASE, decided=replace(card(), outcome=omars("approved")))

    result = await office.person("Priya").fill_and_submit({"Note": "No receipt"})

    assert result.errors == {"Note": f"Omar Sheikh approved this already. {NOTE_KEPT}"}
    assert await decided(office) == []


async def test_somebody_who_is_no_lead_any_more_declines_nothing(office: Office) -> None:
    message = await open_card(office)
    await office.person("Priya").click(message, "Decline")
    office.slack.workspace.set_group(LEADS, [OMAR])

    result = await office.person("Priya").fill_and_submit({"Note": "No receipt"})

    assert result.errors == {"Note": f"{STRANGER} {NOTE_KEPT}"}
    assert await decided(office) == []


async def test_a_modal_that_cannot_be_stored_stays_open_with_its_note(office: Office) -> None:
    message = await open_card(office)
    priya = office.person("Priya")
    await priya.click(message, "Decline")
    await office.door.kill()

    result = await priya.fill_and_submit({"Note": "No receipt"})

    assert result.errors == {"Note": NOT_DONE}
    office.door.revive()
    assert await decided(office) == []
    assert (await priya.fill_and_submit()).accepted
    (event,) = await decided(office)
    assert isinstance(event.fact, Decided)
    assert event.fact.note == "No receipt"


# Change amount ----------------------------------------------------------------------------------


async def test_a_smaller_amount_is_an_approval_of_that_amount(office: Office) -> None:
    message = await open_card(office)
    priya = office.person("Priya")
    await priya.click(message, "Change amount")

    result = await priya.fill_and_submit({"Amount in rupees": "1499.50", "Note": "Scratches only"})

    assert result.accepted
    (event,) = await decided(office)
    assert event.fact == Decided(
        key="run-1:call-1",
        version=1,
        digest="digest-1",
        verdict="approve",
        by=PRIYA,
        place=f"{APPROVALS}:",
        note="Scratches only",
        amount_paise=149_950,
    )


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", WRONG_AMOUNT),
        ("-5", WRONG_AMOUNT),
        ("10.005", WRONG_AMOUNT),
        ("2499", "Write less than the ₹2,499.00 asked for, or press Approve instead."),
        ("2499.01", "Write less than the ₹2,499.00 asked for, or press Approve instead."),
    ],
)
async def test_a_wrong_amount_is_said_at_the_amount(
    office: Office, amount: str, words: str
) -> None:
    message = await open_card(office)
    priya = office.person("Priya")
    await priya.click(message, "Change amount")

    result = await priya.fill_and_submit({"Amount in rupees": amount, "Note": "Scratches only"})

    assert result.errors == {"Amount in rupees": words}
    assert await decided(office) == []
    assert (await priya.fill_and_submit({"Amount in rupees": "100"})).accepted


async def test_a_changed_amount_on_an_older_version_keeps_the_note(office: Office) -> None:
    message = await open_card(office)
    await office.person("Priya").click(message, "Change amount")
    await office.put(CASE, card=card(version=2))

    result = await office.person("Priya").fill_and_submit({"Amount in rupees": "100", "Note": "x"})

    assert result.errors == {"Note": STALE_MODAL}
