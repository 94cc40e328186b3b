"""Between Bolt and the listeners: payloads in, acks out, and the one place where errors end.

Each adapter makes a Bolt listener of a function that knows no Bolt. The app runs with
`process_before_response`, so the answer to Slack leaves when the listener is through: what was
acknowledged was stored. A listener that fails answers with status 500, which is no ack: Slack
delivers an event again, and shows an error beside a button.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from slack_bolt.context.ack.async_ack import AsyncAck
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bot.cards.message import Message
from bot.listeners.desk import FrontDesk
from bot.listeners.payloads import (
    Click,
    Command,
    HomeOpened,
    MessageEvent,
    Shortcut,
    Submission,
    Suggestion,
)
from bot.thread import Place

log = logging.getLogger("casethread.slack")

Body = dict[str, Any]
Listener = Callable[..., Awaitable[BoltResponse]]
Errors = Mapping[str, str]

DEADLINE_SECONDS: Final = 2.8
"""Slack waits three for the answer to a click, a submission or a search."""
LAST_RETRY: Final = 3
"""Slack's third repetition of an event is its last."""

NOT_SAVED = "I couldn't save your message. Please post it again in a few minutes."
NOT_DONE = "Something went wrong here and nothing was changed. Please try again in a moment."


def on_message(
    desk: FrontDesk, handle: Callable[[FrontDesk, MessageEvent], Awaitable[None]]
) -> Listener:
    """For `message` and `app_mention` events."""

    async def listener(body: Body, ack: AsyncAck, req: AsyncBoltRequest) -> BoltResponse:
        async def work() -> BoltResponse:
            await handle(desk, MessageEvent.model_validate(body["event"]))
            return await ack()

        async def failed() -> BoltResponse:
            retry = req.headers.get("x-slack-retry-num", ["0"])[0]
            if retry.isdecimal() and int(retry) >= LAST_RETRY:
                await _tell_the_author(desk, body["event"])
            return _no_ack()

        return await _guarded(work(), failed, "an event")

    return listener


def on_click(
    desk: FrontDesk, handle: Callable[[FrontDesk, Click], Awaitable[str | None]]
) -> Listener:
    """For buttons and menus in messages. What `handle` returns is said privately."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            click = Click.model_validate(body)
            async with asyncio.timeout(DEADLINE_SECONDS):
                line = await handle(desk, click)
                told = not line or await desk.tell(click.by, click.place, line)
            # Without an acknowledgement Slack itself tells the person that it didn't work.
            return await ack() if told else _no_ack()

        async def failed() -> BoltResponse:
            container = body.get("container", {})
            place = Place(
                channel=container.get("channel_id", ""), thread_ts=container.get("thread_ts")
            )
            await desk.tell(body["user"]["id"], place, NOT_DONE)
            return _no_ack()

        return await _guarded(work(), failed, "a click")

    return listener


def on_submission(
    desk: FrontDesk, handle: Callable[[FrontDesk, Submission], Awaitable[Errors]]
) -> Listener:
    """For modals. `handle` returns errors by block id, which keep the modal open; none close it."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            async with asyncio.timeout(DEADLINE_SECONDS):
                errors = await handle(desk, Submission.model_validate(body))
            return (
                await ack(response_action="errors", errors=dict(errors)) if errors else await ack()
            )

        async def failed() -> BoltResponse:
            # The modal stays open with what was typed in it.
            blocks: list[Body] = body["view"].get("blocks", [])
            inputs = [block["block_id"] for block in blocks if block.get("type") == "input"]
            if not inputs:
                return _no_ack()
            return await ack(response_action="errors", errors={inputs[-1]: NOT_DONE})

        return await _guarded(work(), failed, "a modal")

    return listener


def on_shortcut(
    desk: FrontDesk, handle: Callable[[FrontDesk, Shortcut], Awaitable[None]]
) -> Listener:
    """For shortcuts. They have no place for an answer but a modal, which `handle` opens."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await handle(desk, Shortcut.model_validate(body))
            return await ack()

        async def failed() -> BoltResponse:
            return _no_ack()

        return await _guarded(work(), failed, "a shortcut")

    return listener


def on_command(
    desk: FrontDesk, handle: Callable[[FrontDesk, Command], Awaitable[Message | None]]
) -> Listener:
    """For slash commands. What `handle` returns is shown to who sent it, and to nobody else."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            async with asyncio.timeout(DEADLINE_SECONDS):
                answer = await handle(desk, Command.model_validate(body))
            if answer is None:
                return await ack()
            return await ack(text=answer.text, blocks=list(answer.blocks))

        async def failed() -> BoltResponse:
            return await ack(text=NOT_DONE)

        return await _guarded(work(), failed, "a command")

    return listener


def on_home(
    desk: FrontDesk, handle: Callable[[FrontDesk, HomeOpened], Awaitable[None]]
) -> Listener:
    """For `app_home_opened` events. What is late is tried again when Slack delivers again."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            async with asyncio.timeout(DEADLINE_SECONDS):
                await handle(desk, HomeOpened.model_validate(body["event"]))
            return await ack()

        async def failed() -> BoltResponse:
            return _no_ack()

        return await _guarded(work(), failed, "App Home")

    return listener


def on_suggestion(
    desk: FrontDesk, handle: Callable[[FrontDesk, Suggestion], Awaitable[Sequence[Body]]]
) -> Listener:
    """For menus that search. `handle` returns Slack's option objects."""

    async def listener(body: Body, ack: AsyncAck) -> BoltResponse:
        async def work() -> BoltResponse:
            async with asyncio.timeout(DEADLINE_SECONDS):
                options = await handle(desk, Suggestion.model_validate(body))
            return await ack(options=list(options))

        async def failed() -> BoltResponse:
            return _no_ack()

        return await _guarded(work(), failed, "a search")

    return listener


async def _guarded(
    work: Awaitable[BoltResponse], failed: Callable[[], Awaitable[BoltResponse]], what: str
) -> BoltResponse:
    try:
        return await work
    except Exception:
        # One of the two broad excepts: whatever went wrong, the log has it and people do not.
        log.exception("A listener failed on %s.", what)
        return await failed()


async def _tell_the_author(desk: FrontDesk, event: Body) -> None:
    message = MessageEvent.model_validate(event)
    if message.is_spoken_by_a_person(desk.identity.bot_user_id) and message.user:
        place = Place(channel=message.channel, thread_ts=message.root_ts)
        await desk.tell(message.user, place, NOT_SAVED)


def _no_ack() -> BoltResponse:
    return BoltResponse(status=500)
