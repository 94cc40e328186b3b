"""What the listeners work with, and the few things that all of them do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import ValidationError
from slack_sdk.web.async_client import AsyncWebClient

from agent.case import Event, Fact
from agent.ports import Approvers, CaseStore
from agent.refunds.ports import Customer
from bot.actions import CaseRef
from bot.listeners.payloads import Click, Command, Shortcut, SlackMessage, time_of
from bot.people import People
from bot.settings import Settings
from bot.text import escape
from bot.thread import Place, Thread, permalink
from bot.webapi import SlackError, send

log = logging.getLogger("casethread.slack")

ANSWER_SECONDS: Final = 1.2
"""How long an answer beside the ack may take; Slack waits three seconds for the ack."""

APPROVER_SECONDS: Final = 1.0
"""How long Slack may take to say who is an approver, while somebody waits for an answer."""

GUEST: Final = "Guests and people of other organisations can't do this. Ask a colleague."
CANT_CHECK: Final = "I can't check with Slack who you are just now. Please try again shortly."
UNKNOWN_CASE: Final = "I don't know this case any more, so this button does nothing."

ALREADY_OPENED: Final = "exchanged_trigger_id"
"""Slack delivered a press twice: its modal is open."""
MODAL_LATE: Final = "Slack didn't let me open the form in time. Please try again."


Opener = Click | Shortcut | Command
"""What lets us open a modal."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Ourselves in the workspace, from `auth.test` and `bots.info`."""

    team_id: str
    bot_user_id: str
    bot_id: str
    app_id: str
    url: str = ""
    """The workspace's, for links to messages."""


@dataclass(frozen=True, kw_only=True)
class FrontDesk:
    """Everything a listener needs. `now` gives Unix seconds."""

    client: AsyncWebClient
    identity: Identity
    settings: Settings
    store: CaseStore
    wake: Callable[[str], None]
    """Called with a case id after an event of it was stored; must not block."""
    search_customers: Callable[[str], Awaitable[Sequence[Customer]]]
    approvers: Approvers
    people: People
    now: Callable[[], float]
    refunded_since: Callable[[float], Awaitable[int]]
    """What the agent refunded since a Unix time, in paise."""

    def case_id(self, channel: str, message: SlackMessage) -> str:
        """Of the thread that the message is in."""
        # Always our own team: in a shared channel an event may name its author's.
        team = self.identity.team_id
        return Thread(team=team, channel=channel, ts=message.root_ts).case_id

    def link(self, channel: str, ts: str, *, thread_ts: str | None = None) -> str:
        """To a message; `thread_ts` is its thread's, when it isn't the root."""
        return permalink(self.identity.url, channel, ts, thread_ts=thread_ts)

    def is_ours(self, message: SlackMessage) -> bool:
        identity = self.identity
        return message.bot_id == identity.bot_id or message.user == identity.bot_user_id

    async def deliver(self, case_id: str, event: Event) -> None:
        """Keep the event, then wake the case. The caller acknowledges to Slack after this."""
        await self.store.deliver(case_id, event)
        self.wake(case_id)

    async def deliver_click(self, case_id: str, click: Click, fact: Fact) -> None:
        action = click.action
        event_id = f"act:{self.identity.team_id}:{action.action_ts}:{click.by}:{action.action_id}"
        ts = time_of(action.action_ts, self.now())
        await self.deliver(case_id, Event(event_id=event_id, ts=ts, fact=fact))

    async def objection_to(self, user: str) -> str | None:
        """Why this person may press nothing; None when they may."""
        match await self.people.standing(user):
            case "member":
                return None
            case "outsider":
                return GUEST
            case "unknown":
                return CANT_CHECK

    async def standing_as_lead(self, user: str) -> Literal["approver", "stranger", "unknown"]:
        """Whether this person may decide, asked afresh but not for long."""
        try:
            async with asyncio.timeout(APPROVER_SECONDS):
                return await self.approvers(user)
        except TimeoutError:
            return "unknown"

    async def case_of(self, click: Click, value: str) -> CaseRef | str:
        """The case that a member's click belongs to, or the words that refuse it."""
        if refusal := await self.objection_to(click.by):
            return refusal
        try:
            ref = CaseRef.model_validate_json(value)
        except ValidationError:
            return UNKNOWN_CASE
        return ref if await self.store.case(ref.case_id) else UNKNOWN_CASE

    async def act(self, click: Click, value: str, fact: Fact) -> str | None:
        """Store what a member pressed on the case that `value` names, or say why not."""
        ref = await self.case_of(click, value)
        if isinstance(ref, str):
            return ref
        await self.deliver_click(ref.case_id, click, fact)
        return None

    async def open_modal(self, opener: Opener, view: dict[str, Any]) -> str | None:
        """Show it to who acted; words for them when Slack won't, as after 3 s."""
        try:
            await send(
                self.client,
                "views.open",
                seconds=ANSWER_SECONDS,
                trigger_id=opener.trigger_id,
                view=view,
            )
        except SlackError as error:
            if error.reason == ALREADY_OPENED:
                return None
            log.warning("A modal could not be opened: %s", error)
            return MODAL_LATE
        return None

    async def tell(self, user: str, place: Place, text: str) -> bool:
        """A line that only this person sees; best effort: whether it was shown. `text` is plain."""
        arguments = {"channel": place.channel, "user": user, "text": escape(text)}
        if place.thread_ts:
            arguments["thread_ts"] = place.thread_ts
        try:
            await send(self.client, "chat.postEphemeral", seconds=ANSWER_SECONDS, **arguments)
        except SlackError as error:
            log.warning("A private line could not be shown: %s", error)
            return False
        return True
