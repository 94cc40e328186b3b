"""Which threads are read after a start, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.case import Case, Event, Message
from agent.ports import CaseStore, Change
from agent.run import Run, Status
from bot.catching_up import MOST_DONE, CatchUp
from storage import open_store
from tests.contracts.samples import owned

NOW = 1_790_000_000.0
DAY = 86_400.0
WAIT_SECONDS = 10.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[CaseStore]:
    opened = open_store(f"sqlite:///{tmp_path}/cases.db", now=lambda: NOW)
    yield opened
    await opened.close()


async def keep(
    store: CaseStore, name: str, *runs: tuple[Status, float | None], closed: bool = False
) -> None:
    """A case with runs of these statuses, which ended at these times."""
    case_id = f"T1:C1:{name}"
    said = Message(message_id=name, author="U1", text="Hello")
    await store.deliver(case_id, Event(event_id=name, ts="1.0", fact=said))
    lease = await owned(store, case_id=case_id)
    for number, (status, ended_at) in enumerate(runs):
        run = Run(
            run_id=f"{name} {number}",
            case_id=case_id,
            customer_id="cus_1",
            agent="refunds",
            model="claude-opus-5-5",
            frozen="sha256:1",
            status=status,
            opened_at=NOW - 10 * DAY + number,
            ended_at=ended_at,
        )
        case = Case(
            case_id=case_id, agent="refunds", opened_at=1.0, closed="deleted" if closed else ""
        )
        await store.save(lease, Change(case=case, run=run, applied=(name,)))
    await store.release(lease, due_at=None)


async def read(store: CaseStore, *, unreadable: str = "") -> tuple[list[str], list[str]]:
    """Whose threads are read, in this order, and which cases are woken."""
    begun: list[str] = []
    woken: list[str] = []

    async def read_thread(case_id: str) -> bool:
        begun.append(case_id.rpartition(":")[2])
        return begun[-1] != unreadable

    catch_up = CatchUp(
        store=store,
        read_thread=read_thread,
        wake=lambda case_id: woken.append(case_id.rpartition(":")[2]),
        now=lambda: NOW,
        pause_seconds=0,
    )
    catch_up.begin()
    [reading] = [each for each in asyncio.all_tasks() if each.get_name() == "catching up"]
    async with asyncio.timeout(WAIT_SECONDS):
        await reading
    await catch_up.close()
    return begun, woken


async def test_open_cases_are_read_first_then_those_done_lately_the_last_one_first(
    store: CaseStore,
) -> None:
    await keep(store, "a", (Status.DONE, NOW - 2 * DAY))
    await keep(store, "b", (Status.DONE, NOW - 1 * DAY))
    await keep(store, "c", (Status.DONE, NOW - 3 * DAY - 1))
    await keep(store, "d", (Status.HANDED_OFF, NOW - 60))
    await keep(store, "e", (Status.WAITING_CUSTOMER, None))
    await keep(store, "f", (Status.DONE, NOW - 60), closed=True)
    assert await read(store) == (["e", "b", "a"], ["e", "b", "a"])


async def test_a_case_is_read_once_however_many_runs_it_had(store: CaseStore) -> None:
    await keep(store, "a", (Status.DONE, NOW - 2 * DAY), (Status.RUNNING, None))
    await keep(store, "b", (Status.DONE, NOW - 2 * DAY), (Status.DONE, NOW - 60))
    await keep(store, "c", (Status.DONE, NOW - DAY))
    assert (await read(store))[0] == ["a", "b", "c"]


async def test_a_case_whose_thread_can_not_be_read_is_not_woken(store: CaseStore) -> None:
    await keep(store, "a", (Status.DONE, NOW - 60))
    await keep(store, "b", (Status.DONE, NOW - 30))
    assert await read(store, unreadable="b") == (["b", "a"], ["a"])


async def test_of_many_that_are_done_the_last_ones_are_read(
    store: CaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_DONE == 200
    monkeypatch.setattr("bot.catching_up.MOST_DONE", 2)
    for number in range(4):
        await keep(store, str(number), (Status.DONE, NOW - number))
    assert (await read(store))[0] == ["0", "1"]
