"""Parts of the workspace by themselves: the folder, the clock, the bot's process, settings."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import tomllib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import bot
from agent.errors import ConfigurationError
from bot.local.play.scene import own_manifest
from bot.local.slack.workspace import Bell
from bot.local.workspace import supervisor
from bot.local.workspace.clock import FileClock
from bot.local.workspace.folder import StateFolder
from bot.local.workspace.passing import passed_on
from bot.local.workspace.serving import serving
from bot.local.workspace.supervisor import WatchedBot
from bot.settings import Settings, load_settings
from tests.bot.local.workspace_bench import holds, page_without_bot

# Where the bot of a workspace runs is the workspace's business.
WORKSPACES_OWN = {
    "slack_bot_token",
    "slack_app_token",
    "slack_api_url",
    "store_url",
    "shop_url",
    "case_channels",
    "approvals_channel",
    "approvers",
    "handoff_mention",
    "port",
    "warnings",
}


# The folder -------------------------------------------------------------------------------------


def test_a_folder_is_kept_out_of_the_repository_that_it_is_in(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "state")
    folder.open(fresh=False)
    folder.close()
    assert (tmp_path / "state" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_second_workspace_in_the_same_folder_is_told_why_not(tmp_path: Path) -> None:
    first, second = StateFolder(tmp_path / "state"), StateFolder(tmp_path / "state")
    first.open(fresh=False)
    with pytest.raises(ConfigurationError, match="Another local workspace is running"):
        second.open(fresh=True)
    first.close()
    second.open(fresh=False)
    second.close()


def test_beginning_anew_leaves_what_it_did_not_make(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    for name in ("notes.txt", "slack.json", "casethread.db", "casethread.db-wal", "bot.log"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    folder.open(fresh=True)
    folder.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == [".gitignore", "lock", "notes.txt"]


def test_the_secret_stays_and_nobody_else_reads_it(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path)
    secret = folder.thinking_secret()
    assert StateFolder(tmp_path).thinking_secret() == secret
    assert len(secret) == 64
    assert folder.secret.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["{", '{"version": 2}', "[]"])
async def test_a_state_of_another_version_is_refused_and_left_as_it_is(
    tmp_path: Path, content: str
) -> None:
    kept = tmp_path / "slack.json"
    kept.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="--fresh"):
        async with page_without_bot(tmp_path):
            pass
    assert kept.read_text(encoding="utf-8") == content


async def test_a_model_call_that_a_kill_cut_short_costs_the_others_nothing(tmp_path: Path) -> None:
    async with page_without_bot(tmp_path) as (page, world):
        assert world.claude is not None
        for _ in range(2):
            async with page.session.post(world.claude.base_url + "/v1/messages", json={}) as answer:
                assert answer.status == 401
        first, second = (each.request_id for each in world.claude.requests)
    kept = tmp_path / "exchanges.jsonl"
    kept.write_bytes(kept.read_bytes()[:-20])
    async with page_without_bot(tmp_path) as (page, _):
        assert (await page.get(f"/api/exchange/{first}"))["status"] == 401
        code, _ = await page.refused("GET", f"/api/exchange/{second}")
        assert code == 404


# The clock --------------------------------------------------------------------------------------


def test_two_clocks_on_one_file_jump_together_and_remember_it(tmp_path: Path) -> None:
    path = tmp_path / "clock.json"
    one, other = FileClock(path, real=lambda: 1000.0), FileClock(path, real=lambda: 1000.0)
    assert (one(), other()) == (1000.0, 1000.0)
    one.jump(60)
    one.jump(3600)
    assert (one(), other()) == (4660.0, 4660.0)
    assert FileClock(path, real=lambda: 1000.0)() == 4660.0
    path.unlink()
    assert other() == 1000.0


# The bot's process ------------------------------------------------------------------------------


class Watched:
    """A process under watch that is no bot: a web server of the standard library."""

    def __init__(self, folder: Path) -> None:
        self.told: list[str] = []
        self.bot = WatchedBot(
            {},
            folder,
            module=("http.server", "0", "--bind", "127.0.0.1"),
            connected=lambda: True,
            tell=self.told.append,
        )


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncGenerator[Watched]:
    found = Watched(tmp_path)
    await found.bot.start()
    yield found
    await found.bot.kill()


async def test_a_kill_is_counted_and_a_second_one_finds_nothing(watched: Watched) -> None:
    bot = watched.bot
    assert bot.state == "up"
    await asyncio.gather(bot.kill(), bot.kill())
    assert (bot.state, bot.kills, bot.exit_code) == ("down", 1, -9)
    assert bot.up_seconds is None
    await asyncio.gather(bot.start(), bot.start())
    assert (bot.state, bot.starts) == ("up", 2)
    assert watched.told.count("The bot was killed (kill -9).") == 1


async def test_a_process_that_ends_by_itself_is_told(watched: Watched) -> None:
    pid = watched.bot.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    await holds(lambda: watched.told[1:])
    assert watched.told[1].startswith("The bot ended by itself with exit")
    assert watched.bot.state == "down"


async def test_a_process_that_does_not_stop_when_asked_is_killed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "STOP_SECONDS", 0.1)
    pid = watched.bot.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    assert await watched.bot.stop() < 0
    await watched.bot.restart()
    assert watched.bot.state == "up"
    assert watched.bot.pid != pid


# What is installed ------------------------------------------------------------------------------


def test_the_manifest_goes_along_where_casethread_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = Path(__file__).parents[3]
    assert own_manifest() == top / "manifest.yml"
    project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    packaged = tmp_path / wheel["force-include"]["manifest.yml"]
    packaged.parent.mkdir()
    packaged.touch()
    monkeypatch.setattr(bot, "__file__", str(tmp_path / "bot" / "__init__.py"))
    assert own_manifest() == packaged


# Settings ---------------------------------------------------------------------------------------


def test_what_the_operator_set_reaches_the_bot_as_it_was_meant(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("", encoding="utf-8")
    given = {
        "ANTHROPIC_API_KEY": "sk-ant-1",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "CASETHREAD_POLICIES": str(tmp_path),
        "CASETHREAD_MODEL": "claude-sonnet-5-5",
        "CASETHREAD_PRICES": str(prices),
        "CASETHREAD_APPROVAL_LIMIT": "1234.50",
        "CASETHREAD_SECOND_APPROVAL_OVER": "99999.99",
        "CASETHREAD_FOUR_EYES": "no",
        "CASETHREAD_MAX_STEPS": "7",
        "CASETHREAD_MAX_COST_USD": "1.25",
        "CASETHREAD_REMIND_AFTER": "90s",
        "CASETHREAD_EXPIRE_AFTER": "2d",
        "CASETHREAD_LOG": "debug",
    }
    settings = load_settings(env=given, env_file=None)
    assert settings.model_fields_set >= set(Settings.model_fields) - WORKSPACES_OWN
    again = load_settings(env=passed_on(settings), env_file=None)
    for name in set(Settings.model_fields) - WORKSPACES_OWN:
        assert getattr(again, name) == getattr(settings, name), name


def test_what_was_not_set_is_left_at_its_default() -> None:
    assert passed_on(load_settings(env={}, env_file=None)) == {}


async def test_the_next_free_port_is_taken(tmp_path: Path) -> None:
    settings = load_settings(env={}, env_file=None)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        taken: int = holder.getsockname()[1]
        async with serving(settings, port=taken, fresh=False, folder=tmp_path) as url:
            port = int(url.rpartition(":")[2])
            assert taken < port < taken + 20


# What rings ---------------------------------------------------------------------------------------


async def test_a_ring_while_one_is_busy_elsewhere_is_heard() -> None:
    bell = Bell()
    heard = bell.rings
    bell.ring()
    async with asyncio.timeout(5):
        heard = await bell.wait(60, heard=heard)
        assert await bell.wait(0.01, heard=heard) == heard
        waiting = asyncio.create_task(bell.wait(60, heard=heard))
        await asyncio.sleep(0)
        bell.ring()
        assert await waiting == heard + 1
