"""What is open, for whom, and today's figures: from the store's runs to what people are shown.

Nothing here is kept: each look reads the open runs, and those of the last days.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from agent.ports import RunLine
from agent.run import FINAL, Run, Status
from bot.cards.overview import Figures, OpenedCase, OpenRequest, Overview
from bot.listeners.desk import FrontDesk
from bot.thread import Thread

RECENT_SECONDS: Final = 14 * 86_400.0
"""How far back finished cases are shown. A run that lasts longer than this and ends today is left
out of today's figures."""
MOST_REQUESTS: Final = 20


async def overview(desk: FrontDesk, user: str) -> Overview:
    """For one member of staff. Raises what the store and the shop raise."""
    recent = [line async for line in desk.store.runs(since=desk.now() - RECENT_SECONDS)]
    still_open = [
        line
        for status in Status
        if status not in FINAL
        async for line in desk.store.runs(status=status)
    ]
    asked = [line for line in still_open if line.run.status is Status.WAITING_APPROVAL]
    asked.sort(key=lambda line: line.run.waiting_since or 0.0)
    mine = _latest_of_each_case(
        line for line in [*still_open, *recent] if user in line.case.openers
    )
    midnight = await desk.people.midnight(user)
    return Overview(
        lead=await desk.standing_as_lead(user),
        requests=[await _request(desk, line, user) for line in asked[:MOST_REQUESTS]],
        requests_left_out=max(0, len(asked) - MOST_REQUESTS),
        cases=[_case(desk, line) for line in mine],
        figures=_figures(
            [*recent, *still_open],
            since=midnight,
            refunded_paise=await desk.refunded_since(midnight),
        ),
        at=desk.now(),
    )


def thread_link(desk: FrontDesk, case_id: str) -> str:
    thread = Thread.parse(case_id)
    return desk.link(thread.channel, thread.ts)


async def _request(desk: FrontDesk, line: RunLine, user: str) -> OpenRequest:
    run, case = line.run, line.case
    card = run.pending.card if run.pending else None
    posted = await desk.store.posted(case.case_id, run.pending.post_id) if run.pending else None
    link = thread_link(desk, case.case_id)
    if posted and posted.message_id:
        thread = Thread.parse(case.case_id)
        thread_ts = thread.ts if posted.channel == thread.channel else None
        link = desk.link(posted.channel, posted.message_id, thread_ts=thread_ts)
    note = ""
    if desk.settings.four_eyes and user in case.openers:
        note = "yours, so another lead decides"
    elif card and user in card.approved_by:
        note = "you approved, a second lead is needed"
    return OpenRequest(
        title=card.title if card else case.customer_name,
        link=link,
        since=run.waiting_since or run.opened_at,
        note=note,
    )


def _case(desk: FrontDesk, line: RunLine) -> OpenedCase:
    return OpenedCase(
        customer_name=line.case.customer_name or line.run.customer_id,
        status=line.run.status,
        link=thread_link(desk, line.case.case_id),
        at=line.run.ended_at or line.run.waiting_since or line.run.opened_at,
    )


def _latest_of_each_case(lines: Iterable[RunLine]) -> Sequence[RunLine]:
    """Newest first."""
    latest: dict[str, RunLine] = {}
    for line in lines:
        known = latest.setdefault(line.case.case_id, line)
        if line.run.opened_at > known.run.opened_at:
            latest[line.case.case_id] = line
    return sorted(latest.values(), key=lambda line: line.run.opened_at, reverse=True)


def _figures(lines: Iterable[RunLine], *, since: float, refunded_paise: int) -> Figures:
    each = {line.run.run_id: line for line in lines}.values()
    runs = [line.run for line in each]
    first_runs = {line.case.run_ids[0] for line in each if line.case.run_ids}
    today = [run for run in runs if run.opened_at >= since]
    return Figures(
        opened=sum(run.run_id in first_runs for run in today),
        done=_ended(runs, Status.DONE, since),
        handed_off=_ended(runs, Status.HANDED_OFF, since),
        waiting=sum(
            run.status in (Status.WAITING_CUSTOMER, Status.WAITING_APPROVAL) for run in runs
        ),
        refunded_paise=refunded_paise,
        cost_usd=sum((run.cost_usd for run in today), start=Decimal(0)),
    )


def _ended(runs: Iterable[Run], status: Status, since: float) -> int:
    return sum(run.status is status and (run.ended_at or 0.0) >= since for run in runs)
