"""The ids and values by which a click finds its way back: shared by cards and listeners."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

PICK_CUSTOMER: Final = "pick_customer"
NOT_A_CASE: Final = "not_a_case"
WRONG_CUSTOMER: Final = "wrong_customer"
TAKE_OVER: Final = "take_over"
GIVE_BACK: Final = "give_back"
APPROVE: Final = "approve"
CHANGE_AMOUNT: Final = "change_amount"
DECLINE: Final = "decline"
FEEDBACK_GOOD: Final = "feedback_good"
FEEDBACK_BAD: Final = "feedback_bad"
SHOW_TRACE: Final = "show_trace"

OPEN_CASE: Final = "open_case"
"""The message shortcut, and the button that offers the same."""
NEW_CASE: Final = "new_case"
"""The global shortcut, and the buttons that do the same."""
CASE_COMMAND: Final = "/case"

DECLINE_MODAL: Final = "decline_modal"
CHANGE_AMOUNT_MODAL: Final = "change_amount_modal"

OPEN_CASE_MODAL: Final = "open_case_modal"
NEW_CASE_MODAL: Final = "new_case_modal"

NOTE_BLOCK: Final = "note"
AMOUNT_BLOCK: Final = "amount"
WORDS_BLOCK: Final = "words"
PHOTOS_BLOCK: Final = "photos"
INPUT: Final = "input"
"""The action id of a modal's input element, in whichever block."""

POST_METADATA: Final = "casethread_post"
"""The `event_type` of the metadata that every message of ours carries.

Its payload is `{"post_id": …, "case_id": …}`; further messages of one post end in "#2", "#3" …
"""


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    def encode(self) -> str:
        """For a button's `value` (at most 2,000 characters) or a modal's `private_metadata`."""
        return self.model_dump_json()


class CaseRef(_Value):
    """Which case a button belongs to; for feedback and the trace also which run.

    A `block_id` carries it where an element has no value of its own (the customer picker); `hint`
    is then what to search for while nothing is typed, taken from the customer's words.
    """

    case_id: str
    run_id: str = ""
    hint: str = ""


class CardRef(_Value):
    """Which card, and which version of it, a click was made on.

    `post_id` is the outbox entry that drew it; `place` is where the card is, set when a modal
    carries it on.
    """

    case_id: str
    key: str
    version: int
    digest: str
    post_id: str = ""
    place: str = ""


class FileRef(_Value):
    """A file that somebody attached elsewhere in Slack."""

    file_id: str
    name: str


class Draft(_Value):
    """A new case while its modal is open: the channel where its thread will begin, where to answer
    ("" for a direct message), a link to where its words stand already, and files from there."""

    channel: str
    place: str = ""
    source: str = ""
    files: tuple[FileRef, ...] = ()


class ThreadRef(_Value):
    """A thread outside the case channels."""

    channel: str
    ts: str
