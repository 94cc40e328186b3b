"""Who somebody is in this workspace: a full member, or someone who may only write.

Guests and people of another organisation choose, press and decide nothing. What Slack said is
believed for a minute here; whoever decides about money asks afresh (`approvers`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from slack_sdk.web.async_client import AsyncWebClient

from bot.webapi import SlackError, ask

log = logging.getLogger("casethread.slack")

Standing = Literal["member", "outsider", "unknown"]

KEEP_SECONDS = 60.0
KEEP_PEOPLE = 10_000
_NOBODY = ("user_not_found", "user_not_visible")


@dataclass(frozen=True, kw_only=True)
class Person:
    standing: Standing
    name: str
    """As others see it; "" when it isn't known."""
    utc_offset_seconds: int = 0
    """Of their clock."""


STRANGER: Final = Person(standing="outsider", name="")
UNKNOWN: Final = Person(standing="unknown", name="")


async def ask_slack(client: AsyncWebClient, user: str, *, team_id: str, seconds: float) -> Person:
    """Who this is, as Slack says now; `UNKNOWN`, and a log line, when it can't be asked."""
    try:
        answer = await ask(client, "users.info", seconds=seconds, user=user)
    except SlackError as error:
        if error.reason in _NOBODY:
            return STRANGER
        log.warning("Slack can't be asked about %s: %s", user, error)
        return UNKNOWN
    return _person(answer.get("user", {}), team_id)


def _person(user: dict[str, Any], team_id: str) -> Person:
    # In an Enterprise organisation `team_id` may be another of its workspaces.
    teams = {user.get("team_id"), *user.get("enterprise_user", {}).get("teams", [])}
    member = team_id in teams and not any(
        user.get(flag)
        for flag in ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
    )
    name = user.get("real_name") or user.get("name") or ""
    return Person(
        standing="member" if member else "outsider",
        name=str(name),
        utc_offset_seconds=int(user.get("tz_offset") or 0),
    )


class People:
    """Remembers for a minute what Slack said of a person."""

    def __init__(
        self, client: AsyncWebClient, *, team_id: str, now: Callable[[], float], seconds: float = 1
    ) -> None:
        """`seconds` is how long Slack may take; a click has three in all."""
        self._client = client
        self._team_id = team_id
        self._now = now
        self._seconds = seconds
        self._known: dict[str, tuple[float, Person]] = {}

    async def standing(self, user: str) -> Standing:
        return (await self._person(user)).standing

    async def name(self, user: str) -> str:
        """How others know this person; "" when Slack can't be asked."""
        return (await self._person(user)).name

    async def midnight(self, user: str) -> float:
        """When this person's day began, in Unix seconds; the UTC day's when it isn't known."""
        offset = (await self._person(user)).utc_offset_seconds
        day = 86_400
        return (self._now() + offset) // day * day - offset

    async def _person(self, user: str) -> Person:
        until, person = self._known.get(user, (0.0, UNKNOWN))
        if self._now() < until:
            return person
        person = await ask_slack(self._client, user, team_id=self._team_id, seconds=self._seconds)
        if person is not UNKNOWN:
            if len(self._known) >= KEEP_PEOPLE:
                self._known.clear()
            self._known[user] = (self._now() + KEEP_SECONDS, person)
        return person
