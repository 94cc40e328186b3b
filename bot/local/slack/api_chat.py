"""The methods chat.*, and what a response_url does: an app writes, changes and deletes messages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bot.local.slack.blocks import RefusedError, check_message_blocks
from bot.local.slack.calls import Args, Call
from bot.local.slack.surfaces import ResponseUrl
from bot.local.slack.wire import message_json
from bot.local.slack.wording import notified, notifying_texts
from bot.local.slack.workspace import (
    App,
    Channel,
    Json,
    Message,
    Notification,
    Workspace,
    as_object,
)

POST_CHARACTERS = 40_000
UPDATE_CHARACTERS = 4_000
METADATA_BYTES = 16_000
_UNKNOWN = ("attachments", "markdown_text", "username", "icon_emoji", "icon_url", "as_user")
# What Slack draws of its own files.
_DRAWN = ("image/png", "image/jpeg", "image/gif")


def post_message(call: Call) -> Json:
    call.need_scope("chat:write")
    channel = call.writable(_target(call))
    body = _body(call.workspace, call.args, POST_CHARACTERS)
    thread_ts = _thread_to_join(call, channel)
    is_broadcast = thread_ts is not None and call.args.flag("reply_broadcast")
    message = Message(
        channel=channel.id,
        ts=call.workspace.mint_ts(),
        text=body.text,
        user=call.app.bot_user_id,
        bot_id=call.app.bot_id,
        app_id=call.app.id,
        blocks=body.blocks,
        metadata=metadata_of(call.args),
        thread_ts=thread_ts,
        broadcast=is_broadcast,
        subtype="thread_broadcast" if is_broadcast else None,
    )
    call.workspace.post(message)
    notify(call.workspace, message, texts_with_link_names(call.args, message.text))
    return {
        "channel": channel.id,
        "ts": message.ts,
        "message": message_json(call.workspace, message),
    }


def update(call: Call) -> Json:
    call.need_scope("chat:write")
    channel = call.writable(call.channel())
    message = call.message(channel)
    if message.app_id != call.app.id:
        raise RefusedError("cant_update_message")
    after = _updated(call.workspace, message, call.args)
    if "metadata" in call.args:
        after = replace(after, metadata=metadata_of(call.args))
    call.workspace.change(after)
    return {
        "channel": channel.id,
        "ts": after.ts,
        "text": after.text,
        "message": message_json(call.workspace, after),
    }


def delete(call: Call) -> Json:
    call.need_scope("chat:write")
    channel = call.channel()
    message = call.message(channel)
    if message.app_id != call.app.id:
        raise RefusedError("cant_delete_message")
    call.workspace.delete(message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(call: Call) -> Json:
    call.need_scope("chat:write")
    channel = call.writable(call.channel())
    user_id = call.args.required("user")
    if user_id not in channel.members:
        raise RefusedError("user_not_in_channel")
    body = _body(call.workspace, call.args, POST_CHARACTERS)
    thread_ts = call.args.text("thread_ts") or None
    message = _private(call.workspace, call.app, channel.id, user_id, body, thread_ts)
    return {"message_ts": message.ts}


def get_permalink(call: Call) -> Json:
    channel = call.channel()
    message = call.message(channel, "message_ts")
    return {"channel": channel.id, "permalink": permalink(call.workspace, message)}


def permalink(workspace: Workspace, message: Message) -> str:
    link = f"{workspace.base_url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.is_reply:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return link


def answer_response_url(workspace: Workspace, url: ResponseUrl, content: Json) -> None:
    """A use of a response_url: a private message by default, else a message in the channel, a
    replacement of the message that was used, or its deletion."""
    args = Args(content)
    app = workspace.apps[url.app_id]
    used = url.message
    if args.flag("delete_original"):
        _delete_original(workspace, used)
        return
    if args.flag("replace_original"):
        _replace_original(workspace, used, args)
        return
    kind = args.text("response_type", "ephemeral")
    if kind not in ("ephemeral", "in_channel"):
        raise RefusedError("invalid_response_type")
    body = _body(workspace, args, POST_CHARACTERS)
    thread_ts = args.text("thread_ts") or None
    if kind == "ephemeral":
        _private(workspace, app, url.channel_id, url.user_id, body, thread_ts)
        return
    message = Message(
        channel=url.channel_id,
        ts=workspace.mint_ts(),
        text=body.text,
        user=app.bot_user_id,
        bot_id=app.bot_id,
        app_id=app.id,
        blocks=body.blocks,
        thread_ts=thread_ts if workspace.message(url.channel_id, thread_ts or "") else None,
    )
    workspace.post(message)
    notify(workspace, message, [message.text])


def notify(workspace: Workspace, message: Message, texts: Iterable[str]) -> None:
    """Records whom an app's new message notifies."""
    every_text = (*texts, *notifying_texts(message.blocks))
    workspace.notifications.extend(
        Notification(user_id=user_id, channel=message.channel, ts=message.ts, how=how)
        for user_id, how in notified(every_text, workspace)
    )


def texts_with_link_names(args: Args, text: str) -> list[str]:
    """The message's text; with `parse=full` or `link_names`, also a bare @channel notifies."""
    texts = [text]
    if args.text("parse") == "full" or args.flag("link_names"):
        texts += [f"<!{name}>" for name in ("channel", "here", "everyone") if f"@{name}" in text]
    return texts


