"""A case: one thread about one customer, with what comes in and what goes out.

Records only: what they mean when they meet is `events`, how they are kept is `storage`, how they
look in Slack is `bot`. A thread, a person, a place to answer in are opaque strings here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from agent.approval import Card, Verdict

SCHEMA_VERSION = 1

# What comes in ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Photo:
    """A picture as the thread refers to it; fetched when it is needed."""

    file_id: str
    url: str
    name: str = "photo"
    link: str = ""
    """Where a person can look at it."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A person wrote in the thread. `first` marks the thread's own first message."""

    kind: Literal["message"] = "message"
    message_id: str
    author: str
    text: str
    photos: tuple[Photo, ...] = ()
    first: bool = False


@dataclass(frozen=True, kw_only=True)
class Edited:
    kind: Literal["edited"] = "edited"
    message_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Deleted:
    kind: Literal["deleted"] = "deleted"
    message_id: str
    first: bool = False


@dataclass(frozen=True, kw_only=True)
class CustomerChosen:
    """A member of staff said whose case this is."""

    kind: Literal["customer_chosen"] = "customer_chosen"
    customer_id: str
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class WrongCustomer:
    kind: Literal["wrong_customer"] = "wrong_customer"
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class NotACase:
    kind: Literal["not_a_case"] = "not_a_case"
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A lead's click or modal on one version of a card. `place` is where to answer privately."""

    kind: Literal["decided"] = "decided"
    key: str
    version: int
    digest: str
    verdict: Verdict
    by: str
    place: str
    note: str = ""
    amount_paise: int | None = None


@dataclass(frozen=True, kw_only=True)
class TookOver:
    kind: Literal["took_over"] = "took_over"
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class GaveBack:
    kind: Literal["gave_back"] = "gave_back"
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """Somebody's thumb on a final reply."""

    kind: Literal["feedback"] = "feedback"
    run_id: str
    good: bool
    by: str
    place: str = ""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A member of staff asked for a case, and it has no thread yet.

    The case that gets this stands for the request alone. It posts the first message of a new
    thread in its channel; what was asked for becomes the case of that thread.
    """

    kind: Literal["asked"] = "asked"
    customer_id: str
    by: str
    text: str
    """The customer's words."""
    photos: tuple[Photo, ...] = ()
    source: str = ""
    """A link to where the words were written first; "" when they were typed for this."""
    place: str = ""
    """Where to tell them where the case is; "" when only a direct message will do."""


@dataclass(frozen=True, kw_only=True)
class Addressed:
    """Somebody spoke to us outside a case, and is told how to open one."""

    kind: Literal["addressed"] = "addressed"
    by: str
    place: str = ""
    """Where to tell them; "" when they wrote a direct message."""
    refusal: str = ""
    """Why they may open none; "" when they may."""


