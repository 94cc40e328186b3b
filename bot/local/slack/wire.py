"""Records as the JSON that Slack's API and events carry."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from bot.local.slack.blocks import elements
from bot.local.slack.workspace import App, Channel, File, Json, Message, User, View, Workspace


def message_json(workspace: Workspace, message: Message, *, with_metadata: bool = True) -> Json:
    """A message as in an event, an answer or a list; a root carries its thread's facts."""
    body: Json = {"type": "message", "ts": message.ts, "text": message.text}
    if message.user:
        body["user"] = message.user
    if message.subtype:
        body["subtype"] = message.subtype
    if message.bot_id:
        body |= {"bot_id": message.bot_id, "app_id": message.app_id, "team": workspace.team.id}
        app = workspace.apps.get(message.app_id or "")
        if app:
            body["bot_profile"] = _bot_profile(workspace, app)
    elif message.user in workspace.users:
        body["team"] = workspace.users[message.user].team_id
    if message.username:
        body["username"] = message.username
    if message.client_msg_id:
        body["client_msg_id"] = message.client_msg_id
    if message.blocks:
        body["blocks"] = list(message.blocks)
    if message.files:
        body["files"] = [file_json(workspace, workspace.files[file]) for file in message.files]
        body["upload"] = False
    if message.metadata and with_metadata:
        body["metadata"] = message.metadata
    if message.edited_ts:
        body["edited"] = {"user": message.edited_by, "ts": message.edited_ts}
    if message.unfurled:
        body["attachments"] = [{"id": 1, "fallback": "link preview", "title": "link preview"}]
    if message.reactions:
        body["reactions"] = [
            {"name": name, "users": list(users), "count": len(users)}
            for name, users in message.reactions
        ]
    if message.is_tombstone:
        body["hidden"] = True
    body |= _thread_facts(workspace, message)
    return body


def file_json(workspace: Workspace, file: File) -> Json:
    path = f"{workspace.base_url}/files-pri/{workspace.team.id}-{file.id}"
    return {
        "id": file.id,
        "created": file.created,
        "timestamp": file.created,
        "name": file.name,
        "title": file.name,
        "mimetype": file.mimetype,
        "filetype": file.name.rpartition(".")[2],
        "user": file.user_id,
        "user_team": workspace.users[file.user_id].team_id,
        "size": len(file.content),
        "mode": "hosted",
        "is_external": False,
        "is_public": file.is_public,
        "file_access": "visible",
        "url_private": f"{path}/{file.name}",
        "url_private_download": f"{path}/download/{file.name}",
        "permalink": f"{workspace.base_url}/files/{file.user_id}/{file.id}/{file.name}",
    }


def files_value(workspace: Workspace, files: Iterable[File]) -> Json:
    """The state value of a file_input in which these files were chosen."""
    return {"type": "file_input", "files": [file_json(workspace, file) for file in files]}


def user_json(user: User, *, with_email: bool) -> Json:
    profile: Json = {
        "real_name": user.real_name,
        "display_name": user.name,
        "avatar_hash": hashlib.sha256(user.id.encode()).hexdigest()[:12],
        "team": user.team_id,
    }
    if with_email and user.email:
        profile["email"] = user.email
    body: Json = {
        "id": user.id,
        "team_id": user.team_id,
        "name": user.name,
        "real_name": user.real_name,
        "deleted": user.deleted,
        "tz": "Asia/Kolkata",
        "tz_offset": 19800,
        "profile": profile,
        "is_admin": False,
        "is_owner": False,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "is_restricted": user.is_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
    }
    if user.is_stranger:
        body["is_stranger"] = True
    return body


def channel_json(workspace: Workspace, channel: Channel, app: App) -> Json:
    if channel.kind == "im":
        partner = next(user for user in channel.members if user != app.bot_user_id)
        return {"id": channel.id, "is_im": True, "user": partner, "is_archived": False}
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": channel.kind == "channel",
        "is_group": channel.kind == "group",
        "is_im": False,
        "is_private": channel.kind == "group",
        "is_archived": channel.is_archived,
        "is_member": app.bot_user_id in channel.members,
        "is_ext_shared": is_shared(workspace, channel),
        "num_members": len(channel.members),
        "topic": {"value": "", "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


def view_json(workspace: Workspace, view: View) -> Json:
    """A view as answers and payloads carry it."""
    bot_id = workspace.apps[view.app_id].bot_id
    definition = {"title": None, "close": None, "submit": None} | view.definition
    return {
        "id": view.id,
        "team_id": workspace.team.id,
        "state": {"values": view.values},
        "hash": view.hash,
        "previous_view_id": view.previous_view_id,
        "root_view_id": view.root_view_id,
        "app_id": view.app_id,
        "app_installed_team_id": workspace.team.id,
        "bot_id": bot_id,
        **definition,
    }


def initial_values(definition: Json) -> dict[str, dict[str, Json]]:
    """The state of a view that nobody has touched: every input, empty or with its initial value."""
    values: dict[str, dict[str, Json]] = {}
    for block, element in elements(definition["blocks"]):
        value = _initial_value(element)
        if value is not None:
            values.setdefault(block["block_id"], {})[element["action_id"]] = value
    return values


def is_shared(workspace: Workspace, channel: Channel) -> bool:
    """Whether people of another organisation are in the channel (Slack Connect)."""
    teams = {workspace.users[user].team_id for user in channel.members if user in workspace.users}
    return teams != {workspace.team.id}


def _initial_value(element: Json) -> Json | None:
    kind: str = element["type"]
    if kind == "file_input":
        return {"type": kind, "files": []}
    if kind.endswith("_input"):
        return {"type": kind, "value": element.get("initial_value")}
    if kind in ("static_select", "external_select", "radio_buttons"):
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind == "checkboxes":
        return {"type": kind, "selected_options": element.get("initial_options", [])}
    if kind == "users_select":
        return {"type": kind, "selected_user": element.get("initial_user")}
    if kind == "datepicker":
        return {"type": kind, "selected_date": element.get("initial_date")}
    return None


def _bot_profile(workspace: Workspace, app: App) -> Json:
    return {
        "id": app.bot_id,
        "app_id": app.id,
        "user_id": app.bot_user_id,
        "name": app.name,
        "deleted": False,
        "team_id": workspace.team.id,
    }


def _thread_facts(workspace: Workspace, message: Message) -> Json:
    if message.is_reply:
        facts: Json = {"thread_ts": message.thread_ts}
        root = workspace.message(message.channel, message.root_ts)
        if root and root.user:
            facts["parent_user_id"] = root.user
        return facts
    if message.ephemeral_to:
        return {}
    replies = workspace.replies(message.channel, message.ts)
    if not replies:
        return {}
    people = list(dict.fromkeys(reply.user for reply in replies if reply.user))
    return {
        "thread_ts": message.ts,
        "reply_count": len(replies),
        "reply_users_count": len(people),
        "reply_users": people,
        "latest_reply": replies[-1].ts,
    }
