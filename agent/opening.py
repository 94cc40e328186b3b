"""What was asked for outside any thread: a new case, or how to open one.

Such a request is kept, applied and answered like a case, by a record of its own that never has a
run: so it survives what a case survives.
"""

from __future__ import annotations

from agent.case import Addressed, Asked, Offer, Opened, Opening
from agent.claimed import Claimed


def asked(c: Claimed, fact: Asked, *, at: float) -> None:
    """Post the new thread's first message, then tell who asked where it is."""
    opening = c.say(Opening(asked=fact, asked_at=at))
    c.say(Opened(opening=opening, user=fact.by, place=fact.place, text=fact.text, asked_at=at))


def addressed(c: Claimed, fact: Addressed, *, at: float) -> None:
    """Somebody spoke to us where there is no case."""
    c.say(Offer(user=fact.by, place=fact.place, asked_at=at, refusal=fact.refusal))
