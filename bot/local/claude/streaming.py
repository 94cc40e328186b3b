"""An answer as server-sent events, in the order that the API's reference gives them.

message_start, a ping, then for each block content_block_start, its deltas and content_block_stop;
message_delta with the stop reason and the usage, message_stop. A client that puts the deltas
together gets the message that an unstreamed request gets.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from aiohttp import web

from bot.local.claude.blocks import Block, canonical
from bot.local.claude.refusals import error_body

_PIECE_CHARACTERS = 24

Event = dict[str, Any]


def events_of(message: Block) -> Iterator[Event]:
    """The events of a whole message; each one's `type` is its name."""
    usage: Block = message["usage"]
    begun: Block = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_details": None,
        # What the answer takes isn't known when it begins.
        "usage": {**usage, "output_tokens": 1, "output_tokens_details": None},
    }
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        start, deltas = _taken_apart(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {key: message[key] for key in ("stop_reason", "stop_sequence", "stop_details")},
        "usage": {
            key: usage[key]
            for key in (
                "input_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
                "output_tokens",
                "output_tokens_details",
            )
        },
    }
    yield {"type": "message_stop"}


async def stream(
    request: web.Request,
    message: Block,
    *,
    headers: dict[str, str],
    cut: bool = False,
    error: tuple[str, str] | None = None,
) -> web.StreamResponse:
    """Send the events. `cut`: close the connection after half of them. `error`: its type and
    message are sent as an `error` event in place of the second half."""
    events: Sequence[Event] = list(events_of(message))
    response = web.StreamResponse(
        headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        | headers
    )
    await response.prepare(request)
    # A client that has read enough goes; the answer was given all the same.
    with contextlib.suppress(ConnectionError):
        whole = not cut and error is None
        for event in events if whole else events[: len(events) // 2]:
            await response.write(_encoded(event))
        if error is not None:
            await response.write(_encoded(error_body(*error, headers["request-id"])))
        if not cut:
            await response.write_eof()
    if cut and request.transport is not None:
        request.transport.close()
    return response


def _taken_apart(block: Block) -> tuple[Block, list[Block]]:
    """How a block begins, and what is added to it; one of another type comes in one piece."""
    match block["type"]:
        case "text":
            texts = _pieces(block["text"])
            return {**block, "text": ""}, [{"type": "text_delta", "text": each} for each in texts]
        case "thinking":
            thoughts = _pieces(block["thinking"])
            deltas = [{"type": "thinking_delta", "thinking": each} for each in thoughts]
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, signature]
        case "tool_use":
            # The first piece of an input is empty, as the API sends it.
            parts = ["", *_pieces(canonical(block["input"]))]
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in parts]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _pieces(text: str) -> list[str]:
    return [
        text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)
    ]


def _encoded(event: Event) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
