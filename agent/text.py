"""The one place where words of people become safe for the model to read.

Removed: control characters (but tab and newline), bidirectional overrides and isolates, tag
characters, unpaired surrogates, the byte order mark. Kept: the joiners that scripts and emoji
need (U+200C, U+200D). Made visible: the harness's own mark, so that nobody else can write it,
not with something invisible in it or in wide letters either.
"""

from __future__ import annotations

import re

_MISLEADING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # bidirectional controls, BOM
    "\ud800-\udfff"
    "\U000e0000-\U000e007f]"  # tag characters: invisible, yet read by a model
)
# Possessive, so that a long row of spaces is gone through once.
_UNSEEN = "[\\s\u00ad\u200b-\u200d\u2060-\u2064\ufe00-\ufe0f]*+"
_OUR_MARK = re.compile(
    f"[<\uff1c](?={_UNSEEN}[/\uff0f]?{_UNSEEN}{_UNSEEN.join('harness')})", re.IGNORECASE
)


def plain_words(text: str) -> str:
    """Clean what a person wrote; see the module's docstring. Never raises."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _OUR_MARK.sub("‹", _MISLEADING.sub("", text)).strip()


def harness_line(text: str) -> str:
    """A line of our own to the model, in a mark that nobody else can write."""
    return f"<harness>{text}</harness>"


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, the cut marked."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
