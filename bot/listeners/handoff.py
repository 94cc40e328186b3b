"""Between the agent and a person: "Take over" and "Give back to the agent"."""

from __future__ import annotations

from agent.case import GaveBack, TookOver
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import Click


async def take_over(desk: FrontDesk, click: Click) -> str | None:
    ref = await desk.case_of(click, click.value)
    if isinstance(ref, str):
        return ref
    fact = TookOver(by=click.by, place=str(click.place))
    await desk.deliver_click(ref.case_id, click, fact)
    return None


async def give_back(desk: FrontDesk, click: Click) -> str | None:
    ref = await desk.case_of(click, click.value)
    if isinstance(ref, str):
        return ref
    fact = GaveBack(by=click.by, place=str(click.place))
    await desk.deliver_click(ref.case_id, click, fact)
    return None
