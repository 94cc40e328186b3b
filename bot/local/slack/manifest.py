"""An app's manifest (version 2): what it may do and what it is told. Refuses one that Slack would.

Limits: docs.slack.dev, reference/app-manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

# Which scope lets an app subscribe to an event.
EVENT_SCOPES: dict[str, str | None] = {
    "app_home_opened": None,
    "app_mention": "app_mentions:read",
    "member_joined_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "reaction_added": "reactions:read",
}


class ManifestError(ValueError):
    """The manifest breaks a rule; the text says which."""


@dataclass(frozen=True, kw_only=True)
class Shortcut:
    name: str
    callback_id: str
    type: Literal["global", "message"]
    description: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A slash command; `name` begins with the slash."""

    name: str
    description: str
    usage_hint: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What the local Slack needs of a manifest."""

    name: str
    bot_display_name: str
    bot_scopes: frozenset[str]
    bot_events: frozenset[str]
    shortcuts: tuple[Shortcut, ...]
    commands: Mapping[str, Command]
    has_home: bool
    has_messages_tab: bool


def read_manifest(source: Path | str | Mapping[str, Any]) -> Manifest:
    """From a file (YAML or JSON) or from its parsed content; ManifestError names what is wrong."""
    if isinstance(source, Mapping):
        content: Any = source
    else:
        content = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
    try:
        checked = _Manifest.model_validate(content)
    except ValidationError as error:
        places = (
            ".".join(map(str, item["loc"])) + ": " + item["msg"]
            for item in error.errors(include_url=False)
        )
        raise ManifestError("; ".join(places)) from error
    return _checked_together(checked)


def _checked_together(checked: _Manifest) -> Manifest:
    features, settings = checked.features, checked.settings
    scopes = frozenset(checked.oauth_config.scopes.bot)
    events = frozenset(settings.event_subscriptions.bot_events)
    if not settings.socket_mode_enabled:
        raise ManifestError("settings.socket_mode_enabled: the local Slack speaks Socket Mode only")
    for event in sorted(events):
        if event not in EVENT_SCOPES:
            raise ManifestError(f"bot_events: the local Slack sends no {event}")
        needed = EVENT_SCOPES[event]
        if needed is not None and needed not in scopes:
            raise ManifestError(f"bot_events: {event} needs the scope {needed}")
    if (features.shortcuts or features.slash_commands) and "commands" not in scopes:
        raise ManifestError("shortcuts and slash commands need the scope commands")
    if features.shortcuts and not settings.interactivity.is_enabled:
        raise ManifestError("shortcuts need settings.interactivity.is_enabled")
    if features.bot_user is None:
        raise ManifestError("features.bot_user: bot scopes need a bot user")
    return Manifest(
        name=checked.display_information.name,
        bot_display_name=features.bot_user.display_name,
        bot_scopes=scopes,
        bot_events=events,
        shortcuts=tuple(
            Shortcut(
                name=item.name,
                callback_id=item.callback_id,
                type=item.type,
                description=item.description,
            )
            for item in features.shortcuts
        ),
        commands={
            item.command: Command(
                name=item.command, description=item.description, usage_hint=item.usage_hint
            )
            for item in features.slash_commands
        },
        has_home=features.app_home.home_tab_enabled,
        has_messages_tab=features.app_home.messages_tab_enabled,
    )


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _DisplayInformation(_Part):
    name: Annotated[str, StringConstraints(min_length=1, max_length=35)]
    description: Annotated[str, StringConstraints(max_length=140)] = ""
    long_description: Annotated[str, StringConstraints(min_length=175, max_length=4000)] | None = (
        None
    )
    background_color: (
        Annotated[str, StringConstraints(pattern=r"^#([0-9A-Fa-f]{3}){1,2}$")] | None
    ) = None


class _BotUser(_Part):
    display_name: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9\-_. ]{1,80}$")]
    always_online: bool = False


class _AppHome(_Part):
    home_tab_enabled: bool = False
    messages_tab_enabled: bool = False
    messages_tab_read_only_enabled: bool = True


class _Shortcut(_Part):
    name: Annotated[str, StringConstraints(min_length=1, max_length=24)]
    type: Literal["global", "message"]
    callback_id: Annotated[str, StringConstraints(min_length=1, max_length=255)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=150)]


class _Command(_Part):
    command: Annotated[str, StringConstraints(pattern=r"^/[^\s/]+$", max_length=32)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    usage_hint: Annotated[str, StringConstraints(max_length=1000)] = ""
    should_escape: bool = False
    url: str | None = None


class _Features(_Part):
    bot_user: _BotUser | None = None
    app_home: _AppHome = _AppHome()
    shortcuts: Annotated[list[_Shortcut], Field(max_length=10)] = Field(
        default_factory=list[_Shortcut]
    )
    slash_commands: Annotated[list[_Command], Field(max_length=50)] = Field(
        default_factory=list[_Command]
    )


class _Scopes(_Part):
    bot: Annotated[list[str], Field(max_length=255)] = Field(default_factory=list[str])


class _OauthConfig(_Part):
    scopes: _Scopes


class _EventSubscriptions(_Part):
    bot_events: Annotated[list[str], Field(max_length=100)] = Field(default_factory=list[str])


class _Interactivity(_Part):
    is_enabled: bool


class _Settings(_Part):
    event_subscriptions: _EventSubscriptions = _EventSubscriptions()
    interactivity: _Interactivity = _Interactivity(is_enabled=False)
    org_deploy_enabled: bool = False
    socket_mode_enabled: bool = False
    token_rotation_enabled: bool = False


class _Metadata(_Part):
    major_version: Literal[2]
    minor_version: int = 0


class _Manifest(_Part):
    metadata: Annotated[_Metadata, Field(alias="_metadata")]
    display_information: _DisplayInformation
    features: _Features
    oauth_config: _OauthConfig
    settings: _Settings
