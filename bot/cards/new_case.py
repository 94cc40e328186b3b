"""A case that is opened elsewhere than by a post: its modals, its thread's first message, and what
is said about it to who asked."""

from __future__ import annotations

from typing import Any, Final

from agent.case import Offer, Opened, Opening, Photo
from bot.actions import (
    INPUT,
    NEW_CASE,
    NEW_CASE_MODAL,
    OPEN_CASE,
    OPEN_CASE_MODAL,
    PHOTOS_BLOCK,
    WORDS_BLOCK,
    CaseRef,
    Draft,
    ThreadRef,
)
from bot.cards.case import CUSTOMER_SELECT, HOW_TO_SEARCH, hint_of
from bot.cards.message import (
    Block,
    Element,
    Message,
    actions,
    button,
    mention,
    message,
    named,
    note,
    quote,
    rich_text,
    section,
    spoken,
    words,
)
from bot.text import cut, visible
from bot.thread import Place

View = dict[str, Any]

WORDS_LIMIT: Final = 3_000
"""Characters of an input in a modal; Slack takes no more."""
_ALT_LIMIT = 200
# What Slack draws of the files it keeps.
_DRAWN: Final = (".png", ".jpg", ".jpeg", ".gif")

HOW_TO_OPEN: Final = (
    "A case begins with a customer's words. Post them in a case channel and choose the customer in"
    " their thread. Or use New case in the shortcuts, “Open a case” in the menu of any message, or"
    " the command /case."
)


# Modals ----------------------------------------------------------------------------------------


def new_case_modal(draft: Draft, *, text: str = "") -> View:
    """Customer, words, photos. `text` is what stands in the words' field at first."""
    typed = cut(visible(text), WORDS_LIMIT)
    field: Element = {
        "type": "plain_text_input",
        "action_id": INPUT,
        "multiline": True,
        "max_length": WORDS_LIMIT,
    }
    if typed:
        field["initial_value"] = typed
    blocks: list[Block] = [
        _picker(text),
        {
            "type": "input",
            "block_id": WORDS_BLOCK,
            "label": _plain("The customer's words"),
            "hint": _plain("As they were written. They begin the case's thread."),
            "element": field,
        },
        {
            "type": "input",
            "block_id": PHOTOS_BLOCK,
            "optional": True,
            "label": _plain("Photos"),
            "element": {
                "type": "file_input",
                "action_id": INPUT,
                "filetypes": ["png", "jpg", "jpeg", "gif", "webp"],
                "max_files": 10,
            },
        },
    ]
    where = f"The case opens in a new thread in <#{draft.channel}>."
    if draft.files:
        number = len(draft.files)
        where += f" {number} attached {'file comes' if number == 1 else 'files come'} along."
    return _modal(
        "New case", NEW_CASE_MODAL, draft.encode(), [*blocks, note(where)], submit="Open the case"
    )


def open_case_modal(case_id: str, *, text: str) -> View:
    """Only the customer: the words `text` are in the case's thread already."""
    shown = cut(visible(text), 1_000)
    return _modal(
        "Open a case",
        OPEN_CASE_MODAL,
        CaseRef(case_id=case_id).encode(),
        [
            _picker(text),
            rich_text(quote(shown)) if shown else None,
            note("The case opens in this message's own thread."),
        ],
        submit="Open the case",
    )


def notice_modal(title: str, text: str) -> View:
    """Words for one person where nothing else can be shown to them; `text` is plain."""
    shown = rich_text(section(words(cut(visible(text), 2_000))))
    return {
        "type": "modal",
        "title": _plain(title),
        "close": _plain("Close"),
        "blocks": [shown],
    }


def _picker(text: str) -> Block:
    """The search of the thread's picker; its `block_id` tells the search where to begin."""
    return {
        "type": "input",
        "block_id": CaseRef(case_id="", hint=hint_of(text)).encode(),
        "label": _plain("Customer"),
        "hint": _plain(HOW_TO_SEARCH),
        "element": CUSTOMER_SELECT,
    }


def _modal(
    title: str, callback_id: str, metadata: str, blocks: list[Block | None], *, submit: str
) -> View:
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": metadata,
        "title": _plain(title),
        "submit": _plain(submit),
        "close": _plain("Cancel"),
        "blocks": [block for block in blocks if block],
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


# Messages --------------------------------------------------------------------------------------


def opening(content: Opening) -> Message:
    """The first message of the new thread: the customer's words, quoted as they are."""
    asked = content.asked
    text = cut(visible(asked.text), WORDS_LIMIT)
    source = f"<{asked.source}|Where the customer's words stand>" if asked.source else ""
    drawn = [] if asked.source else [each for each in asked.photos if _is_drawn(each)]
    linked = [each for each in asked.photos if each not in drawn and each.link]
    return message(
        [
            f"New case, opened by {named(asked.by)}:",
            spoken(text, WORDS_LIMIT),
            *(f"<{photo.link}|{_name(photo)}>" for photo in asked.photos if photo.link),
            source,
        ],
        [
            rich_text(
                section(words("New case", bold=True), words(", opened by "), mention(asked.by)),
                quote(text),
            ),
            *(_picture(photo) for photo in drawn),
            note(" · ".join(f"<{photo.link}|{_name(photo)}>" for photo in linked))
            if linked
            else None,
            note(source) if source else None,
        ],
    )


def opened(content: Opened, *, channel: str, link: str | None) -> Message:
    """Where the case is; without a link it could not be opened, and the words come back."""
    if link:
        where = f"The case is open: <{link}|go to its thread>."
        return message([where], [note(where)])
    text = cut(visible(content.text), WORDS_LIMIT)
    before, after = "No case was opened: I can't post in ", ". The customer's words were:"
    return message(
        [f"{before}<#{channel}>{after}", spoken(text, WORDS_LIMIT)],
        [
            rich_text(
                section(words(before), {"type": "channel", "channel_id": channel}, words(after)),
                quote(text),
            )
        ],
    )


def offer(content: Offer) -> Message:
    """How to open a case, with a button: for this thread, or for words yet to be typed."""
    if content.refusal:
        return message([spoken(content.refusal)], [rich_text(section(words(content.refusal)))])
    if not content.place:
        return message(
            [spoken(HOW_TO_OPEN)],
            [
                rich_text(section(words(HOW_TO_OPEN))),
                actions(button("New case", NEW_CASE, NEW_CASE)),
            ],
        )
    place = Place.parse(content.place)
    thread = ThreadRef(channel=place.channel, ts=place.thread_ts or "")
    text = "There is no case here, and I only work in cases. Shall I open one from this thread?"
    return message(
        [text],
        [
            rich_text(section(words(text))),
            actions(button("Open a case", OPEN_CASE, thread.encode())),
        ],
    )


def _picture(photo: Photo) -> Block:
    return {
        "type": "image",
        "slack_file": {"id": photo.file_id},
        "alt_text": cut(visible(photo.name), _ALT_LIMIT) or "photo",
    }


def _is_drawn(photo: Photo) -> bool:
    return photo.name.lower().endswith(_DRAWN)


def _name(photo: Photo) -> str:
    # Inside a link's label these three would end it.
    return spoken(photo.name.replace("|", " "), 60) or "photo"
