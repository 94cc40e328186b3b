"""One call of Slack's Web API: bounded in time, failing in one way.

For questions and answers around a click. Posting, which must happen exactly once, is `posting`.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from agent.errors import CasethreadError

_CODE = re.compile("[a-z0-9_]+")
_PASSING = frozenset(
    {"ratelimited", "internal_error", "fatal_error", "request_timeout", "service_unavailable"}
)


class SlackError(CasethreadError):
    """Slack refused, was away or too slow. `reason` is its error code or the kind of failure."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(f"{method}: {reason}")
        self.reason = reason

    @property
    def may_pass(self) -> bool:
        """Whether the same question may be answered later: it wasn't Slack's word on it."""
        return self.reason in _PASSING or _CODE.fullmatch(self.reason) is None


async def ask(
    client: AsyncWebClient, method: str, *, seconds: float, **arguments: str
) -> dict[str, Any]:
    """A method that reads; Slack takes no JSON body there. Raises `SlackError`."""
    return await _call(client, method, seconds, http_verb="GET", params=arguments)


async def send(
    client: AsyncWebClient, method: str, *, seconds: float, **arguments: object
) -> dict[str, Any]:
    """A method that does something. Raises `SlackError`; whether it was done is then unknown."""
    return await _call(client, method, seconds, http_verb="POST", json=arguments)


async def _call(
    client: AsyncWebClient, method: str, seconds: float, **request: Any
) -> dict[str, Any]:
    untyped: Any = client  # the SDK's signature and answer hold bare dicts
    try:
        async with asyncio.timeout(seconds):
            answer = await untyped.api_call(method, **request)
    except SlackApiError as error:
        raise SlackError(method, _code(error)) from error
    except (SlackClientError, aiohttp.ClientError, OSError, AttributeError) as error:
        # A TimeoutError is an OSError; the AttributeError is how the SDK meets a plain-text body.
        raise SlackError(method, type(error).__name__) from error
    return answer.data


def _code(error: Any) -> str:
    """Slack's error code, or the HTTP status when the body was no JSON."""
    response = error.response
    if isinstance(response, aiohttp.ClientResponse):
        return f"HTTP status {response.status}"
    if isinstance(response.data, dict) and response.get("error"):
        return str(response["error"])
    return f"HTTP status {response.status_code}"
