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
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from agent.errors import LeaseLost
from bot.actions import POST_METADATA

log = logging.getLogger(__name__)

Json = dict[str, Any]

CALL_TIMEOUT_SECONDS = 3.0
_PAGE = 200

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
    """Who the bot is. `url` is the workspace's, with a slash at the end."""

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
        self.client = client
        self._now = now
        self._seconds_left = seconds_left

    async def call(
        self, method: Callable[..., Awaitable[AsyncSlackResponse]], **arguments: Any
    ) -> Json:
        """The answer's body. Raises `Refused`, `TryLater`, or `LeaseLost` before anything is sent."""
        left = self._seconds_left()
        if left <= 0:
            raise LeaseLost("no time left to send anything")
        try:
            async with asyncio.timeout(min(CALL_TIMEOUT_SECONDS, left)):
                response = await method(**arguments)
        except SlackApiError as error:
            raise self._explained(error) from error
        except aiohttp.ClientConnectorError as error:
            raise TryLater(f"no connection: {error}") from error
        except (TimeoutError, aiohttp.ClientError, OSError, UnicodeDecodeError) as error:
            raise TryLater(f"no answer: {error!r}", unsure=True) from error
        return cast(Json, response.data)

    def _explained(self, failure: SlackApiError) -> Refused | TryLater:
        response: Any = failure.response
        if not isinstance(response, AsyncSlackResponse) or not isinstance(response.data, dict):
            return TryLater(str(failure), unsure=True)
        error = str(response.get("error", ""))
        if response.status_code == 429 or error in ("ratelimited", "rate_limited"):
            seconds = float(response.headers.get("Retry-After", 1))
            return TryLater(f"rate limited for {seconds} s", at=self._now() + seconds)
        if response.status_code >= 500 or error in _FAILED or not error:
            return TryLater(f"{response.status_code} {error}", unsure=True)
        if error in _NOT_ALLOWED:
            needed = response.get("needed")
            log.error(
                "Slack refuses the bot itself: %s%s. Posts wait until that is mended.",
                error,
                f" (needs {needed})" if needed else "",
            )
            return TryLater(error)
        return Refused(error)

    async def identity(self) -> Identity:
        answer = await self.call(self.client.auth_test)
        return Identity(bot_id=str(answer.get("bot_id", "")), url=str(answer.get("url", "")))

    async def own_messages(
        self, identity: Identity, channel: str, thread_ts: str | None, *, oldest: float
    ) -> list[OwnMessage]:
        """What the bot itself posted there since `oldest`, oldest first.

        In the thread, or at the channel's root when `thread_ts` is None.
        """
        found: list[OwnMessage] = []
        async for message in self._messages(channel, thread_ts, oldest):
            metadata = message.get("metadata") or {}
            payload = metadata.get("event_payload") or {}
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
        method: Callable[..., Awaitable[AsyncSlackResponse]] = self.client.conversations_history
        if thread_ts is not None:
            method = self.client.conversations_replies
            arguments["ts"] = thread_ts
        cursor = ""
        while True:
            more = {"cursor": cursor} if cursor else {}
            answer = await self.call(method, **arguments, **more)
            for message in answer.get("messages") or ():
                yield message
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return
