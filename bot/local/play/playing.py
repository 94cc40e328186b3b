"""Plays stories one after another and judges how each ended."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from agent.run import Json, Run
from bot.local.claude import LocalClaude
from bot.local.play.printing import Outcome, Printer
from bot.local.play.process import BotProcess
from bot.local.play.scene import Scene, bots_environment, own_manifest
from bot.local.play.stage import Stage
from bot.local.play.story import Refund, Story
from bot.local.slack import LocalSlack
from bot.records import agents_refunds
from bot.settings import load_settings

INTERRUPTED = 130

# What Slack answers when the sender died after a reaction was sent and before that was put down.
_DONE_BEFORE = (("reactions.add", "already_reacted"), ("reactions.remove", "no_reaction"))


def play_cases(stories: Sequence[Story], console: Console) -> int:
    """Play them and print each; 0 when all ended as they should, 1 when one didn't, 130 when it
    was interrupted. Leaves no process and no file behind."""
    return asyncio.run(_play_until_interrupted(stories, console))


async def _play_until_interrupted(stories: Sequence[Story], console: Console) -> int:
    this_task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Somebody who has a signal ignored (nohup) wants it ignored.
        if this_task is not None and signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, this_task.cancel)
    printer = Printer(console)
    try:
        return await _play_all(stories, printer)
    except asyncio.CancelledError:
        printer.interrupted()
        return INTERRUPTED


async def _play_all(stories: Sequence[Story], printer: Printer) -> int:
    with TemporaryDirectory(prefix="casethread-play-") as folder:
        async with _set_up(Path(folder)) as scene:
            outcomes: list[Outcome] = []
            for number, story in enumerate(stories, start=1):
                printer.heading(story, number, len(stories))
                stage = Stage(scene, tell=printer.happening)
                outcome = await _play_one(story, stage)
                printer.ending(outcome, stage, scene.process)
                outcomes.append(outcome)
            printer.summary(outcomes)
            stopped = await scene.process.stop()
            if stopped != 0:
                printer.bad_stop(stopped)
            return 0 if stopped == 0 and all(outcome.ok for outcome in outcomes) else 1


@contextlib.asynccontextmanager
async def _set_up(folder: Path) -> AsyncGenerator[Scene]:
    """Both services, and the bot's process, which is not started yet and is gone at the end."""
    async with LocalSlack(manifest=own_manifest()) as slack, LocalClaude() as claude:
        environment = bots_environment(slack, claude, folder / "cases.db")
        process = BotProcess(environment, folder)
        settings = load_settings(env=environment, env_file=None)
        try:
            yield Scene(slack=slack, claude=claude, process=process, settings=settings)
        finally:
            await process.kill()


async def _play_one(story: Story, stage: Stage) -> Outcome:
    claude = stage.claude
    for match, script in story.scripts.items():
        claude.script(match, script)
    seen = _Seen(stage)
    began = time.monotonic()
    try:
        failure = await stage.play(story)
    finally:
        claude.faults.clear()
    seconds = time.monotonic() - began
    runs = await stage.runs()
    outcome = Outcome(
        story=story,
        failures=(*seen.refusals(stage), *([] if failure is None else [failure])),
        seconds=seconds,
        runs=runs,
        account=claude.account(story.match),
        refunds=await _refunds(story, stage, runs),
        kills=stage.kills,
    )
    return _judged(outcome, stage) if failure is None else outcome


def _judged(outcome: Outcome, stage: Stage) -> Outcome:
    """With a failure for each thing that is different from what the story expects."""
    expected, runs = outcome.story.expected, outcome.runs
    found: list[str] = []

    def compare(what: str, wanted: object, seen: object) -> None:
        if wanted != seen:
            found.append(f"expected {what}: {wanted}, saw: {seen}")

    compare(
        "runs that ended as", [str(s) for s in expected.statuses], [str(r.status) for r, _ in runs]
    )
    compare("model calls", list(expected.model_calls), [run.steps for run, _ in runs])
    compare("traced model calls", list(expected.model_calls), [_traced(trace) for _, trace in runs])
    billed = outcome.account.cost_usd + sum(outcome.estimates_usd)
    compare("dollars, as Claude's bill has them", billed, sum(run.cost_usd for run, _ in runs))
    compare("refunds", list(expected.refunds), list(outcome.refunds))
    for words, times in expected.posts.items():
        posts = sum(words in each.text for each in stage.own_posts)
        compare(f"posts with “{words}”", times, posts)
    return replace(outcome, failures=(*outcome.failures, *found))


async def _refunds(
    story: Story, stage: Stage, runs: Sequence[tuple[Run, Sequence[Json]]]
) -> list[Refund]:
    own = {run.run_id for run, _ in runs}
    return [
        Refund(order_id=row.order_id, status=row.status.value, amount_paise=row.amount_paise)
        for order_id in story.expected.orders
        for row in await agents_refunds(stage.settings, order_id)
        if row.run_id in own
    ]


def _traced(trace: Sequence[Json]) -> int:
    return sum(entry["kind"] == "step" for entry in trace)


class _Seen:
    """What the two services had refused before a story began."""

    def __init__(self, stage: Stage) -> None:
        self._calls = len(stage.slack.calls)
        self._requests = len(stage.claude.requests)

    def refusals(self, stage: Stage) -> list[str]:
        """What they refused since, in words; takes errors of scripts out of the stand-in."""
        slack, claude = stage.slack, stage.claude
        calls = slack.calls[self._calls :]
        requests = claude.requests[self._requests :]
        found = [f"a scripted turn failed: {error}" for error in claude.script_errors]
        claude.script_errors.clear()
        found += [
            f"Slack refused {call.method}: {call.error} {'; '.join(call.details)}".rstrip()
            for call in slack.refused
            if call in calls and not (stage.kills and (call.method, call.error) in _DONE_BEFORE)
        ]
        found += [f"Claude refused: {each.error}" for each in claude.refused if each in requests]
        found += ["a model call had no script" for each in claude.unscripted if each in requests]
        return found
