"""Which Slack thread a case is, and where in Slack a person is to be answered.

To the harness both are opaque strings; only this file knows what is in them.
"""

from __future__ import annotations

from dataclasses import dataclass

_TO_COME = "asked-"


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A thread by its root message. `case_id` names the case that owns it."""

    team: str
    channel: str
    ts: str

    @property
    def case_id(self) -> str:
        return f"{self.team}:{self.channel}:{self.ts}"

    @classmethod
    def to_come(cls, *, team: str, channel: str, request: str) -> Thread:
        """Stands for a thread that somebody asked for and that has no root yet. `request` tells
        one request from another; it is also the request's key in the store."""
        return cls(team=team, channel=channel, ts=f"{_TO_COME}{request}")

    @classmethod
    def parse(cls, case_id: str) -> Thread:
        """Raises `ValueError` when the text is no case id."""
        team, channel, ts = case_id.split(":")
        return cls(team=team, channel=channel, ts=ts)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a private line goes: a channel, and the thread in it if there is one."""

    channel: str
    thread_ts: str | None = None

    def __str__(self) -> str:
        return f"{self.channel}:{self.thread_ts or ''}"

    @classmethod
    def parse(cls, text: str) -> Place:
        """Raises `ValueError` when the text is no place."""
        channel, thread_ts = text.split(":")
        return cls(channel=channel, thread_ts=thread_ts or None)


def permalink(workspace_url: str, channel: str, ts: str, *, thread_ts: str | None = None) -> str:
    """A message's address in the form that Slack's own links have; `workspace_url` is that of
    `auth.test`. `thread_ts` is the root's of the thread it is in, if it isn't the root."""
    link = f"{workspace_url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
    in_thread = thread_ts is not None and thread_ts != ts
    return f"{link}?thread_ts={thread_ts}&cid={channel}" if in_thread else link
