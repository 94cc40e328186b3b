"""The conversation in the Messages API's own form: plain JSON, built, read and checked here.

Photos are fetched after they were referred to, and kept beside the record. In a stored message the
source of an image block is `{"type": "photo", "file_id": …, "url": …}`. For a request `with_stored`
says which image that is, `{"type": "stored", "digest": …, "media_type": …}`, and `with_images` puts
the bytes in.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from agent.case import FetchedPhoto, Photo, Words
from agent.run import Json
from agent.text import harness_line

_SENDABLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def harness_block(text: str) -> Json:
    """Words of the harness itself, marked as such."""
    return text_block(harness_line(text))


def words_blocks(words: Iterable[Words]) -> list[Json]:
    """What people wrote, oldest first: a text block each, then its photos."""
    blocks: list[Json] = []
    for each in words:
        if each.text:
            blocks.append(text_block(each.text))
        blocks.extend(photo_block(photo) for photo in each.photos)
        if not each.text and not each.photos:
            blocks.append(harness_block("An empty message."))
    return blocks


def reply_content(words: Iterable[Words], *, before_the_question: bool) -> str | list[Json]:
    """A customer's reply as a tool result: plain text where that is all there is."""
    blocks = words_blocks(words)
    if before_the_question:
        blocks.insert(0, harness_block("Written before the question was seen."))
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def photo_block(photo: Photo) -> Json:
    source = {"type": "photo", "file_id": photo.file_id, "url": photo.url}
    return {"type": "image", "source": source}


def tool_result(call_id: str, content: str | list[Json], *, is_error: bool = False) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if is_error:
        block["is_error"] = True
    return block


def calls_of(message: Json | None) -> list[Json]:
    """The tool calls of an assistant message, in order; empty for any other."""
    if message is None or message["role"] != "assistant":
        return []
    return [block for block in message["content"] if block.get("type") == "tool_use"]


def text_of(message: Json) -> str:
    """The text blocks of a message, joined."""
    blocks = message["content"]
    return "\n\n".join(block["text"] for block in blocks if block.get("type") == "text").strip()


def earlier_results(messages: Sequence[Json]) -> dict[str, tuple[str, ...]]:
    """Results that tools gave in this conversation, by tool name, oldest first; errors left out."""
    names: dict[str, str] = {}
    found: dict[str, tuple[str, ...]] = {}
    for message in messages:
        names.update({call["id"]: call["name"] for call in calls_of(message)})
        if message["role"] != "user":
            continue
        for block in message["content"]:
            if block.get("type") != "tool_result" or block.get("is_error"):
                continue
            name, content = names.get(block["tool_use_id"], ""), block["content"]
            if isinstance(content, str):
                found[name] = (*found.get(name, ()), content)
    return found


def blocks_of(content: Any) -> list[Json]:
    """The blocks of a turn's content, whatever it is; what is no block is left out."""
    if not isinstance(content, list):
        return []
    return [cast("Json", each) for each in cast("list[Any]", content) if isinstance(each, dict)]


def unsendable(content: Any, messages: Iterable[Json]) -> str | None:
    """Why the API would refuse to take this turn back behind these messages, in words for the
    trace; None if it won't."""
    if not isinstance(content, list) or not content:
        return "no content"
    if not _is_json(content):
        return "text or a number that a request can't hold"
    seen = {call["id"] for message in messages for call in calls_of(message)}
    for block in cast("list[Any]", content):
        if not isinstance(block, dict) or "type" not in block:
            return "a block without a type"
        each = cast("Json", block)
        if each["type"] == "text" and not str(each.get("text") or "").strip():
            return "an empty text block"
        if each["type"] == "tool_use":
            if not isinstance(each.get("input"), dict):
                return "a call whose input is no object"
            for name in ("id", "name"):
                if not _SENDABLE_NAME.fullmatch(str(each.get(name, ""))):
                    return f"a call without a proper {name}"
            if each["id"] in seen:
                return "two calls with one id"
            seen.add(each["id"])
    return None


def _is_json(content: Any) -> bool:
    """False with a lone surrogate, which JSON's escapes can write and UTF-8 can't, and with a
    number too large for a float, which was read as infinity."""
    try:
        json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def photos_in(messages: Iterable[Json]) -> Iterator[Photo]:
    """The photos that the messages refer to."""
    for source in _sources(messages, "photo"):
        yield Photo(file_id=source["file_id"], url=source["url"])


def stored_images(messages: Iterable[Json]) -> Iterator[str]:
    """Digests of the images that the messages refer to, behind `with_stored`."""
    for source in _sources(messages, "stored"):
        yield source["digest"]


def with_stored(messages: Sequence[Json], photos: Iterable[FetchedPhoto]) -> Sequence[Json]:
    """The messages with what became of their photos; one that nobody fetched yet stays as it is."""
    became = {each.file_id: each.image for each in photos}

    def known(block: Json) -> Json:
        source = block["source"]
        if source["type"] != "photo" or source["file_id"] not in became:
            return block
        image = became[source["file_id"]]
        if image is None:
            return harness_block("A photo could not be read.")
        stored = {"type": "stored", "digest": image.digest, "media_type": image.media_type}
        return {**block, "source": stored}

    return _with_images_as(messages, known) if became else messages


def with_images(messages: Sequence[Json], images: Mapping[str, bytes]) -> Sequence[Json]:
    """The messages with the stored images' bytes in place; the given ones stay as they are."""

    def filled(block: Json) -> Json:
        source = block["source"]
        if source["type"] != "stored":
            return block
        data = base64.b64encode(images[source["digest"]]).decode()
        bytes_in_place = {"type": "base64", "media_type": source["media_type"], "data": data}
        return {**block, "source": bytes_in_place}

    return _with_images_as(messages, filled) if images else messages


def _with_images_as(messages: Sequence[Json], become: Callable[[Json], Json]) -> Sequence[Json]:
    """The messages with each image block as `become` makes it."""

    def whole(block: Json) -> Json:
        if block.get("type") == "tool_result" and isinstance(block["content"], list):
            inner = cast("list[Json]", block["content"])
            return {**block, "content": [whole(part) for part in inner]}
        return become(block) if block.get("type") == "image" else block

    return [
        {**message, "content": [whole(block) for block in message["content"]]}
        if message["role"] == "user"
        else message
        for message in messages
    ]


def _sources(messages: Iterable[Json], kind: str) -> Iterator[Json]:
    """The sources of this kind of all image blocks."""
    for block in _blocks(messages):
        if block.get("type") == "image" and block["source"]["type"] == kind:
            yield block["source"]


def _blocks(messages: Iterable[Json]) -> Iterator[Json]:
    for message in messages:
        if message["role"] != "user":
            continue
        for block in message["content"]:
            yield block
            if block.get("type") == "tool_result" and isinstance(block["content"], list):
                yield from block["content"]
