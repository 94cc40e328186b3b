"""Photos: where the token goes, what is refused, and what the model gets."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from PIL import Image as Pictures
from slack_sdk.web.async_client import AsyncWebClient

from agent.case import Photo
from bot.local.slack.people import Upload
from bot.local.slack.server import LocalSlack
from bot.photos import LONGEST_SIDE_PIXELS, SlackPhotos, UnusablePhotoError, prepare
from bot.webapi import ask

MANIFEST = Path(__file__).parents[2] / "manifest.yml"


def encoded(picture: Pictures.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form, **options)  # pyright: ignore[reportArgumentType]
    return stream.getvalue()


def opened(content: bytes) -> Pictures.Image:
    return Pictures.open(io.BytesIO(content))


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=MANIFEST) as slack:
        yield slack


def photos_of(slack: LocalSlack, token: str | None = None) -> SlackPhotos:
    return SlackPhotos(AsyncWebClient(token=token or slack.bot_token, base_url=slack.api_url))


async def uploaded(slack: LocalSlack, content: bytes, name: str = "photo.png") -> Photo:
    message = await slack.person("Ravi").post(
        "support-cases", "look", files=[Upload(name=name, content=content)]
    )
    file_id = message.files[0]
    client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
    answer = await ask(client, "files.info", seconds=5, file=file_id)
    return Photo(file_id=file_id, url=answer["file"]["url_private_download"], name=name)


async def test_a_photo_comes_with_the_digest_of_its_bytes(slack: LocalSlack) -> None:
    photo = await uploaded(slack, encoded(Pictures.new("RGB", (40, 30), "red"), "PNG"))

    found = await photos_of(slack)(photo)

    assert isinstance(found, tuple)
    image, content = found
    assert image.media_type == "image/jpeg"
    assert image.digest == hashlib.sha256(content).hexdigest()
    assert opened(content).size == (40, 30)


async def test_a_photo_without_an_address_is_found_by_its_id(slack: LocalSlack) -> None:
    photo = await uploaded(slack, encoded(Pictures.new("RGB", (40, 30), "red"), "PNG"))

    assert isinstance(await photos_of(slack)(Photo(file_id=photo.file_id, url="")), tuple)
    assert await photos_of(slack)(Photo(file_id="F0NOTTHERE", url="")) == "never"


async def test_an_address_that_slack_can_not_tell_just_now_is_asked_for_later(
    slack: LocalSlack,
) -> None:
    photos = photos_of(slack)
    for error in ("internal_error", "ratelimited"):
        slack.faults.refuse("files.info", error)
        assert await photos(Photo(file_id="F1", url="")) == "later"
    slack.faults.server_error("files.info")
    assert await photos(Photo(file_id="F1", url="")) == "later"
    slack.faults.refuse("files.info", "missing_scope")
    assert await photos(Photo(file_id="F1", url="")) == "never"


async def test_slacks_sign_in_page_is_no_photo(
    slack: LocalSlack, caplog: pytest.LogCaptureFixture
) -> None:
    photo = await uploaded(slack, encoded(Pictures.new("RGB", (40, 30), "red"), "PNG"))

    assert await photos_of(slack, token="xoxb-wrong")(photo) == "never"
    assert "sign-in page" in caplog.text
    assert "xoxb" not in caplog.text


async def test_a_file_that_is_no_picture_cannot_be_had(slack: LocalSlack) -> None:
    photo = await uploaded(slack, b"%PDF-1.7 not a picture at all", "photo.png")

    assert await photos_of(slack)(photo) == "never"


class Elsewhere:
    """Another web server, which remembers what it was sent."""

    def __init__(self) -> None:
        self.authorizations: list[str | None] = []
        self.url = ""
        self.answer = web.Response(body=b"")

    async def handle(self, request: web.Request) -> web.Response:
        self.authorizations.append(request.headers.get("Authorization"))
        return self.answer


@pytest.fixture
async def elsewhere() -> AsyncIterator[Elsewhere]:
    server = Elsewhere()
    app = web.Application()
    app.router.add_get("/{anything:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


async def test_the_token_is_never_sent_to_another_host(elsewhere: Elsewhere) -> None:
    # Same machine, other port: still another host than the API's.
    photos = SlackPhotos(AsyncWebClient(token="xoxb-1", base_url="http://127.0.0.1:1/api/"))

    assert await photos(Photo(file_id="F1", url=f"{elsewhere.url}/photo.png")) == "never"
    for url in ("http://files.slack.com/x", "https://slack.com.evil.example/x", "https://x/", "?"):
        assert await photos(Photo(file_id="F1", url=url)) == "never"
    assert elsewhere.authorizations == []


async def test_a_redirect_to_another_host_is_not_followed(elsewhere: Elsewhere) -> None:
    photos = SlackPhotos(AsyncWebClient(token="xoxb-1", base_url=f"{elsewhere.url}/api/"))
    elsewhere.answer = web.Response(status=302, headers={"Location": "http://127.0.0.1:1/x"})

    assert await photos(Photo(file_id="F1", url=f"{elsewhere.url}/photo.png")) == "never"
    assert elsewhere.authorizations == ["Bearer xoxb-1"]


async def test_a_download_over_twenty_megabytes_is_given_up(
    elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    photos = SlackPhotos(AsyncWebClient(token="xoxb-1", base_url=f"{elsewhere.url}/api/"))
    elsewhere.answer = web.Response(body=bytes(20 * 1024 * 1024 + 1))

    assert await photos(Photo(file_id="F1", url=f"{elsewhere.url}/photo.png")) == "never"
    assert "larger than 20 MB" in caplog.text


@pytest.mark.parametrize(
    ("status", "wanted"),
    [(403, "never"), (404, "never"), (408, "later"), (429, "later"), (500, "later")],
)
async def test_an_error_instead_of_a_photo_says_whether_to_try_again(
    elsewhere: Elsewhere, status: int, wanted: str
) -> None:
    photos = SlackPhotos(AsyncWebClient(token="xoxb-1", base_url=f"{elsewhere.url}/api/"))
    elsewhere.answer = web.Response(status=status)

    assert await photos(Photo(file_id="F1", url=f"{elsewhere.url}/photo.png")) == wanted


async def test_a_photo_from_a_server_that_can_not_be_reached_is_tried_later() -> None:
    photos = SlackPhotos(AsyncWebClient(token="xoxb-1", base_url="http://127.0.0.1:1/api/"))

    assert await photos(Photo(file_id="F1", url="http://127.0.0.1:1/photo.png")) == "later"


def test_a_large_photo_is_scaled_to_what_the_model_uses() -> None:
    media_type, content = prepare(encoded(Pictures.new("RGB", (4000, 3000), "teal"), "JPEG"))

    assert media_type == "image/jpeg"
    assert opened(content).size == (LONGEST_SIDE_PIXELS, 1176)


def test_a_small_photo_is_not_enlarged() -> None:
    _, content = prepare(encoded(Pictures.new("RGB", (20, 10)), "WEBP"))

    assert opened(content).size == (20, 10)


def test_a_photo_is_turned_upright_and_loses_what_else_it_carried() -> None:
    exif = Pictures.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010E] = "taken at home"
    picture = Pictures.new("RGB", (40, 20), "white")
    source = encoded(picture, "JPEG", exif=exif, comment=b"a comment")

    _, content = prepare(source)

    found = opened(content)
    assert found.size == (20, 40)
    assert not found.getexif()
    assert b"taken at home" in source
    assert b"taken at home" not in content
    assert b"a comment" not in content


@pytest.mark.parametrize("form", ["PNG", "GIF", "WEBP"])
def test_a_transparent_picture_stays_a_png(form: str) -> None:
    picture = Pictures.new("RGBA", (30, 30), (255, 0, 0, 0))
    picture.paste((0, 0, 255, 255), (0, 0, 10, 10))

    media_type, content = prepare(encoded(picture, form))

    assert media_type == "image/png"
    assert opened(content).mode == "RGBA"


def test_a_transparent_picture_too_heavy_as_a_png_is_put_on_white_paper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.photos.MAX_ENCODED_BYTES", 10)
    picture = Pictures.new("RGBA", (30, 30), (255, 0, 0, 0))

    media_type, content = prepare(encoded(picture, "PNG"))

    assert media_type == "image/jpeg"
    assert opened(content).getpixel((15, 15)) == (255, 255, 255)


def test_a_drawing_with_a_palette_stays_a_png() -> None:
    picture = Pictures.new("P", (30, 30))
    picture.putpalette([0, 0, 0, 255, 255, 255])

    assert prepare(encoded(picture, "PNG"))[0] == "image/png"


def test_grey_and_print_colours_can_be_shown() -> None:
    assert prepare(encoded(Pictures.new("L", (9, 9), 128), "PNG"))[0] == "image/jpeg"
    assert prepare(encoded(Pictures.new("CMYK", (9, 9)), "JPEG"))[0] == "image/jpeg"
    assert prepare(encoded(Pictures.new("I;16", (9, 9)), "PNG"))[0] == "image/jpeg"


def test_a_picture_too_large_to_open_safely_is_refused() -> None:
    # A PNG header that promises 30,000 × 30,000 pixels.
    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )

    with pytest.raises(UnusablePhotoError):
        prepare(bomb)


def test_a_damaged_photo_is_refused_whatever_is_wrong() -> None:
    whole = encoded(Pictures.effect_noise((64, 64), 90).convert("RGB"), "PNG")

    refused = 0
    for position in range(0, len(whole), 97):
        for damaged in (whole[:position], whole[:position] + b"\xff\x00" + whole[position + 2 :]):
            try:
                prepare(damaged)
            except UnusablePhotoError:
                refused += 1
    assert refused > 0
