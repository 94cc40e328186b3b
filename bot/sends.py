"""What a process knows of one case's sends, while some of its posts are not out or not noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.ports import Posted

CLOCK_DIFFERENCE_SECONDS = 300.0
"""How far our clock and Slack's may be apart when a send of our own is looked for."""


def message_id_of(post_id: str, number: int) -> str:
    """What a post's message is found by: the post's id for the first, "…#2" and so on."""
    return post_id if number == 1 else f"{post_id}#{number}"


def post_of(message_id: str) -> str:
    """The post that a message is of. Of several the records have the last one's place."""
    return message_id.partition("#")[0]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Where messages go: a thread, or a channel's root when there is none."""

    channel: str
    thread_ts: str | None


@dataclass(kw_only=True)
class Attempt:
    """A send that got no answer; Unix seconds."""

    began: float
    ended: float
    """When its answer was given up. A process that stands still in between may send only then."""


@dataclass(kw_only=True)
class Memory:
    """What this process knows of a case's sends while some of its posts are not out."""

    token: int
    """Of the latest lease."""
    known_from: int
    """Since this lease nobody else owned the case: what was sent since is known here."""
    since: float
    """When that lease was claimed, in Unix seconds: a former owner's send may arrive after it."""
    retry_at: float = 0.0
    failures: int = 0
    """In a row."""
    unsure: dict[str, Attempt] = field(default_factory=dict[str, Attempt])
    """Message id → a send of it that got no answer."""
    looked: set[str] = field(default_factory=set[str])
    """Messages of a former owner that were looked for and not found."""
    done: dict[str, Posted] = field(default_factory=dict[str, Posted])
    """Messages that are out, of the post that is being sent."""
    out: dict[str, Posted] = field(default_factory=dict[str, Posted])
    """Posts that are out and not yet known to be marked as sent."""
    dead_root: bool = False
    told_dead_root: bool = False
    strays: set[str] = field(default_factory=set[str])
    """Times of messages at the case channel's root that have to go."""
    sweep: set[str] = field(default_factory=set[str])
    """Messages that may be at the case channel's root, of the post that is being sent."""

    def not_noted(self) -> Mapping[str, float]:
        """Messages that are out, or may be, and that the records don't have from here; with when
        their sends began, or ended."""
        answered = {**self.out, **self.done}
        places = {each: place.message_id for each, place in answered.items() if place.message_id}
        return {
            **{each: attempt.began for each, attempt in self.unsure.items()},
            **{each: float(ts) for each, ts in places.items()},
        }
