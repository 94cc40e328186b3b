"""What is posted, changed and told when Slack answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.case import Line, Notice, PrivateLine, Reaction, Reply
from agent.ports import Posted
from bot.actions import FEEDBACK_GOOD
from bot.local.slack.seed import APPROVALS, CASETHREAD_BOT_USER, LEADS, SUPPORT_CASES
from bot.posting import Audience
from tests.bot import card_samples as samples
from tests.bot.posting_bench import IN_THREAD, Bench, opened_bench, post_id_of

ELSEWHERE = Audience(approvals_channel=APPROVALS, handoff_mention=LEADS, approvers=("S0LEADS001",))
NOWHERE = Posted(channel="", message_id="")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened_bench(tmp_path) as opened:
        yield opened


async def test_an_outbox_goes_to_the_thread_in_order_and_once(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.PICKER, samples.QUESTION, samples.REPLY, samples.HANDOFF)
    assert await owner.drain() is None
    assert await owner.drain() is None
    assert bench.ids() == ["p1", "p2", "p3", "p4"]
    assert await owner.unsent() == []
    assert await bench.where("p2") == Posted(
        channel=bench.root.channel, message_id=bench.posts[1].ts
    )
    assert not bench.slack.refused


async def test_no_post_unfurls_links(bench: Bench):
    owner = bench.owner()
    await owner.say(Line(text="https://example.com/x"))
    await owner.drain()
    [call] = [call for call in bench.slack.calls if call.method == "chat.postMessage"]
    assert (call.args["unfurl_links"], call.args["unfurl_media"]) == (False, False)


async def test_a_customers_words_notify_nobody(bench: Bench):
    owner = bench.owner()
    await owner.say(Reply(text="<!channel> <@U0OMAR0001> <!subteam^S0LEADS001>", run_id="r1"))
    await owner.drain()
    assert bench.slack.notifications == []


async def test_a_question_notifies_who_relays_it(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.QUESTION)
    await owner.drain()
    assert {told.user_id for told in bench.slack.notifications} == {samples.RAVI}


async def test_a_card_goes_to_the_approvals_channel_with_a_link_to_the_thread(bench: Bench):
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    assert await owner.drain() is None
    [card] = bench.at_root("approvals")
    assert bench.slack.permalink(bench.root) in str(card.blocks)
    assert bench.posts == []


async def test_a_card_goes_to_the_thread_when_the_approvals_channel_is_the_cases_own(bench: Bench):
    owner = bench.owner(replace(ELSEWHERE, approvals_channel=SUPPORT_CASES))
    await owner.say(samples.APPROVAL)
    await owner.drain()
    assert bench.ids() == ["p1"]


async def test_a_card_that_the_approvals_channel_refuses_goes_to_the_thread(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    bench.slack.workspace.leave(bench.slack.workspace.channel("approvals"), CASETHREAD_BOT_USER)
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_post_that_can_never_arrive_is_done_with_and_told_to_the_operator(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    owner = bench.owner()
    bench.slack.faults.refuse("chat.postMessage", "is_archived")
    await owner.say(samples.QUESTION, samples.LINE)
    assert await owner.drain() is None
    assert await bench.where("p1") == NOWHERE
    assert bench.ids() == ["p2"]
    assert "is_archived" in caplog.text


async def test_a_message_whose_blocks_are_refused_is_posted_as_text(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    owner = bench.owner()
    bench.slack.faults.refuse("chat.postMessage", "invalid_blocks")
    await owner.say(samples.QUESTION)
    assert await owner.drain() is None
    [message] = bench.posts
    assert not message.blocks
    assert "photo of the damage" in message.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_a_long_reply_has_its_buttons_on_the_last_part_only(bench: Bench):
    owner = bench.owner()
    await owner.say(Reply(text="A sentence of the reply. " * 400, run_id="r1"))
    assert await owner.drain() is None
    assert bench.ids() == ["p1", "p1#2", "p1#3", "p1#4"]
    with_buttons = [FEEDBACK_GOOD in str(message.blocks) for message in bench.posts]
    assert with_buttons == [False, False, False, True]
    assert await bench.where("p1") == Posted(
        channel=bench.root.channel, message_id=bench.posts[-1].ts
    )


# Changes ---------------------------------------------------------------------------------------


async def test_a_decided_card_is_changed_in_its_place(bench: Bench):
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    await owner.say(samples.carded(outcome=samples.APPROVED), update_of="p1", start=2)
    assert await owner.drain() is None
    [card] = bench.at_root("approvals")
    assert "*Approved*" in card.text
    assert post_id_of(card) == "p1"
    assert await bench.where("p2") == await bench.where("p1")


async def test_a_change_of_what_left_no_message_is_done_with(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.refuse("chat.postMessage", "restricted_action")
    await owner.say(samples.PICKER)
    await owner.say(samples.STATUS_LINE, update_of="p1", start=2)
    await owner.say(samples.STATUS_LINE, update_of="unknown", start=3)
    assert await owner.drain() is None
    assert bench.posts == []
    assert await owner.unsent() == []


@pytest.mark.parametrize("error", ["cant_update_message", "edit_window_closed", "msg_too_long"])
async def test_a_decision_whose_card_cannot_be_changed_is_told_in_a_line(bench: Bench, error: str):
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    bench.slack.faults.refuse("chat.update", error)
    await owner.say(samples.carded(outcome=samples.APPROVED), update_of="p1", start=2)
    assert await owner.drain() is None
    card, line = bench.at_root("approvals")
    assert "*Approved*" not in card.text
    assert f"approved by <@{samples.PRIYA}>" in line.text
    assert post_id_of(line) == "p2"


async def test_an_open_card_that_cannot_be_changed_is_posted_anew(bench: Bench):
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.APPROVAL)
    bench.slack.faults.refuse("chat.update", "edit_window_closed")
    await owner.say(samples.carded(version=2, added=("Hurry!",)), update_of="p1", start=2)
    assert await owner.drain() is None
    _, anew = bench.at_root("approvals")
    assert "Hurry!" in anew.text
    assert "Approve" in str(anew.blocks)


async def test_another_change_that_is_refused_is_done_with(bench: Bench):
    owner = bench.owner()
    await owner.say(samples.PICKER)
    bench.slack.faults.refuse("chat.update", "edit_window_closed")
    await owner.say(samples.STATUS_LINE, update_of="p1", start=2)
    assert await owner.drain() is None
    assert bench.ids() == ["p1"]


# Reactions and private lines -------------------------------------------------------------------


async def test_one_reaction_tells_the_status(bench: Bench):
    owner = bench.owner()
    await owner.say(Reaction(status="running"))
    await owner.drain()
    assert bench.slack.reactions(bench.root) == ["hourglass_flowing_sand"]
    await owner.say(Reaction(status="done", previous="running"), start=2)
    await owner.drain()
    assert bench.slack.reactions(bench.root) == ["white_check_mark"]
    await owner.say(Reaction(status="", previous="done"), start=3)
    await owner.drain()
    assert bench.slack.reactions(bench.root) == []


async def test_a_reaction_that_is_as_it_should_be_is_no_trouble(
    bench: Bench, caplog: pytest.LogCaptureFixture
):
    owner = bench.owner()
    await owner.say(
        Reaction(status="running"),
        Reaction(status="running", previous="done"),
        Reaction(status="running", previous="running"),
    )
    assert await owner.drain() is None
    removed = [call for call in bench.slack.calls if call.method == "reactions.remove"]
    assert len(removed) == 1
    assert bench.slack.reactions(bench.root) == ["hourglass_flowing_sand"]
    assert not caplog.records


async def test_a_private_line_is_seen_by_one_person_in_their_place(bench: Bench):
    owner = bench.owner()
    place = f"{bench.root.channel}:{bench.root.ts}"
    await owner.say(PrivateLine(user=samples.RAVI, place=place, text="Already done."))
    assert await owner.drain() is None
    [line] = bench.slack.person("Ravi").private
    assert (line.text, line.thread_ts) == ("Already done.", bench.root.ts)
    assert not bench.slack.person("Meena").private


@pytest.mark.parametrize("place", [APPROVALS + ":", "nonsense"])
async def test_a_private_line_that_cannot_be_shown_holds_nothing_up(bench: Bench, place: str):
    owner = bench.owner()
    await owner.say(PrivateLine(user="U0GITA0001", place=place, text="No."), samples.LINE)
    bench.slack.faults.server_error("chat.postEphemeral")
    assert await owner.drain() is None
    assert bench.ids() == ["p2"]


# A thread without its first message ------------------------------------------------------------


async def test_nothing_stays_at_the_channels_root_when_the_first_message_is_gone(bench: Bench):
    await bench.slack.person("Ravi").delete(bench.root)
    owner = bench.owner()
    await owner.say(samples.QUESTION, samples.STATUS_LINE, samples.REPLY)
    assert await owner.drain() is None
    assert bench.slack.messages("support-cases") == []
    assert bench.dead_roots == [bench.case.case_id]
    assert await bench.where("p3") == NOWHERE
    posted = [call for call in bench.slack.calls if call.method == "chat.postMessage"]
    assert len(posted) == 1


async def test_a_stray_that_cannot_be_deleted_yet_is_deleted_before_anything_else(bench: Bench):
    await bench.slack.person("Ravi").delete(bench.root)
    owner = bench.owner()
    await owner.say(samples.QUESTION)
    bench.slack.faults.server_error("chat.delete")
    assert await owner.drain_when_told() is None
    assert bench.slack.messages("support-cases") == []
    assert bench.dead_roots == [bench.case.case_id]
    posted = [call for call in bench.slack.calls if call.method == "chat.postMessage"]
    assert len(posted) == 1


async def test_a_handoff_of_a_lost_thread_is_told_in_the_approvals_channel(bench: Bench):
    await bench.slack.person("Ravi").delete(bench.root)
    owner = bench.owner(ELSEWHERE)
    await owner.say(samples.HANDOFF)
    assert await owner.drain() is None
    [told] = bench.at_root("approvals")
    assert samples.HANDOFF.reason in told.text
    assert {seen.how for seen in bench.slack.notifications} == {f"<!subteam^{LEADS}>"}
    assert bench.slack.messages("support-cases") == []


async def test_a_notice_goes_to_the_approvals_channel(bench: Bench):
    owner = bench.owner(ELSEWHERE)
    await owner.say(Notice(text="r1: the first message was deleted.", to=(samples.RAVI,)))
    assert await owner.drain() is None
    [told] = bench.at_root("approvals")
    assert "the first message was deleted" in told.text
    assert not bench.dead_roots


async def test_a_notice_goes_to_the_openers_directly_when_there_is_no_approvals_channel(
    bench: Bench,
):
    owner = bench.owner(IN_THREAD)
    people = (samples.RAVI, samples.OMAR)
    await owner.say(Notice(text="r1: deleted.", to=people))
    assert await owner.drain() is None
    for person in people:
        direct = bench.slack.workspace.direct_channel(person, CASETHREAD_BOT_USER)
        [told] = bench.slack.messages(direct.id)
        assert "r1: deleted." in told.text
    assert bench.posts == []
