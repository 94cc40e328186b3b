"""What was stored while Claude made a turn comes before all that the turn leads to.

However the turn ends: a turn that can't be used leads to another call or to a handoff at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from agent.case import Handoff
from bot.local.claude import ScriptedTurn, Turn, call, refuse, say
from tests.agent.bench import Bench
from tests.agent.test_inbox import opened, while_claude_thinks
from tests.agent.test_stop_signs import SIGNS, signal

HALF = Turn(content=["Dear customer, your"], stop_reason="max_tokens")
EMPTY = Turn()
NO_CALL = Turn(content=["I will call."], stop_reason="tool_use")
PAUSED = Turn(content=["Hm."], stop_reason="pause_turn")
ODD = Turn(content=[{"type": "text", "text": " "}], unchecked=True)
UNKNOWN = Turn(content=["Well"], stop_reason="model_context_window_exceeded")

ASKED_AGAIN = pytest.mark.parametrize(
    "turn",
    [HALF, EMPTY, NO_CALL, PAUSED, ODD],
    ids=["cut", "empty", "without a call", "paused", "odd"],
)


@asynccontextmanager
async def while_claude_thinks_again(bench: Bench) -> AsyncGenerator[None]:
    """As `while_claude_thinks`, before the second answer."""
    bench.claude.faults.hold()
    work = asyncio.create_task(bench.go())
    try:
        await bench.claude.arrived(1)
        bench.claude.faults.release()
        bench.claude.faults.hold()
        await bench.claude.arrived(2)
        yield
    finally:
        bench.claude.faults.release()
        await work


@ASKED_AGAIN
async def test_words_are_in_the_very_next_request(bench: Bench, turn: Turn) -> None:
    await opened(bench, turn, say("Done."), say("Too late."))
    async with while_claude_thinks(bench):
        await bench.says("And the lid is missing.")
    assert len(bench.claude.requests) == 2
    assert "lid is missing" in str(bench.request(1)["messages"])


@ASKED_AGAIN
@pytest.mark.parametrize("sign", SIGNS)
async def test_after_a_stop_sign_claude_is_not_asked_again(
    bench: Bench, turn: Turn, sign: str
) -> None:
    await opened(bench, turn, say("Never said."))
    async with while_claude_thinks(bench):
        await signal(bench, sign)
    assert len(bench.claude.requests) == 1


async def test_words_come_before_a_handoff_for_a_second_empty_turn(bench: Bench) -> None:
    await opened(bench, EMPTY, EMPTY, say("All well."))
    async with while_claude_thinks_again(bench):
        await bench.says("And the lid is missing.")
    assert (await bench.run()).reply == "All well."


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize(
    "turns",
    [[UNKNOWN], [call("hand_off", reason="Too hard.")], [refuse("cyber")]],
    ids=["unknown stop reason", "hand_off", "refusal"],
)
async def test_a_stop_sign_comes_before_the_handoff_that_the_turn_leads_to(
    bench: Bench, turns: Sequence[ScriptedTurn], sign: str
) -> None:
    await opened(bench, *turns, say("Never said."))
    async with while_claude_thinks(bench):
        await signal(bench, sign)
    run = await bench.run()
    if sign == "take-over":
        assert run.reason == "A colleague took the case over."
    else:
        assert bench.shown(Handoff) == []
