"""Photos from Slack, made ready for the model: fetched once, turned upright, scaled, re-encoded.

Re-encoding leaves behind whatever else the file carried: place and camera, comments, other
frames. The bot's token goes to Slack's hosts alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import logging
import re
import struct
from typing import Literal
from urllib.parse import urljoin, urlsplit

import aiohttp
from PIL import Image as Pictures
from PIL import ImageOps
from slack_sdk.web.async_client import AsyncWebClient

from agent.case import Image, Photo
from bot.webapi import SlackError, ask

log = logging.getLogger("casethread.photos")

MAX_DOWNLOAD_BYTES = 20 * 1024 * 1024
MAX_PIXELS = 80_000_000
LONGEST_SIDE_PIXELS = 1_568
"""What the model looks at; anything larger is scaled down on its side anyway."""
MAX_ENCODED_BYTES = 3_700_000
"""Base64 adds a third, and the API takes 5 MB an image."""
_JPEG_QUALITY = 85
_REDIRECTS = 3
_FORMATS = ("JPEG", "PNG", "GIF", "WEBP")


# Slack's own words for "not now"; any other of its error codes says so for good.
_NOT_NOW = frozenset(
    {
        "fatal_error",
        "internal_error",
        "ratelimited",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
    }
)
_ERROR_CODE = re.compile(r"[a-z_]+")


class UnusablePhotoError(Exception):
    """Why a photo can't be had, now or ever; for the log."""


class NotNowError(Exception):
    """Why a photo can't be had just now; for the log."""


class SlackPhotos:
    """Implements `agent.ports.FetchPhoto`. Needs the scope `files:read`."""

    def __init__(self, client: AsyncWebClient, *, timeout_seconds: float = 20) -> None:
        self._client = client
        self._seconds = timeout_seconds
        self._api = urlsplit(client.base_url)

    async def __call__(self, photo: Photo) -> tuple[Image, bytes] | Literal["later", "never"]:
        """The photo as JPEG or PNG with the digest of those bytes; else a log line says why not."""
        try:
            content = await self._download(photo.url or await self._address_of(photo.file_id))
            media_type, encoded = await asyncio.to_thread(prepare, content)
        except (NotNowError, aiohttp.ClientError, OSError) as error:
            why = f"{type(error).__name__} {error}"
            log.warning("The photo %s can't be had just now: %s", photo.file_id, why)
            return "later"
        except UnusablePhotoError as error:
            log.warning("The photo %s can't be had: %s", photo.file_id, error)
            return "never"
        digest = hashlib.sha256(encoded).hexdigest()
        return Image(digest=digest, media_type=media_type), encoded

    async def _address_of(self, file_id: str) -> str:
        """For files of shared channels, which arrive without an address."""
        try:
            answer = await ask(self._client, "files.info", seconds=5, file=file_id)
        except SlackError as error:
            if error.reason in _NOT_NOW or not _ERROR_CODE.fullmatch(error.reason):
                raise NotNowError(str(error)) from error
            raise UnusablePhotoError(str(error)) from error
        file = answer.get("file", {})
        return file.get("url_private_download") or file.get("url_private") or ""

    async def _download(self, url: str) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self._seconds)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            for _ in range(_REDIRECTS + 1):
                if not self._is_slacks(url):
                    raise UnusablePhotoError("its address is not one of Slack's")
                headers = {"Authorization": f"Bearer {self._client.token}"}
                # By hand, so that each hop is checked before it gets the token.
                async with session.get(url, headers=headers, allow_redirects=False) as answer:
                    if answer.status in (301, 302, 303, 307, 308):
                        url = urljoin(url, answer.headers.get("Location", ""))
                        continue
                    return await _body(answer)
        raise UnusablePhotoError("too many redirects")

    def _is_slacks(self, url: str) -> bool:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com")):
            return True
        return (parts.scheme, parts.netloc) == (self._api.scheme, self._api.netloc)


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    if answer.status in (408, 429) or answer.status >= 500:
        raise NotNowError(f"HTTP status {answer.status}")
    if answer.status != 200:
        raise UnusablePhotoError(f"HTTP status {answer.status}")
    if answer.content_type == "text/html":
        raise UnusablePhotoError("Slack sent a sign-in page; is the scope files:read missing?")
    content = bytearray()
    async for chunk in answer.content.iter_chunked(65_536):
        content += chunk
        if len(content) > MAX_DOWNLOAD_BYTES:
            raise UnusablePhotoError("it is larger than 20 MB")
    return bytes(content)


def prepare(content: bytes) -> tuple[str, bytes]:
    """Media type and bytes for the model. Takes a while: not for the event loop.

    Raises `UnusablePhotoError` for what is no picture, or one too large to open safely.
    """
    try:
        picture = Pictures.open(io.BytesIO(content), formats=_FORMATS)
        if picture.width * picture.height > MAX_PIXELS:
            raise UnusablePhotoError(f"{picture.width} × {picture.height} pixels are too many")
        return _encoded(picture)
    except (
        OSError,
        SyntaxError,
        ValueError,
        EOFError,
        struct.error,
        Pictures.DecompressionBombError,
        Pictures.DecompressionBombWarning,  # where warnings are errors
    ) as error:
        raise UnusablePhotoError(f"it can't be read as a picture ({error})") from error


def _encoded(picture: Pictures.Image) -> tuple[str, bytes]:
    drawn = picture.mode in ("1", "P")
    transparent = picture.has_transparency_data
    # A JPEG can be decoded at a fraction of its size, which saves most of the memory.
    picture.draft("RGB", (LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS))
    upright = ImageOps.exif_transpose(picture).convert("RGBA" if transparent else "RGB")
    upright.thumbnail((LONGEST_SIDE_PIXELS, LONGEST_SIDE_PIXELS), Pictures.Resampling.LANCZOS)
    upright.info.clear()  # comments, profiles and the like would be written again
    if transparent or drawn:
        encoded = io.BytesIO()
        upright.save(encoded, "PNG", optimize=True)
        if encoded.tell() <= MAX_ENCODED_BYTES:
            return "image/png", encoded.getvalue()
        if transparent:
            paper = Pictures.new("RGBA", upright.size, "white")
            upright = Pictures.alpha_composite(paper, upright).convert("RGB")
    encoded = io.BytesIO()
    upright.save(encoded, "JPEG", quality=_JPEG_QUALITY, optimize=True)
    return "image/jpeg", encoded.getvalue()
