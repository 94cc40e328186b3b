"""The played cases: all end as they should, and one that doesn't is told and fails the command."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bot.local.claude import say
from bot.local.play import Stage, Story, play_cases
from bot.local.stories import STORIES
from bot.local.stories.small import SMALL
from bot.local.stories.stranger import STRANGER

CHILDREN = Path("/proc/self/task")
SLOW_START_SECONDS = 180


def played(*stories: Story) -> tuple[int, str]:
    output = io.StringIO()
    code = play_cases(stories, Console(file=output, width=140, highlight=False))
    return code, output.getvalue()


@pytest.mark.timeout(SLOW_START_SECONDS)
async def test_the_seed_case_is_paid_once_though_the_bot_is_killed_between_every_two_steps(
    tmp_path: Path,
) -> None:
    process = await casethread_play("seed", folder=tmp_path)
    output, _ = await process.communicate()
    told = output.decode()
    assert process.returncode == 0, told
    assert told.count("the bot is killed with -9") == 6
    assert "5 model calls · $0.0313 ($0.0534 without the cache)" in told
    assert "for 4 lost calls · order 4471: paid ₹2,499.00 · killed 6 times" in told
    assert "approved by @Priya Menon" in told
    assert "What to do next" in told
    assert left_in(tmp_path) == []


@pytest.mark.timeout(SLOW_START_SECONDS)
def test_every_other_case_ends_as_it_should() -> None:
    code, told = played(*(story for story in STORIES if story.name != "seed"))
    assert code == 0, told
    assert "order 6210: paid ₹145.05" in told
    assert "order 7004: declined ₹1,850.00" in told
    assert "order 8100: refused ₹5,600.00 · order 8100: paid ₹600.00" in told
    assert "handed_off, done" in told


@pytest.mark.timeout(SLOW_START_SECONDS)
def test_a_case_that_ends_otherwise_is_told_with_the_bots_log_and_fails_the_command() -> None:
    expected = replace(SMALL.expected, model_calls=(9,), posts={"Whose case": 2})
    code, told = played(replace(SMALL, expected=expected), STRANGER)
    assert code == 1
    assert "✗ expected model calls: [9], saw: [3]" in told
    assert "✗ expected posts with “Whose case”: 2, saw: 0" in told
    assert "The end of the bot's log:" in told
    assert "Not as it should be: small" in told


@pytest.mark.timeout(SLOW_START_SECONDS)
def test_a_person_who_does_not_find_what_they_look_for_fails_the_command() -> None:
    async def presses_what_is_not_there(stage: Stage) -> None:
        await SMALL.act(stage)
        await stage.press("Meena", "Pay twice")

    code, told = played(replace(SMALL, act=presses_what_is_not_there))
    assert code == 1
    assert "✗ expected a button 'Pay twice' in the thread" in told


@pytest.mark.timeout(SLOW_START_SECONDS)
def test_a_model_call_without_a_script_fails_the_command() -> None:
    code, told = played(replace(SMALL, scripts={"never said": [say("Namaste!")]}))
    assert code == 1
    assert "✗ a model call had no script" in told


@pytest.mark.skipif(not CHILDREN.exists(), reason="a process's children are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.timeout(SLOW_START_SECONDS)
async def test_an_interrupted_play_leaves_no_process_and_no_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = await casethread_play("seed", folder=tmp_path)
    assert process.stdout is not None
    while b"chooses Asha Rao" not in await process.stdout.readline():
        assert process.returncode is None
    children = children_of(process.pid)
    assert children
    process.send_signal(number)
    await process.communicate()
    assert process.returncode == 130
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    assert left_in(tmp_path) == []


async def casethread_play(*cases: str, folder: Path) -> asyncio.subprocess.Process:
    """The command in a process of its own, with its temporary files in `folder`."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.cli", "play", *cases),
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=Path(__file__).parents[3],
    )


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split()]


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
