"""The methods conversations.*: where messages are, and reading them back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from bot.local.slack.blocks import RefusedError
from bot.local.slack.calls import Call
from bot.local.slack.wire import channel_json, message_json
from bot.local.slack.workspace import Channel, Json, Message


def replies(call: Call) -> Json:
    """A thread, oldest first; the root opens the first page whatever the limits of time."""
    channel = call.channel(scope="history")
    thread = call.workspace.thread(channel.id, call.args.ts("ts"))
    if not thread:
        raise RefusedError("thread_not_found")
    root, later = thread[0], thread[1:]
    limit = call.args.number("limit", 1000, most=1000)
    start = _position(call)
    listed = [root, *_in_time(call, later)]
    return _page(call, listed, start, limit)


def history(call: Call) -> Json:
    """A channel's own messages (replies only when broadcast), newest first."""
    channel = call.channel(scope="history")
    listed = [
        message
        for message in call.workspace.in_channel(channel.id)
        if not message.is_reply or message.broadcast
    ]
    limit = call.args.number("limit", 100, most=999)
    return _page(call, list(reversed(_in_time(call, listed))), _position(call), limit)


def info(call: Call) -> Json:
    channel = call.channel(scope="read", must_be_in=False)
    return {"channel": channel_json(call.workspace, channel, call.app)}


def members(call: Call) -> Json:
    channel = call.channel(scope="read", must_be_in=False)
    limit = call.args.number("limit", 100, most=1000)
    start = _position(call)
    page = channel.members[start : start + limit]
    return {"members": list(page)} | _cursor(start + limit, len(channel.members))


def list_channels(call: Call) -> Json:
    kinds = {"public_channel": "channel", "private_channel": "group", "im": "im"}
    wanted = call.args.text("types", "public_channel").split(",")
    found: list[Channel] = []
    for name in wanted:
        if name.strip() not in kinds:
            raise RefusedError("invalid_types")
        kind = kinds[name.strip()]
        call.need_scope({"channel": "channels:read", "group": "groups:read", "im": "im:read"}[kind])
        found.extend(
            channel
            for channel in call.workspace.channels.values()
            if channel.kind == kind
            and (kind == "channel" or call.app.bot_user_id in channel.members)
            and not (channel.is_archived and call.args.flag("exclude_archived"))
        )
    limit = call.args.number("limit", 100, most=1000)
    start = _position(call)
    page = [channel_json(call.workspace, channel, call.app) for channel in found]
    return {"channels": page[start : start + limit]} | _cursor(start + limit, len(found))


def open_direct(call: Call) -> Json:
    """Direct messages with one person."""
    call.need_scope("im:write")
    users = [user for user in call.args.required("users").split(",") if user]
    if len(users) != 1:
        raise RefusedError("not_enough_users" if not users else "method_not_supported_for_channel")
    if users[0] not in call.workspace.users:
        raise RefusedError("user_not_found")
    channel = call.workspace.direct_channel(users[0], call.app.bot_user_id)
    return {"channel": {"id": channel.id}}


def _in_time(call: Call, listed: Sequence[Message]) -> list[Message]:
    """What `oldest`, `latest` and `inclusive` leave; a ts compares as text of one length."""
    oldest, latest = call.args.text("oldest", "0"), call.args.text("latest", "")
    try:
        low = float(oldest)
        high = float(latest) if latest else float("inf")
    except ValueError:
        raise RefusedError("invalid_ts_latest" if oldest == "0" else "invalid_ts_oldest") from None
    inclusive = call.args.flag("inclusive")
    return [
        message
        for message in listed
        if low < float(message.ts) < high or (inclusive and float(message.ts) in (low, high))
    ]


def _page(call: Call, listed: Sequence[Message], start: int, limit: int) -> Json:
    with_metadata = call.args.flag("include_all_metadata")
    page = [
        message_json(call.workspace, message, with_metadata=with_metadata)
        for message in listed[start : start + limit]
    ]
    has_more = start + limit < len(listed)
    return {"messages": page, "has_more": has_more} | _cursor(start + limit, len(listed))


def _position(call: Call) -> int:
    cursor = call.args.text("cursor")
    if not cursor:
        return 0
    try:
        return int(base64.b64decode(cursor, validate=True).decode().removeprefix("at:"))
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise RefusedError("invalid_cursor") from None


def _cursor(position: int, total: int) -> Json:
    following = base64.b64encode(f"at:{position}".encode()).decode() if position < total else ""
    return {"response_metadata": {"next_cursor": following}}
