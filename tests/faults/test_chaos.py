"""The short form of the chaos; `make chaos` plays the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.chaos import Form, play_round
from tests.faults.owners import HOWS, How, meet

# Its plan begins with a bit of everything: restarts of Redis, lost answers, kills, a stop, 429s.
SEED = 5
SHORT = Form(
    cases=14,
    children=("bot", "worker"),
    gaps=(8, 25),
    most_kills=3,
    steps=10,
    patience_seconds=100.0,
)


@pytest.mark.timeout(180)
async def test_whole_cases_survive_a_few_deaths_and_lost_answers(tmp_path: Path) -> None:
    outcome = await play_round(tmp_path, SEED, SHORT)
    assert not outcome.faults, str(outcome)
    assert outcome.runs >= 15
    assert outcome.kills


@pytest.mark.parametrize("how", HOWS)
async def test_two_workers_meet_at_a_case_and_the_loser_does_nothing(
    tmp_path: Path, how: How
) -> None:
    met = await meet(tmp_path, how, 3)
    assert not met.wrong, met.wrong
