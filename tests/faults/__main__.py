"""The long form: `python -m tests.faults --runs 200 --kills 300 --seed 1`.

Rounds of cases, each with the next seed, until there were so many runs and kills; then rounds in
which nothing but single deaths happens, to measure how long their cases wait; then the meetings of
two owners. Exit 1 when something was wrong; then each such round's seed is printed, and what was
done in it: `--runs 1 --kills 0 --deaths 0 --meetings 0 --seed SEED` plays that round alone.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.faults.chaos import Form, Outcome, play_round
from tests.faults.owners import HOWS, meet
from tests.faults.recovery import Recovery

LONG = Form(
    cases=50,
    children=("bot", "worker-1", "worker-2"),
    gaps=(2, 10),
    most_kills=75,
    patience_seconds=300.0,
)
DEATHS = replace(LONG, gaps=(10, 30), most_kills=50, only_deaths=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="at least so many runs")
    parser.add_argument("--kills", type=int, default=300, help="at least so many kills")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--deaths", type=int, default=100, help="at least so many single ones")
    parser.add_argument("--meetings", type=int, default=500, help="of two owners, of each kind")
    given = parser.parse_args()
    return 0 if asyncio.run(_everything(given)) else 1


async def _everything(given: argparse.Namespace) -> bool:
    task = asyncio.current_task()
    if task is not None:
        # As Ctrl-C: our own processes end with us.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    well = True
    if given.runs or given.kills:
        well = await _rounds(LONG, given.seed, runs=given.runs, kills=given.kills)
    if given.deaths:
        _say("single deaths")
        well = await _rounds(DEATHS, given.seed, runs=0, kills=given.deaths) and well
    for how in HOWS if given.meetings else ():
        folder = Path(tempfile.mkdtemp(prefix="casethread-chaos-"))
        met = await meet(folder, how, given.meetings)
        shutil.rmtree(folder)
        _say(f"two owners {how}: {met.times} meetings, {len(met.wrong)} wrong")
        for each in met.wrong:
            _say(each)
        well = well and not met.wrong
    return well


async def _rounds(form: Form, seed: int, *, runs: int, kills: int) -> bool:
    outcomes: list[Outcome] = []
    while _sum(outcomes, "runs") < runs or _sum(outcomes, "kills") < kills:
        folder = Path(tempfile.mkdtemp(prefix="casethread-chaos-"))
        outcome = await play_round(folder, seed, form)
        outcomes.append(outcome)
        _say(_line(outcome))
        if outcome.faults:
            _say(f"\n{outcome}\n\nThe logs and the shop are in {folder}. Again, this round alone:")
            alone = "RUNS=0 KILLS=0 DEATHS=1" if form.only_deaths else "RUNS=1 KILLS=0 DEATHS=0"
            _say(f"make chaos SEED={seed} {alone} MEETINGS=0\n")
        else:
            shutil.rmtree(folder)
        seed += 1
    _say(_report(outcomes))
    return not any(outcome.faults for outcome in outcomes)


def _line(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed}: {outcome.runs} runs, {outcome.kills} kills, {outcome.stops} stops,"
        f" {outcome.redis_restarts} restarts of Redis, {len(outcome.done)} troubles,"
        f" {outcome.healed} doubles healed, {outcome.seconds:.0f} s, {len(outcome.faults)} faults"
    )


def _report(outcomes: Sequence[Outcome]) -> str:
    recoveries = [each for outcome in outcomes for each in outcome.recoveries]
    clear = [each for each in recoveries if not each.disturbed]
    others = [each for each in recoveries if each.disturbed]
    totals = {
        name: _sum(outcomes, name)
        for name in ("runs", "kills", "stops", "redis_restarts", "healed", "unanswered")
    }
    ended = sum(len(outcome.restarts) for outcome in outcomes)
    return "\n".join(
        [
            ", ".join(f"{name} {total}" for name, total in totals.items()),
            f"troubles {sum(len(each.done) for each in outcomes)}",
            f"starts that ended by themselves, Redis being away: {ended}",
            f"from a kill to the next owner: {_percentiles(clear)}",
            f"the same, Redis or all others being away meanwhile: {_percentiles(others)}",
            f"seconds in all: {sum(each.seconds for each in outcomes):.0f}",
        ]
    )


def _percentiles(found: Sequence[Recovery]) -> str:
    if len(found) < 2:
        return f"{len(found)} cases"
    hundredths = statistics.quantiles((each.seconds for each in found), n=100, method="inclusive")
    return (
        f"{len(found)} cases, p50 {hundredths[49]:.1f} s, p99 {hundredths[98]:.1f} s,"
        f" longest {max(each.seconds for each in found):.1f} s"
    )


def _sum(outcomes: Sequence[Outcome], name: str) -> int:
    return sum(getattr(outcome, name) for outcome in outcomes)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
