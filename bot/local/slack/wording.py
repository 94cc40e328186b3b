"""What a person types, in the form Slack gives it to apps; and whom an app's text notifies.

Slack escapes & < > and turns what it recognises (links, e-mail addresses, phone numbers, mentions)
into <…> tokens; see docs.slack.dev, messaging/formatting-message-text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bot.local.slack.workspace import Json, Workspace, as_list, as_object

_RECOGNISED = re.compile(
    r"""(?P<url>https?://[^\s<>]*[^\s<>.,;:!?'")\]])
      | (?P<email>\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b)
      | (?P<domain>\b(?:[a-z0-9-]+\.)+(?:com|org|net|in|io|dev)\b(?:/[^\s<>]*[^\s<>.,;:!?'")\]])?)
      | (?P<phone>(?<!\w)\+\d[\d -]{7,}\d)
      | (?P<mention>(?<!\w)@[\w.-]*\w)
      | (?P<channel>(?<!\w)\#[\w-]+)""",
    re.VERBOSE | re.IGNORECASE,
)
_NOTIFYING = re.compile(
    r"<!(?P<broadcast>channel|here|everyone)(?:\|[^>]*)?>"
    r"|<!subteam\^(?P<group>\w+)(?:\|[^>]*)?>"
    r"|<@(?P<user>[UW]\w+)(?:\|[^>]*)?>"
)


@dataclass(frozen=True, kw_only=True)
class Typed:
    """`text` in Slack's form, `blocks` as its rich text, `has_link` when a link may unfurl."""

    text: str
    blocks: tuple[Json, ...]
    has_link: bool


def typed(raw: str, workspace: Workspace) -> Typed:
    """A person's plain text as Slack would send it."""
    parts = list(_parts(raw, workspace))
    return Typed(
        text="".join(text for text, _ in parts),
        blocks=(
            {
                "type": "rich_text",
                "block_id": workspace.mint_id("b"),
                "elements": [
                    {"type": "rich_text_section", "elements": [element for _, element in parts]}
                ],
            },
        )
        if raw
        else (),
        has_link=any(element["type"] == "link" for _, element in parts),
    )


def notified(texts: Iterable[str], workspace: Workspace) -> list[tuple[str, str]]:
    """Who is notified by an app's texts: (user id, the token that did it). A broadcast's user id
    is its own name, such as `channel`."""
    found: list[tuple[str, str]] = []
    for text in texts:
        for match in _NOTIFYING.finditer(text):
            if match["broadcast"]:
                found.append((match["broadcast"], match[0]))
            elif match["group"]:
                group = workspace.groups.get(match["group"])
                found.extend((user, match[0]) for user in (group.users if group else ()))
            else:
                found.append((match["user"], match[0]))
    return list(dict.fromkeys(found))


def notifying_texts(blocks: Iterable[Json]) -> Iterator[str]:
    """The texts of blocks in which tokens notify: mrkdwn objects, markdown blocks, rich text."""
    for block in blocks:
        if block["type"] == "markdown":
            yield block["text"]
        else:
            yield from _tokens(block)


def escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _parts(raw: str, workspace: Workspace) -> Iterator[tuple[str, Json]]:
    position = 0
    for match in _RECOGNISED.finditer(raw):
        token = _token(match, workspace)
        if token is None:
            continue
        if match.start() > position:
            yield _plain(raw[position : match.start()])
        yield token
        position = match.end()
    if position < len(raw):
        yield _plain(raw[position:])


def _plain(text: str) -> tuple[str, Json]:
    return escaped(text), {"type": "text", "text": text}


def _token(match: re.Match[str], workspace: Workspace) -> tuple[str, Json] | None:
    """The token for what was recognised; None when it is plain text after all."""
    shown = match[0]
    safe = escaped(shown)
    match match.lastgroup:
        case "url":
            return f"<{safe}>", {"type": "link", "url": shown}
        case "email":
            url = f"mailto:{shown}"
            return f"<mailto:{safe}|{safe}>", {"type": "link", "url": url, "text": shown}
        case "domain":
            return f"<http://{safe}|{safe}>", {
                "type": "link",
                "url": f"http://{shown}",
                "text": shown,
            }
        case "phone":
            digits = "+" + re.sub(r"\D", "", shown)
            return f"<tel:{digits}|{safe}>", {
                "type": "link",
                "url": f"tel:{digits}",
                "text": shown,
            }
        case "mention":
            return _mention(shown[1:], workspace)
        case _:
            for channel in workspace.channels.values():
                if channel.name == shown[1:]:
                    element = {"type": "channel", "channel_id": channel.id}
                    return f"<#{channel.id}|{channel.name}>", element
            return None


def _mention(name: str, workspace: Workspace) -> tuple[str, Json] | None:
    if name in ("channel", "here", "everyone"):
        return f"<!{name}>", {"type": "broadcast", "range": name}
    for group in workspace.groups.values():
        if group.handle == name:
            element = {"type": "usergroup", "usergroup_id": group.id}
            return f"<!subteam^{group.id}>", element
    for user in workspace.users.values():
        if name.lower() in (user.name.lower(), user.id.lower(), user.real_name.lower()):
            return f"<@{user.id}>", {"type": "user", "user_id": user.id}
    return None


def _tokens(value: Any) -> Iterator[str]:
    for item in as_list(value) or ():
        yield from _tokens(item)
    element = as_object(value) or {}
    match element.get("type"):
        case "mrkdwn":
            yield str(element["text"])
        case "user" if "user_id" in element:
            yield f"<@{element['user_id']}>"
        case "usergroup" if "usergroup_id" in element:
            yield f"<!subteam^{element['usergroup_id']}>"
        case "broadcast" if "range" in element:
            yield f"<!{element['range']}>"
        case _:
            for item in element.values():
                yield from _tokens(item)
