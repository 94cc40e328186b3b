"""Fixtures for the tests of other people's agents: the local Slack and the local Claude.

Pytest finds this plugin by itself where Casethread is installed. Nothing of Casethread is imported
until a test asks for a fixture. The fixtures are asynchronous and need pytest-asyncio.

A test fails at its end when either stand-in refused something, because the real one would have
refused it too. `@pytest.mark.refusals_expected` says that this test is about just that.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bot.local.claude import LocalClaude
    from bot.local.slack import LocalSlack

try:
    from pytest_asyncio import fixture as async_fixture
except ImportError:  # The project has no asynchronous tests.
    async_fixture = pytest.fixture

MARK = "refusals_expected"
MANIFESTS = ("manifest.yml", "manifest.yaml", "manifest.json")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}: the local Slack or Claude may refuse what this test does"
    )


@pytest.fixture
def slack_manifest(request: pytest.FixtureRequest) -> Path | Mapping[str, Any]:
    """The app's manifest: `manifest.yml` (or .yaml, .json) beside the project's pytest settings,
    else one with every scope and event that the local Slack knows. Override it for another."""
    for name in MANIFESTS:
        if (path := request.config.rootpath / name).is_file():
            return path
    return whole_manifest()


@async_fixture
async def local_slack(
    request: pytest.FixtureRequest, slack_manifest: Path | Mapping[str, Any]
) -> AsyncGenerator[LocalSlack]:
    """A small strict Slack on a free port: `api_url`, `bot_token`, `app_token` are for the app
    under test; `person(…)`, `until(…)`, `faults` and `refused` for the test."""
    from bot.local.slack import LocalSlack

    async with LocalSlack(manifest=slack_manifest) as slack:
        yield slack
    if not _expects_refusals(request) and slack.refused:
        told = [f"{x.method}: {x.error} {'; '.join(x.details)}".rstrip() for x in slack.refused]
        pytest.fail("The local Slack refused:\n" + "\n".join(told), pytrace=False)


@async_fixture
async def local_claude(request: pytest.FixtureRequest) -> AsyncGenerator[LocalClaude]:
    """A strict stand-in for Claude's Messages API on a free port: `base_url` is for the client
    under test (any key that begins with `sk-ant-`); `script(…)`, `faults` and `requests` for the
    test. A conversation without a script fails the test too."""
    from bot.local.claude import LocalClaude

    async with LocalClaude() as claude:
        yield claude
    if _expects_refusals(request):
        return
    told = [str(exchange.error) for exchange in claude.refused]
    told += [f"no script for: {exchange.first_text[:200]}" for exchange in claude.unscripted]
    if told:
        pytest.fail("The local Claude refused:\n" + "\n".join(told), pytrace=False)


def whole_manifest() -> dict[str, Any]:
    """A manifest that lets an app do everything the local Slack can; with no shortcuts and
    commands, since those have names of their own."""
    from bot.local.slack.manifest import EVENT_SCOPES

    scopes = {scope for scope in EVENT_SCOPES.values() if scope is not None}
    scopes |= {"chat:write", "commands", "files:read", "groups:read", "im:write"}
    scopes |= {"reactions:write", "usergroups:read", "users:read"}
    return {
        "_metadata": {"major_version": 2},
        "display_information": {"name": "App under test"},
        "features": {
            "app_home": {"home_tab_enabled": True},
            "bot_user": {"display_name": "App under test"},
        },
        "oauth_config": {"scopes": {"bot": sorted(scopes)}},
        "settings": {
            "event_subscriptions": {"bot_events": sorted(EVENT_SCOPES)},
            "interactivity": {"is_enabled": True},
            "socket_mode_enabled": True,
        },
    }


def _expects_refusals(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker(MARK) is not None
