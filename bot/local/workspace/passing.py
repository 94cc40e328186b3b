"""The operator's settings as the environment of the bot's process."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from bot.settings import Settings


def passed_on(settings: Settings) -> dict[str, str]:
    """What the operator set (not what is left at its default), in the form it is read in.

    Where the bot runs (its Slack, its store and shop, its channels and people) is not among it.
    """
    found: dict[str, str] = {}
    for name, write in _FORMS.items():
        value: Any = getattr(settings, name)
        alias = Settings.model_fields[name].alias
        if name in settings.model_fields_set and value is not None and alias is not None:
            found[alias] = write(value)
    return found


def _rupees(paise: int) -> str:
    return f"{paise // 100}.{paise % 100:02d}"


def _seconds(seconds: int) -> str:
    return f"{seconds}s"


def _path(path: Path) -> str:
    # The bot's process runs in another folder.
    return str(path.resolve())


def _switch(value: bool) -> str:
    return "true" if value else "false"


def _secret(value: Any) -> str:
    return str(value.get_secret_value())


def _dollars(value: Decimal) -> str:
    return f"{value:f}"


_FORMS: dict[str, Callable[[Any], str]] = {
    "anthropic_api_key": _secret,
    "anthropic_base_url": str,
    "policies": _path,
    "model": str,
    "prices": _path,
    "approval_limit_paise": _rupees,
    "second_approval_over_paise": _rupees,
    "four_eyes": _switch,
    "max_steps": str,
    "max_cost_usd": _dollars,
    "remind_after_seconds": _seconds,
    "expire_after_seconds": _seconds,
    "log": str,
}
