"""Who may decide: the configured users and the members of the configured user groups.

Slack is asked each time, so that somebody who left the group, the workspace or full membership
loses the right at once. What can't be asked is no yes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Literal

from slack_sdk.web.async_client import AsyncWebClient

from bot.people import ask_slack
from bot.webapi import SlackError, ask

log = logging.getLogger("casethread.slack")

TIMEOUT_SECONDS = 2.0
_NO_GROUP = ("no_such_subteam", "subteam_not_found")


class SlackApprovers:
    """Implements `agent.ports.Approvers`. Needs the scopes `users:read` and `usergroups:read`."""

    def __init__(
        self,
        client: AsyncWebClient,
        *,
        team_id: str,
        users: Sequence[str],
        groups: Sequence[str],
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._client = client
        self._team_id = team_id
        self._users = frozenset(users)
        self._groups = tuple(groups)
        self._seconds = timeout_seconds

    async def __call__(self, user: str) -> Literal["approver", "stranger", "unknown"]:
        """Answers within the timeout; `unknown`, and a log line, when Slack can't be asked."""
        if user not in self._users and not self._groups:
            return "stranger"
        groups = () if user in self._users else self._groups
        person, in_groups = await asyncio.gather(
            ask_slack(self._client, user, team_id=self._team_id, seconds=self._seconds),
            asyncio.gather(*(self._in_group(user, group) for group in groups)),
        )
        if person.standing == "outsider":
            return "stranger"
        if person.standing == "unknown":
            return "unknown"
        if user in self._users or True in in_groups:
            return "approver"
        return "unknown" if None in in_groups else "stranger"

    async def _in_group(self, user: str, group: str) -> bool | None:
        """None when Slack can't be asked."""
        try:
            answer = await ask(
                self._client, "usergroups.users.list", seconds=self._seconds, usergroup=group
            )
        except SlackError as error:
            if error.reason in _NO_GROUP:
                log.error("The user group %s of CASETHREAD_APPROVERS does not exist.", group)
                return False
            log.warning("Slack can't be asked about the user group %s: %s", group, error)
            return None
        return user in answer.get("users", [])
