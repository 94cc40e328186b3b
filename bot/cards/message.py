"""What a card is built of: a `Message`, its blocks, and the words around names and times.

Text that came from elsewhere (customers, the model, records) goes through `words`, which Slack
shows literally. Lengths: docs.slack.dev, reference/block-kit; all are kept for any input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bot.text import cut, escape, visible, weight

Block = dict[str, Any]
Element = dict[str, Any]

TEXT_LIMIT = 3_800
"""chat.update takes 4,000 characters; every message may be changed one day."""
BLOCKS_LIMIT = 12_000
"""A message's blocks together: Slack refuses above about 13,000."""
HEADING_LIMIT = 150

_USER = re.compile(r"[UW][A-Z0-9]{2,20}")
_GROUP = re.compile(r"S[A-Z0-9]{2,20}")


@dataclass(frozen=True, kw_only=True)
class Message:
    """One Slack message. `text` is all of it for notifications and screen readers, in Slack's
    form; `blocks` is what is seen."""

    text: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Audience:
    """Who is told what: ids as in the settings."""

    approvals_channel: str | None
    """Where approval requests go; None: the case's own thread."""
    handoff_mention: str | None
    """A user or user group to mention on a handoff; None: the case's openers."""
    approvers: tuple[str, ...]
    """The users and user groups who may decide; empty when none are configured."""

    def on_duty(self, openers: Sequence[str]) -> tuple[str, ...]:
        return (self.handoff_mention,) if self.handoff_mention else tuple(openers[:10])


def message(lines: Iterable[str], blocks: Sequence[Block | None]) -> Message:
    """`lines` make the text: each in Slack's form already, the important ones first."""
    kept: list[str] = []
    room = TEXT_LIMIT
    for line in filter(None, lines):
        room -= len(line.encode("utf-16-le")) // 2 + 1
        if room < 2:
            kept.append("…")
            break
        kept.append(line)
    return Message(text="\n".join(kept) or "…", blocks=tuple(block for block in blocks if block))


# Inside rich text ------------------------------------------------------------------------------


def words(text: str, *, bold: bool = False, italic: bool = False) -> Element:
    """Literal text. Slack refuses an empty one, so that becomes a space."""
    element: Element = {"type": "text", "text": visible(text) or " "}
    style = {name: True for name, on in (("bold", bold), ("italic", italic)) if on}
    return {**element, "style": style} if style else element


def mention(name: str) -> Element:
    """A user or a user group, told about the message; anything else is shown as it is."""
    if _USER.fullmatch(name):
        return {"type": "user", "user_id": name}
    if _GROUP.fullmatch(name):
        return {"type": "usergroup", "usergroup_id": name}
    return words(cut(name, 80))


def mentions(names: Iterable[str]) -> list[Element]:
    """Several in a row, each followed by a space."""
    return [element for name in names for element in (mention(name), words(" "))]


def section(*elements: Element) -> Element:
    return {"type": "rich_text_section", "elements": list(elements) or [words("")]}


def quote(text: str) -> Element:
    return {"type": "rich_text_quote", "elements": [words(text)]}


def rich_text(*parts: Element) -> Block:
    """Sections and quotes, each from a new line on."""
    ended = [_ended(part) for part in parts[:-1]]
    return {"type": "rich_text", "elements": [*ended, *parts[-1:]]}


def _ended(part: Element) -> Element:
    if part["type"] != "rich_text_section":
        return part
    return {**part, "elements": [*part["elements"], words("\n")]}


# Other blocks ----------------------------------------------------------------------------------


def header(text: str) -> Block:
    title = cut(" ".join(visible(text).split()), HEADING_LIMIT) or " "
    return {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}


def mrkdwn(text: str) -> Block:
    """A section of our own words in Slack's markup, up to 3,000 characters."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def note(text: str) -> Block:
    """Small grey words of our own in Slack's markup."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def actions(*elements: Element | None, block_id: str | None = None) -> Block | None:
    """None when there is nothing to press."""
    pressable = [element for element in elements if element]
    if not pressable:
        return None
    block: Block = {"type": "actions", "elements": pressable}
    return {**block, "block_id": block_id} if block_id else block


def button(
    label: str,
    action_id: str,
    value: str,
    *,
    style: Literal["primary", "danger"] | None = None,
    spoken: str | None = None,
) -> Element:
    """`spoken` is what a screen reader says instead of the label."""
    element: Element = {
        "type": "button",
        "action_id": action_id,
        "text": {"type": "plain_text", "text": label, "emoji": True},
        "value": value,
    }
    if style:
        element["style"] = style
    if spoken:
        element["accessibility_label"] = spoken
    return element


# In a message's text and in mrkdwn -------------------------------------------------------------


def named(name: str) -> str:
    """A person or group in Slack's form; mentions them."""
    if _USER.fullmatch(name):
        return f"<@{name}>"
    if _GROUP.fullmatch(name):
        return f"<!subteam^{name}>"
    return escape(cut(visible(name), 80))


def spoken(text: str, limit: int = 1_000) -> str:
    """Words that came from elsewhere as a line of a message's text."""
    return escape(cut(visible(text), limit))


def moment(at: float) -> str:
    """A point in time, shown in the reader's own time zone."""
    fallback = f"{datetime.fromtimestamp(at, UTC):%d %b %Y, %H:%M} UTC"
    return f"<!date^{int(at)}^{{date_short_pretty}} at {{time}}|{fallback}>"


def size(blocks: Iterable[Block]) -> int:
    """An upper bound of what Slack counts: every string in the blocks, escaped."""
    return sum(map(_size, blocks))


def _size(value: Any) -> int:
    match value:
        case str():
            return weight(value)
        case dict():
            return sum(_size(item) for item in value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return sum(_size(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return 0
