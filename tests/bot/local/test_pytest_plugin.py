"""The fixtures for other people's projects, in a project of other people: its own folder, its own
settings, its own pytest. The examples of the documentation are that project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[3] / "docs" / "testing-your-agent.md"
EXAMPLE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTINGS = re.compile(r"^```ini\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = [
    # Another pytest takes seconds to start, on a machine that has other work much longer.
    pytest.mark.timeout(150),
    # What is printed about the careless project is read by most of the tests.
    pytest.mark.xdist_group("other projects"),
]

# Tests of careless people: each hides from itself what was refused.
CARELESS = """
import anthropic
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient


async def ask(claude, *messages):
    async with anthropic.AsyncAnthropic(base_url=claude.base_url, api_key="sk-ant-x") as client:
        try:
            await client.messages.create(model="claude-opus-5-5", max_tokens=9, messages=messages)
        except anthropic.APIError:
            pass


async def test_claude_refused(local_claude):
    await ask(local_claude)


@pytest.mark.refusals_expected
async def test_about_a_refusal(local_claude):
    await ask(local_claude)


async def test_no_script(local_claude):
    await ask(local_claude, {"role": "user", "content": "Hello you"})


async def test_slack_refused(local_slack):
    client = AsyncWebClient(token=local_slack.bot_token, base_url=local_slack.api_url)
    try:
        await client.chat_postMessage(channel="C0NOWHERE1", text="Hello")
    except SlackApiError:
        pass


@pytest.mark.refusals_expected
async def test_not_in_the_manifest(local_slack):
    client = AsyncWebClient(token=local_slack.bot_token, base_url=local_slack.api_url)
    with pytest.raises(SlackApiError, match="missing_scope"):
        await client.users_info(user="U0RAVI0001")
"""
MANIFEST = """
_metadata: {major_version: 2}
display_information: {name: Small}
features: {bot_user: {display_name: Small}}
oauth_config: {scopes: {bot: ["chat:write"]}}
settings: {socket_mode_enabled: true}
"""


@pytest.fixture(scope="module")
def careless(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints about the careless project."""
    folder = tmp_path_factory.mktemp("careless")
    status, told = run_pytest(folder, **{"test_it.py": CARELESS, "manifest.yml": MANIFEST})
    assert status == 1, told
    return told


def test_the_examples_of_the_documentation_pass_in_a_project_of_their_own(tmp_path: Path) -> None:
    examples = dict(EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8")))
    assert sorted(examples) == [
        "test_ticket_bot.py",
        "test_umbrella.py",
        "ticket_bot.py",
        "umbrella.py",
    ]
    status, told = run_pytest(tmp_path, **examples)
    assert (status, "7 passed" in told) == (0, True), told


def test_a_refusal_by_claude_fails_a_test_that_hid_it(careless: str) -> None:
    assert "ERROR test_it.py::test_claude_refused" in careless
    assert "at least one message is required" in careless


def test_a_conversation_without_a_script_fails_a_test(careless: str) -> None:
    assert "ERROR test_it.py::test_no_script" in careless
    assert "no script for: Hello you" in careless


def test_a_refusal_by_slack_fails_a_test_and_names_the_call(careless: str) -> None:
    assert "ERROR test_it.py::test_slack_refused" in careless
    assert "chat.postMessage: channel_not_found" in careless


def test_a_test_about_a_refusal_says_so_and_passes(careless: str) -> None:
    assert "ERROR test_it.py::test_about_a_refusal" not in careless


def test_the_manifest_beside_the_settings_is_what_the_app_is_held_to(careless: str) -> None:
    assert "test_it.py::test_not_in_the_manifest" not in careless


def test_the_plugin_is_found_without_being_named_anywhere(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.has_plugin("casethread_local")


def run_pytest(folder: Path, **files: str) -> tuple[int, str]:
    """Run a project's tests as its owner would; the exit status and what was printed."""
    (settings,) = SETTINGS.findall(DOCUMENT.read_text(encoding="utf-8"))
    for name, text in {"pytest.ini": settings, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if "PYTEST" not in key},
        capture_output=True,
        text=True,
        check=False,
        timeout=140,
    )
    return finished.returncode, finished.stdout + finished.stderr
