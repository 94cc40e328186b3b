"""What was asked for outside a thread is posted once, and its case knows all by then."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.case import Asked, Case, Content, CustomerChosen, Message, Offer, Opened, Opening
from agent.ports import StoredEvent
from bot.local.slack.render import render_message
from bot.local.slack.seed import SUPPORT_CASES
from bot.thread import Thread
from tests.bot import card_samples as samples
from tests.bot.posting_bench import TIMEOUT_SECONDS, Bench, opened_bench

ASKED = Asked(customer_id="cust_asha", by=samples.RAVI, text="It broke", place=f"{SUPPORT_CASES}:")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened_bench(tmp_path) as opened:
        request = Thread.to_come(team=opened.thread.team, channel=SUPPORT_CASES, request="V1")
        opened.case = Case(case_id=request.case_id, agent="refunds", opened_at=opened.clock())
        yield opened


def asking(bench: Bench, asked: Asked = ASKED) -> tuple[Content, Content]:
    at = bench.clock()
    answer = Opened(opening="p1", user=asked.by, place=asked.place, text=asked.text, asked_at=at)
    return Opening(asked=asked, asked_at=at), answer


async def told(bench: Bench, root_ts: str) -> list[StoredEvent]:
    """What the new thread's case was told."""
    thread = Thread(team=bench.thread.team, channel=SUPPORT_CASES, ts=root_ts)
    claim = await bench.store.claim(thread.case_id, "a look", seconds=1)
    return [] if claim is None else list(claim.record.inbox)


async def test_the_new_threads_case_gets_words_and_customer(bench: Bench):
    owner = bench.owner()
    await owner.say(*asking(bench))
    assert await owner.drain() is None

    [root] = bench.at_root("support-cases")
    words, chosen = await told(bench, root.ts)
    assert words.event.fact == Message(
        message_id=root.ts, author=samples.RAVI, text="It broke", first=True
    )
    place = f"{SUPPORT_CASES}:{root.ts}"
    assert chosen.event.fact == CustomerChosen(
        customer_id="cust_asha", by=samples.RAVI, place=place
    )
    assert words.event.ts == chosen.event.ts == root.ts
    [line] = bench.slack.person("Ravi").private
    assert bench.slack.permalink(root) in line.text


async def test_the_customers_words_mention_nobody(bench: Bench):
    owner = bench.owner()
    words = "<!channel> @here <@U0OMAR0001> <https://evil.example|click> *now*"
    await owner.say(*asking(bench, replace(ASKED, text=words)))
    assert await owner.drain() is None

    [root] = bench.at_root("support-cases")
    assert {each.user_id for each in bench.slack.notifications} <= {samples.RAVI}
    assert words in "\n".join(render_message(bench.slack.workspace, root)).replace("\n▏ ", " ")


async def test_a_first_message_whose_answer_was_lost_is_found_and_not_posted_again(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(*asking(bench))
    at = await owner.drain()
    assert at == bench.clock() + TIMEOUT_SECONDS
    [root] = bench.at_root("support-cases")
    assert await told(bench, root.ts) == []

    bench.clock.go_on(TIMEOUT_SECONDS)
    assert await owner.drain() is None

    assert bench.at_root("support-cases") == [root]
    assert len(await told(bench, root.ts)) == 2


async def test_another_owner_finds_the_first_message_and_tells_its_case(bench: Bench):
    first = bench.owner()
    await first.say(*asking(bench))
    bench.slack.faults.drop_answer("chat.postMessage")
    assert await first.drain() is not None
    [root] = bench.at_root("support-cases")

    second = bench.owner()
    await second.claim()
    assert await second.drain_when_told() is None

    assert bench.at_root("support-cases") == [root]
    assert len(await told(bench, root.ts)) == 2
    where = await bench.where("p1")
    assert where is not None
    assert where.message_id == root.ts


async def test_other_cases_messages_at_the_root_are_no_first_message_of_this_one(bench: Bench):
    mine, other = bench.case, Thread.to_come(team="T0CARTWISE", channel=SUPPORT_CASES, request="V2")
    bench.case = Case(case_id=other.case_id, agent="refunds", opened_at=bench.clock())
    owner = bench.owner()
    await owner.say(*asking(bench))
    assert await owner.drain() is None
    bench.case = mine
    mail = bench.owner()
    bench.slack.faults.server_error("chat.postMessage")
    await mail.say(*asking(bench))

    assert await mail.drain_when_told() is None

    assert len(bench.at_root("support-cases")) == 2


async def test_where_slack_refuses_the_thread_the_words_come_back(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.refuse("chat.postMessage", "restricted_action")
    await owner.say(*asking(bench))
    assert await owner.drain() is None

    assert bench.at_root("support-cases") == []
    [line] = bench.slack.person("Ravi").private
    assert line.text == (
        f"No case was opened: I can't post in <#{SUPPORT_CASES}>. The customer's words were:\n"
        "It broke"
    )


@pytest.mark.parametrize("trouble", ["refuse", "server_error"])
async def test_what_cant_be_shown_in_place_comes_as_a_direct_message(bench: Bench, trouble: str):
    owner = bench.owner()
    if trouble == "refuse":
        bench.slack.faults.refuse("chat.postEphemeral", "user_not_in_channel")
    else:
        bench.slack.faults.server_error("chat.postEphemeral")
    await owner.say(*asking(bench))
    assert await owner.drain() is None

    assert bench.slack.person("Ravi").private == []
    [message] = direct(bench, samples.RAVI)
    assert message.startswith("The case is open")


async def test_a_direct_answer_whose_own_answer_was_lost_is_not_sent_twice(bench: Bench):
    owner = bench.owner()
    offer = Offer(user=samples.RAVI, place="", asked_at=bench.clock())
    bench.slack.faults.drop_answer("chat.postMessage")
    await owner.say(offer)

    assert await owner.drain_when_told() is None

    assert len(direct(bench, samples.RAVI)) == 1


async def test_nobody_to_tell_is_no_reason_to_stop(bench: Bench):
    owner = bench.owner()
    bench.slack.faults.refuse("conversations.open", "user_disabled")
    await owner.say(Offer(user=samples.RAVI, place="", asked_at=bench.clock()))

    assert await owner.drain() is None
    assert await owner.unsent() == []


def direct(bench: Bench, user: str) -> list[str]:
    """What the bot wrote to this person directly."""
    workspace = bench.slack.workspace
    channels = [each for each in workspace.channels.values() if each.kind == "im"]
    return [
        message.text
        for channel in channels
        if user in channel.members
        for message in bench.slack.messages(channel.id)
    ]
