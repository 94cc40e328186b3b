"""The API says that the history was changed: one repair, traced, and never a loop."""

from __future__ import annotations

from bot.local.claude import call, say
from tests.agent.bench import Bench, ask

CHANGED = "messages.1.content.0: Invalid `signature` in `thinking` block."


async def test_a_history_that_does_not_verify_is_repaired_once_and_goes_on(bench: Bench) -> None:
    bench.claude.script("speaker", [ask(), say("Thank you.")])
    await bench.open("The speaker is broken.")
    bench.claude.faults.error(400, "invalid_request_error", CHANGED, times=1)
    await bench.says("Black.")
    await bench.go()
    run = await bench.run()
    assert (run.status, run.repaired) == ("done", True)
    assert len(await bench.trace("repair")) == 1
    assert bench.request()["thinking"]["block_binding"] == {
        "prefix_mismatch_behavior": "drop_block"
    }


async def test_from_then_on_every_request_of_the_run_asks_for_it(bench: Bench) -> None:
    bench.claude.script("speaker", [ask(), call("get_order", order_id="4471"), say("Thank you.")])
    await bench.open("The speaker is broken.")
    bench.claude.faults.error(400, "invalid_request_error", CHANGED, times=1)
    await bench.says("Black.")
    await bench.go()
    assert [
        "block_binding" in bench.request(number)["thinking"]
        for number in range(len(bench.answered))
    ] == [False, True, True]


async def test_when_the_repair_does_not_help_a_person_takes_over(bench: Bench) -> None:
    bench.claude.script("speaker", [ask(), say("Thank you.")])
    await bench.open("The speaker is broken.")
    bench.claude.faults.error(400, "invalid_request_error", CHANGED, times=2)
    await bench.says("Black.")
    await bench.go()
    assert (await bench.run()).status == "handed_off"
    assert len(bench.claude.requests) == 3
