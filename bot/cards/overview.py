"""What is open and what was done today: App Home, and the private answers of `/case`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from agent.refunds.money import rupees
from agent.run import FINAL, Status
from bot.actions import NEW_CASE
from bot.cards.message import (
    Block,
    Element,
    Message,
    actions,
    button,
    header,
    message,
    moment,
    note,
    rich_text,
    section,
    spoken,
    words,
)
from bot.cards.new_case import HOW_TO_OPEN
from bot.text import cut, visible

View = dict[str, Any]

_MOST_CASES = 15
_TITLE_LIMIT = 150
_NAME_LIMIT = 80

STATUS_WORDS = {
    Status.RUNNING: "with the agent",
    Status.WAITING_CUSTOMER: "waiting for the customer",
    Status.WAITING_APPROVAL: "waiting for a lead",
    Status.DONE: "done",
    Status.HANDED_OFF: "with a colleague",
}


@dataclass(frozen=True, kw_only=True)
class OpenRequest:
    """A card that waits for a lead."""

    title: str
    link: str
    since: float
    note: str = ""
    """Why it doesn't wait for this person; "" when it does."""


@dataclass(frozen=True, kw_only=True)
class OpenedCase:
    """A case that this person opened, with its latest run. `at` is since when it stands so."""

    customer_name: str
    status: Status
    link: str
    at: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Since midnight; `waiting` is now."""

    opened: int
    done: int
    handed_off: int
    waiting: int
    refunded_paise: int
    cost_usd: Decimal
    """Of the runs that began since midnight."""


@dataclass(frozen=True, kw_only=True)
class Overview:
    """For one member of staff, as things stood at `at`."""

    lead: Literal["approver", "stranger", "unknown"]
    requests: Sequence[OpenRequest]
    """Oldest first."""
    requests_left_out: int
    cases: Sequence[OpenedCase]
    """Newest first."""
    figures: Figures
    at: float


# App Home --------------------------------------------------------------------------------------


def home(shown: Overview) -> View:
    """Of a member of staff. What waits for leads is shown to those who may be one."""
    requests = [header("Waiting for you"), *_requests(shown)] if shown.lead != "stranger" else []
    cases = [*_open(shown.cases), *(each for each in shown.cases if each.status in FINAL)]
    return _home(
        *requests,
        header("Opened by you"),
        *_cases(cases, none="You opened no case in the last two weeks."),
        None if cases else note(spoken(HOW_TO_OPEN)),
        actions(button("New case", NEW_CASE, NEW_CASE)),
        header("Today"),
        _today(shown.figures),
        note(f"As of {moment(shown.at)}. Open this page again to bring it up to date."),
    )


def home_of_an_outsider(*, known: bool) -> View:
    """Of a guest or somebody of another organisation, or of who can't be told from one now."""
    what = "Casethread works on the support cases of this workspace's staff."
    if known:
        why = (
            "Guests and people of other organisations open no cases and decide nothing, so there"
            " is nothing to see here. Please ask a colleague."
        )
    else:
        why = (
            "I can't check with Slack who you are just now, so I show nothing. Open this page"
            " again in a moment."
        )
    return _home(header("Casethread"), rich_text(section(words(what))), note(why))


def _home(*blocks: Block | None) -> View:
    return {"type": "home", "blocks": [block for block in blocks if block]}


def _today(figures: Figures) -> Block:
    told = [
        ("Cases opened", str(figures.opened)),
        ("Done", str(figures.done)),
        ("Handed off", str(figures.handed_off)),
        ("Waiting now", str(figures.waiting)),
        ("Refunded", rupees(figures.refunded_paise)),
        ("Cost of the model", f"${figures.cost_usd:.2f}"),
    ]
    return {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": f"{name}\n*{value}*"} for name, value in told],
    }


# `/case` ---------------------------------------------------------------------------------------


