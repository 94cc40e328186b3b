"""Between the agent and a person: "Take over" and "Give back to the agent"."""

from __future__ import annotations

from agent.case import GaveBack, TookOver
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import Click


async def take_over(desk: FrontDesk, click: Click) -> str | None:
    fact = TookOver(by=click.by, place=str(click.place))
    return await desk.act(click, click.value, fact)


async def give_back(desk: FrontDesk, click: Click) -> str | None:
    fact = GaveBack(by=click.by, place=str(click.place))
    return await desk.act(click, click.value, fact)
