"""A round: some cases at once, chaos all the while, and then a look at everything."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.checks import CaseNow, cases_now, faults_of, healed
from tests.faults.mischief import Mischief
from tests.faults.people import Desk, People, Stuck
from tests.faults.plots import PLOTS, Plot
from tests.faults.recovery import Recovery
from tests.faults.world import World, new_world

REST_SECONDS = 40.0


@dataclass(frozen=True, kw_only=True)
class Form:
    """How a round goes: how many cases and which processes, how fast things go wrong, and at most
    how often a process is killed and how many things go wrong at all; `only_deaths` as in
    `Mischief`."""

    cases: int
    children: Sequence[str]
    gaps: tuple[int, int]
    most_kills: int
    patience_seconds: float = 120.0
    steps: int | None = None
    only_deaths: bool = False


@dataclass(kw_only=True)
class Outcome:
    """`faults` is what was wrong in the end, `done` what was done when."""

    seed: int
    faults: list[str] = field(default_factory=list[str])
    done: list[str] = field(default_factory=list[str])
    runs: int = 0
    kills: int = 0
    stops: int = 0
    redis_restarts: int = 0
    healed: int = 0
    did_again: int = 0
    unanswered: int = 0
    restarts: list[str] = field(default_factory=list[str])
    recoveries: Sequence[Recovery] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", *self.done, *self.faults]
        return "\n".join(lines)


async def play_round(folder: Path, seed: int, form: Form) -> Outcome:
    """Play it to its end; what went wrong is in the outcome."""
    async with new_world(folder, cases=form.cases, children=form.children) as world:
        mischief = Mischief(
            world=world,
            seed=seed,
            gaps=form.gaps,
            most_kills=form.most_kills,
            steps=form.steps,
            only_deaths=form.only_deaths,
        )
        desk = Desk(world=world, patience_seconds=form.patience_seconds)
        cases = _cast(desk, seed, form)
        stuck = await _play(cases, mischief)
        now = await _rest(world, cases)
        return Outcome(
            seed=seed,
            faults=[*stuck, *await faults_of(world, now)],
            done=mischief.done,
            runs=sum(len(each.runs) for each in now),
            kills=mischief.kills,
            stops=mischief.stops,
            redis_restarts=mischief.redis_restarts,
            healed=healed(world),
            did_again=desk.did_again,
            unanswered=desk.unanswered,
            restarts=[tail for each in world.children for tail in each.ended_by_itself],
            recoveries=mischief.recoveries.found,
            seconds=world.seconds,
        )


def _cast(desk: Desk, seed: int, form: Form) -> Sequence[tuple[People, Plot]]:
    """The cases, with the same people and plots for the same seed."""
    chance = random.Random(f"cases {seed}")
    plots = [PLOTS[number % len(PLOTS)] for number in range(form.cases)]
    chance.shuffle(plots)
    cases = [
        (People(desk, number, random.Random(f"{seed} {number}")), plot)
        for number, plot in enumerate(plots)
    ]
    for people, plot in cases:
        plot.write_scripts(desk.world.claude, people.number)
    return cases


async def _play(cases: Sequence[tuple[People, Plot]], mischief: Mischief) -> list[str]:
    """All cases at once, and the chaos until the last is over. In words, what got stuck."""
    trouble = asyncio.create_task(mischief.run())
    try:
        ended = await asyncio.gather(
            *(plot.act(people) for people, plot in cases), return_exceptions=True
        )
    finally:
        trouble.cancel()
        await asyncio.gather(trouble, return_exceptions=True)
    if not trouble.cancelled() and (error := trouble.exception()) is not None:
        raise error
    for each in ended:
        if isinstance(each, BaseException) and not isinstance(each, Stuck):
            raise each
    return [str(each) for each in ended if each is not None]


async def _rest(world: World, cases: Sequence[tuple[People, Plot]]) -> Sequence[CaseNow]:
    """The cases as they are once nothing is under way, or after a while."""
    opened = [(people, plot) for people, plot in cases if people.written]
    ends = time.monotonic() + REST_SECONDS
    async with world.records() as store:
        while True:
            now = await cases_now(store, opened)
            if all(each.is_quiet for each in now) or time.monotonic() > ends:
                return now
            await asyncio.sleep(0.2)
