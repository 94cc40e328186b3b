"""The settings: names, forms and defaults, read from the environment and a `.env` file.

What a setting means is documented in docs/operating.md; who uses it gets it as an argument. A
wrong one ends in one line for the operator that names it and mends it, and never shows a secret.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from agent.errors import ConfigurationError
from agent.refunds.money import parse_rupees

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CHANNEL = re.compile(r"[CG][A-Z0-9]{5,}")
_USER = re.compile(r"[UW][A-Z0-9]{5,}")
_GROUP = re.compile(r"S[A-Z0-9]{5,}")
_STORES = ("sqlite:///", "redis://", "rediss://")


def load_settings(
    *, env: Mapping[str, str] | None = None, env_file: Path | str | None = ".env"
) -> Settings:
    """Read and check all settings; the environment wins over the file, an empty one is unset.

    `env` is the process's environment when left out. Raises `ConfigurationError` with one line.
    """
    from_file = dotenv_values(env_file, interpolate=False) if env_file is not None else {}
    given = {
        name: value.strip()
        for name, value in {
            **_filled(from_file),
            **_filled(os.environ if env is None else env),
        }.items()
    }
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError(_first_of(error)) from None
    _check_together(settings)
    return settings.model_copy(update={"warnings": (*_unknown(given), *_cautions(settings))})


# Forms ------------------------------------------------------------------------------------------
# Each takes the text as written and raises ValueError with the words that mend it. The text itself
# is only repeated for settings that are no secret.


def _token(prefix: str, text: object) -> object:
    if isinstance(text, str) and not text.startswith(prefix):
        raise ValueError(f"must be a token that starts with {prefix}")
    return text


def _web_address(text: object) -> object:
    parts = urlsplit(str(text))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL like https://host/path")
    return text


def _store_url(text: object) -> object:
    if not str(text).startswith(_STORES):
        raise ValueError("must be sqlite:///PATH or redis://HOST:PORT/DB")
    return text


def _database_url(text: object) -> object:
    if not re.match(r"[a-z][a-z0-9+_]*://", str(text)):
        raise ValueError("must be a SQLAlchemy URL like sqlite:///shop.db")
    return text


def _ids(forms: tuple[re.Pattern[str], ...], example: str, text: object) -> tuple[str, ...]:
    ids = tuple(part for part in (part.strip() for part in str(text).split(",")) if part)
    for each in ids:
        if not any(form.fullmatch(each) for form in forms):
            raise ValueError(f"has {each!r}, which is no id; write {example}")
    return tuple(dict.fromkeys(ids))


def _mention(text: object) -> object:
    if not (_USER.fullmatch(str(text)) or _GROUP.fullmatch(str(text))):
        raise ValueError(f"is {text!r}; write one user id (U… or W…) or user-group id (S…)")
    return text


def _folder(text: object) -> object:
    if not Path(str(text)).is_dir():
        raise ValueError(f"is {text!r}, which is no folder; name an existing folder of policies")
    return text


def _file(text: object) -> object:
    if not Path(str(text)).is_file():
        raise ValueError(f"is {text!r}, which is no file; name an existing TOML file of prices")
    return text


def _paise(text: object) -> int:
    if re.fullmatch(r"0+(\.0{1,2})?", str(text)):
        return 0
    try:
        return parse_rupees(text)
    except ValueError:
        raise ValueError(f"is {text!r}; write rupees like 1000 or 999.50") from None


def _duration_seconds(text: object) -> int:
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", str(text))
    if match is None or int(match[1]) == 0:
        raise ValueError(f"is {text!r}; write a duration like 30s, 15m, 4h or 3d")
    return int(match[1]) * _SECONDS[match[2]]


def _switch(text: object) -> bool:
    known = {"true": True, "yes": True, "on": True, "1": True}
    known |= {"false": False, "no": False, "off": False, "0": False}
    if str(text).lower() not in known:
        raise ValueError(f"is {text!r}; write true or false")
    return known[str(text).lower()]


def _count(text: object) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", str(text)) or int(str(text)) == 0:
        raise ValueError(f"is {text!r}; write a whole number, 1 or more")
    return int(str(text))


def _port(text: object) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", str(text)) or not 0 < int(str(text)) < 65_536:
        raise ValueError(f"is {text!r}; write a port from 1 to 65535")
    return int(str(text))


def _dollars(text: object) -> Decimal:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", str(text)) or Decimal(str(text)) == 0:
        raise ValueError(f"is {text!r}; write dollars like 0.50, more than 0")
    return Decimal(str(text))


def _level(text: object) -> str:
    if str(text).lower() not in ("debug", "info", "warning", "error"):
        raise ValueError(f"is {text!r}; write debug, info, warning or error")
    return str(text).lower()


_channel_ids = partial(_ids, (_CHANNEL,), "channel ids like C0123456789, separated by commas")
_approver_ids = partial(
    _ids, (_USER, _GROUP), "user ids (U… or W…) and user-group ids (S…), separated by commas"
)


def _one_channel(text: object) -> str:
    ids = _channel_ids(text)
    if len(ids) != 1:
        raise ValueError("must be one channel id like C0123456789")
    return ids[0]


class Settings(BaseModel):
    """Every setting in use. Amounts in paise, durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore", validate_default=False)

    slack_bot_token: Annotated[SecretStr | None, BeforeValidator(partial(_token, "xoxb-"))] = Field(
        default=None, alias="SLACK_BOT_TOKEN"
    )
    slack_app_token: Annotated[SecretStr | None, BeforeValidator(partial(_token, "xapp-"))] = Field(
        default=None, alias="SLACK_APP_TOKEN"
    )
    slack_api_url: Annotated[str, BeforeValidator(_web_address)] = Field(
        default="https://slack.com/api/", alias="SLACK_API_URL"
    )
    anthropic_api_key: SecretStr | None = Field(default=None, alias="ANTHROPIC_API_KEY")
    anthropic_base_url: Annotated[str | None, BeforeValidator(_web_address)] = Field(
        default=None, alias="ANTHROPIC_BASE_URL"
    )
    # Both may hold a password, so neither is shown.
    store_url: Annotated[str, BeforeValidator(_store_url)] = Field(
        default="sqlite:///casethread.db", alias="CASETHREAD_STORE_URL", repr=False
    )
    shop_url: Annotated[str | None, BeforeValidator(_database_url)] = Field(
        default=None, alias="CASETHREAD_SHOP_URL", repr=False
    )
    policies: Annotated[Path | None, BeforeValidator(_folder)] = Field(
        default=None, alias="CASETHREAD_POLICIES"
    )
    case_channels: Annotated[tuple[str, ...], BeforeValidator(_channel_ids)] = Field(
        default=(), alias="CASETHREAD_CASE_CHANNELS"
    )
    approvals_channel: Annotated[str | None, BeforeValidator(_one_channel)] = Field(
        default=None, alias="CASETHREAD_APPROVALS_CHANNEL"
    )
    approvers: Annotated[tuple[str, ...], BeforeValidator(_approver_ids)] = Field(
        default=(), alias="CASETHREAD_APPROVERS"
    )
    handoff_mention: Annotated[str | None, BeforeValidator(_mention)] = Field(
        default=None, alias="CASETHREAD_HANDOFF_MENTION"
    )
    model: str = Field(default="claude-opus-5-5", alias="CASETHREAD_MODEL")
    prices: Annotated[Path | None, BeforeValidator(_file)] = Field(
        default=None, alias="CASETHREAD_PRICES"
    )
    approval_limit_paise: Annotated[int, BeforeValidator(_paise)] = Field(
        default=1_000_00, alias="CASETHREAD_APPROVAL_LIMIT"
    )
    second_approval_over_paise: Annotated[int, BeforeValidator(_paise)] = Field(
        default=10_000_00, alias="CASETHREAD_SECOND_APPROVAL_OVER"
    )
    four_eyes: Annotated[bool, BeforeValidator(_switch)] = Field(
        default=True, alias="CASETHREAD_FOUR_EYES"
    )
    max_steps: Annotated[int, BeforeValidator(_count)] = Field(
        default=12, alias="CASETHREAD_MAX_STEPS"
    )
    max_cost_usd: Annotated[Decimal, BeforeValidator(_dollars)] = Field(
        default=Decimal("0.50"), alias="CASETHREAD_MAX_COST_USD"
    )
    remind_after_seconds: Annotated[int, BeforeValidator(_duration_seconds)] = Field(
        default=4 * _SECONDS["h"], alias="CASETHREAD_REMIND_AFTER"
    )
    expire_after_seconds: Annotated[int, BeforeValidator(_duration_seconds)] = Field(
        default=3 * _SECONDS["d"], alias="CASETHREAD_EXPIRE_AFTER"
    )
    port: Annotated[int, BeforeValidator(_port)] = Field(default=3000, alias="CASETHREAD_PORT")
    log: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_level)] = Field(
        default="info", alias="CASETHREAD_LOG"
    )
    warnings: tuple[str, ...] = ()
    """For the operator, to be logged once the start has said where it runs."""

    @property
    def slack_configured(self) -> bool:
        """Whether a real workspace is meant: all its tokens are there."""
        return self.slack_bot_token is not None and self.slack_app_token is not None

    @property
    def approver_users(self) -> tuple[str, ...]:
        return tuple(each for each in self.approvers if not _GROUP.fullmatch(each))

    @property
    def approver_groups(self) -> tuple[str, ...]:
        return tuple(each for each in self.approvers if _GROUP.fullmatch(each))


