"""Opening a case elsewhere than by a post: the shortcuts, their buttons, and the modals' return.

A submitted modal is stored before Slack hears of it. In a case channel the message's own thread
becomes the case. Anything else is a request: the outbox posts the new thread, and then its case
begins (`bot.opening`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agent.case import Asked, CustomerChosen, Event, Fact, Photo, ts_of
from bot.actions import (
    PHOTOS_BLOCK,
    PICK_CUSTOMER,
    WORDS_BLOCK,
    CaseRef,
    Draft,
    FileRef,
    ThreadRef,
)
from bot.cards.new_case import new_case_modal, notice_modal, open_case_modal
from bot.listeners.desk import FrontDesk, Opener
from bot.listeners.messages import event_of, is_photo, photos_of, with_files_named
from bot.listeners.payloads import Click, Shortcut, SlackMessage, Submission
from bot.thread import Place, Thread
from bot.webapi import SlackError, ask

log = logging.getLogger("casethread.slack")

READ_SECONDS: Final = 1.0
_MOST_READ: Final = "50"
MOST_FILES: Final = 10
NOTE_MARK: Final = "//"
TITLE: Final = "Open a case"

OURS: Final = "That message is mine. Use this on a message with the customer's words."
NO_WORDS: Final = "That message has no words in it. Use New case, and type the customer's words."
NOT_A_CASE: Final = (
    "Somebody said that this thread is not a case. Post the customer's words anew, or use New case."
)
THREAD_GONE: Final = "I can't read that thread just now. Use New case, and paste the words there."
WRITE_WORDS: Final = "Write the customer's words here."
NOTE: Final = "Words that start with // would be an internal note. Write the customer's words."
PICK: Final = "Choose the customer."


# New case --------------------------------------------------------------------------------------


async def new_case(desk: FrontDesk, shortcut: Shortcut) -> None:
    """The global shortcut. It has no place, so what there is to say stands in a modal."""
    if refusal := await desk.objection_to(shortcut.by):
        await desk.open_modal(shortcut, notice_modal("New case", refusal))
        return
    await new_case_at(desk, shortcut)


async def new_case_clicked(desk: FrontDesk, click: Click) -> None:
    """A button in App Home or in a direct message."""
    if refusal := await desk.objection_to(click.by):
        await desk.open_modal(click, notice_modal("New case", refusal))
        return
    await new_case_at(desk, click)


async def new_case_at(desk: FrontDesk, opener: Opener, *, channel: str = "") -> str | None:
    """Open the modal for a member; words for them when it didn't open."""
    if channel in desk.settings.case_channels:
        draft = Draft(channel=channel, place=str(Place(channel=channel)))
    else:
        # We may not be in that channel, so the answer comes as a direct message.
        draft = Draft(channel=desk.settings.case_channels[0])
    return await desk.open_modal(opener, new_case_modal(draft))


# Open a case -----------------------------------------------------------------------------------


async def open_case(desk: FrontDesk, shortcut: Shortcut) -> None:
    """The shortcut on a message."""
    if shortcut.message is None or shortcut.channel is None:
        raise ValueError("a message shortcut came without its message")
    view = await _view_for(desk, shortcut.by, shortcut.channel.id, shortcut.message)
    await desk.open_modal(shortcut, view)


async def _view_for(desk: FrontDesk, user: str, channel: str, said: SlackMessage) -> dict[str, Any]:
    if refusal := await desk.objection_to(user):
        return notice_modal(TITLE, refusal)
    if desk.is_ours(said):
        return notice_modal(TITLE, OURS)
    if channel in desk.settings.case_channels:
        return await _view_in_thread(desk, user, channel, said)
    return _view_elsewhere(desk, channel, [said])


async def _view_in_thread(
    desk: FrontDesk, user: str, channel: str, said: SlackMessage
) -> dict[str, Any]:
    """In a case channel: the message is stored, its thread becomes the case."""
    case_id = desk.case_id(channel, said)
    if objection := await _closed(desk, case_id):
        return notice_modal(TITLE, objection)
    event = event_of(
        # Another app's words have no author who could be asked; who relays them is that.
        said if said.bot_id is None else said.model_copy(update={"user": user}),
        team_id=desk.identity.team_id,
        channel=channel,
        now=desk.now(),
    )
    await desk.deliver(case_id, event)
    return open_case_modal(case_id, text=_text(desk, [said]))


