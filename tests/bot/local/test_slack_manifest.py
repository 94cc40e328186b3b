"""The manifest: the app's own is valid, and one that Slack would refuse is refused."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from bot.local.slack.manifest import ManifestError, read_manifest
from tests.bot.local.slack_bench import manifest

OWN = Path(__file__).parents[3] / "manifest.yml"


def test_the_apps_own_manifest_is_valid() -> None:
    own = read_manifest(OWN)
    assert own.name == "Casethread"
    assert own.has_home
    assert {"chat:write", "files:read"} <= own.bot_scopes
    assert {"message.channels", "app_mention"} <= own.bot_events


BROKEN: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "a name of 36": (("display_information", "name"), "x" * 36),
    "a description of 141": (("display_information", "description"), "x" * 141),
    "a long description of 174": (("display_information", "long_description"), "x" * 174),
    "a shortcut's name of 25": (("features", "shortcuts", 0, "name"), "x" * 25),
    "a command of 33": (("features", "slash_commands", 0, "command"), "/" + "x" * 32),
    "eleven shortcuts": (
        ("features", "shortcuts"),
        manifest()["features"]["shortcuts"][:1] * 11,
    ),
    "an unknown field": (("features", "shortcut"), []),
    "an event without its scope": (("oauth_config", "scopes", "bot"), ["commands"]),
    "an event that isn't one": (
        ("settings", "event_subscriptions", "bot_events"),
        ["message.everywhere"],
    ),
    "commands without their scope": (
        ("oauth_config", "scopes", "bot"),
        [scope for scope in manifest()["oauth_config"]["scopes"]["bot"] if scope != "commands"],
    ),
    "shortcuts without interactivity": (("settings", "interactivity", "is_enabled"), False),
    "no Socket Mode": (("settings", "socket_mode_enabled"), False),
    "version 1": (("_metadata", "major_version"), 1),
    "no bot user": (("features", "bot_user"), None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_manifest_that_breaks_a_rule_is_refused(name: str) -> None:
    (*path, last), value = BROKEN[name]
    broken: Any = copy.deepcopy(manifest())
    place = broken
    for step in path:
        place = place[step]
    place[last] = value
    with pytest.raises(ManifestError):
        read_manifest(broken)
    read_manifest(manifest())
