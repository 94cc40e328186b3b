"""What people do in Slack, one file a feature: parse, store the event, acknowledge.

`build_app` makes the Bolt app that keeps the promise "what was acknowledged is stored".
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.ack.async_ack import AsyncAck

from bot import actions
from bot.listeners import after, approvals, cases, commands, handoff, home, new_case, replies
from bot.listeners.boundary import (
    on_click,
    on_command,
    on_home,
    on_message,
    on_shortcut,
    on_submission,
    on_suggestion,
)
from bot.listeners.desk import UNKNOWN_CASE, FrontDesk, Identity
from bot.listeners.payloads import Click

__all__ = ["FrontDesk", "Identity", "build_app", "register"]

CLICKS: Final = {
    actions.PICK_CUSTOMER: cases.customer_chosen,
    actions.NOT_A_CASE: cases.not_a_case,
    actions.WRONG_CUSTOMER: cases.wrong_customer,
    actions.APPROVE: approvals.approve,
    actions.DECLINE: approvals.ask_for_note,
    actions.CHANGE_AMOUNT: approvals.ask_for_amount,
    actions.TAKE_OVER: handoff.take_over,
    actions.GIVE_BACK: handoff.give_back,
    actions.FEEDBACK_GOOD: after.feedback,
    actions.FEEDBACK_BAD: after.feedback,
    actions.SHOW_TRACE: after.show_trace,
    actions.NEW_CASE: new_case.new_case_clicked,
    actions.OPEN_CASE: new_case.open_offered,
}
SHORTCUTS: Final = {
    actions.NEW_CASE: new_case.new_case,
    actions.OPEN_CASE: new_case.open_case,
}
SUBMISSIONS: Final = {
    actions.DECLINE_MODAL: approvals.declined,
    actions.CHANGE_AMOUNT_MODAL: approvals.amount_changed,
    actions.OPEN_CASE_MODAL: new_case.case_opened,
    actions.NEW_CASE_MODAL: new_case.case_asked,
}
SUGGESTIONS: Final = {actions.PICK_CUSTOMER: cases.find_customers}
MESSAGES: Final = ("message", "app_mention")
"""Bolt gives an event to one listener, so whatever happens to messages goes to `replies.said`."""

_ANYTHING: Final = re.compile("")


def build_app(desk: FrontDesk) -> AsyncApp:
    """The Bolt app with all listeners, for Socket Mode or HTTP."""
    identity = desk.identity

    async def authorize() -> AuthorizeResult:
        # Bolt's own way calls auth.test at the first request, and acknowledges that request with
        # an apology when the call fails: the event would be lost.
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team_id,
            bot_user_id=identity.bot_user_id,
            bot_id=identity.bot_id,
            bot_token=desk.client.token,
        )

    logger = logging.getLogger("casethread.bolt")
    level = logger.level
    # Bolt warns that tokens in the client and the environment are not used beside `authorize`.
    logger.setLevel(logging.ERROR)
    app = AsyncApp(
        client=desk.client,
        authorize=authorize,
        logger=logger,
        name="casethread",
        process_before_response=True,
        # What happens to our own messages counts: a thread that we began may lose its root.
        ignoring_self_events_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
    )
    logger.setLevel(level)
    register(app, desk)
    return app


def register(app: AsyncApp, desk: FrontDesk) -> None:
    """Add every listener. `app` must run with `process_before_response` (see `boundary`)."""
    bolt: Any = app  # its decorators' types are incomplete
    for action_id, handle in CLICKS.items():
        bolt.action(action_id)(on_click(desk, handle))
    for callback_id, handle in SUBMISSIONS.items():
        bolt.view(callback_id)(on_submission(desk, handle))
    for action_id, handle in SUGGESTIONS.items():
        bolt.options(action_id)(on_suggestion(desk, handle))
    for callback_id, handle in SHORTCUTS.items():
        bolt.shortcut(callback_id)(on_shortcut(desk, handle))
    bolt.command(actions.CASE_COMMAND)(on_command(desk, commands.case))
    bolt.event("app_home_opened")(on_home(desk, home.opened))
    for event_type in MESSAGES:
        bolt.event(event_type)(on_message(desk, replies.said))
    # What nobody listens to would be answered with 404, which is no ack, and come again.
    bolt.event(_ANYTHING)(_nothing)
    bolt.action(_ANYTHING)(on_click(desk, _unknown_button))


async def _nothing(ack: AsyncAck) -> None:
    await ack()


async def _unknown_button(desk: FrontDesk, click: Click) -> str:
    return UNKNOWN_CASE
