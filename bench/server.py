"""The local Claude in a process of its own, so that its work is not counted as ours."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection

from bot.local.claude import Faults, LocalClaude, Turn, call, say

WORDS = "Hi, my Bluetooth speaker from order 4471 arrived broken. I'd like my money back."
# Small enough for many refunds on one order; the bench lets every one wait for a lead.
AMOUNT_RUPEES = 20
LONG_WORDS = "Please look at my order 4471 again and again."
SHORT_WORDS = "Just pay for order 4471."


def refund_turns() -> Sequence[Turn]:
    """Five calls with two pauses, as in the seed trace."""
    return [
        call("get_order", order_id="4471"),
        call("ask_customer", question="Could you send a photo of the damage?"),
        call("search_policies", query="damaged electronics photo refund"),
        *short_turns()[1:],
    ]


def short_turns() -> Sequence[Turn]:
    """Straight to the card."""
    return [
        call("get_order", order_id="4471"),
        call(
            "propose_refund",
            order_id="4471",
            amount_rupees=AMOUNT_RUPEES,
            reason="damaged",
            explanation="Arrived broken; photo received within 7 days.",
        ),
        say("Your refund is on its way."),
    ]


def scripted(claude: LocalClaude, *, steps: int = 40) -> None:
    """Give it the scripts: the refunds, and one that takes `steps` calls."""
    claude.script("Bluetooth speaker", refund_turns())
    claude.script(SHORT_WORDS, short_turns())
    again = [call("get_order", order_id="4471")] * (steps - 1)
    claude.script(LONG_WORDS, [*again, say("Nothing has changed.")])


class SlowFaults(Faults):
    """Every answer takes this many seconds, and up to `spread_seconds` more; and as long as it is
    held."""

    def __init__(self, seconds: float, *, spread_seconds: float = 0.0) -> None:
        super().__init__(time.time)
        self._seconds = seconds
        self._spread_seconds = spread_seconds

    async def pass_gate(self) -> None:
        await super().pass_gate()
        await asyncio.sleep(self._seconds + random.uniform(0.0, self._spread_seconds))


@contextmanager
def claude_elsewhere(steps: int = 40) -> Generator[str]:
    """The base URL of a local Claude with the scripts, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, steps), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("stop")
        process.join(timeout=5)


def _serve(pipe: Connection, steps: int) -> None:
    asyncio.run(_serve_until_told(pipe, steps))


async def _serve_until_told(pipe: Connection, steps: int) -> None:
    async with LocalClaude() as claude:
        scripted(claude, steps=steps)
        pipe.send(claude.base_url)
        await asyncio.to_thread(pipe.recv)
