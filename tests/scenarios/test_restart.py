"""The bot is killed with -9, and nothing is lost and nothing happens twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agent.ports import Change, Lease, StoredEvent
from bot.local.claude import call, say
from tests.scenarios.stage import Stage, photo
from tests.scenarios.test_refund import QUESTION, REPLY, WORDS, propose, whole_job


async def assert_one_payment_and_one_reply(stage: Stage, *posts: str) -> None:
    """The seed case ended as if nothing had happened: each of these posts is there once."""
    [root] = [each for each in stage.slack.messages("support-cases") if not each.thread_ts]
    shown = [stage.look(each) for each in stage.posts(root)]
    assert [sum(text in each for each in shown) for text in posts] == [1] * len(posts)
    async with stage.records():
        [refund] = await stage.refunds("4471")
        assert (refund.status, refund.amount_paise) == ("paid", 249900)
        assert (await stage.run()).status == "done"
        assert len(await stage.runs()) == 1


async def test_a_stop_after_a_save_asks_claude_nothing_more(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.claude.script("speaker", [call("get_order", order_id="4471"), say(REPLY)])
    async with stage.on() as running:
        save = running.store.save
        stopping: list[asyncio.Task[None]] = []

        async def stop_after_the_results(lease: Lease, change: Change) -> Sequence[StoredEvent]:
            left = await save(lease, change)
            if (
                change.run is not None
                and change.run.steps == 1
                and change.messages[-1:]
                and (change.messages[-1]["role"] == "user")
            ):
                stopping.append(asyncio.create_task(running.workers.drain(seconds=5)))
                await asyncio.sleep(0)
            return left

        monkeypatch.setattr(running.store, "save", stop_after_the_results)
        root = await stage.open(WORDS)
        await stage.until(lambda: stopping and stopping[0].done())
        assert len(stage.claude.requests) == 1
    async with stage.on():
        await stage.status(root, "white_check_mark")
        entries = await stage.store.trace((await stage.run()).run_id)
    assert len(stage.claude.requests) == 2
    # No call was lost, so none is charged by estimate.
    assert "attempt" not in {entry["kind"] for entry in entries}


async def test_a_restart_in_each_pause_changes_nothing(stage: Stage) -> None:
    whole_job(stage)
    async with stage.process() as bot:
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await bot.kill()
        await stage.ravi.reply(root, "Here is the photo.", files=[photo()])
        await bot.start()
        card = await stage.card("₹2,499.00")
        await stage.status(root, "lock")
        await bot.kill()
        await bot.start()
        await stage.until(lambda: stage.slack.sockets.connected)
        await stage.decide(stage.priya, "Approve", card)
        await stage.status(root, "white_check_mark")
    await assert_one_payment_and_one_reply(stage, QUESTION, "approved by", REPLY)
    answered = [each for each in stage.claude.requests if each.outcome == "answered"]
    assert len(answered) == 5


async def test_a_kill_while_the_model_thinks_asks_it_again(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thanks.")])
    async with stage.process() as bot:
        stage.claude.faults.hold()
        root = await stage.open(WORDS)
        await stage.claude.arrived(1)
        await bot.kill()
        stage.claude.faults.release()
        await bot.start()
        await stage.shown(root, QUESTION)
        stage.claude.faults.hold()
        await stage.ravi.reply(root, "Here.")
        await stage.claude.arrived(3)
        await bot.kill()
        stage.claude.faults.release()
        await bot.start()
        await stage.shown(root, "Thanks.")
        await stage.status(root, "white_check_mark")
    assert sum(QUESTION in stage.look(each) for each in stage.posts(root)) == 1
    async with stage.records():
        assert (await stage.run()).steps == 2


async def test_a_click_while_the_bot_is_down_shows_an_error_and_counts_when_repeated(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [propose(), say(REPLY)])
    async with stage.process() as bot:
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        await bot.kill()
        lost = await stage.priya.click(card, "Approve")
        assert not lost.acked
        await bot.start()
        await stage.until(lambda: stage.slack.sockets.connected)
        await stage.decide(stage.priya, "Approve", card)
        await stage.status(root, "white_check_mark")
    await assert_one_payment_and_one_reply(stage, "approved by", REPLY)


async def test_a_kill_right_after_the_click_still_pays_once(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say(REPLY)])
    async with stage.process() as bot:
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        assert (await stage.priya.click(card, "Approve")).acked
        await bot.kill()
        await bot.start()
        await stage.status(root, "white_check_mark", seconds=20)
    await assert_one_payment_and_one_reply(stage, "approved by", REPLY)
    assert stage.buttons(card) == []


async def test_after_a_restart_the_card_changes_while_the_model_still_thinks(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say(REPLY)])
    async with stage.process() as bot:
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        await bot.kill()
        await bot.start()
        await stage.until(lambda: stage.slack.sockets.connected)
        stage.claude.faults.hold()
        await stage.decide(stage.priya, "Approve", card)
        await stage.until(lambda: stage.buttons(card) == [])
        await stage.shown(root, "approved by")
        assert stage.find(root, REPLY) is None
        stage.claude.faults.release()
        await stage.status(root, "white_check_mark")


async def test_a_reply_that_slack_gave_up_delivering_is_read_after_the_start(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thanks.")])
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.status(root, "speech_balloon")
    await stage.ravi.reply(root, "Here it is.")
    stage.slack.faults.give_up_events()
    async with stage.on():
        await stage.shown(root, "Thanks.")


async def test_a_reply_to_a_finished_case_that_was_missed_begins_a_new_run_after_the_start(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [say("All is well.")])
    stage.claude.script("box", [say("Keep the box, then.")])
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, "All is well.")
        await stage.status(root, "white_check_mark")
    await stage.ravi.reply(root, "And what about the box?")
    stage.slack.faults.give_up_events()
    async with stage.on():
        await stage.shown(root, "Keep the box, then.")
        await stage.status(root, "white_check_mark")
    assert len(stage.claude.requests) == 2
