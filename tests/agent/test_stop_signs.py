"""Take-over, wrong customer and deletion: what they end, and that no effect runs behind them."""

from __future__ import annotations

import pytest

from agent import Agent, Context, tool
from agent.case import Approval, DecisionLine, Handoff, Notice, Picker, PrivateLine, Reply
from agent.endings import COLLEAGUE
from bot.local.claude import Turn, call, say
from tests.agent.bench import MODEL, Bench, ask, message, propose, texts
from tests.agent.test_inbox import while_claude_thinks

WORDS = "My Bluetooth speaker from order 4471 arrived broken."
SMALL = propose(899, "4502")
LARGE = propose(2499, "4471")


async def signal(bench: Bench, name: str) -> None:
    match name:
        case "take-over":
            await bench.take_over()
        case "wrong customer":
            await bench.wrong_customer()
        case _:
            case = await bench.case()
            await bench.delete(case.case_id.split(":")[-1], first=True)


SIGNS = ["take-over", "wrong customer", "deletion"]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("turn", [SMALL, LARGE], ids=["automatic", "for a lead"])
async def test_right_before_an_effect_a_stop_sign_keeps_it_from_running(
    bench: Bench, sign: str, turn: Turn
) -> None:
    bench.claude.script("speaker", [turn, say("Never said.")])
    await bench.says(WORDS, first=True)
    await bench.choose("cust_asha")
    async with while_claude_thinks(bench):
        await signal(bench, sign)
    assert (await bench.run()).status == "handed_off"
    assert await bench.refunds("4502") == []
    assert await bench.refunds("4471") == []
    assert bench.shown(Approval) == []
    assert len(bench.claude.requests) == 1


@pytest.mark.parametrize("sign", SIGNS)
async def test_a_sign_between_two_effects_keeps_the_second_from_running(
    bench: Bench, sign: str
) -> None:
    done: list[str] = []

    @tool(kind="effect")
    async def write(context: Context, *, name: str) -> str:
        """Writes."""
        done.append(name)
        if name == "a":
            await signal(bench, sign)
        return f"wrote {name}"

    bench.agent = Agent(name="tried", prompt="Try.", tools=(write,), model=MODEL)
    both = Turn(content=[*call("write", name="a").content, *call("write", name="b").content])
    bench.claude.script("speaker", [both, say("Never said.")])
    await bench.open(WORDS)
    if sign == "wrong customer":
        # An effect was asked for already: the customer can't be exchanged any more.
        assert "already proposed" in bench.shown(PrivateLine)[-1].text
        assert done == ["a", "b"]
    else:
        assert done == ["a"]
        assert (await bench.run()).status == "handed_off"


@pytest.mark.parametrize("sign", ["take-over", "deletion"])
async def test_a_card_that_is_open_is_withdrawn_with_its_row(bench: Bench, sign: str) -> None:
    bench.claude.script("speaker", [LARGE, say("Never said.")])
    await bench.open(WORDS)
    await signal(bench, sign)
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "withdrawn"
    assert bench.card.outcome is not None
    assert bench.card.outcome.verdict == "withdrawn"
    assert (await bench.run()).status == "handed_off"

    await bench.decide("approve")
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "withdrawn"
    assert "closed" in bench.shown(PrivateLine)[-1].text


@pytest.mark.parametrize("sign", ["take-over", "deletion"])
async def test_what_a_lead_approved_before_the_sign_is_paid_and_told(
    bench: Bench, sign: str
) -> None:
    bench.claude.script("speaker", [LARGE, say("Never said.")])
    await bench.open(WORDS)
    await bench.decide("approve")
    await signal(bench, sign)
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "paid"
    assert (await bench.run()).status == "handed_off"
    assert len(bench.claude.requests) == 1
    told = bench.shown(Handoff) if sign == "take-over" else bench.shown(Notice)
    assert f"reference {row.reference}" in told[-1].text
    assert [each.verdict for each in bench.shown(DecisionLine)] == ["approved"]


async def test_a_take_over_hands_off_with_words_for_the_customer(bench: Bench) -> None:
    bench.claude.script("speaker", [ask(), say("Never said.")])
    await bench.open(WORDS)
    await bench.take_over()
    await bench.go()
    [handoff] = bench.shown(Handoff)
    assert (handoff.text, handoff.reason) == (COLLEAGUE, "A colleague took the case over.")


