"""Who may decide, when, and what everybody else is told."""

from __future__ import annotations

import asyncio

from bot.local.claude import say
from tests.scenarios.stage import Stage
from tests.scenarios.test_refund import WORDS, propose


def waits_for_a_lead(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say("Your refund is on its way.")])


async def statuses(stage: Stage) -> list[str]:
    return [each.status.value for each in await stage.refunds("4471")]


async def test_a_strangers_click_decides_nothing_and_is_answered(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        await stage.open(WORDS)
        card = await stage.card()
        await stage.decide(stage.sam, "Approve", card)
        await stage.told(stage.sam, "Only support leads")
        assert await statuses(stage) == ["waiting"]
        assert "Approve" in stage.buttons(card)

        await stage.sam.click(card, "Decline")
        await stage.told(stage.sam, "lead")
        assert stage.sam.modal is None
        assert stage.sam.errors == []


async def test_an_openers_click_decides_nothing_while_four_eyes_are_asked_for(
    stage: Stage,
) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS, by=stage.priya)
        card = await stage.card()
        await stage.decide(stage.priya, "Approve", card)
        await stage.told(stage.priya, "You opened this case")
        assert await statuses(stage) == ["waiting"]
        await stage.decide(stage.omar, "Approve", card)
        await stage.status(root, "white_check_mark")


async def test_who_chose_the_customer_is_an_opener_too(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        await stage.open(WORDS, by=stage.ravi, chooser=stage.omar)
        await stage.decide(stage.omar, "Approve", await stage.card())
        await stage.told(stage.omar, "You opened this case")
        assert await statuses(stage) == ["waiting"]


async def test_an_opener_may_decide_where_four_eyes_are_not_asked_for(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on(CASETHREAD_FOUR_EYES="false"):
        root = await stage.open(WORDS, by=stage.priya)
        await stage.decide(stage.priya, "Approve", await stage.card())
        await stage.status(root, "white_check_mark")
        assert await statuses(stage) == ["paid"]


async def test_two_leads_who_click_at_once_make_one_decision(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await asyncio.gather(stage.priya.click(card, "Approve"), stage.omar.click(card, "Approve"))
        await stage.status(root, "white_check_mark")

        [refund] = await stage.refunds("4471")
        assert refund.status == "paid"
        loser = stage.omar if refund.decided_by == stage.priya.id else stage.priya
        winner = stage.priya if loser is stage.omar else stage.omar
        assert winner.id in await stage.told(loser, "already approved")
        assert winner.private == []


async def test_a_second_click_of_the_same_lead_is_told_that_it_is_decided(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await asyncio.gather(stage.priya.click(card, "Approve"), stage.priya.click(card, "Approve"))
        await stage.status(root, "white_check_mark")
        await stage.told(stage.priya, "already approved")
        assert await statuses(stage) == ["paid"]
        assert stage.priya.errors == []


async def test_without_approvers_nobody_can_decide_and_the_card_says_so(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on(CASETHREAD_APPROVERS=""):
        await stage.open(WORDS)
        card = await stage.card()
        assert "nobody" in stage.look(card).lower()
        assert stage.ravi.id in {each.user_id for each in stage.slack.notifications}
        await stage.priya.click(card, "Approve")
        await stage.told(stage.priya, "Only support leads")
        assert await statuses(stage) == ["waiting"]


async def test_who_left_the_leads_group_can_not_approve_any_more(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        await stage.open(WORDS)
        card = await stage.card()
        stage.slack.set_group("leads", "Omar")
        await stage.priya.click(card, "Approve")
        await stage.told(stage.priya, "Only support leads")
        assert await statuses(stage) == ["waiting"]


async def test_while_slack_can_not_be_asked_nothing_is_decided(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        stage.slack.faults.server_error("usergroups.users.list")
        await stage.priya.click(card, "Approve")
        await stage.told(stage.priya, "can't check")
        assert await statuses(stage) == ["waiting"]
        await stage.priya.click(card, "Approve")
        await stage.status(root, "white_check_mark")


async def test_approved_written_in_the_thread_decides_nothing(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        await stage.priya.reply(root, "approved")
        await stage.until(lambda: "approved" in stage.look(card))
        assert await statuses(stage) == ["waiting"]
        await stage.priya.click(card, "Approve")
        await stage.status(root, "white_check_mark")

        last = stage.said()[-1]["content"]
        assert last[0]["type"] == "tool_result"
        assert last[-1] == {"type": "text", "text": "approved"}


async def test_what_the_customer_adds_voids_a_modal_that_is_open(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.omar.click(card, "Decline")
        await stage.until(lambda: stage.omar.modal)
        await stage.ravi.reply(root, "Sorry, it was the kettle.")
        await stage.until(lambda: "it was the kettle" in stage.look(card))
        sent = await stage.omar.fill_and_submit({"Note": "Please send a photo."})
        assert not sent.accepted
        assert "added something" in " ".join(sent.errors.values())
        assert stage.omar.modal is not None
        assert await statuses(stage) == ["waiting"]


async def test_after_a_decline_every_further_proposal_on_the_order_waits(stage: Stage) -> None:
    stage.claude.script(
        "speaker", [propose(), propose(), propose(500), say("We refunded ₹500.00.")]
    )
    async with stage.on():
        root = await stage.open(WORDS)
        first = await stage.card()
        await stage.decide(stage.omar, "Decline", first, Note="Too much.")
        second = await stage.card("₹500.00", after=first)
        assert "declined" in stage.look(second)
        await stage.priya.click(second, "Approve")
        await stage.status(root, "white_check_mark")
        rows = [(each.status.value, each.amount_paise) for each in await stage.refunds("4471")]
        assert rows == [("declined", 249900), ("refused", 249900), ("paid", 50000)]


async def test_a_card_in_the_cases_own_thread_works_the_same(stage: Stage) -> None:
    waits_for_a_lead(stage)
    async with stage.on(CASETHREAD_APPROVALS_CHANNEL=""):
        root = await stage.open(WORDS)
        card = await stage.shown(root, "REFUND ₹2,499.00")
        await stage.priya.click(card, "Approve")
        await stage.status(root, "white_check_mark")
        assert await statuses(stage) == ["paid"]


async def test_what_is_not_refundable_any_more_is_not_paid(stage: Stage) -> None:
    waits_for_a_lead(stage)
    stage.claude.script("kettle too", [propose(999), say("Small refund done.")])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        other = await stage.open("And the kettle too: something off the speaker, order 4471.")
        await stage.status(other, "white_check_mark")
        await stage.priya.click(card, "Approve")
        await stage.status(root, "white_check_mark")
        rows = {each.amount_paise: each.status.value for each in await stage.refunds("4471")}
        assert rows == {249900: "refused", 99900: "paid"}
        assert "Not paid" in stage.look(card)
