"""Whether a Redis is fit to be the store: looked at once, before anything else is asked of it.

Each `ConfigurationError` is one line that names the setting, what is wrong and how to mend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redis.exceptions import AuthenticationError, BusyLoadingError, ConnectionError

from agent.errors import ConfigurationError, StoreAway, StoreError
from storage.redis_link import Link

LAYOUT = 1
"""Version of the keys; the records in them have their own."""

LAYOUT_KEY = "casethread:layout"
"""Marks a database as ours. All other keys are named in the scripts."""


async def examine(link: Link, *, read_only: bool) -> Sequence[str]:
    """Refuse a Redis that would lose cases or isn't ours; returns warnings for the operator.

    A new database is marked as ours, unless it is only read. Raises `ConfigurationError`, and
    `StoreAway` when Redis is there and refuses for a while.
    """
    info = await _info(link)
    if info is not None and info.get("loading", "0") != "0":
        # Until it has read its files it answers nothing else, and says that it has none.
        await _check_layout(link, read_only=read_only)
        info = await _info(link)
    if info is not None:
        _refuse_unfit(link.place, info, read_only=read_only)
    warnings = _warnings(link.place, info)
    await _check_layout(link, read_only=read_only)
    return warnings


async def _info(link: Link) -> Mapping[str, str] | None:
    """What Redis says of itself, by name; None when it may not be asked."""
    try:
        raw = await link.command("INFO")
    except StoreAway as error:
        raise _unreachable(link, error) from error
    except StoreError:
        # A hosted Redis may not allow the question. One that can't be talked to at all refuses
        # the next one too.
        return None
    lines = raw.decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def _unreachable(link: Link, error: StoreAway) -> Exception:
    cause = error.__cause__
    if isinstance(cause, AuthenticationError):
        return ConfigurationError(
            f"CASETHREAD_STORE_URL: Redis at {link.place} refuses the user or password: write "
            "redis://USER:PASSWORD@HOST:PORT/DB, with special characters as %XX"
        )
    if isinstance(cause, BusyLoadingError) or not isinstance(cause, (ConnectionError, OSError)):
        return error
    return ConfigurationError(
        f"CASETHREAD_STORE_URL: can't reach Redis at {link.place} ({str(cause) or 'no answer'}): "
        "start it, or mend the address"
    )


def _refuse_unfit(place: str, info: Mapping[str, str], *, read_only: bool) -> None:
    if info.get("cluster_enabled", "0") != "0" or info.get("redis_mode") == "cluster":
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: {place} is a Redis cluster, over which the index of due cases "
            "can't be kept: name a Redis that is not in cluster mode"
        )
    if info.get("redis_mode") == "sentinel":
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: {place} is a Redis Sentinel, which keeps no data: name the "
            "Redis itself"
        )
    if info.get("role") == "slave" and not read_only:
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: {place} is a replica, which can't be written: name its primary"
        )
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: Redis at {place} would throw cases away when its memory is "
            f"full (maxmemory-policy {policy}): set maxmemory-policy noeviction there"
        )


def _warnings(place: str, info: Mapping[str, str] | None) -> Sequence[str]:
    warnings: list[str] = []
    if info is None or "maxmemory_policy" not in info:
        warnings.append(
            f"Redis at {place} doesn't tell its maxmemory-policy: make sure that it is noeviction, "
            "or cases are thrown away when its memory is full"
        )
    if info is None or "aof_enabled" not in info:
        warnings.append(
            f"Redis at {place} doesn't tell whether it has an append-only file: make sure that "
            "appendonly is yes, or a crash loses what came since its last snapshot"
        )
    elif info["aof_enabled"] == "0":
        warnings.append(
            f"Redis at {place} has no append-only file: when it crashes, all that came since its "
            "last snapshot is lost, messages and decisions that Slack does not send again among "
            "it: set appendonly yes there"
        )
    return warnings


async def _check_layout(link: Link, *, read_only: bool) -> None:
    try:
        raw = await link.command("GET", LAYOUT_KEY)
        if raw is None and not read_only:
            await link.command("SET", LAYOUT_KEY, LAYOUT, "NX")
            raw = await link.command("GET", LAYOUT_KEY)
    except StoreAway as error:
        raise _unreachable(link, error) from error
    except StoreError as error:
        raise ConfigurationError(f"CASETHREAD_STORE_URL: {error}") from error
    if raw is None:
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: there are no cases in Redis at {link.place} yet: start "
            "Casethread once, or name the database it uses"
        )
    if not raw.isdigit():
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: another program uses keys that begin with casethread: in Redis "
            f"at {link.place}: name another database"
        )
    if int(raw) > LAYOUT:
        raise ConfigurationError(
            f"CASETHREAD_STORE_URL: the keys in Redis at {link.place} are a newer Casethread's "
            f"(layout {int(raw)}, this one knows {LAYOUT}): run that one, or name another database"
        )