async def test_a_reply_that_is_ready_is_not_posted_after_a_take_over(bench: Bench) -> None:
    bench.claude.script("speaker", [say("All is well.")])
    await bench.says(WORDS, first=True)
    await bench.choose("cust_asha")
    async with while_claude_thinks(bench):
        await bench.take_over()
    assert bench.shown(Reply) == []
    assert (await bench.run()).status == "handed_off"


async def test_after_a_wrong_customer_the_new_run_gets_the_words_and_nothing_of_the_old_one(
    bench: Bench,
) -> None:
    bench.claude.script("speaker", [call("get_order", order_id="4471"), ask("What broke?")])
    await bench.open(WORDS)
    first = await bench.run()
    await bench.wrong_customer()
    await bench.go()
    assert bench.shown(Handoff) == []
    # The first one was never shown: the customer was chosen at once.
    assert len(bench.shown(Picker)) == 1
    await bench.says("It is the left one.")
    await bench.choose("cust_vikram")
    await bench.go()
    run = await bench.run()
    assert (run.customer_id, run.status) == ("cust_vikram", "waiting_customer")
    assert run.run_id != first.run_id
    sent = bench.request()["messages"]
    assert texts(sent[0]) == [WORDS, "It is the left one."]
    assert "2499" not in str(sent)


async def test_a_wrong_customer_and_the_new_choice_may_come_at_once(bench: Bench) -> None:
    bench.claude.script("speaker", [ask("What broke?")])
    await bench.open(WORDS)
    await bench.wrong_customer()
    await bench.choose("cust_vikram")
    await bench.go()
    assert (await bench.run()).customer_id == "cust_vikram"
    [first, second] = [each.run async for each in bench.store.runs()][::-1]
    assert (first.status, second.status) == ("handed_off", "waiting_customer")
    kinds = [each["kind"] for each in await bench.store.trace(first.run_id)]
    assert kinds[0] == "start"
    assert kinds[-1] == "end"
    assert kinds.count("start") == 1


async def test_after_a_proposal_the_customer_can_not_be_exchanged(bench: Bench) -> None:
    bench.claude.script("speaker", [LARGE, say("Never said.")])
    await bench.open(WORDS)
    await bench.wrong_customer()
    await bench.go()
    assert (await bench.run()).status == "waiting_approval"
    assert "already proposed" in bench.shown(PrivateLine)[-1].text


async def test_when_the_first_message_is_gone_staff_are_told_elsewhere(bench: Bench) -> None:
    bench.claude.script("speaker", [ask(), say("Never said.")])
    await bench.open(WORDS)
    await signal(bench, "deletion")
    await bench.says("Hello?")
    await bench.go()
    assert bench.shown(Handoff) == []
    [notice] = bench.shown(Notice)
    assert "first message was deleted" in notice.text
    assert notice.to == ("ravi",)
    assert len(bench.claude.requests) == 1


async def test_a_correction_while_a_lead_is_asked_makes_a_new_version_of_the_card(
    bench: Bench,
) -> None:
    bench.claude.script("speaker", [LARGE, say("Done.")])
    first = bench.clock.tick()
    await bench.deliver(message(WORDS, first, first=True), ts=first)
    await bench.choose("cust_asha")
    await bench.go()
    looked_at = bench.card
    await bench.edit(first, "It works again, sorry!")
    await bench.go()
    assert bench.card.version == looked_at.version + 1
    assert "works again" in bench.card.added[0]
    await bench.decide("approve", card=looked_at)
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "waiting"
    assert "changed since you looked" in bench.shown(PrivateLine)[-1].text


async def test_what_was_added_and_deleted_again_leaves_the_card(bench: Bench) -> None:
    bench.claude.script("speaker", [LARGE, say("Done.")])
    await bench.open(WORDS)
    said = await bench.says("It works again!")
    await bench.go()
    assert bench.card.added == ("It works again!",)
    await bench.delete(said)
    await bench.go()
    assert bench.card.added == ()
    await bench.decide("approve")
    await bench.go()
    assert (await bench.run()).status == "done"