def status(shown: Overview) -> Message:
    """What is open: one's own cases, and what waits for leads."""
    mine = _open(shown.cases)
    theirs = [_request_text(each) for each in shown.requests]
    return message(
        [
            "Your open cases:" if mine else "You have no open case.",
            *map(_case_text, mine[:_MOST_CASES]),
            "Waiting for a lead:" if theirs else "Nothing waits for a lead.",
            *theirs,
        ],
        [
            rich_text(section(words("Your open cases", bold=True))),
            *_cases(mine, none="You have no open case."),
            rich_text(section(words("Waiting for a lead", bold=True))),
            *_requests(replace(shown, lead="approver"), none="Nothing waits for a lead."),
        ],
    )


def help_text(*, unknown: str = "") -> Message:
    """What there is; `unknown` is what somebody typed that there is not."""
    lines = [
        ("/case", "opens a new case: the customer, the customer's words, photos"),
        ("/case status", "your open cases, and what waits for a lead"),
        ("/case RUN_ID", "one run: where it stands and how it got there"),
        ("/case help", "these lines"),
    ]
    first = f"I don't know “{cut(visible(unknown), 60)}”. There is:" if unknown else "There is:"
    return message(
        [spoken(first), *(f"{command}: {what}" for command, what in lines), spoken(HOW_TO_OPEN)],
        [
            rich_text(
                section(words(first)),
                *(
                    section(words(command, bold=True), words(f": {what}"))
                    for command, what in lines
                ),
            ),
            note(spoken(HOW_TO_OPEN)),
        ],
    )


def answer(text: str) -> Message:
    """A plain private answer."""
    shown = visible(text)
    return message([spoken(shown)], [rich_text(section(words(shown)))])


# Lists -----------------------------------------------------------------------------------------


def _requests(shown: Overview, *, none: str = "Nothing waits for you.") -> list[Block | None]:
    if shown.lead == "unknown":
        return [note("I can't check with Slack just now whether you are a support lead.")]
    lines = [
        section(
            _link(each.title, each.link, _TITLE_LIMIT),
            words(" · since "),
            _date(each.since),
            *([words(f" · {each.note}")] if each.note else []),
        )
        for each in shown.requests
    ]
    more = shown.requests_left_out
    return [
        rich_text(*lines) if lines else note(none),
        note(f"and {more} more") if more else None,
    ]


def _cases(cases: Sequence[OpenedCase], *, none: str) -> list[Block | None]:
    lines = [
        section(
            _link(each.customer_name, each.link, _NAME_LIMIT),
            words(f" · {STATUS_WORDS[each.status]} · {'' if each.status in FINAL else 'since '}"),
            _date(each.at),
        )
        for each in cases[:_MOST_CASES]
    ]
    more = len(cases) - _MOST_CASES
    return [
        rich_text(*lines) if lines else note(none),
        note(f"and {more} more") if more > 0 else None,
    ]


def _open(cases: Sequence[OpenedCase]) -> list[OpenedCase]:
    return [each for each in cases if each.status not in FINAL]


def _request_text(each: OpenRequest) -> str:
    return f"<{each.link}|{_label(each.title, _TITLE_LIMIT)}>" + (
        f" ({each.note})" if each.note else ""
    )


def _case_text(each: OpenedCase) -> str:
    label = _label(each.customer_name, _NAME_LIMIT)
    return f"<{each.link}|{label}>: {STATUS_WORDS[each.status]}"


def _label(text: str, limit: int) -> str:
    # Inside a link's label a bar would end it.
    return spoken(text.replace("|", " "), limit)


def _link(text: str, url: str, limit: int) -> Element:
    return {"type": "link", "url": url, "text": cut(visible(text), limit) or "the case"}


def _date(at: float) -> Element:
    """In the reader's own time zone."""
    return {
        "type": "date",
        "timestamp": int(at),
        "format": "{date_short_pretty} at {time}",
        "fallback": f"{datetime.fromtimestamp(at, UTC):%d %b %Y, %H:%M} UTC",
    }
