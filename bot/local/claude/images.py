"""Images in a request: what the API refuses about them, and what they weigh in tokens."""

from __future__ import annotations

import base64
import binascii
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image, UnidentifiedImageError

from bot.local.claude.blocks import is_list
from bot.local.claude.refusals import RefusedError

MAX_SIDE_PIXELS = 8000
MAX_SIDE_PIXELS_OF_MANY = 2000
MANY = 20
_MEDIA_TYPES = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}


@dataclass(frozen=True, kw_only=True)
class FoundImage:
    path: str
    block: dict[str, Any]


def check_images(messages: list[dict[str, Any]]) -> None:
    """Refuse an image that isn't the one it says it is, or whose sides are too long."""
    found = list(_images(messages))
    limit = MAX_SIDE_PIXELS_OF_MANY if len(found) > MANY else MAX_SIDE_PIXELS
    for image in found:
        source = image.block["source"]
        if source["type"] != "base64":
            continue
        path = f"{image.path}.image.source.base64"
        media_type, width, height = _read(source["data"], path)
        if media_type != source["media_type"]:
            raise RefusedError(
                f"{path}.data: The image was specified using the {source['media_type']} media "
                f"type, but the image appears to be a {media_type} image"
            )
        if max(width, height) > limit:
            kind = " for many-image requests" if limit == MAX_SIDE_PIXELS_OF_MANY else ""
            raise RefusedError(
                f"{path}.data: At least one of the image dimensions exceed max allowed "
                f"size{kind}: {limit} pixels"
            )


def image_tokens(block: dict[str, Any]) -> int:
    """About width times height by 750 tokens, as the documentation estimates, 1,600 at most."""
    source = block["source"]
    if source["type"] != "base64":
        return 1600
    _, width, height = _read(source["data"], "image")
    return min(1600, width * height // 750 + 1)


def _images(messages: list[dict[str, Any]]) -> Iterator[FoundImage]:
    for index, message in enumerate(messages):
        if is_list(message["content"]):
            yield from _images_in(message["content"], f"messages.{index}.content")


def _images_in(blocks: list[Any], path: str) -> Iterator[FoundImage]:
    for index, block in enumerate(blocks):
        if block["type"] == "image":
            yield FoundImage(path=f"{path}.{index}", block=block)
        elif block["type"] == "tool_result" and is_list(block.get("content")):
            yield from _images_in(block["content"], f"{path}.{index}.content")


def _read(data: str, path: str) -> tuple[str, int, int]:
    """Media type, width and height, from the bytes themselves."""
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        raise RefusedError(f"{path}.data: invalid base64 data") from None
    try:
        with warnings.catch_warnings():
            # A picture that is too large is refused below; Pillow's warning adds nothing.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content)) as image:
                media_type = _MEDIA_TYPES.get(image.format or "")
                width, height = image.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError):
        raise RefusedError(f"{path}.data: Could not process image") from None
    if media_type is None:
        raise RefusedError(f"{path}.data: Could not process image")
    return media_type, width, height
