"""Opening a case elsewhere than by a post: what the modals show, and what is kept of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from agent.case import Asked, CustomerChosen, Deleted, Event, Message, Offer, Opening
from bot.listeners.boundary import NOT_DONE
from bot.listeners.desk import GUEST, MODAL_LATE
from bot.listeners.new_case import NO_WORDS, NOTE, OURS, THREAD_GONE, WRITE_WORDS
from bot.local.slack.people import Person, Upload
from bot.local.slack.seed import APPROVALS, MEENA, RANDOM, RAVI, SUPPORT_CASES
from bot.local.slack.workspace import Message as Root
from bot.local.slack.workspace import View
from tests.bot.office import Office, case_of, open_office

PNG = b"\x89PNG\r\n\x1a\n"
WORDS = "The customer's words"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as office:
        yield office


async def modal_of(office: Office, person: Person) -> View:
    view = await office.slack.until(lambda: person.modal)
    assert view is not None
    return view


async def choose_asha(office: Office, person: Person) -> None:
    assert (await person.choose(await modal_of(office, person), "asha")).acked


async def submit(
    office: Office, person: Person, text: str | None = None, photos: Sequence[Upload] = ()
) -> dict[str, str]:
    """The errors that the modal then shows, by label."""
    await choose_asha(office, person)
    typed = {} if text is None else {WORDS: text}
    sent = await person.fill_and_submit({**typed, **({"Photos": photos} if photos else {})})
    assert sent.error is None
    return dict(sent.errors)


async def asked(office: Office) -> Event:
    """The one request that was kept, whichever its thread will be."""
    [case_id] = {each for each in office.woken if ":asked-" in each}
    [event] = await office.inbox(case_id)
    return event


def said_in(office: Office, view: View) -> str:
    return office.slack.render(view)


# New case ---------------------------------------------------------------------------------------


async def test_the_command_keeps_customer_words_and_photos_as_one_request(office: Office) -> None:
    ravi = office.person("Ravi")
    assert (await ravi.slash("/case")).acked
    view = await modal_of(office, ravi)

    photos = [Upload(name="box.png", content=PNG), Upload(name="lid.jpg", content=b"\xff\xd8")]
    assert await submit(office, ravi, " It <broke> & leaks ", photos) == {}

    [case_id] = office.woken
    assert case_id == f"T0CARTWISE:{SUPPORT_CASES}:asked-{view.id}"
    event = await asked(office)
    assert event.event_id == f"view:{view.id}"
    fact = event.fact
    assert isinstance(fact, Asked)
    assert (fact.customer_id, fact.by, fact.text) == ("cust_asha", RAVI, "It <broke> & leaks")
    assert (fact.source, fact.place) == ("", f"{SUPPORT_CASES}:")
    assert [photo.name for photo in fact.photos] == ["box.png", "lid.jpg"]
    assert all(photo.url.startswith(office.slack.url) for photo in fact.photos)
    assert ravi.modal is None
    assert office.slack.refused == []


async def test_a_modal_sent_in_twice_is_one_request(office: Office) -> None:
    ravi = office.person("Ravi")
    await ravi.slash("/case")
    await choose_asha(office, ravi)
    await ravi.fill({WORDS: "It broke"})

    await asyncio.gather(ravi.fill_and_submit(), ravi.fill_and_submit())

    assert isinstance((await asked(office)).fact, Asked)


async def test_elsewhere_the_case_opens_in_the_first_case_channel(tmp_path: Path) -> None:
    channels = {"CASETHREAD_CASE_CHANNELS": f"{SUPPORT_CASES},{APPROVALS}"}
    async with open_office(tmp_path, env=channels) as office:
        ravi = office.person("Ravi")
        for channel, begins, place in (
            ("approvals", APPROVALS, f"{APPROVALS}:"),
            ("random", SUPPORT_CASES, ""),
        ):
            office.woken.clear()
            await ravi.slash("/case", channel=channel)
            assert await submit(office, ravi, "It broke") == {}
            assert office.woken[0].startswith(f"T0CARTWISE:{begins}:asked-")
            fact = (await asked(office)).fact
            assert isinstance(fact, Asked)
            assert fact.place == place


async def test_the_global_shortcut_opens_the_same_modal(office: Office) -> None:
    ravi = office.person("Ravi")
    assert (await ravi.global_shortcut("New case")).acked
    assert await submit(office, ravi, "It broke") == {}

    fact = (await asked(office)).fact
    assert isinstance(fact, Asked)
    assert (fact.text, fact.place) == ("It broke", "")


@pytest.mark.parametrize(("text", "error"), [("   ", WRITE_WORDS), ("// she called", NOTE)])
async def test_words_that_are_none_are_asked_for_again(
    office: Office, text: str, error: str
) -> None:
    ravi = office.person("Ravi")
    await ravi.slash("/case")

    assert await submit(office, ravi, text) == {WORDS: error}
    assert office.woken == []


async def test_without_a_store_the_modal_stays_open_with_what_was_typed(office: Office) -> None:
    ravi = office.person("Ravi")
    await ravi.slash("/case")
    await choose_asha(office, ravi)
    await office.door.kill()

    sent = await ravi.fill_and_submit({WORDS: "It broke"})

    assert NOT_DONE in sent.errors.values()
    assert "It broke" in str((await modal_of(office, ravi)).values)
    office.door.revive()
    assert (await ravi.fill_and_submit()).accepted
    assert isinstance((await asked(office)).fact, Asked)


async def test_a_modal_that_slack_opens_no_more_is_told(office: Office) -> None:
    office.slack.faults.refuse("views.open", "expired_trigger_id")

    await office.person("Ravi").slash("/case")

    assert [line.text for line in office.person("Ravi").private] == [MODAL_LATE]


async def test_a_command_that_came_twice_says_nothing_more(office: Office) -> None:
    office.slack.faults.refuse("views.open", "exchanged_trigger_id")

    await office.person("Ravi").slash("/case")

    assert office.person("Ravi").private == []


async def test_the_search_in_the_modal_begins_with_what_the_words_name(office: Office) -> None:
    ravi = office.person("Ravi")
    message = await ravi.post("random", "asha.rao@example.com wants her money back")
    await ravi.message_shortcut(message, "Open a case")

    await ravi.suggest(await modal_of(office, ravi), "")

    assert office.searched[0] == "asha.rao@example.com"


@pytest.mark.parametrize("name", ["Gita", "Kavya"])
async def test_guests_and_partners_are_told_why_they_open_no_case(
    office: Office, name: str
) -> None:
    person = office.person(name)
    root = await person.post("support-cases", "Where is my parcel?")
    await office.settled()
    woken = list(office.woken)

    await person.slash("/case")
    assert [line.text for line in person.private] == [GUEST]
    assert person.modal is None
    await person.global_shortcut("New case")
    assert GUEST in said_in(office, await modal_of(office, person)).replace("\n│ ", " ")
    await person.close_modal()
    await person.message_shortcut(root, "Open a case")
    assert GUEST in said_in(office, await modal_of(office, person)).replace("\n│ ", " ")
    assert office.woken == woken


# Open a case ------------------------------------------------------------------------------------


async def test_in_a_case_channel_the_messages_own_thread_gets_the_customer(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "It broke")
    meena = office.person("Meena")
    assert (await meena.message_shortcut(root, "Open a case")).acked
    view = await modal_of(office, meena)
    assert "It broke" in said_in(office, view)

    assert await submit(office, meena) == {}

    first, chosen = await office.inbox(case_of(root))
    assert first.event_id == f"msg:T0CARTWISE:{SUPPORT_CASES}:{root.ts}"
    assert chosen.event_id == f"view:{view.id}"
    place = f"{SUPPORT_CASES}:{root.ts}"
    assert chosen.fact == CustomerChosen(customer_id="cust_asha", by=MEENA, place=place)


async def test_a_reply_opens_the_case_of_its_thread(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "It broke")
    reply = await office.person("Ravi").reply(root, "She wants her money back")
    meena = office.person("Meena")
    await meena.message_shortcut(reply, "Open a case")

    assert await submit(office, meena) == {}

    *_, chosen = await office.inbox(case_of(root))
    assert isinstance(chosen.fact, CustomerChosen)


async def test_another_apps_message_is_relayed_by_who_used_the_shortcut(office: Office) -> None:
    ticket = await office.slack.other_app().post("support-cases", "It broke")
    meena = office.person("Meena")
    await meena.message_shortcut(ticket, "Open a case")
    assert await submit(office, meena) == {}

    first, _ = await office.inbox(case_of(ticket))
    assert first.fact == Message(message_id=ticket.ts, author=MEENA, text="It broke", first=True)


async def test_a_thread_with_a_customer_gets_no_second_one(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "It broke")
    await office.settled()
    meena = office.person("Meena")
    await meena.message_shortcut(root, "Open a case")
    await choose_asha(office, meena)
    await office.put(case_of(root), customer_name="Vikram Shah")

    sent = await meena.fill_and_submit()

    assert sent.errors == {"Customer": "This thread is Vikram Shah's case already."}
    await meena.close_modal()
    await meena.message_shortcut(root, "Open a case")
    shown = said_in(office, await modal_of(office, meena)).replace("\n│ ", " ")
    assert "Vikram Shah's case already" in shown


async def test_our_own_messages_are_no_customers_words(office: Office) -> None:
    root = await office.person("Ravi").post("support-cases", "It broke")
    picker = await office.show_picker(root)
    meena = office.person("Meena")

    await meena.message_shortcut(picker, "Open a case")

    assert OURS in said_in(office, await modal_of(office, meena)).replace("\n│ ", " ")


async def test_elsewhere_the_words_can_be_sent_in_with_a_link_and_the_files(
    office: Office,
) -> None:
    files = [Upload(name="box.png", content=PNG), Upload(name="bill.pdf", content=b"%PDF")]
    original = await office.person("Sam").post("random", "It <broke> & leaks", files=files)
    meena = office.person("Meena")
    await meena.message_shortcut(original, "Open a case")

    assert await submit(office, meena) == {}

    event = await asked(office)
    fact = event.fact
    assert isinstance(fact, Asked)
    assert fact.text == "It <broke> & leaks\n[attached file: bill.pdf]"
    [photo] = fact.photos
    assert (photo.file_id, photo.url, photo.name) == (original.files[0], "", "box.png")
    link = f"https://cartwise.slack.com/archives/{RANDOM}/p{original.ts.replace('.', '')}"
    assert fact.source == link


async def test_a_message_without_words_opens_no_case(office: Office) -> None:
    files = [Upload(name="bill.pdf", content=b"%PDF")]
    meena = office.person("Meena")
    message = await meena.post("random", "", files=files)
    await meena.message_shortcut(message, "Open a case")
    assert "bill.pdf" in said_in(office, await modal_of(office, meena))
    await meena.close_modal()
    wordless = await meena.post("random", "@Casethread")

    await meena.message_shortcut(wordless, "Open a case")

    assert NO_WORDS in said_in(office, await modal_of(office, meena)).replace("\n│ ", " ")


async def test_a_long_message_is_cut_to_what_a_modal_takes(office: Office) -> None:
    original = await office.person("Sam").post("random", "It broke & leaks. " * 400)
    meena = office.person("Meena")
    await meena.message_shortcut(original, "Open a case")

    assert await submit(office, meena) == {}

    fact = (await asked(office)).fact
    assert isinstance(fact, Asked)
    assert fact.text.endswith("…")
    assert office.slack.refused == []


async def test_a_thread_that_cant_be_read_is_told(office: Office) -> None:
    root = await office.person("Priya").post("approvals", "It broke")
    offer = Offer(user=MEENA, place=f"{APPROVALS}:{root.ts}", asked_at=1.0)
    message = await office.show_offer(offer, root)
    office.slack.faults.refuse("conversations.replies", "internal_error")
    meena = office.person("Meena")

    assert (await meena.click(message, "Open a case")).acked

    shown = said_in(office, await modal_of(office, meena)).replace("\n│ ", " ")
    assert THREAD_GONE in shown


# Threads that we began --------------------------------------------------------------------------


async def began(office: Office) -> Root:
    """A first message of ours at the case channel's root, as the outbox posts it."""
    content = Opening(asked=Asked(customer_id="cust_asha", by=RAVI, text="It broke"), asked_at=1.0)
    return await office.show(content, "T0CARTWISE:C:asked-V1")


async def test_replies_in_a_thread_that_we_began_count_where_cards_stand_too(
    tmp_path: Path,
) -> None:
    here = {"CASETHREAD_APPROVALS_CHANNEL": SUPPORT_CASES}
    async with open_office(tmp_path, env=here) as office:
        root, a_card = await began(office), await began(office)
        await office.put(case_of(root))

        await office.person("Ravi").reply(root, "Here is the photo")
        await office.person("Ravi").reply(a_card, "Looks fine to me")
        await office.settled()

        [event] = await office.inbox(case_of(root))
        assert isinstance(event.fact, Message)
        assert await office.inbox(case_of(a_card)) == []


async def test_the_first_message_of_a_thread_that_we_began_can_be_deleted(office: Office) -> None:
    root, stray = await began(office), await began(office)
    await office.put(case_of(root))

    office.slack.workspace.delete(root)
    office.slack.workspace.delete(stray)
    await office.settled()

    [event] = await office.inbox(case_of(root))
    assert event.fact == Deleted(message_id=root.ts, first=True)
    assert await office.store.case(case_of(stray)) is None
