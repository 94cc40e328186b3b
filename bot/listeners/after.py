"""After the final reply: thumbs up and down, and the trace of how the agent got there."""

from __future__ import annotations

from agent.case import Feedback
from bot.actions import FEEDBACK_GOOD
from bot.cards.trace import trace_modal
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import Click

UNKNOWN_RUN = "I don't know this run any more."


async def feedback(desk: FrontDesk, click: Click) -> str | None:
    ref = await desk.case_of(click, click.value)
    if isinstance(ref, str):
        return ref
    good = click.action.action_id == FEEDBACK_GOOD
    fact = Feedback(run_id=ref.run_id, good=good, by=click.by, place=str(click.place))
    await desk.deliver_click(ref.case_id, click, fact)
    return None


async def show_trace(desk: FrontDesk, click: Click) -> str | None:
    ref = await desk.case_of(click, click.value)
    if isinstance(ref, str):
        return ref
    line = await desk.store.run(ref.run_id)
    if line is None:
        return UNKNOWN_RUN
    entries = await desk.store.trace(ref.run_id)
    return await desk.open_modal(click, trace_modal(line.run, entries))
