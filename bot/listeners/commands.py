"""The slash command `/case`: a new case, what is open, one run."""

from __future__ import annotations

from bot.cards.message import Message
from bot.cards.overview import answer, help_text, status
from bot.cards.trace import trace_modal
from bot.listeners.desk import FrontDesk
from bot.listeners.new_case import new_case_at
from bot.listeners.payloads import Command
from bot.overview import overview, thread_link

RUN_ID_BEGINS = "run"


async def case(desk: FrontDesk, command: Command) -> Message | None:
    """What to answer privately; None when a modal opened."""
    if refusal := await desk.objection_to(command.by):
        return answer(refusal)
    match command.text.split():
        case []:
            return await _new_case(desk, command)
        case ["help"]:
            return help_text()
        case ["status"]:
            return status(await overview(desk, command.by))
        case [word]:
            return await _run(desk, command, word)
        case _:
            return help_text(unknown=command.text)


async def _new_case(desk: FrontDesk, command: Command) -> Message | None:
    trouble = await new_case_at(desk, command, channel=command.channel_id)
    return answer(trouble) if trouble else None


async def _run(desk: FrontDesk, command: Command, run_id: str) -> Message | None:
    line = await desk.store.run(run_id)
    if line is None:
        if run_id.startswith(RUN_ID_BEGINS):
            return answer(f"I know no run {run_id}.")
        return help_text(unknown=run_id)
    view = trace_modal(
        line.run,
        await desk.store.trace(run_id),
        customer_name=line.case.customer_name,
        link=thread_link(desk, line.case.case_id),
    )
    trouble = await desk.open_modal(command, view)
    return answer(trouble) if trouble else None
