"""A run keeps the prompt, tools and model it was started with, whatever is deployed meanwhile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from agent import Agent, Context, ask_customer, tool
from bot.local.claude import call, say
from tests.agent.bench import MODEL, Bench, ask, refunds_of, results

WORDS = "The kettle from order 4502 arrived cracked."


@tool
async def old_tool(context: Context, *, name: str) -> str:
    """Was there before."""
    return f"old {name}"


@tool
async def new_tool(context: Context) -> str:
    """Is there now."""
    return "new"


def before() -> Agent:
    return Agent(name="tried", prompt="Before.", tools=(old_tool, ask_customer), model=MODEL)


def after() -> Agent:
    model = "claude-sonnet-5-5"
    return Agent(name="tried", prompt="After.", tools=(ask_customer, new_tool), model=model)


def prefix(body: Mapping[str, Any]) -> str:
    """Everything of a request but its messages."""
    return json.dumps({key: value for key, value in body.items() if key != "messages"})


async def test_a_parked_run_goes_on_under_its_own_prompt_tools_and_model(bench: Bench) -> None:
    bench.agent = before()
    bench.claude.script("kettle", [ask(), call("old_tool", name="x"), say("Done.")])
    await bench.open(WORDS)
    bench.agent = after()
    await bench.says("The green one.")
    await bench.go()

    requests = [each.body for each in bench.answered if each.body]
    assert len({prefix(each) for each in requests}) == 1
    assert requests[0]["model"] == MODEL
    assert (await bench.run()).reply == "Done."
    assert bench.answered[-1].dropped == ()


async def test_each_request_of_a_run_begins_with_the_one_before(bench: Bench) -> None:
    bench.claude.script("kettle", [call("get_order", order_id="4502"), ask(), say("Done.")])
    await bench.open(WORDS)
    await bench.says("The green one.")
    await bench.go()
    sent = [each.body["messages"] for each in bench.answered if each.body]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier
        assert len(later) > len(earlier)


async def test_a_tool_that_was_removed_meanwhile_answers_with_an_error(bench: Bench) -> None:
    bench.agent = before()
    bench.claude.script("kettle", [ask(), call("old_tool", name="x"), say("Done.")])
    await bench.open(WORDS)
    bench.agent = after()
    await bench.says("The green one.")
    await bench.go()
    _, removed = results(await bench.messages())
    assert removed["is_error"]
    assert "old_tool" in removed["content"]


async def test_a_new_run_of_the_case_uses_what_is_deployed_now(bench: Bench) -> None:
    bench.agent = before()
    bench.claude.script("kettle", [say("Done.")])
    await bench.open(WORDS)
    bench.agent = after()
    await bench.says("And the lid of the kettle?")
    await bench.go()
    body = bench.request()
    assert (body["model"], body["system"][0]["text"]) == ("claude-sonnet-5-5", "After.")
    assert [each["name"] for each in body["tools"]] == ["ask_customer", "new_tool"]
    run = await bench.run()
    assert (run.model, run.cost_usd) == ("claude-sonnet-5-5", bench.answered[-1].cost_usd)


async def test_a_run_parked_for_a_lead_is_paid_under_another_prompt_too(bench: Bench) -> None:
    bench.claude.script(
        "kettle",
        [
            call(
                "propose_refund",
                order_id="4471",
                amount_rupees=2499,
                reason="damaged",
                explanation="Broken.",
            ),
            say("Done."),
        ],
    )
    await bench.open(WORDS)
    bench.agent = refunds_of(bench.shop, model="claude-haiku-5-5")
    await bench.decide("approve")
    await bench.go()
    [row] = await bench.refunds("4471")
    assert row.status == "paid"
    assert {each.body["model"] for each in bench.answered if each.body} == {MODEL}


async def test_the_prefix_is_the_same_bytes_for_every_customer(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Done.")])
    await bench.open(WORDS)
    again = refunds_of(bench.shop)
    assert again.digest == bench.agent.digest
    assert json.dumps(again.frozen) == json.dumps(bench.agent.frozen)
    system = json.dumps(bench.request()["system"])
    assert "Asha" not in system
    assert "cust_" not in system


async def test_the_end_of_the_prompt_and_the_conversation_are_marked_for_the_cache(
    bench: Bench,
) -> None:
    bench.claude.script("kettle", [call("get_order", order_id="4502"), say("Done.")])
    await bench.open(WORDS)
    body = bench.request()
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert body["cache_control"] == {"type": "ephemeral"}
    assert body["thinking"] == {"type": "adaptive"}
    assert all(each["strict"] for each in body["tools"])
    assert (await bench.run()).usage.cache_read > 0
