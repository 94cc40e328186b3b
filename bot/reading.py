"""Read a thread once, to deliver what Slack's events left out."""

from __future__ import annotations

import logging
from typing import Any, Final

from pydantic import ValidationError

from agent.ports import CaseStore
from bot.listeners.desk import FrontDesk
from bot.listeners.messages import event_of
from bot.listeners.payloads import SlackMessage
from bot.thread import Thread
from bot.webapi import SlackError, ask

log = logging.getLogger("casethread.slack")

READ_SECONDS: Final = 3.0
_PAGE: Final = "200"


class ThreadReader:
    """Delivers a thread's messages under the same ids as their events; known ones do nothing."""

    def __init__(self, desk: FrontDesk) -> None:
        self._desk = desk
        self._store: CaseStore = desk.store

    async def __call__(self, case_id: str) -> bool:
        """False, and a log line, when Slack can't be asked just now."""
        thread = Thread.parse(case_id)
        cursor = ""
        while True:
            try:
                page = await ask(
                    self._desk.client,
                    "conversations.replies",
                    seconds=READ_SECONDS,
                    channel=thread.channel,
                    ts=thread.ts,
                    limit=_PAGE,
                    **({"cursor": cursor} if cursor else {}),
                )
            except SlackError as error:
                log.warning("thread %s can't be read: %s", case_id, error)
                return error.reason == "thread_not_found"
            for message in page.get("messages", []):
                await self._deliver(case_id, thread, message)
            cursor = page.get("response_metadata", {}).get("next_cursor", "")
            if not cursor:
                return True

    async def _deliver(self, case_id: str, thread: Thread, message: dict[str, Any]) -> None:
        try:
            said = SlackMessage.model_validate(message)
        except ValidationError as error:
            log.warning("a message of %s can't be read: %s", case_id, error)
            return
        identity = self._desk.identity
        if said.is_spoken_by_a_person(identity.bot_user_id):
            event = event_of(
                said, team_id=identity.team_id, channel=thread.channel, now=self._desk.now()
            )
            await self._store.deliver(case_id, event)
