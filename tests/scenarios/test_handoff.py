"""Where the agent can't finish, a person takes over and is told."""

from __future__ import annotations

import pytest

from bot.local.claude import call, calls, say
from tests.scenarios.stage import Stage, results
from tests.scenarios.test_refund import QUESTION, WORDS, propose

COLLEAGUE = "passed your request to a colleague"


async def test_a_handoff_tells_the_customer_and_mentions_who_is_on_duty(stage: Stage) -> None:
    stage.claude.script("speaker", [call("hand_off", reason="Wants to speak to the owner.")])
    async with stage.on(CASETHREAD_HANDOFF_MENTION=stage.meena.id):
        root = await stage.open(WORDS)
        handoff = await stage.shown(root, COLLEAGUE)
        await stage.status(root, "raising_hand")
        assert "Wants to speak to the owner." in stage.look(handoff)
        assert stage.meena.id in {each.user_id for each in stage.slack.notifications}


async def test_after_a_handoff_the_bot_is_silent_until_the_case_is_given_back(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [call("hand_off", reason="Unclear.")])
    async with stage.on():
        root = await stage.open(WORDS)
        handoff = await stage.shown(root, COLLEAGUE)
        posts = len(stage.posts(root))
        await stage.meena.reply(root, "I called them, the speaker is lost.")
        await stage.until(lambda: stage.slack.sockets.unacknowledged == 0)
        assert len(stage.claude.requests) == 1

        stage.claude.script("gave the case back", [say("All is settled.")])
        await stage.meena.click(handoff, "Give back to the agent")
        await stage.shown(root, "All is settled.")
        await stage.status(root, "white_check_mark")
        assert len(stage.posts(root)) == posts + 1
        summary = stage.said()[0]["content"][0]["text"]
        assert "A colleague wrote in the thread: I called them" in summary


async def test_taking_over_closes_the_card_and_pays_nothing(stage: Stage) -> None:
    stage.claude.script("speaker", [propose()])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        line = await stage.shown(root, "Asha Rao")
        await stage.meena.click(line, "Take over")
        await stage.shown(root, COLLEAGUE)
        await stage.until(lambda: stage.buttons(card) == [])
        await stage.priya.click(card, "Approve") if stage.buttons(card) else None
        assert [each.status.value for each in await stage.refunds("4471")] == ["withdrawn"]


async def test_the_step_limit_ends_in_a_handoff(stage: Stage) -> None:
    stage.claude.script("speaker", [call("get_order", order_id="4471")] * 9)
    async with stage.on(CASETHREAD_MAX_STEPS="3"):
        root = await stage.open(WORDS)
        handoff = await stage.shown(root, COLLEAGUE)
        assert "limit of 3 model calls" in stage.look(handoff)
        assert len(stage.claude.requests) == 3


async def test_the_cost_limit_ends_in_a_handoff(stage: Stage) -> None:
    dear = call("get_order", order_id="4471").using(input=100_000, output=1_000)
    stage.claude.script("speaker", [dear] * 9)
    async with stage.on(CASETHREAD_MAX_COST_USD="0.60"):
        root = await stage.open(WORDS)
        handoff = await stage.shown(root, COLLEAGUE)
        assert "limit of $0.60" in stage.look(handoff)
        assert (await stage.run()).steps < 9


async def test_the_limits_count_over_all_pauses(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION)] * 9)
    async with stage.on(CASETHREAD_MAX_STEPS="2"):
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.ravi.reply(root, "one")
        await stage.until(lambda: sum(QUESTION in stage.look(x) for x in stage.posts(root)) == 2)
        await stage.ravi.reply(root, "two")
        await stage.shown(root, "limit of 2 model calls")


async def test_a_payment_is_told_even_when_the_run_is_handed_off(stage: Stage) -> None:
    stage.claude.script(
        "kettle", [propose(899, "4502"), call("hand_off", reason="Also wants a voucher.")]
    )
    async with stage.on():
        root = await stage.open("The kettle from order 4502 arrived cracked.")
        handoff = await stage.shown(root, COLLEAGUE)
        [refund] = await stage.refunds("4502")
        assert f"₹899.00 was issued, reference {refund.reference}" in stage.look(handoff)


async def test_an_unknown_tool_gets_an_error_that_names_the_tools(stage: Stage) -> None:
    unknown = call("cancel_order", order_id="4471")
    stage.claude.script(
        "speaker",
        [type(unknown)(content=unknown.content, unchecked=True), say("I can't cancel it.")],
    )
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.status(root, "white_check_mark")
        [result] = results(stage.said())
        assert result["is_error"]
        assert "get_order" in result["content"]


async def test_a_tool_that_crashes_ends_with_a_person_and_safe_words(stage: Stage) -> None:
    stage.claude.script(
        "speaker",
        [
            calls(call("get_order", order_id="4471"), call("search_policies", query="damaged")),
            say("A colleague will follow up."),
        ],
    )
    async with stage.on() as bot:
        bot.shop.policies.close()
        root = await stage.open(WORDS)
        await stage.shown(root, "A colleague will follow up.")
        await stage.status(root, "raising_hand")
        crashed = results(stage.said())[1]
        assert crashed["content"].startswith("That system is unavailable right now.")
        assert "Traceback" not in stage.slack.picture()
        assert "Error" not in stage.slack.picture()


async def test_nobody_answers_a_question_a_reminder_then_a_handoff(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION)])
    async with stage.on(CASETHREAD_REMIND_AFTER="4h", CASETHREAD_EXPIRE_AFTER="3d"):
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        stage.clock.jump(4 * 3600 + 1)
        await stage.shown(root, "Still waiting")
        stage.clock.jump(3 * 86400)
        handoff = await stage.shown(root, COLLEAGUE)
        assert "Nobody answered" in stage.look(handoff)
        assert len(stage.claude.requests) == 1


async def test_nobody_decides_the_card_expires_and_nothing_is_paid(stage: Stage) -> None:
    stage.claude.script("speaker", [propose()])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        stage.clock.jump(4 * 3600 + 1)
        reminder = await stage.card("Still waiting for a decision", after=card)
        assert {stage.priya.id, stage.omar.id} <= {
            each.user_id for each in stage.slack.notifications if each.ts == reminder.ts
        }
        stage.clock.jump(3 * 86400)
        await stage.shown(root, COLLEAGUE)
        await stage.until(lambda: stage.buttons(card) == [])
        assert "expired" in stage.look(card).lower()
        assert [each.status.value for each in await stage.refunds("4471")] == ["expired"]
        assert len(stage.claude.requests) == 1


async def test_a_case_whose_work_keeps_failing_is_given_to_a_person(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.workers.BACKOFF_SECONDS", 0.001)
    stage.claude.script("speaker", [propose()])
    async with stage.on() as bot:
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")

        async def broken(key: str, *, token: int) -> None:
            raise RuntimeError("the shop's answer can't be read")

        monkeypatch.setattr(bot.shop.ledger, "hold", broken)
        await stage.ravi.reply(root, "Are you there?")

        def handed_off() -> bool:
            # Each failure keeps its lease to the end: time has to pass.
            stage.clock.jump(1)
            return stage.slack.reactions(root) == ["raising_hand"]

        await stage.until(handed_off, seconds=30)
        handoff = await stage.shown(root, COLLEAGUE)
        assert "keeps failing" in stage.look(handoff)
        assert "can't be read" not in stage.slack.picture()
        assert stage.buttons(card) == []
        assert [each.status.value for each in await stage.refunds("4471")] == ["withdrawn"]
