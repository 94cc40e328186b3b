"""A thread, a modal, a private message as plain text, the way a person sees them."""

from __future__ import annotations

import datetime
import html
import re
import textwrap
from collections.abc import Iterable, Iterator

from bot.local.slack.blocks import elements
from bot.local.slack.workspace import Json, Message, View, Workspace

WIDTH = 88
_TOKEN = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+)(?<=\S)\*(?![\w*])")
_GLYPHS = {
    "hourglass_flowing_sand": "⏳",
    "speech_balloon": "💬",
    "lock": "🔒",
    "white_check_mark": "✅",
    "raising_hand": "🙋",
    "eyes": "👀",
    "+1": "👍",
}


def render_thread(workspace: Workspace, messages: list[Message]) -> str:
    """The messages of one thread, root first."""
    if not messages:
        return "(no such thread)"
    channel = workspace.channels[messages[0].channel]
    name = f"#{channel.name}" if channel.kind != "im" else "direct message"
    lines = [name]
    for message in messages:
        indent = "   │ " if message.is_reply else " "
        if message.is_reply:
            lines.append("   │")
        lines.extend(indent + line for line in render_message(workspace, message))
    return "\n".join(line.rstrip() for line in lines)


def render_message(workspace: Workspace, message: Message) -> list[str]:
    """One message: who and when, the words, files, buttons, reactions."""
    edited = "  (edited)" if message.edited_ts else ""
    private = "  (only visible to you)" if message.ephemeral_to else ""
    lines = [f"{_author(workspace, message)}  {_clock(message.ts)}{edited}{private}"]
    if message.blocks:
        lines.extend(_indented(render_blocks(workspace, message.blocks)))
    elif message.text:
        lines.extend(_indented(_wrapped(shown(workspace, message.text))))
    for file_id in message.files:
        file = workspace.files[file_id]
        lines.append(f"  [file] {file.name} ({len(file.content):,} bytes)")
    if message.reactions:
        lines.append("  " + "  ".join(f"{_glyph(n)} {len(u)}" for n, u in message.reactions))
    return lines


def render_view(workspace: Workspace, view: View) -> str:
    """A modal or a Home tab."""
    lines = [f"┌ {view.title or 'Home'}"]
    lines.extend("│ " + line for line in render_blocks(workspace, view.blocks))
    closing = [view.definition.get(name, {}).get("text") for name in ("close", "submit")]
    lines.append("└ " + "  ".join(f"[ {text} ]" for text in closing if text))
    return "\n".join(line.rstrip() for line in lines)


def render_blocks(workspace: Workspace, blocks: Iterable[Json]) -> list[str]:
    return [line for block in blocks for line in _block(workspace, block)]


def shown(workspace: Workspace, text: str) -> str:
    """Slack's text as a person reads it: names for mentions, labels for links, no escapes."""
    return html.unescape(_TOKEN.sub(lambda match: _named(workspace, match), text))


def button_texts(blocks: Iterable[Json]) -> list[str]:
    """The visible texts of a message's buttons, in order."""
    return [str(element["text"]["text"]) for _, element in elements(blocks) if _is_button(element)]


def _block(workspace: Workspace, block: Json) -> Iterator[str]:
    match block["type"]:
        case "header":
            yield block["text"]["text"].upper()
        case "divider":
            yield "─" * 40
        case "section":
            texts = [block["text"]] if "text" in block else []
            for text in (*texts, *block.get("fields", ())):
                yield from _wrapped(_element(workspace, text))
            if "accessory" in block:
                yield _element(workspace, block["accessory"])
        case "context":
            parts = (_element(workspace, element) for element in block["elements"])
            yield from _wrapped("· " + "  ".join(parts))
        case "actions" | "context_actions":
            yield "  ".join(_element(workspace, element) for element in block["elements"])
        case "input":
            yield f"{block['label']['text']}: {_element(workspace, block['element'])}"
        case "markdown":
            yield from _wrapped(shown(workspace, block["text"]))
        case "image":
            yield f"[image] {block['alt_text']}"
        case _:
            yield from _rich_text(workspace, block)


def _element(workspace: Workspace, element: Json) -> str:
    kind: str = element["type"]
    if kind == "mrkdwn":
        return shown(workspace, _BOLD.sub(r"\1", element["text"]))
    if kind == "plain_text":
        return shown(workspace, element["text"])
    if kind == "image":
        return f"[image] {element['alt_text']}"
    if kind == "feedback_buttons":
        sides = (element[side]["text"]["text"] for side in ("positive_button", "negative_button"))
        return "  ".join(f"[ {text} ]" for text in sides)
    if _is_button(element):
        return f"[ {element['text']['text']} ]"
    if kind == "overflow":
        return "[ ⋯ ]"
    chosen: Json = element.get("initial_option") or {}
    words = chosen.get("text", {}).get("text") or element.get("initial_value")
    hint = element.get("placeholder", {}).get("text", "")
    if kind.endswith("_input"):
        return f"____{words or hint}____"
    return f"[ {words or hint or 'Choose'} ▾ ]"


def _is_button(element: Json) -> bool:
    return element["type"] in ("button", "icon_button")


def _rich_text(workspace: Workspace, block: Json) -> Iterator[str]:
    """Each part on lines of its own; a quote's have a bar before them."""
    for part in block["elements"]:
        words = "".join(_rich_words(workspace, part)).rstrip("\n")
        if part["type"] == "rich_text_quote":
            yield from (f"▏ {line}" for line in _wrapped(words, WIDTH - 2))
        else:
            yield from _wrapped(words)


def _rich_words(workspace: Workspace, part: Json) -> Iterator[str]:
    for element in part.get("elements", ()):
        match element.get("type"):
            case "user":
                yield shown(workspace, f"<@{element['user_id']}>")
            case "channel":
                yield shown(workspace, f"<#{element['channel_id']}>")
            case "usergroup":
                yield shown(workspace, f"<!subteam^{element['usergroup_id']}>")
            case "broadcast":
                yield f"@{element['range']}"
            case _:
                yield str(element.get("text") or element.get("url") or "")


def _named(workspace: Workspace, match: re.Match[str]) -> str:
    target, label = match[1], match[2]
    if target.startswith("@"):
        user = workspace.users.get(target[1:])
        return f"@{user.real_name if user else target[1:]}"
    if target.startswith("#"):
        channel = workspace.channels.get(target[1:])
        return f"#{channel.name if channel else label or target[1:]}"
    if target.startswith("!subteam^"):
        group = workspace.groups.get(target.removeprefix("!subteam^"))
        return f"@{group.handle if group else label}"
    if target.startswith("!date^"):
        return label or target
    if target.startswith("!"):
        return f"@{label or target[1:]}"
    return label or target


def _author(workspace: Workspace, message: Message) -> str:
    if message.username:
        return f"{message.username} [app]"
    user = workspace.users.get(message.user or "")
    name = user.real_name if user else "Slackbot"
    return f"{name} [app]" if message.bot_id else name


def _clock(ts: str) -> str:
    moment = datetime.datetime.fromtimestamp(float(ts), tz=datetime.UTC).astimezone()
    return moment.strftime("%H:%M")


def _glyph(name: str) -> str:
    return _GLYPHS.get(name, f":{name}:")


def _wrapped(text: str, width: int = WIDTH) -> list[str]:
    return [part for line in text.splitlines() for part in textwrap.wrap(line, width) or [""]]


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return ("  " + line for line in lines)