# The whole --------------------------------------------------------------------------------------

_NAMES = frozenset(field.alias for field in Settings.model_fields.values() if field.alias)


def _filled(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None and value.strip()}


def _first_of(error: ValidationError) -> str:
    first: Any = error.errors(include_url=False, include_input=False)[0]
    return f"{first['loc'][0]} {first['msg'].removeprefix('Value error, ')}."


def _check_together(settings: Settings) -> None:
    """What one setting demands of another."""
    bot, app = settings.slack_bot_token, settings.slack_app_token
    if bot is None and app is not None:
        raise ConfigurationError(
            "SLACK_BOT_TOKEN is missing beside SLACK_APP_TOKEN: set it to the app's xoxb-… token,"
            " or unset both to try the local workspace."
        )
    if app is None and bot is not None:
        raise ConfigurationError(
            "SLACK_APP_TOKEN is missing beside SLACK_BOT_TOKEN: set it to the app's xapp-… token,"
            " or unset both to try the local workspace."
        )
    if settings.second_approval_over_paise < settings.approval_limit_paise:
        raise ConfigurationError(
            "CASETHREAD_SECOND_APPROVAL_OVER is below CASETHREAD_APPROVAL_LIMIT: what is paid"
            " without a lead can't need two, so set it to at least that amount."
        )
    if not settings.slack_configured:
        return
    if settings.anthropic_api_key is None:
        raise ConfigurationError(
            "ANTHROPIC_API_KEY is missing: a real workspace is never served by the stand-in, so"
            " set it to your Anthropic API key."
        )
    if not settings.case_channels:
        raise ConfigurationError(
            "CASETHREAD_CASE_CHANNELS is missing: set it to the ids of the channels whose threads"
            " become cases, like C0123456789."
        )


def _unknown(given: Mapping[str, str]) -> list[str]:
    """A line for each name that looks like ours and is not."""
    lines: list[str] = []
    for name in sorted(given):
        if name.startswith("CASETHREAD_") and name not in _NAMES:
            close = difflib.get_close_matches(name, _NAMES, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            lines.append(f"{name} is no setting of this version and has no effect.{hint}")
    return lines


def _cautions(settings: Settings) -> list[str]:
    if settings.slack_configured and not settings.approvers:
        return ["CASETHREAD_APPROVERS is not set: nobody can decide on refunds over the limit."]
    return []
