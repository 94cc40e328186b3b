"""What one person sees of the local Slack, as the page's JSON; and what they have read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from bot.local.slack import LocalSlack, Message, View
from bot.local.slack.api_chat import permalink
from bot.local.slack.wire import is_shared, message_json, view_json
from bot.local.slack.workspace import Channel, Json
from bot.local.workspace.keeping import Marks
from bot.local.workspace.people import person_json, user_json
from bot.local.workspace.refusals import NotHereError, NotYoursError
from bot.thread import Thread

_MENTION = re.compile(r"<(?:@(?P<user>\w+)|!subteam\^(?P<group>\w+)|!(?:channel|here|everyone))")


class Reader:
    """Looks at a local Slack as a person; raises `NotYoursError` where that person isn't a member
    and `NotHereError` where there is no such thing."""

    def __init__(self, slack: LocalSlack, marks: Marks) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._marks = marks

    # What the page asks for

    def workspace(self, user_id: str) -> Json:
        workspace, app, manifest = self._workspace, self._slack.app, self._slack.manifest
        order = {"channel": 0, "group": 1, "im": 2}
        channels = [each for each in workspace.channels.values() if user_id in each.members]
        return {
            "team": {"id": workspace.team.id, "name": workspace.team.name},
            "me": person_json(workspace, workspace.users[user_id]),
            "users": {each.id: user_json(workspace, each) for each in workspace.users.values()},
            "groups": {
                each.id: {
                    "id": each.id,
                    "handle": each.handle,
                    "name": each.name,
                    "users": list(each.users),
                }
                for each in workspace.groups.values()
            },
            "channels": [
                self.channel_json(each, user_id)
                for each in sorted(channels, key=lambda each: order[each.kind])
            ],
            "app": {
                "id": app.id,
                "name": app.name,
                "user_id": app.bot_user_id,
                "bot_id": app.bot_id,
                "has_home": manifest.has_home,
                "has_messages_tab": manifest.has_messages_tab,
                "message_shortcuts": self._shortcuts("message"),
                "global_shortcuts": self._shortcuts("global"),
                "commands": [
                    {
                        "command": each.name,
                        "description": each.description,
                        "usage_hint": each.usage_hint,
                    }
                    for _, each in sorted(manifest.commands.items())
                ],
            },
        }

    def channel(self, channel_id: str, user_id: str, *, before: str | None, limit: int) -> Json:
        """The newest `limit` messages at the channel's root, older than `before`."""
        channel = self._allowed(channel_id, user_id)
        found = [
            each
            for each in self._visible(channel_id, user_id)
            if (not each.is_reply or each.broadcast) and (before is None or each.ts < before)
        ]
        return {
            "channel": self.channel_json(channel, user_id),
            "messages": [self.message_json(each, user_id) for each in found[-limit:]],
            "has_more": len(found) > limit,
        }

    def thread(self, channel_id: str, ts: str, user_id: str) -> Json:
        self._allowed(channel_id, user_id)
        message = self._workspace.message(channel_id, ts)
        root_ts = message.root_ts if message else ts
        found = [each for each in self._visible(channel_id, user_id) if each.root_ts == root_ts]
        if not found:
            raise NotHereError("That thread is not here.")
        thread = Thread(team=self._workspace.team.id, channel=channel_id, ts=root_ts)
        return {
            "channel": channel_id,
            "root_ts": root_ts,
            "messages": [self.message_json(each, user_id) for each in found],
            "read_ts": self._read_ts(user_id, channel_id, root_ts),
            "case_id": thread.case_id,
        }

    def home(self, user_id: str) -> Json:
        return {"view": self._view_json(self._slack.person(user_id).home)}

    def modal(self, user_id: str) -> Json:
        person = self._slack.person(user_id)
        return {
            "view": self._view_json(person.modal),
            "depth": len(self._workspace.stacks.get(user_id, ())),
            "errors": list(person.errors),
        }

    def mark_read(self, user_id: str, channel_id: str, ts: str, thread_ts: str | None) -> None:
        """Everything up to `ts` was seen, at the channel's root or in one thread."""
        self._allowed(channel_id, user_id)
        reads = self._marks.reads.setdefault(user_id, {})
        place = _place(channel_id, thread_ts)
        reads[place] = max(reads.get(place, ""), ts)

    # Parts

    def channel_json(self, channel: Channel, user_id: str) -> Json:
        app = self._slack.app
        body: Json = {
            "id": channel.id,
            "name": app.name if channel.kind == "im" else channel.name,
            "kind": channel.kind,
            "is_shared": is_shared(self._workspace, channel),
            "members": list(channel.members),
            "app_is_in": app.bot_user_id in channel.members,
            "read_ts": self._read_ts(user_id, channel.id),
        }
        if channel.kind == "im":
            body["with"] = next((each for each in channel.members if each != user_id), user_id)
        return body | self._unread(channel, user_id)

    def message_json(self, message: Message, user_id: str) -> Json:
        workspace = self._workspace
        body: Json = message_json(workspace, message) | {
            "channel": message.channel,
            "permalink": permalink(workspace, message),
            "is_mine": message.user == user_id and not message.is_tombstone,
            "is_private": message.ephemeral_to is not None,
            "mentions_me": self._mentions(message, user_id),
            "unread": self._is_unread(message, user_id),
            "unread_replies": 0,
        }
        if message.files:
            for file in body["files"]:
                file["page_url"] = f"/api/file/{file['id']}/{quote(file['name'], safe='')}"
        if not message.is_reply and not message.ephemeral_to:
            replies = workspace.replies(message.channel, message.ts)
            body["unread_replies"] = sum(self._is_unread(each, user_id) for each in replies)
        return body

    # Inside

    def _allowed(self, channel_id: str, user_id: str) -> Channel:
        channel = self._workspace.channels.get(channel_id)
        if channel is None:
            raise NotHereError("That channel is not here.")
        if user_id not in channel.members:
            name = self._workspace.users[user_id].real_name
            raise NotYoursError(f"{name} is not in #{channel.name}.")
        return channel

    def _visible(self, channel_id: str, user_id: str) -> list[Message]:
        """Everything in the channel that this person sees, oldest first."""
        private = [
            each
            for each in self._slack.person(user_id).private
            if each.channel == channel_id and each.ephemeral_to == user_id
        ]
        found = [*self._workspace.in_channel(channel_id), *private]
        return sorted(found, key=lambda each: each.ts)

    def _shortcuts(self, kind: str) -> list[Json]:
        return [
            {
                "name": each.name,
                "callback_id": each.callback_id,
                "description": each.description,
            }
            for each in self._slack.manifest.shortcuts
            if each.type == kind
        ]

    def _view_json(self, view: View | None) -> Json | None:
        return view_json(self._workspace, view) if view is not None else None

    def _read_ts(self, user_id: str, channel_id: str, thread_ts: str | None = None) -> str:
        return self._marks.reads.get(user_id, {}).get(_place(channel_id, thread_ts), "")

    def _unread(self, channel: Channel, user_id: str) -> Json:
        messages = self._workspace.in_channel(channel.id)
        unread = [each for each in messages if self._is_unread(each, user_id)]
        mine = self._took_part(messages, user_id)
        threads = {each.root_ts for each in unread if each.is_reply and each.root_ts in mine}
        return {
            "unread": sum(not each.is_reply or each.broadcast for each in unread),
            "mentions": sum(self._mentions(each, user_id) for each in unread),
            "unread_threads": len(threads),
        }

    def _took_part(self, messages: Iterable[Message], user_id: str) -> set[str]:
        """Threads that the person wrote in or was mentioned in, by root."""
        return {
            each.root_ts
            for each in messages
            if each.user == user_id or self._mentions(each, user_id)
        }

    def _is_unread(self, message: Message, user_id: str) -> bool:
        if message.user == user_id or message.is_tombstone or message.ephemeral_to:
            return False
        thread_ts = message.root_ts if message.is_reply else None
        return message.ts > self._read_ts(user_id, message.channel, thread_ts)

    def _mentions(self, message: Message, user_id: str) -> bool:
        groups = self._workspace.groups
        for match in _MENTION.finditer(message.text):
            if match["user"]:
                members: Sequence[str] = (match["user"],)
            elif match["group"]:
                members = groups[match["group"]].users if match["group"] in groups else ()
            else:
                members = (user_id,)
            if user_id in members:
                return True
        return False


def _place(channel_id: str, thread_ts: str | None) -> str:
    return f"{channel_id}:{thread_ts}" if thread_ts else channel_id
