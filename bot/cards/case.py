"""The head of a case's thread: whose case is it, and later how it stands."""

from __future__ import annotations

import re
from typing import Final

from agent.case import Picker, StatusLine
from bot.actions import (
    NOT_A_CASE,
    PICK_CUSTOMER,
    TAKE_OVER,
    WRONG_CUSTOMER,
    CaseRef,
)
from bot.cards.message import (
    Element,
    Message,
    actions,
    button,
    mention,
    message,
    named,
    note,
    rich_text,
    section,
    spoken,
    words,
)
from bot.text import cut, visible

REACTIONS: Final = {
    "running": "hourglass_flowing_sand",
    "waiting_customer": "speech_balloon",
    "waiting_approval": "lock",
    "done": "white_check_mark",
    "handed_off": "raising_hand",
}
"""The reaction on a thread's first message that tells a run's status."""

_STATUS_WORDS: Final = {
    "working": "With the agent",
    "done": "Done",
    "handed_off": "With a colleague",
}

HOW_TO_SEARCH: Final = "Search by name, e-mail, phone, customer id or order number."
CUSTOMER_SELECT: Final[Element] = {
    "type": "external_select",
    "action_id": PICK_CUSTOMER,
    "placeholder": {"type": "plain_text", "text": "Find the customer", "emoji": False},
    "min_query_length": 0,
}
"""The searching menu. Its block's id is a `CaseRef`, for the hint to search for at first."""

_NAME_LIMIT = 150

# What in a first message may name a customer: an e-mail address, a phone or an order number.
_NAMING = (
    re.compile(r"[\w.+-]{1,40}@[\w-]{1,30}(?:\.[\w-]{1,10}){1,3}"),
    re.compile(r"\+\d(?:[ -]?\d){8,14}"),
    re.compile(r"(?<!\d)\d{4,12}(?!\d)"),
)


def picker(content: Picker, *, case_id: str) -> Message:
    """Asks whose case it is. The `block_id` is a `CaseRef`, with a hint to suggest from."""
    value = CaseRef(case_id=case_id).encode()
    question = "Whose case is this? Choose the customer and the agent starts."
    return message(
        [question, HOW_TO_SEARCH],
        [
            rich_text(section(words(question, bold=True))),
            actions(
                CUSTOMER_SELECT,
                button("Not a case", NOT_A_CASE, value),
                block_id=CaseRef(case_id=case_id, hint=hint_of(content.words)).encode(),
            ),
            note(HOW_TO_SEARCH),
        ],
    )


def hint_of(text: str) -> str:
    """What in the customer's words is most likely to find them; "" when nothing is."""
    for form in _NAMING:
        found = form.search(text[:10_000])
        if found:
            return found[0][:60]
    return ""


def status_line(content: StatusLine, *, case_id: str) -> Message:
    """Whose case it is, how it stands, who chose, and what staff can press."""
    if content.status == "not_a_case":
        by = content.by or "somebody"
        return message(
            [f"Not a case, says {named(by)}."],
            [rich_text(section(words("Not a case, says "), mention(by), words(".")))],
        )
    value = CaseRef(case_id=case_id).encode()
    name = cut(visible(content.customer_name), _NAME_LIMIT) or "Customer"
    customer_id = cut(visible(content.customer_id), _NAME_LIMIT)
    status = _STATUS_WORDS[content.status]
    chosen = [words(" · chosen by "), mention(content.by)] if content.by else []
    return message(
        [
            f"Case of {spoken(name)} ({spoken(customer_id)}): {status}."
            + (f" Chosen by {named(content.by)}." if content.by else "")
        ],
        [
            rich_text(
                section(words(name, bold=True), words(f" · {customer_id}\n{status}"), *chosen)
            ),
            actions(
                button("Wrong customer", WRONG_CUSTOMER, value)
                if content.can_mend_customer
                else None,
                button("Take over", TAKE_OVER, value) if content.can_take_over else None,
            ),
        ],
    )