def metadata_of(args: Args) -> Json | None:
    """The checked `metadata` argument; an empty object means none."""
    given: Any = args.parsed("metadata", "invalid_metadata_format")
    if given is None or given == {}:
        return None
    metadata = as_object(given)
    if metadata is None:
        raise RefusedError("invalid_metadata_format")
    event_type, event_payload = metadata.get("event_type"), metadata.get("event_payload")
    well_formed = (
        isinstance(event_type, str) and event_type and as_object(event_payload) is not None
    )
    if not well_formed or not metadata.keys() <= {"event_type", "event_payload", "entities"}:
        raise RefusedError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA_BYTES:
        raise RefusedError("metadata_too_large")
    return metadata


class _Body:
    """The words of a new message. Slack puts a sentence of its own into `text` when an app gives
    blocks alone."""

    def __init__(self, text: str, blocks: tuple[Json, ...]) -> None:
        self.text = text or "This content can't be displayed."
        self.blocks = blocks


def _body(workspace: Workspace, args: Args, most_characters: int) -> _Body:
    for name in _UNKNOWN:
        if name in args:
            raise RefusedError("invalid_arguments", f"[ERROR] the local Slack knows no {name}")
    text = args.text("text")
    blocks: tuple[Json, ...] = ()
    if "blocks" in args:
        given = args.parsed("blocks", "invalid_blocks_format")
        blocks = check_message_blocks(given, mint=workspace.mint_id)
        _check_pictures(workspace, blocks)
    if not text.strip() and not blocks:
        raise RefusedError("no_text")
    if len(text) > most_characters:
        raise RefusedError("msg_too_long")
    return _Body(text, blocks)


def _check_pictures(workspace: Workspace, blocks: tuple[Json, ...]) -> None:
    """A block may draw a file of Slack's own that is there and is of a kind that Slack draws
    (docs.slack.dev, slack-file-object)."""
    for index, block in enumerate(blocks):
        if block["type"] != "image" or "slack_file" not in block:
            continue
        file_id: str | None = block["slack_file"].get("id")
        file = workspace.files.get(file_id or "")
        if file_id is not None and (file is None or file.mimetype not in _DRAWN):
            detail = f"[ERROR] invalid slack file [json-pointer:/blocks/{index}/slack_file]"
            raise RefusedError("invalid_blocks", detail)


def _updated(workspace: Workspace, message: Message, args: Args) -> Message:
    """Text alone removes the blocks and marks the message as edited; blocks alone keep the text."""
    text_given, blocks_given = bool(args.text("text")), "blocks" in args
    if not text_given and not blocks_given:
        raise RefusedError("no_text")
    body = _body(workspace, args, UPDATE_CHARACTERS)
    after = replace(message, blocks=body.blocks)
    if text_given:
        after = replace(after, text=body.text)
        if not body.blocks:
            after = replace(after, edited_by=message.user, edited_ts=workspace.mint_ts())
    return after


def _target(call: Call) -> Channel:
    """A channel by id or name, or a person's id for direct messages."""
    wanted = call.args.required("channel")
    if wanted in call.workspace.users:
        return call.workspace.direct_channel(wanted, call.app.bot_user_id)
    try:
        return call.workspace.channel(wanted)
    except LookupError:
        raise RefusedError("channel_not_found") from None


def _thread_to_join(call: Call, channel: Channel) -> str | None:
    """The thread that a post joins. Where its root is gone, Slack posts at the channel's root."""
    if not call.args.text("thread_ts"):
        return None
    thread_ts = call.args.ts("thread_ts")
    root = call.workspace.message(channel.id, thread_ts)
    if root is None or root.is_tombstone:
        return None
    if root.is_reply:
        raise RefusedError("cannot_reply_to_message")
    return thread_ts


def _private(
    workspace: Workspace,
    app: App,
    channel_id: str,
    user_id: str,
    body: _Body,
    thread_ts: str | None,
) -> Message:
    return workspace.post_private(
        Message(
            channel=channel_id,
            ts=workspace.mint_ts(),
            text=body.text,
            user=app.bot_user_id,
            bot_id=app.bot_id,
            app_id=app.id,
            blocks=body.blocks,
            thread_ts=thread_ts,
            ephemeral_to=user_id,
        )
    )


def _delete_original(workspace: Workspace, used: Message | None) -> None:
    if used is None:
        raise RefusedError("message_not_found")
    if used.ephemeral_to:
        workspace.private = [kept for kept in workspace.private if kept.ts != used.ts]
        workspace.bell.ring()
        return
    current = workspace.message(used.channel, used.ts)
    if current is None or current.is_tombstone:
        raise RefusedError("message_not_found")
    workspace.delete(current)


def _replace_original(workspace: Workspace, used: Message | None, args: Args) -> None:
    if used is None:
        raise RefusedError("message_not_found")
    if used.ephemeral_to:
        body = _body(workspace, args, POST_CHARACTERS)
        after = replace(used, text=body.text, blocks=body.blocks)
        workspace.private = [after if kept.ts == used.ts else kept for kept in workspace.private]
        workspace.bell.ring()
        return
    current = workspace.message(used.channel, used.ts)
    if current is None or current.is_tombstone:
        raise RefusedError("message_not_found")
    workspace.change(_updated(workspace, current, args))
