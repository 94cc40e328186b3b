"""The methods about people, groups, bots, files, reactions and the app itself, and views.*."""

from __future__ import annotations

import re

from bot.local.slack.blocks import RefusedError
from bot.local.slack.calls import Call
from bot.local.slack.wire import file_json, message_json, user_json, view_json
from bot.local.slack.workspace import Json, Message, UserGroup, View

REACTIONS_BY_ONE = 23
REACTIONS_ON_ONE_MESSAGE = 50
_EMOJI_NAME = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")


def auth_test(call: Call) -> Json:
    user = call.workspace.users[call.app.bot_user_id]
    return {
        "url": f"{call.workspace.base_url}/",
        "team": call.workspace.team.name,
        "user": user.name,
        "team_id": call.workspace.team.id,
        "user_id": user.id,
        "bot_id": call.app.bot_id,
        "is_enterprise_install": False,
    }


def users_info(call: Call) -> Json:
    call.need_scope("users:read")
    user = call.workspace.users.get(call.args.required("user"))
    if user is None:
        raise RefusedError("user_not_found")
    return {"user": user_json(user, with_email="users:read.email" in call.app.scopes)}


def usergroups_list(call: Call) -> Json:
    call.need_scope("usergroups:read")
    with_users = call.args.flag("include_users")
    return {"usergroups": [_group(group, with_users) for group in call.workspace.groups.values()]}


def usergroups_users_list(call: Call) -> Json:
    call.need_scope("usergroups:read")
    group = call.workspace.groups.get(call.args.required("usergroup"))
    if group is None:
        raise RefusedError("no_such_subteam")
    return {"users": list(group.users)}


def bots_info(call: Call) -> Json:
    call.need_scope("users:read")
    for app in call.workspace.apps.values():
        if app.bot_id == call.args.text("bot"):
            return {
                "bot": {
                    "id": app.bot_id,
                    "deleted": False,
                    "name": app.name,
                    "app_id": app.id,
                    "user_id": app.bot_user_id,
                }
            }
    raise RefusedError("bot_not_found")


def files_info(call: Call) -> Json:
    call.need_scope("files:read")
    file = call.workspace.files.get(call.args.required("file"))
    if file is None:
        raise RefusedError("file_not_found")
    return {"file": file_json(call.workspace, file)}


def reactions_add(call: Call) -> Json:
    call.need_scope("reactions:write")
    name, message = _reaction(call)
    reactions = dict(message.reactions)
    mine = [users for users in reactions.values() if call.app.bot_user_id in users]
    if call.app.bot_user_id in reactions.get(name, ()):
        raise RefusedError("already_reacted")
    if len(mine) >= REACTIONS_BY_ONE:
        raise RefusedError("too_many_reactions")
    if name not in reactions and len(reactions) >= REACTIONS_ON_ONE_MESSAGE:
        raise RefusedError("too_many_emoji")
    call.workspace.react(message, name, call.app.bot_user_id)
    return {}


def reactions_remove(call: Call) -> Json:
    call.need_scope("reactions:write")
    name, message = _reaction(call)
    if call.app.bot_user_id not in dict(message.reactions).get(name, ()):
        raise RefusedError("no_reaction")
    call.workspace.unreact(message, name, call.app.bot_user_id)
    return {}


def reactions_get(call: Call) -> Json:
    call.need_scope("reactions:read")
    channel = call.channel()
    message = call.message(channel, "timestamp")
    return {
        "type": "message",
        "channel": channel.id,
        "message": message_json(call.workspace, message),
    }


def views_open(call: Call) -> Json:
    definition = call.args.parsed("view", "invalid_arguments")
    user_id = call.surfaces.use_trigger(call.args.required("trigger_id"), call.app)
    return _view(call, call.surfaces.open_view(user_id, call.app, definition))


def views_push(call: Call) -> Json:
    definition = call.args.parsed("view", "invalid_arguments")
    user_id = call.surfaces.use_trigger(call.args.required("trigger_id"), call.app)
    return _view(call, call.surfaces.push_view(user_id, call.app, definition))


def views_update(call: Call) -> Json:
    view = call.surfaces.update_view(
        call.app,
        call.args.parsed("view", "invalid_arguments"),
        view_id=call.args.text("view_id") or None,
        external_id=call.args.text("external_id") or None,
        expected_hash=call.args.text("hash") or None,
    )
    return _view(call, view)


def views_publish(call: Call) -> Json:
    view = call.surfaces.publish_home(
        call.args.required("user_id"),
        call.app,
        call.args.parsed("view", "invalid_arguments"),
        call.args.text("hash") or None,
    )
    return _view(call, view)


def _group(group: UserGroup, with_users: bool) -> Json:
    body: Json = {
        "id": group.id,
        "handle": group.handle,
        "name": group.name,
        "is_usergroup": True,
        "date_delete": 0,
        "user_count": len(group.users),
    }
    return body | ({"users": list(group.users)} if with_users else {})


def _reaction(call: Call) -> tuple[str, Message]:
    name = call.args.required("name").strip(":")
    if not _EMOJI_NAME.fullmatch(name):
        raise RefusedError("invalid_name")
    return name, call.message(call.channel(), "timestamp")


def _view(call: Call, view: View) -> Json:
    return {"view": view_json(call.workspace, view)}
