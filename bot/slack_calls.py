"""Calls to Slack's Web API with a deadline, and what their failures mean.

Slack has no idempotency key for posting, so the difference that matters is kept: was the request
certainly not carried out, or may it have been?
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import LeaseLost
from bot.actions import POST_METADATA

log = logging.getLogger(__name__)

Json = dict[str, Any]

CALL_TIMEOUT_SECONDS = 3.0
_PAGE = 200
_RETRY_AFTER_SECONDS = 1
_READS = frozenset({"auth.test", "conversations.history", "conversations.replies"})

# Error codes with which Slack says that it failed; the work may be done all the same.
_FAILED = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
# What the operator can mend while the posts wait.
_NOT_ALLOWED = frozenset(
    {
        "access_denied",
        "account_inactive",
        "ekm_access_denied",
        "invalid_auth",
        "missing_scope",
        "not_authed",
        "org_login_required",
        "token_expired",
        "token_revoked",
    }
)


class Refused(Exception):
    """Slack refuses this request and would again; nothing was done."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class TryLater(Exception):
    """Not now. `at` is the Unix time before which not to try again, when one is known; `unsure`
    says that the request may have been carried out."""

    def __init__(self, reason: str, *, at: float | None = None, unsure: bool = False) -> None:
        super().__init__(reason)
        self.at = at
        self.unsure = unsure


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who the bot is. `url` is the workspace's."""

    bot_id: str
    url: str


@dataclass(frozen=True, kw_only=True)
class OwnMessage:
    """A message of ours as found in a channel."""

    post_id: str
    case_id: str
    ts: str
    thread_ts: str | None


class SlackCalls:
    """`seconds_left` is how long calls are allowed at all: the lease's rest."""

    def __init__(
        self,
        *,
        client: AsyncWebClient,
        now: Callable[[], float],
        seconds_left: Callable[[], float],
    ) -> None:
        # The SDK's own annotations leave the dicts open.
        self._api_call: Callable[..., Awaitable[Any]] = client.api_call  # pyright: ignore[reportUnknownMemberType]
        self._now = now
        self._seconds_left = seconds_left

    async def call(self, method: str, **arguments: Any) -> Json:
        """The answer's body; arguments that are None are left out.

        Raises `Refused`, `TryLater`, or, before it sends, `LeaseLost`.
        """
        left = self._seconds_left()
        if left <= 0:
            raise LeaseLost("no time left to send anything")
        given = {name: value for name, value in arguments.items() if value is not None}
        # Slack takes JSON for what writes and only parameters for what reads.
        reads = method in _READS
        body = {"http_verb": "GET", "params": given} if reads else {"json": given}
        try:
            async with asyncio.timeout(min(CALL_TIMEOUT_SECONDS, left)):
                response: Any = await self._api_call(method, **body)
        except SlackApiError as error:
            raise self._explained(error) from error
        except aiohttp.ClientConnectorError as error:
            raise TryLater(f"no connection: {error}") from error
        except (aiohttp.ClientError, OSError, UnicodeDecodeError, AttributeError) as error:
            # A TimeoutError is an OSError; the AttributeError is the SDK's, on a plain-text body.
            raise TryLater(f"no answer: {error!r}", unsure=True) from error
        return response.data

    def _explained(self, failure: SlackApiError) -> Refused | TryLater:
        # An answer that is no JSON comes without a status or without a body.
        response: Any = failure.response
        status: int = getattr(response, "status_code", 0)
        data: Any = getattr(response, "data", None)
        body = cast(Json, data) if isinstance(data, dict) else Json()
        error = str(body.get("error", ""))
        if status == 429 or error in ("ratelimited", "rate_limited"):
            after = str(response.headers.get("Retry-After", ""))
            seconds = int(after) if after.isdecimal() else _RETRY_AFTER_SECONDS
            return TryLater(f"rate limited for {seconds} s", at=self._now() + seconds)
        if status >= 500 or error in _FAILED or not error:
            return TryLater(f"{status} {error or failure}", unsure=True)
        if error in _NOT_ALLOWED:
            needed = body.get("needed")
            log.error(
                "Slack refuses the bot itself: %s%s. Posts wait until that is mended.",
                error,
                f" (needs {needed})" if needed else "",
            )
            return TryLater(error)
        return Refused(error)

    async def delete(self, channel: str, ts: str) -> None:
        """Take a message of ours away; one that Slack keeps is only logged."""
        try:
            await self.call("chat.delete", channel=channel, ts=ts)
        except Refused as refused:
            if refused.error != "message_not_found":
                log.error("Slack keeps message %s in %s: %s", ts, channel, refused.error)

    async def identity(self) -> Identity:
        answer = await self.call("auth.test")
        return Identity(bot_id=str(answer.get("bot_id", "")), url=str(answer.get("url", "")))

    async def own_messages(
        self, identity: Identity, channel: str, thread_ts: str | None, *, oldest: float
    ) -> list[OwnMessage]:
        """What the bot itself posted there since `oldest`, oldest first.

        In the thread, or at the channel's root when `thread_ts` is None.
        """
        found: list[OwnMessage] = []
        async for message in self._messages(channel, thread_ts, oldest):
            metadata: Json = message.get("metadata") or {}
            payload: Json = metadata.get("event_payload") or {}
            ours = message.get("bot_id") == identity.bot_id
            if ours and metadata.get("event_type") == POST_METADATA:
                found.append(
                    OwnMessage(
                        post_id=str(payload.get("post_id", "")),
                        case_id=str(payload.get("case_id", "")),
                        ts=str(message["ts"]),
                        thread_ts=message.get("thread_ts"),
                    )
                )
        return sorted(found, key=lambda message: message.ts)

    async def _messages(
        self, channel: str, thread_ts: str | None, oldest: float
    ) -> AsyncIterator[Json]:
        arguments: Json = {
            "channel": channel,
            "oldest": f"{oldest:.6f}",
            "include_all_metadata": True,
            "limit": _PAGE,
        }
        method = "conversations.history"
        if thread_ts is not None:
            method = "conversations.replies"
            arguments["ts"] = thread_ts
        while True:
            answer = await self.call(method, **arguments)
            for message in answer.get("messages") or ():
                yield message
            following: Json = answer.get("response_metadata") or {}
            arguments["cursor"] = following.get("next_cursor")
            if not arguments["cursor"]:
                return
