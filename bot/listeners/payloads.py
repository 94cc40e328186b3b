"""Slack's payloads as the listeners read them: only the fields in use, checked at the door.

Shapes as in Slack's documentation of the Events API and of interaction payloads; anything else in
them is ignored.
"""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent.case import ts_of
from bot.actions import INPUT
from bot.thread import Place

# A message of a person has none of the other subtypes (joins, topics, bots, reminders …).
_SPOKEN = (None, "file_share", "thread_broadcast")
_TS = re.compile(r"[0-9]{10}\.[0-9]{6}")


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_is_nothing(cls, fields: Any) -> Any:
        """Slack leaves a field out or sends null, from one event to the next."""
        if not isinstance(fields, dict):
            return fields
        given = cast("dict[str, Any]", fields)
        return {name: value for name, value in given.items() if value is not None}


class SlackFile(_Payload):
    id: str
    name: str | None = None
    mimetype: str = ""
    url_private: str = ""
    url_private_download: str = ""
    permalink: str = ""
    mode: str = ""


class _Stamp(_Payload):
    ts: str


class SlackMessage(_Payload):
    """One version of a message, as in an event or inside one."""

    ts: str
    user: str | None = None
    bot_id: str | None = None
    subtype: str | None = None
    text: str = ""
    thread_ts: str | None = None
    parent_user_id: str | None = None
    files: tuple[SlackFile, ...] = ()
    edited: _Stamp | None = None

    @property
    def root_ts(self) -> str:
        return self.thread_ts or self.ts

    @property
    def is_root(self) -> bool:
        return self.root_ts == self.ts

    @property
    def is_tombstone(self) -> bool:
        """What Slack leaves in the place of a deleted message that has replies."""
        return self.subtype == "tombstone"

    def is_spoken_by_a_person(self, bot_user_id: str) -> bool:
        return (
            self.bot_id is None
            and self.user not in (None, "USLACKBOT", bot_user_id)
            and self.subtype in _SPOKEN
        )


class MessageEvent(SlackMessage):
    """A `message` or `app_mention` event. With a `message` or `previous_message` it is about that
    one, and its own `ts` is when it happened."""

    type: str
    channel: str
    channel_type: str = ""
    message: SlackMessage | None = None
    previous_message: SlackMessage | None = None


class _User(_Payload):
    id: str


class _Option(_Payload):
    value: str = ""


class _Action(_Payload):
    action_id: str
    block_id: str = ""
    value: str | None = None
    selected_option: _Option | None = None
    action_ts: str


class _Container(_Payload):
    channel_id: str = ""
    """"" in App Home."""
    message_ts: str = ""
    thread_ts: str | None = None


class Click(_Payload):
    """Somebody pressed a button or chose from a menu in a message (`block_actions`)."""

    user: _User
    actions: tuple[_Action, ...] = Field(min_length=1)
    container: _Container
    trigger_id: str = ""

    @property
    def by(self) -> str:
        return self.user.id

    @property
    def action(self) -> _Action:
        return self.actions[0]

    @property
    def value(self) -> str:
        """The button's value, or the chosen option's."""
        chosen = self.action.selected_option
        return (chosen.value if chosen else self.action.value) or ""

    @property
    def place(self) -> Place:
        return Place(channel=self.container.channel_id, thread_ts=self.container.thread_ts)


class _Input(_Payload):
    value: str | None = None
    selected_option: _Option | None = None
    files: tuple[SlackFile, ...] = ()


class _State(_Payload):
    values: dict[str, dict[str, _Input]] = {}


class _View(_Payload):
    id: str
    private_metadata: str = ""
    state: _State = _State()


class Submission(_Payload):
    """Somebody submitted a modal (`view_submission`)."""

    user: _User
    view: _View

    @property
    def by(self) -> str:
        return self.user.id

    def typed(self, block_id: str) -> str:
        """What stands in the input of that block; "" when it is empty or not there."""
        field = self.view.state.values.get(block_id, {}).get(INPUT)
        return (field.value or "").strip() if field else ""

    def chosen(self, action_id: str) -> tuple[str, str]:
        """The block with that menu, and what was chosen in it; "" when nothing was."""
        for block_id, inputs in self.view.state.values.items():
            if action_id in inputs:
                option = inputs[action_id].selected_option
                return block_id, option.value if option else ""
        raise ValueError(f"the modal has no input {action_id}")

    def files(self, block_id: str) -> tuple[SlackFile, ...]:
        field = self.view.state.values.get(block_id, {}).get(INPUT)
        return field.files if field else ()


class _Channel(_Payload):
    id: str


class Shortcut(_Payload):
    """Somebody used a shortcut (`shortcut`, or `message_action` with the message)."""

    user: _User
    trigger_id: str
    channel: _Channel | None = None
    message: SlackMessage | None = None

    @property
    def by(self) -> str:
        return self.user.id


class Command(_Payload):
    """Somebody sent a slash command."""

    user_id: str
    channel_id: str
    trigger_id: str
    text: str = ""

    @property
    def by(self) -> str:
        return self.user_id


class HomeOpened(_Payload):
    """Somebody looks at the app (`app_home_opened`)."""

    user: str
    tab: str = ""


class Suggestion(_Payload):
    """Somebody types in a menu that searches (`block_suggestion`)."""

    user: _User
    block_id: str = ""
    value: str = ""


def time_of(ts: str, now: float) -> str:
    """A Slack time in the form of `Event.ts`; `now` where Slack gave none."""
    return ts if _TS.fullmatch(ts) else ts_of(now)
