"""The commands: their words and exit codes, the first line without tokens, runs and traces."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner, Result

from agent.ports import Change
from agent.run import Json, Run, Status, Usage
from bot.cli import main
from bot.local.play.process import BotProcess
from bot.local.slack import LocalSlack
from bot.local.slack.seed import LEADS, RANDOM, SUPPORT_CASES
from bot.local.stories import STORIES
from bot.local.workspace.serving import WITH_STAND_IN
from storage import open_store
from tests.contracts.samples import CASE_ID, case, event, owned, run

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
BOT, APP = "xoxb-1", "xapp-1"
CHANNELS = {"CASETHREAD_CASE_CHANNELS": SUPPORT_CASES}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No `.env` and no store of the developer's."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def casethread(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(main, arguments, env=env)


# start ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"SLACK_BOT_TOKEN": BOT}, "SLACK_APP_TOKEN is missing"),
        ({"SLACK_APP_TOKEN": APP}, "SLACK_BOT_TOKEN is missing"),
        ({"SLACK_BOT_TOKEN": "xoxp-1", "SLACK_APP_TOKEN": APP}, "SLACK_BOT_TOKEN must be"),
        ({"SLACK_BOT_TOKEN": BOT, "SLACK_APP_TOKEN": APP, **CHANNELS}, "ANTHROPIC_API_KEY"),
        (
            {"SLACK_BOT_TOKEN": BOT, "SLACK_APP_TOKEN": APP, "ANTHROPIC_API_KEY": "sk-ant-1"},
            "CASETHREAD_CASE_CHANNELS",
        ),
        ({"CASETHREAD_EXPIRE_AFTER": "soon"}, "CASETHREAD_EXPIRE_AFTER"),
        ({"CASETHREAD_APPROVAL_LIMIT": "1,000"}, "CASETHREAD_APPROVAL_LIMIT"),
    ],
)
def test_a_missing_or_wrong_setting_ends_the_start_with_one_line(
    env: dict[str, str], named: str
) -> None:
    done = casethread("start", **env)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(named)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"SLACK_BOT_TOKEN": "xoxb-wrong"}, "SLACK_BOT_TOKEN: "),
        ({"SLACK_APP_TOKEN": "xapp-wrong"}, "SLACK_APP_TOKEN: "),
        ({"CASETHREAD_CASE_CHANNELS": RANDOM}, "CASETHREAD_CASE_CHANNELS: the bot is not in"),
    ],
)
async def test_what_slack_refuses_ends_the_start_with_one_line_and_nothing_around_it(
    tmp_path: Path, changed: dict[str, str], named: str
) -> None:
    async with slack_and_bot(tmp_path, changed) as (_, bot):
        await bot.start()
        assert await bot.wait() == 2
        (line,) = bot.log_tail().splitlines()
    assert line.startswith(named)
    assert "wrong" not in line


async def test_sigterm_drains_and_ends_with_exit_0_after_a_log_of_json_lines(
    tmp_path: Path,
) -> None:
    async with slack_and_bot(tmp_path, {}) as (slack, bot):
        await bot.start()
        await slack.until(lambda: slack.sockets.connected, timeout_seconds=30)
        assert await bot.stop() == 0
        lines = [json.loads(line) for line in bot.log_tail().splitlines()]
    assert lines[-1]["message"] == "Stopped."


async def test_a_start_that_waits_for_slack_ends_at_once_with_sigint(tmp_path: Path) -> None:
    async with slack_and_bot(tmp_path, {}) as (slack, bot):
        slack.faults.slow("auth.test", seconds=60)
        await bot.start()
        await slack.until(lambda: (tmp_path / "cases.db").exists(), timeout_seconds=30)
        bot.send(signal.SIGINT)
        assert await bot.wait() == 0


async def test_a_start_waits_for_a_rate_limit(tmp_path: Path) -> None:
    async with slack_and_bot(tmp_path, {}) as (slack, bot):
        slack.faults.refuse("conversations.info", "ratelimited")
        await bot.start()
        await slack.until(lambda: slack.sockets.connected, timeout_seconds=30)
    assert any(call.method == "conversations.info" and not call.ok for call in slack.calls)


async def test_a_start_while_slack_fails_blames_no_setting_of_ours(tmp_path: Path) -> None:
    async with slack_and_bot(tmp_path, {}) as (slack, bot):
        slack.faults.server_error("conversations.info")
        await bot.start()
        assert await bot.wait() == 2
        (line,) = bot.log_tail().splitlines()
    assert line.startswith("SLACK_API_URL: Slack can't be reached")


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, "CASETHREAD_STORE_URL: a SQLite file serves one process"),
        (
            {"SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": ""},
            "casethread worker needs SLACK_BOT_TOKEN and SLACK_APP_TOKEN",
        ),
    ],
)
async def test_a_worker_says_what_it_needs_and_ends_with_exit_2(
    tmp_path: Path, changed: dict[str, str], named: str
) -> None:
    async with slack_and_bot(tmp_path, changed, command="worker") as (_, bot):
        await bot.start()
        assert await bot.wait() == 2
        (line,) = bot.log_tail().splitlines()
    assert line.startswith(named)


@asynccontextmanager
async def slack_and_bot(
    folder: Path, changed: dict[str, str], *, command: str = "start"
) -> AsyncGenerator[tuple[LocalSlack, BotProcess]]:
    """A local Slack, and a bot that is to be started with settings that fit but for `changed`."""
    async with LocalSlack(manifest=MANIFEST) as slack:
        settings = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "ANTHROPIC_API_KEY": "sk-ant-local",
            "CASETHREAD_STORE_URL": f"sqlite:///{folder / 'cases.db'}",
            "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
            "CASETHREAD_APPROVERS": LEADS,
        }
        bot = BotProcess(settings | changed, folder, module=("bot.cli", command))
        try:
            yield slack, bot
        finally:
            await bot.kill()


async def test_without_tokens_the_first_line_says_so_and_the_local_workspace_opens(
    tmp_path: Path,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot.cli",
        "start",
        "--no-browser",
        "--port",
        "0",
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(MANIFEST.parent), "PYTHONUNBUFFERED": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert (await process.stdout.readline()).decode().strip() == WITH_STAND_IN
        line = (await process.stdout.readline()).decode()
        [address] = re.findall(r"http://127\.0\.0\.1:\d+", line)
        async with aiohttp.ClientSession() as session, session.get(address) as page:
            assert page.status == 200
            assert "Casethread" in await page.text()
        process.terminate()
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


# play -------------------------------------------------------------------------------------------


def test_an_unknown_case_is_refused_with_the_names_that_there_are() -> None:
    done = casethread("play", "sead")
    assert done.exit_code == 2
    assert all(story.name in done.stderr for story in STORIES)


def test_the_help_names_every_case() -> None:
    told = " ".join(casethread("play", "--help").stdout.split())
    assert ", ".join(story.name for story in STORIES) in told


# runs and trace ---------------------------------------------------------------------------------


async def test_runs_are_listed_newest_first_with_all_their_fields(tmp_path: Path) -> None:
    await fill_store(tmp_path)
    listed = json.loads(await run_command("runs", "--json"))
    assert [each["run_id"] for each in listed] == ["run_2", "run_1"]
    assert listed[0] == {
        "run_id": "run_2",
        "case": CASE_ID,
        "customer_id": "cus_1",
        "agent": "refunds",
        "status": "waiting_approval",
        "steps": 2,
        "cost_usd": 0.0123,
        "opened_at": "2023-11-14T22:15:00.000+00:00",
        "waiting_since": "2023-11-14T22:16:40.500+00:00",
    }
    assert listed[1]["waiting_since"] is None
    table = (await run_command("runs")).splitlines()
    assert table[0].split() == list(listed[0])
    assert table[1].split()[:7] == [
        "run_2",
        CASE_ID,
        "cus_1",
        "refunds",
        "waiting_approval",
        "2",
        "0.0123",
    ]


async def test_runs_can_be_asked_for_by_status(tmp_path: Path) -> None:
    await fill_store(tmp_path)
    assert "run_1" in await run_command("runs", "--status", "done")
    assert "run_2" not in await run_command("runs", "--status", "done")
    assert "`casethread runs`" in await run_command("runs", "--status", "handed_off")
    assert json.loads(await run_command("runs", "--status", "handed_off", "--json")) == []


async def test_a_store_without_runs_says_what_to_do_next(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'casethread.db'}")
    await store.close()
    assert "choose the customer" in await run_command("runs")
    assert json.loads(await run_command("runs", "--json")) == []


def test_without_a_store_one_line_says_how_to_get_one() -> None:
    for command in (["runs"], ["trace", "run_1"]):
        done = casethread(*command)
        assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
        assert done.stderr.startswith("CASETHREAD_STORE_URL: ")


async def test_a_trace_has_the_steps_and_what_happened_between_them(tmp_path: Path) -> None:
    await fill_store(tmp_path)
    entries: list[Json] = json.loads(await run_command("trace", "run_2", "--json"))
    kinds = [entry["kind"] for entry in entries]
    assert kinds == ["step", "pause", "decision", "payment", "attempt", "step"]
    step = dict(entries[0])
    assert step == {
        "kind": "step",
        "at": "2023-11-14T22:15:01.000+00:00",
        "step": 1,
        "stop_reason": "tool_use",
        "calls": [{"tool": "propose_refund", "input": {"amount": 2499}, "is_error": False}],
        "input_tokens": 11,
        "cache_read_tokens": 1222,
        "cache_write_tokens": 333,
        "output_tokens": 44,
        "cost_usd": 0.0041,
        "total_cost_usd": 0.0041,
        "seconds": 1.5,
        "request_id": "req_1",
    }


async def test_a_trace_is_shown_with_tokens_costs_and_totals(tmp_path: Path) -> None:
    await fill_store(tmp_path)
    shown = await run_command("trace", "run_2")
    lines = shown.splitlines()
    assert "Asha Rao (cus_1)" in lines[1]
    first = next(line for line in lines if "propose_refund(amount=2499)" in line)
    assert first.split()[-6:] == ["11", "1,222", "333", "44", "$0.0041", "$0.0041"]
    assert "tool_use · 1.5 s · req_1" in shown
    assert "waits for a lead: Refund ₹2,499.00" in shown
    assert "approved by U_LEAD: Fine" in shown
    assert "\x1b" not in shown
    assert "paid: ₹2,499.00" in shown
    lost = next(line for line in lines if "no usable answer: lost in a restart" in line)
    assert lost.split()[-2:] == ["~$0.0010", "$0.0051"]
    assert lines[-1].split()[-6:] == ["22", "2,444", "333", "88", "$0.0123", "$0.0123"]
    assert "2 model calls" in lines[-1]


async def test_an_unknown_run_is_one_line_and_exit_1(tmp_path: Path) -> None:
    await fill_store(tmp_path)
    done = await asyncio.to_thread(casethread, "trace", "run_9")
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "run_9" in done.stderr


async def run_command(*arguments: str) -> str:
    """Its output; a thread of its own, because it brings its own event loop."""
    done = await asyncio.to_thread(casethread, *arguments)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return done.stdout


async def fill_store(folder: Path) -> None:
    """One case with a run that is done and one that waits."""
    store = open_store(f"sqlite:///{folder / 'casethread.db'}")
    await store.deliver(CASE_ID, event())
    lease = await owned(store, "test")
    first = run("run_1", status=Status.DONE, opened_at=1_700_000_000.0)
    second = run(
        "run_2",
        status=Status.WAITING_APPROVAL,
        opened_at=1_700_000_100.0,
        waiting_since=1_700_000_200.5,
        steps=2,
        cost_usd=Decimal("0.0123"),
        usage=Usage(uncached=22, cache_read=2444, cache_write_5m=333, output=88),
    )
    await store.save(lease, change(first))
    await store.save(lease, change(second, *trace_of_a_refund()))
    await store.close()


def change(saved: Run, *trace: Json) -> Change:
    own = case(customer_id="cus_1", customer_name="Asha Rao", run_ids=(saved.run_id,))
    return Change(case=own, run=saved, trace=trace)


def trace_of_a_refund() -> tuple[Json, ...]:
    call = {"id": "toolu_1", "tool": "propose_refund", "input": {"amount": 2499}}
    return (
        step(1, [call], write=333, cost="0.0041", total="0.0041"),
        {"kind": "pause", "at": 2.0, "waits_for": "approval", "title": "Refund ₹2,499.00"},
        {
            "kind": "decision",
            "at": 3.0,
            "verdict": "approved",
            "by": "U_LEAD",
            "note": "Fine \x1b[31m",
        },
        {
            "kind": "result",
            "at": 4.0,
            "call_id": "toolu_1",
            "tool": "propose_refund",
            "is_error": False,
        },
        {"kind": "payment", "at": 4.0, "call_id": "toolu_1", "text": "₹2,499.00"},
        lost_call(),
        step(2, [], write=0, cost="0.0072", total="0.0123"),
    )


def lost_call() -> Json:
    return {
        "kind": "attempt",
        "at": 5.0,
        "step": 2,
        "error": "lost in a restart",
        "temporary": True,
        "estimated_cost_usd": "0.0010",
        "total_cost_usd": "0.0051",
        "seconds": 0.0,
        "request_id": None,
    }


def step(number: int, calls: list[Json], *, write: int, cost: str, total: str) -> dict[str, Any]:
    return {
        "kind": "step",
        "at": 1_700_000_100.0 + number,
        "step": number,
        "stop_reason": "tool_use" if calls else "end_turn",
        "calls": calls,
        "input_tokens": 11,
        "cache_read_tokens": 1222,
        "cache_write_tokens": write,
        "output_tokens": 44,
        "cost_usd": cost,
        "total_cost_usd": total,
        "seconds": 1.5,
        "request_id": f"req_{number}",
    }
