"""Photos that customers send in the stories, drawn on the spot."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

from bot.local.slack import Upload

_SIZE = (640, 480)


def cracked_speaker() -> Upload:
    """A grey speaker with a crack from edge to edge."""
    image, draw = _table()
    draw.rounded_rectangle((170, 90, 470, 410), radius=40, fill="#3c4454")
    for radius in (100, 60, 25):
        draw.ellipse((320 - radius, 250 - radius, 320 + radius, 250 + radius), outline="#aab2c0")
    crack = [(170, 180), (230, 210), (215, 250), (300, 290), (330, 350), (420, 370), (470, 400)]
    draw.line(crack, fill="#f4f1ea", width=6, joint="curve")
    return _upload("cracked-speaker.png", image)


def black_phone_case() -> Upload:
    """A black phone case, where a blue one was ordered."""
    image, draw = _table()
    draw.rounded_rectangle((230, 60, 410, 420), radius=32, fill="#16181d")
    draw.rounded_rectangle((250, 82, 320, 152), radius=18, fill="#d8d2c4")
    return _upload("black-case.png", image)


def _table() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", _SIZE, "#d8d2c4")
    return image, ImageDraw.Draw(image)


def _upload(name: str, image: Image.Image) -> Upload:
    content = io.BytesIO()
    image.save(content, format="PNG")
    return Upload(name=name, content=content.getvalue())