Fact = Annotated[
    Message
    | Edited
    | Deleted
    | CustomerChosen
    | WrongCustomer
    | NotACase
    | Decided
    | TookOver
    | GaveBack
    | Feedback
    | Asked
    | Addressed,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that came from outside. `event_id` makes a second delivery harmless.

    `ts` is when it happened, in seconds since the epoch with six decimals as text: events are
    taken in its order, which is also the order of the strings.
    """

    event_id: str
    ts: str
    fact: Fact


def ts_of(seconds: float) -> str:
    """A point in time in the form of `Event.ts`."""
    return f"{seconds:.6f}"


# What goes out ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Picker:
    """Ask whose case this is. `words` is the thread's first message, to suggest from."""

    kind: Literal["picker"] = "picker"
    words: str


@dataclass(frozen=True, kw_only=True)
class StatusLine:
    """The picker once somebody chose: whose case it is, how it stands, what staff can press."""

    kind: Literal["status_line"] = "status_line"
    customer_id: str
    customer_name: str
    status: Literal["working", "done", "handed_off", "not_a_case"]
    by: str
    can_mend_customer: bool
    can_take_over: bool


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question for the customer, to whoever relays. `to` are the people to mention."""

    kind: Literal["question"] = "question"
    text: str
    to: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Approval:
    """A card, as it stands."""

    kind: Literal["approval"] = "approval"
    card: Card
    openers: tuple[str, ...]
    run_id: str


@dataclass(frozen=True, kw_only=True)
class ApprovalReminder:
    """To whoever may decide: this request still waits. A post of its own, so that it is seen."""

    kind: Literal["approval_reminder"] = "approval_reminder"
    title: str


@dataclass(frozen=True, kw_only=True)
class DecisionLine:
    """One line in the thread: what was decided and by whom."""

    kind: Literal["decision_line"] = "decision_line"
    verdict: Literal["approved", "declined", "expired", "withdrawn", "refused"]
    title: str
    by: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The final reply, to pass to the customer."""

    kind: Literal["reply"] = "reply"
    text: str
    run_id: str


@dataclass(frozen=True, kw_only=True)
class Handoff:
    """The case is a person's now. `text` is for the customer ("" for none), `reason` for staff."""

    kind: Literal["handoff"] = "handoff"
    text: str
    reason: str
    run_id: str
    openers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A plain line of our own words in the thread."""

    kind: Literal["line"] = "line"
    text: str
    to: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Words for staff that can't go to the thread: its first message is gone. `to` are people."""

    kind: Literal["notice"] = "notice"
    text: str
    to: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PrivateLine:
    """An answer to one person's click, seen by them alone; best effort.

    Where the text says `{person}`, `person` is named.
    """

    kind: Literal["private_line"] = "private_line"
    user: str
    place: str
    text: str
    person: str = ""


@dataclass(frozen=True, kw_only=True)
class Reaction:
    """The one reaction on the thread's first message that tells the status; "" for none.

    `previous` is the status whose reaction is there until now.
    """

    kind: Literal["reaction"] = "reaction"
    status: str
    previous: str = ""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The first message of a new thread: what was asked for at `asked_at`, in Unix seconds."""

    kind: Literal["opening"] = "opening"
    asked: Asked
    asked_at: float


@dataclass(frozen=True, kw_only=True)
class Opened:
    """To who asked for a case: where it is, or that it could not be opened, with their words.

    `opening` is the post that opened it.
    """

    kind: Literal["opened"] = "opened"
    opening: str
    user: str
    place: str
    text: str
    asked_at: float


@dataclass(frozen=True, kw_only=True)
class Offer:
    """To who spoke to us outside a case: how to open one, with a button for it, or why not."""

    kind: Literal["offer"] = "offer"
    user: str
    place: str
    asked_at: float
    refusal: str = ""


Content = Annotated[
    Picker
    | StatusLine
    | Question
    | Approval
    | ApprovalReminder
    | DecisionLine
    | Reply
    | Handoff
    | Line
    | Notice
    | PrivateLine
    | Reaction
    | Opening
    | Opened
    | Offer,
    Field(discriminator="kind"),
]


@dataclass(frozen=True, kw_only=True)
class Post:
    """One thing to show in the thread, exactly once, in the order the posts were saved.

    With `update_of` it changes the message of that earlier post instead of making a new one.
    """

    post_id: str
    content: Content
    update_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class Unsettled:
    """An effect whose outcome nobody knew when its call failed or its run was handed off; it is
    looked up until somebody does. `post_id` and `card` are of its approval, where a lead gave one.
    """

    key: str
    look_at: float
    """When to look next, in Unix seconds."""
    looks: int = 0
    post_id: str | None = None
    card: Card | None = None


# The case itself -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Image:
    """A photo as it is kept beside the record: `digest` names the bytes."""

    digest: str
    media_type: str


@dataclass(frozen=True, kw_only=True)
class FetchedPhoto:
    """What became of a photo; `image` is None when it could not be had."""

    file_id: str
    image: Image | None


@dataclass(frozen=True, kw_only=True)
class Words:
    """What somebody wrote in the thread, cleaned, with the photos that came along."""

    message_id: str
    author: str
    text: str
    photos: tuple[Photo, ...] = ()
    """Fetched when the model is to see them."""

    @property
    def links(self) -> tuple[str, ...]:
        """Where a person can look at the photos."""
        return tuple(each.link for each in self.photos if each.link)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the case's history, for the summary that a later run starts from."""

    who: Literal["customer", "reply", "record", "staff"]
    text: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """The record that owns a thread. Small on purpose: it is written with every step."""

    case_id: str
    agent: str
    opened_at: float
    schema_version: int = SCHEMA_VERSION
    author: str | None = None
    """Who posted the thread's first message; None when the bot never saw it."""
    openers: tuple[str, ...] = ()
    customer_id: str | None = None
    customer_name: str = ""
    chosen_by: str = ""
    closed: Literal["", "not_a_case", "deleted"] = ""
    words: tuple[Words, ...] = ()
    """What the thread said while the customer may still be exchanged: a new choice starts over."""
    notes: tuple[Words, ...] = ()
    """Internal notes; never sent to the model."""
    history: tuple[Entry, ...] = ()
    run_ids: tuple[str, ...] = ()
    status_post: str | None = None
    """The post that holds the picker and later the status line."""
    shown: str = ""
    """The status line and reaction as last sent out, so that they are sent only on change."""
    posts: int = 0
    """How many posts there were; numbers the next one."""
    feedback: tuple[str, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()
