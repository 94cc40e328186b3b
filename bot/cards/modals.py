"""The modals of an approval card: a note with a decline, a smaller amount with a note."""

from __future__ import annotations

from typing import Any

from agent.refunds.money import rupees
from bot.actions import (
    AMOUNT_BLOCK,
    CHANGE_AMOUNT_MODAL,
    DECLINE_MODAL,
    INPUT,
    NOTE_BLOCK,
    CardRef,
)
from bot.cards.message import Block, rich_text, section, words
from bot.text import cut, visible

View = dict[str, Any]

NOTE_LIMIT = 1_000
"""Characters of a lead's note; Slack's input stops there."""


def decline_modal(ref: CardRef, title: str) -> View:
    """`title` is the card's; `ref` comes back as the modal's `private_metadata`."""
    return _modal(
        "Decline",
        DECLINE_MODAL,
        ref,
        [
            _about(title),
            _note("The agent reads it and may offer what the policy allows instead."),
        ],
    )


def change_amount_modal(ref: CardRef, title: str, amount_paise: int) -> View:
    """The input's value is rupees as typed; `amount_paise` is what was asked for."""
    asked = rupees(amount_paise)
    return _modal(
        "Approve less",
        CHANGE_AMOUNT_MODAL,
        ref,
        [
            _about(title),
            {
                "type": "input",
                "block_id": AMOUNT_BLOCK,
                "label": _plain("Amount in rupees"),
                "hint": _plain(f"Less than {asked}. The refund is approved with this amount."),
                "element": {
                    "type": "number_input",
                    "action_id": INPUT,
                    "is_decimal_allowed": True,
                    "focus_on_load": True,
                },
            },
            _note("The agent reads it with the new amount."),
        ],
    )


def _modal(title: str, callback_id: str, ref: CardRef, blocks: list[Block]) -> View:
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": ref.encode(),
        "title": _plain(title),
        "submit": _plain(title),
        "close": _plain("Cancel"),
        "blocks": blocks,
    }


def _about(title: str) -> Block:
    return rich_text(section(words(cut(visible(title), 300), bold=True)))


def _note(hint: str) -> Block:
    return {
        "type": "input",
        "block_id": NOTE_BLOCK,
        "optional": True,
        "label": _plain("Note"),
        "hint": _plain(hint),
        "element": {
            "type": "plain_text_input",
            "action_id": INPUT,
            "multiline": True,
            "max_length": NOTE_LIMIT,
        },
    }


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
