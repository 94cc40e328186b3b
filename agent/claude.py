"""The only file that imports anthropic: one request, its deadline, and what became of it.

The SDK retries what is temporary (408, 409, 429, 5xx, connection errors) twice; nothing here adds
a second layer of fast retries. A reply is kept as the JSON that came, never as SDK objects.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from typing import Any

import aiohttp
import anthropic
import httpx2

from agent import telemetry
from agent.run import Json, Usage
from agent.turn import Failure, Turn

log = logging.getLogger(__name__)

# The way out when the API says that the history was changed: it drops what it can't verify. Once
# used, every later request of the conversation needs it too (platform documentation of thinking).
_DROP_BETA = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
_DROP_UNVERIFIED = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}

# The SDK obeys any Retry-After, even of days: this bounds a call with all its retries.
DEADLINE_SECONDS = 180.0


class Claude:
    """A client of the Messages API. `base_url` None is the API's own."""

    def __init__(
        self,
        *,
        api_key: str,
        base_url: str | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        max_retries: int = 2,
    ) -> None:
        self._deadline_seconds = deadline_seconds
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=max_retries,
            # Its calls cost a fifth less CPU than those of the default one.
            http_client=anthropic.DefaultAioHttpClient(),
            # It gets a span ready for each call although nobody takes it: a tenth of a call's CPU.
            open_telemetry=None if telemetry.has_tracer() else False,
        )

    async def ask(
        self,
        frozen: Json,
        messages: Sequence[Json],
        *,
        max_tokens: int,
        drop_unverified: bool = False,
    ) -> Turn | Failure:
        """Send the whole conversation; never raises for what the API or the network does.

        `frozen` is `Agent.frozen`; `messages` have their images filled in. Two cache marks: the
        end of tools and system, shared by all runs of an agent, and the API's automatic one,
        which moves with the conversation. `drop_unverified` lets the API drop thinking that it
        can't verify instead of refusing the request.
        """
        started = time.monotonic()

        def failure(
            what: str,
            error: BaseException,
            *,
            temporary: bool,
            maybe_charged: bool,
            history_changed: bool = False,
        ) -> Failure:
            return Failure(
                temporary=temporary,
                what=what,
                detail=str(error) or type(error).__name__,
                maybe_charged=maybe_charged,
                history_changed=history_changed,
                request_id=getattr(error, "request_id", None),
                seconds=time.monotonic() - started,
            )

        mark: Any = {"type": "ephemeral"}
        system: Any = [{"type": "text", "text": frozen["system"], "cache_control": mark}]
        given: Any = list(messages)
        thinking: Any = frozen["thinking"] | (_DROP_UNVERIFIED if drop_unverified else {})
        try:
            async with asyncio.timeout(self._deadline_seconds):
                response = await self._client.messages.with_raw_response.create(
                    model=frozen["model"],
                    max_tokens=max_tokens,
                    system=system,
                    tools=frozen["tools"],
                    thinking=thinking,
                    messages=given,
                    cache_control=mark,
                    extra_headers=_DROP_BETA if drop_unverified else None,
                )
                body = await response.text()
            message = json.loads(body)
            usage = _usage(message["usage"])
        except anthropic.APITimeoutError as error:
            return failure("timeout", error, temporary=True, maybe_charged=True)
        except anthropic.APIConnectionError as error:
            return failure("connection", error, temporary=True, maybe_charged=not _unsent(error))
        except anthropic.APIStatusError as error:
            temporary = error.status_code in (408, 409, 429) or error.status_code >= 500
            what = str(error.status_code)
            changed = error.status_code == 400 and "thinking" in str(error).lower()
            return failure(
                what, error, temporary=temporary, maybe_charged=False, history_changed=changed
            )
        except TimeoutError as error:
            return failure("deadline", error, temporary=True, maybe_charged=True)
        except httpx2.HTTPError as error:
            return failure("connection", error, temporary=True, maybe_charged=True)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # A body that isn't JSON, or JSON that is no message: never used as a turn.
            return failure("not a message", error, temporary=True, maybe_charged=True)
        return Turn(
            message=message,
            usage=usage,
            request_id=response.request_id,
            seconds=time.monotonic() - started,
        )

    async def close(self) -> None:
        await self._client.close()


def _unsent(error: anthropic.APIConnectionError) -> bool:
    """Whether no connection came about. The SDK's transport calls a connection that was cut while
    the answer was awaited a `ConnectError` too, so what aiohttp said is what counts."""
    said = error.__cause__ and error.__cause__.__cause__
    return isinstance(said, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)


def _usage(reported: Json) -> Usage:
    """From the API's `usage`; a cache write without its split counts as a 5 minute one."""
    split: Json = reported.get("cache_creation") or {}
    written = int(reported.get("cache_creation_input_tokens") or 0)
    write_1h = int(split.get("ephemeral_1h_input_tokens") or 0)
    return Usage(
        uncached=int(reported["input_tokens"]),
        cache_read=int(reported.get("cache_read_input_tokens") or 0),
        cache_write_5m=max(written - write_1h, 0),
        cache_write_1h=write_1h,
        output=int(reported["output_tokens"]),
    )
