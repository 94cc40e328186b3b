"""The whole bot with the clerk in the place of Claude: cases in words that no script knows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from agent.refunds.ports import RefundStatus
from agent.run import Status
from bot.local.claude import LocalClaude
from bot.local.slack import LocalSlack
from tests.scenarios.stage import MANIFEST, Clock, Stage, photo


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    clock = Clock()
    async with (
        LocalSlack(manifest=MANIFEST, now=clock) as slack,
        LocalClaude(clerk=True, now=clock) as claude,
    ):
        yield Stage(slack=slack, claude=claude, clock=clock, folder=tmp_path)
        assert not claude.refused, [each.error for each in claude.refused]


async def test_the_main_job_ends_with_an_approved_refund_and_its_reference(stage: Stage) -> None:
    async with stage.on():
        root = await stage.open("The speaker from 4471 came broken, I want my money back. Asha")
        await stage.shown(root, "Question for the customer")
        await stage.ravi.reply(root, "Here it is", files=[photo()])
        card = await stage.card("₹2,499.00")
        assert "damaged-items" in stage.look(card)
        await stage.decide(stage.priya, "Approve", card)
        reply = await stage.shown(root, "Your refund of ₹2,499.00")
        (refund,) = await stage.refunds("4471")
        assert refund.status is RefundStatus.PAID
        assert str(refund.reference) in stage.look(reply)
        assert (await stage.run()).status is Status.DONE


async def test_a_declined_refund_is_proposed_again_as_the_note_offers(stage: Stage) -> None:
    async with stage.on():
        root = await stage.open(
            "Order 4471: the speaker has a scratch, it came damaged. Refund please. Asha",
            files=[photo()],
        )
        first = await stage.card("₹2,499.00")
        await stage.decide(stage.priya, "Decline", first, Note="Only a scratch: offer 20%.")
        second = await stage.card("₹499.80", after=first)
        await stage.decide(stage.priya, "Approve", second)
        await stage.shown(root, "Your refund of ₹499.80")
        statuses = [row.status for row in await stage.refunds("4471")]
        assert statuses == [RefundStatus.DECLINED, RefundStatus.PAID]


async def test_what_the_rules_do_not_cover_is_handed_off_and_can_be_given_back(
    stage: Stage,
) -> None:
    async with stage.on():
        root = await stage.open(
            "My headphones, order 9001, need a repair under warranty. Vikram",
            customer="Vikram Shah",
        )
        handed = await stage.shown(root, "warranty")
        await stage.status(root, "raising_hand")
        await stage.meena.reply(root, "The service centre expects them tomorrow, SC-118.")
        await stage.decide(stage.meena, "Give back to the agent", handed)
        await stage.shown(root, "Reply to pass to the customer")
        await stage.status(root, "white_check_mark")


async def test_a_small_refund_is_paid_at_once_and_thanks_are_answered(stage: Stage) -> None:
    async with stage.on():
        root = await stage.open(
            "Order 6210 came broken, refund please. Meera", customer="Meera Iyer", files=[photo()]
        )
        await stage.shown(root, "Your refund of ₹145.05")
        await stage.status(root, "white_check_mark")
        await stage.ravi.reply(root, "Thank you so much!")
        await stage.shown(root, "You're welcome")
        assert len(await stage.refunds("6210")) == 1
