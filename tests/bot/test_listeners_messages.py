"""What is said in Slack becomes events: once each, stored before Slack hears of it."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from slack_bolt.request.async_request import AsyncBoltRequest

from agent.case import Addressed, Deleted, Edited, Message, Photo
from bot.listeners.boundary import NOT_SAVED
from bot.listeners.desk import GUEST
from bot.local.slack.people import Upload
from bot.local.slack.seed import APPROVALS, GITA, PRIYA, RAVI, SAM, SUPPORT_CASES
from tests.bot.office import Office, case_of, open_office

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


async def heard(office: Office, case_id: str) -> list[Message]:
    facts = [event.fact for event in await office.inbox(case_id)]
    return [fact for fact in facts if isinstance(fact, Message)]


async def test_a_top_level_message_is_the_first_of_its_case_and_wakes_it(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "My kettle <broke> & leaks")
    await office.settled()

    (event,) = await office.inbox(case_of(root))

    assert event.event_id == f"msg:T0CARTWISE:{SUPPORT_CASES}:{root.ts}"
    assert event.ts == root.ts
    assert event.fact == Message(
        message_id=root.ts, author=RAVI, text="My kettle <broke> & leaks", first=True
    )
    assert office.woken == [case_of(root)]


async def test_a_reply_belongs_to_the_case_of_its_thread(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "Hello")
    reply = await office.person("Meena").reply(root, "// she called twice")
    shown = await office.person("Meena").post(
        "support-cases", "for all", thread=root, broadcast=True
    )
    await office.settled()

    first, *replies = await heard(office, case_of(root))

    assert first.first
    assert [(each.message_id, each.first) for each in replies] == [
        (reply.ts, False),
        (shown.ts, False),
    ]
    assert replies[0].text == "// she called twice"


async def test_a_message_that_mentions_the_bot_is_one_message(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "@Casethread the kettle broke")
    await office.settled()

    (event,) = await office.inbox(case_of(root))

    assert event.event_id.startswith("msg:")


async def test_a_delivery_repeated_by_slack_changes_nothing(office: Office) -> None:
    office.slack.faults.deliver_twice()
    root = await office.person("Ravi").post("support-cases", "Hello")
    await office.settled()
    office.slack.faults.redeliver_last()
    await office.settled()

    assert len(await office.inbox(case_of(root))) == 1


async def test_photos_come_along_and_other_files_are_named(office: Office) -> None:
    root = await office.person("Ravi").post(
        "support-cases",
        "See here",
        files=[
            Upload(name="box.png", content=PNG),
            Upload(name="invoice.pdf", content=b"%PDF"),
            Upload(name="film.mp4", content=b"film"),
        ],
    )
    await office.settled()

    (message,) = await heard(office, case_of(root))

    assert message.text == "See here\n[attached file: invoice.pdf]\n[attached file: film.mp4]"
    (photo,) = message.photos
    assert (photo.file_id, photo.name) == (root.files[0], "box.png")
    assert photo.url.startswith(office.slack.url)


async def test_messages_outside_case_channels_are_nothing(office: Office) -> None:
    elsewhere = await office.person("Priya").post("approvals", "What is this?")
    await office.person("Priya").reply(elsewhere, "A question")
    await office.settled()

    assert office.woken == []


async def test_a_mention_elsewhere_and_a_direct_message_are_kept_to_be_answered(
    office: Office,
) -> None:
    root = await office.person("Priya").post("approvals", "What is this?")
    mention = await office.person("Priya").reply(root, "@Casethread please")
    office.slack.faults.deliver_twice(1)
    direct = await office.person("Sam").direct_message("hello")
    await office.settled()

    by_mention, by_message = dict.fromkeys(office.woken)
    assert by_mention == f"T0CARTWISE:{APPROVALS}:asked-at-{mention.ts}"
    [event] = await office.inbox(by_mention)
    assert event.ts == mention.ts
    assert event.fact == Addressed(by=PRIYA, place=f"{APPROVALS}:{root.ts}")
    assert by_message == f"T0CARTWISE:{direct.channel}:asked-at-{direct.ts}"
    [event] = await office.inbox(by_message)
    assert event.fact == Addressed(by=SAM, place="")


async def test_a_guest_who_speaks_to_us_elsewhere_is_refused(office: Office) -> None:
    direct = await office.person("Gita").direct_message("hello")
    await office.settled()

    [event] = await office.inbox(f"T0CARTWISE:{direct.channel}:asked-at-{direct.ts}")
    assert event.fact == Addressed(by=GITA, place="", refusal=GUEST)


async def test_what_bots_and_slack_itself_say_is_nothing(office: Office) -> None:
    await office.slack.other_app().post("support-cases", "A new ticket")
    await office.show_picker(await office.person("Ravi").post("support-cases", "Hello"))
    await office.settled()
    woken = list(office.woken)
    office.slack.workspace.post(
        replace(
            await office.person("Ravi").post("approvals", "x"),
            channel=SUPPORT_CASES,
            ts=office.slack.workspace.mint_ts(),
            subtype="channel_join",
        )
    )
    await office.settled()

    assert len(woken) == 1
    assert office.woken == woken


async def test_guests_and_partners_may_write(office: Office) -> None:
    for name in ("Gita", "Kavya"):
        root = await office.person(name).post("support-cases", "Where is my parcel?")
        await office.settled()
        assert len(await office.inbox(case_of(root))) == 1


async def test_an_edit_with_new_words_is_passed_on(office: Office) -> None:
    ravi = office.person("Ravi")
    root = await ravi.post("support-cases", "Order 4471")
    edited = await ravi.edit(root, "Order 4472 & more")
    await office.settled()

    *_, event = await office.inbox(case_of(root))

    assert event.event_id == f"edit:T0CARTWISE:{SUPPORT_CASES}:{root.ts}:{edited.edited_ts}"
    assert event.ts == edited.edited_ts
    assert event.fact == Edited(message_id=root.ts, text="Order 4472 & more")


async def test_an_edit_of_a_reply_goes_to_the_threads_case(office: Office) -> None:
    ravi = office.person("Ravi")
    root = await ravi.post("support-cases", "Hello")
    reply = await ravi.reply(root, "first")
    await ravi.edit(reply, "second")
    await office.settled()

    *_, event = await office.inbox(case_of(root))

    assert event.fact == Edited(message_id=reply.ts, text="second")


async def test_a_change_with_the_same_words_is_nothing(office: Office) -> None:
    office.slack.unfurl_links = True
    root = await office.person("Ravi").post("support-cases", "see https://example.com/box")
    await office.settled()

    assert len(await office.inbox(case_of(root))) == 1


async def test_a_deleted_reply_is_told(office: Office) -> None:
    ravi = office.person("Ravi")
    root = await ravi.post("support-cases", "Hello")
    reply = await ravi.reply(root, "oops")
    await ravi.delete(reply)
    await office.settled()

    *_, event = await office.inbox(case_of(root))

    assert event.event_id == f"del:T0CARTWISE:{SUPPORT_CASES}:{reply.ts}"
    assert event.ts > reply.ts
    assert event.fact == Deleted(message_id=reply.ts)


@pytest.mark.parametrize("has_replies", [True, False])
async def test_a_deleted_first_message_is_told_as_the_first(
    office: Office, has_replies: bool
) -> None:
    ravi = office.person("Ravi")
    root = await ravi.post("support-cases", "Hello")
    if has_replies:  # Slack leaves a tombstone then
        await ravi.reply(root, "more")
    await ravi.delete(root)
    await office.settled()

    *_, event = await office.inbox(case_of(root))

    assert event.fact == Deleted(message_id=root.ts, first=True)


async def test_what_is_said_below_a_card_is_nothing_where_cards_are_in_a_case_channel(
    tmp_path: Path,
) -> None:
    env = {"CASETHREAD_APPROVALS_CHANNEL": SUPPORT_CASES}
    async with open_office(tmp_path, env=env) as office:
        picker = await office.show_picker(await office.person("Ravi").post("approvals", "x"))
        card = replace(picker, channel=SUPPORT_CASES, thread_ts=None)
        office.slack.workspace.post(card)
        await office.person("Priya").reply(card, "Is this right?")
        await office.settled()
        assert office.woken == []


async def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(tmp_path: Path) -> None:
    async with open_office(tmp_path, ack_timeout_seconds=0.3) as office:
        await office.door.kill()
        root = await office.person("Ravi").post("support-cases", "Hello")
        await office.slack.until(lambda: _attempts(office) >= 1)
        assert office.slack.sockets.unacknowledged == 1
        assert office.woken == []

        office.door.revive()
        await office.settled()

        assert len(await office.inbox(case_of(root))) == 1
        assert office.woken == [case_of(root)]


def _attempts(office: Office) -> int:
    return max((each.attempt for each in office.slack.sockets._waiting), default=0)


async def test_when_slack_gives_up_the_author_is_told(tmp_path: Path) -> None:
    async with open_office(tmp_path, ack_timeout_seconds=0.2) as office:
        await office.door.kill()
        root = await office.person("Ravi").post("support-cases", "Hello")

        await office.slack.until(lambda: office.slack.sockets.undelivered)

        (line,) = office.person("Ravi").private
        assert (line.text, line.thread_ts) == (NOT_SAVED, root.ts)


async def test_nulls_where_slack_usually_leaves_a_field_out_are_no_trouble(office: Office) -> None:
    event = {
        "type": "message",
        "channel": SUPPORT_CASES,
        "user": RAVI,
        "ts": "1800000000.000100",
        "text": None,
        "thread_ts": None,
        "files": [{"id": "F1", "name": None, "mimetype": "image/png", "mode": "hosted"}],
    }
    body = {"type": "event_callback", "team_id": "T0CARTWISE", "event": event}

    answer = await office.app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))

    assert answer.status == 200
    (message,) = await heard(office, f"T0CARTWISE:{SUPPORT_CASES}:1800000000.000100")
    # Slack gives no address for files of shared channels; it is asked for later.
    assert message.photos == (Photo(file_id="F1", url="", name="photo"),)


async def test_events_that_nobody_listens_to_are_acknowledged(office: Office) -> None:
    await office.person("Ravi").open_home()
    await office.settled()

    assert office.slack.sockets.undelivered == []


async def test_the_first_event_is_stored_even_when_slack_cannot_say_who_the_bot_is(
    office: Office,
) -> None:
    office.slack.faults.server_error("auth.test", times=5)
    root = await office.person("Ravi").post("support-cases", "Hello")
    await office.settled()

    assert len(await office.inbox(case_of(root))) == 1