def _view_elsewhere(
    desk: FrontDesk, channel: str, said: Sequence[SlackMessage], *, place: str = ""
) -> dict[str, Any]:
    """Outside: a new thread in the first case channel, with a link to the first of the messages."""
    text = _text(desk, said)
    files = [file for each in said for file in each.files if is_photo(file)]
    if not text and not files:
        return notice_modal(TITLE, NO_WORDS)
    first = said[0]
    draft = Draft(
        channel=desk.settings.case_channels[0],
        place=place,
        source=desk.link(channel, first.ts, thread_ts=first.thread_ts),
        files=tuple(
            FileRef(file_id=file.id, name=(file.name or "photo")[:60])
            for file in files[:MOST_FILES]
        ),
    )
    return new_case_modal(draft, text=text)


async def open_offered(desk: FrontDesk, click: Click) -> None:
    """The button below a mention: the words of the whole thread."""
    thread = ThreadRef.model_validate_json(click.value)
    if refusal := await desk.objection_to(click.by):
        view = notice_modal(TITLE, refusal)
    else:
        try:
            said = await _read(desk, thread)
        except SlackError as error:
            log.warning("thread %s of %s can't be read: %s", thread.ts, thread.channel, error)
            view = notice_modal(TITLE, THREAD_GONE)
        else:
            place = Place(channel=thread.channel, thread_ts=thread.ts)
            view = _view_elsewhere(desk, thread.channel, said, place=str(place))
    await desk.open_modal(click, view)


async def _read(desk: FrontDesk, thread: ThreadRef) -> list[SlackMessage]:
    """What others than we wrote in it, oldest first; never empty. Raises `SlackError`."""
    page = await ask(
        desk.client,
        "conversations.replies",
        seconds=READ_SECONDS,
        channel=thread.channel,
        ts=thread.ts,
        limit=_MOST_READ,
    )
    said = [SlackMessage.model_validate(each) for each in page.get("messages", [])]
    others = [each for each in said if not desk.is_ours(each) and not each.is_tombstone]
    if not others:
        raise SlackError("conversations.replies", "nobody's words")
    return others


def _text(desk: FrontDesk, said: Sequence[SlackMessage]) -> str:
    texts = (with_files_named(each, without=f"<@{desk.identity.bot_user_id}>") for each in said)
    return "\n\n".join(filter(None, texts))


# Submitted -------------------------------------------------------------------------------------


async def case_opened(desk: FrontDesk, submission: Submission) -> Mapping[str, str]:
    """The modal that only asks for the customer."""
    block_id, customer_id = submission.chosen(PICK_CUSTOMER)
    case_id = CaseRef.model_validate_json(submission.view.private_metadata).case_id
    if objection := await _objection(desk, submission, customer_id):
        return {block_id: objection}
    if objection := await _closed(desk, case_id):
        return {block_id: objection}
    thread = Thread.parse(case_id)
    place = Place(channel=thread.channel, thread_ts=thread.ts)
    fact = CustomerChosen(customer_id=customer_id, by=submission.by, place=str(place))
    await _deliver(desk, case_id, submission, fact)
    return {}


async def case_asked(desk: FrontDesk, submission: Submission) -> Mapping[str, str]:
    """The modal with customer, words and photos."""
    block_id, customer_id = submission.chosen(PICK_CUSTOMER)
    if objection := await _objection(desk, submission, customer_id):
        return {block_id: objection}
    text = submission.typed(WORDS_BLOCK)
    if not text:
        return {WORDS_BLOCK: WRITE_WORDS}
    if text.startswith(NOTE_MARK):
        return {WORDS_BLOCK: NOTE}
    draft = Draft.model_validate_json(submission.view.private_metadata)
    along = (Photo(file_id=file.file_id, url="", name=file.name) for file in draft.files)
    fact = Asked(
        customer_id=customer_id,
        by=submission.by,
        text=text,
        photos=(*photos_of(submission.files(PHOTOS_BLOCK)), *along),
        source=draft.source,
        place=draft.place,
    )
    to_come = Thread.to_come(
        team=desk.identity.team_id, channel=draft.channel, request=submission.view.id
    )
    await _deliver(desk, to_come.case_id, submission, fact)
    return {}


async def _objection(desk: FrontDesk, submission: Submission, customer_id: str) -> str | None:
    return await desk.objection_to(submission.by) or (None if customer_id else PICK)


async def _closed(desk: FrontDesk, case_id: str) -> str | None:
    """Why no customer can be chosen in this thread. By name: a modal shows no mentions."""
    record = await desk.store.case(case_id)
    case = record.case if record else None
    if case is None:
        return None
    if case.closed:
        return NOT_A_CASE
    if case.customer_id is not None:
        return f"This thread is {case.customer_name}'s case already."
    return None


async def _deliver(desk: FrontDesk, case_id: str, submission: Submission, fact: Fact) -> None:
    # A modal carries no time of its own; it counts when it comes in.
    event = Event(event_id=f"view:{submission.view.id}", ts=ts_of(desk.now()), fact=fact)
    await desk.deliver(case_id, event)
