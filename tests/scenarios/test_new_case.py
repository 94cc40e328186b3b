"""Cases that are opened elsewhere than by a post: the command, the shortcuts, a mention, Home."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from bot.local.claude import call, say
from bot.local.slack import Message, Person, Upload
from tests.scenarios.stage import Stage, photo
from tests.scenarios.test_refund import QUESTION, REPLY, WORDS, propose, whole_job


async def ask_for(stage: Stage, who: Person, *, photos: Sequence[Upload] = ()) -> None:
    """Fill the open modal and send it in."""
    await fill_customer(stage, who)
    sent = await who.fill_and_submit({"The customer's words": WORDS, "Photos": photos})
    assert sent.accepted, sent


async def fill_customer(stage: Stage, who: Person) -> None:
    modal = await stage.until(lambda: who.modal)
    assert (await who.choose(modal, "Asha", option="Asha Rao")).acked


async def root_of(stage: Stage) -> Message:
    """The first message of the one thread that the bot began."""
    return await stage.until(lambda: next(iter(roots(stage)), None))


def roots(stage: Stage) -> list[Message]:
    found = stage.slack.messages("support-cases")
    return [each for each in found if each.app_id and not each.is_reply]


def told_directly(stage: Stage, who: Person) -> list[str]:
    """What the bot wrote to this person in their direct messages."""
    channels = [
        each
        for each in stage.slack.workspace.channels.values()
        if each.kind == "im" and who.id in each.members
    ]
    return [
        stage.look(message)
        for channel in channels
        for message in stage.slack.messages(channel.id)
        if message.app_id
    ]


async def test_a_case_from_the_command_goes_all_the_way_with_its_photo(stage: Stage) -> None:
    whole_job(stage)
    async with stage.on():
        assert (await stage.ravi.slash("/case", "")).acked
        await ask_for(stage, stage.ravi, photos=[photo()])
        root = await root_of(stage)
        shown = stage.look(root)
        assert "New case, opened by @Ravi Kumar" in shown
        assert "speaker from order 4471" in shown
        assert "[image] speaker.png" in shown
        question = await stage.shown(root, QUESTION)
        assert "@Ravi Kumar" in stage.look(question)
        first = stage.said()[0]
        assert [block["type"] for block in first["content"]].count("image") == 1
        await stage.told(stage.ravi, "The case is open")

        await stage.ravi.reply(root, "It is all in the photo.")
        card = await stage.card("₹2,499.00")
        await stage.decide(stage.priya, "Approve", card)
        await stage.shown(root, REPLY)
        await stage.status(root, "white_check_mark")
    assert len(roots(stage)) == 1


async def test_who_filled_the_modal_is_an_opener_and_may_not_decide(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say(REPLY)])
    async with stage.on():
        await stage.priya.global_shortcut("New case")
        await ask_for(stage, stage.priya)
        card = await stage.card()
        assert (await stage.priya.click(card, "Approve")).acked
        await stage.told(stage.priya, "opened this case")
        await stage.decide(stage.omar, "Approve", card)
        await stage.shown(await root_of(stage), REPLY)
        await stage.until(lambda: told_directly(stage, stage.priya))
        assert "The case is open" in told_directly(stage, stage.priya)[0]


async def test_a_modal_sent_in_twice_makes_one_thread(stage: Stage) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.on():
        await stage.ravi.slash("/case")
        await fill_customer(stage, stage.ravi)
        await stage.ravi.fill({"The customer's words": WORDS})
        await asyncio.gather(stage.ravi.fill_and_submit(), stage.ravi.fill_and_submit())
        root = await root_of(stage)
        await stage.status(root, "white_check_mark")
        assert len(roots(stage)) == 1
        assert len(await stage.runs()) == 1


async def test_a_kill_right_after_the_modal_was_sent_in_loses_and_doubles_nothing(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.process() as bot:
        await stage.until(lambda: stage.slack.sockets.connected)
        await stage.ravi.slash("/case")
        await ask_for(stage, stage.ravi)
        await bot.kill()
        await bot.start()
        root = await root_of(stage)
        await stage.shown(root, "Thanks.")
        await stage.status(root, "white_check_mark")
    assert len(roots(stage)) == 1


async def test_a_kill_after_the_first_message_was_posted_goes_on_in_that_thread(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.process() as bot:
        await stage.until(lambda: stage.slack.sockets.connected)
        stage.slack.faults.drop_answer("chat.postMessage")
        await stage.ravi.slash("/case")
        await ask_for(stage, stage.ravi)
        root = await root_of(stage)
        await bot.kill()
        assert stage.posts(root) == []
        await bot.start()
        await stage.shown(root, "Thanks.", seconds=25)
        await stage.status(root, "white_check_mark")
    assert len(roots(stage)) == 1


async def test_words_that_could_not_be_posted_come_back_to_who_typed_them(stage: Stage) -> None:
    async with stage.on():
        stage.slack.faults.refuse("chat.postMessage", "is_archived")
        await stage.ravi.global_shortcut("New case")
        await ask_for(stage, stage.ravi)
        [told] = await stage.until(lambda: told_directly(stage, stage.ravi))
        assert "No case was opened" in told
        assert "speaker from order 4471" in told.replace("\n▏ ", " ")
        assert roots(stage) == []


async def test_the_shortcut_on_a_message_of_a_case_channel_opens_the_case_in_its_thread(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION)])
    async with stage.on():
        root = await stage.ravi.post("support-cases", WORDS)
        await stage.shown(root, "Whose case")
        await stage.meena.message_shortcut(root, "Open a case")
        await fill_customer(stage, stage.meena)
        assert (await stage.meena.fill_and_submit()).accepted
        question = await stage.shown(root, QUESTION)
        assert "@Ravi Kumar" in stage.look(question)
        assert "chosen by @Meena Joshi" in stage.look(stage.posts(root)[0])
        assert roots(stage) == []


async def test_a_ticket_of_another_app_becomes_a_case_in_its_own_thread(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say(REPLY)])
    async with stage.on():
        ticket = await stage.slack.other_app().post("support-cases", WORDS)
        await stage.meena.message_shortcut(ticket, "Open a case")
        await fill_customer(stage, stage.meena)
        assert (await stage.meena.fill_and_submit()).accepted
        question = await stage.shown(ticket, QUESTION)
        assert "@Meena Joshi" in stage.look(question)
        await stage.ravi.reply(ticket, "Here.")
        await stage.shown(ticket, REPLY)


async def test_the_shortcut_elsewhere_opens_a_new_thread_and_answers_with_a_link(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.on():
        # The bot is not in #random: it gets the message with the shortcut all the same.
        original = await stage.sam.post("random", WORDS)
        await stage.meena.message_shortcut(original, "Open a case")
        modal = await stage.until(lambda: stage.meena.modal)
        assert "speaker from order 4471" in stage.slack.render(modal)
        await fill_customer(stage, stage.meena)
        assert (await stage.meena.fill_and_submit()).accepted
        root = await root_of(stage)
        assert "speaker from order 4471" in stage.look(root)
        assert stage.slack.permalink(original) in str(root.blocks)
        [told] = await stage.until(lambda: told_directly(stage, stage.meena))
        assert "The case is open" in told
        await stage.shown(root, "Thanks.")


async def test_a_mention_elsewhere_is_offered_a_case_from_its_thread(stage: Stage) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.on():
        await stage.ravi.invite_app("random")
        original = await stage.sam.post("random", WORDS)
        stage.slack.faults.deliver_twice(2)
        await stage.ravi.reply(original, "@Casethread can you take this?")
        await stage.told(stage.ravi, "Shall I open one")
        [offer] = stage.ravi.private
        assert offer.thread_ts == original.ts
        assert (await stage.ravi.click(offer, "Open a case")).acked
        modal = await stage.until(lambda: stage.ravi.modal)
        assert "can you take this?" in stage.slack.render(modal)
        await fill_customer(stage, stage.ravi)
        assert (await stage.ravi.fill_and_submit()).accepted
        root = await root_of(stage)
        await stage.shown(root, "Thanks.")
        await stage.told(stage.ravi, "The case is open")
        assert len(stage.slack.thread(original)) == 2


async def test_a_direct_message_is_told_once_how_to_open_a_case(stage: Stage) -> None:
    async with stage.on():
        stage.slack.faults.deliver_twice(1)
        said = await stage.sam.direct_message("hello?")
        await stage.until(lambda: told_directly(stage, stage.sam))
        stage.slack.faults.redeliver_last()
        await stage.until(lambda: not stage.slack.sockets.unacknowledged)
        [told] = told_directly(stage, stage.sam)
        assert "A case begins with a customer's words" in told
        [answer] = [each for each in stage.slack.messages(said.channel) if each.app_id]
        assert (await stage.sam.click(answer, "New case")).acked
        assert await stage.until(lambda: stage.sam.modal)


async def test_a_thread_that_we_began_ends_with_its_first_message(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION)])
    async with stage.on():
        await stage.ravi.slash("/case")
        await ask_for(stage, stage.ravi)
        root = await root_of(stage)
        await stage.shown(root, QUESTION)
        stage.slack.workspace.delete(root)
        notice = await stage.card("has lost its first message")
        assert "was deleted" in stage.look(notice)
        assert (await stage.run()).status == "handed_off"


async def test_home_shows_what_waits_until_it_is_decided(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say(REPLY)])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.status(root, "lock")
        waiting = await home_of(stage, stage.priya)
        assert stage.slack.permalink(card) in waiting
        assert "waiting for a lead" in await home_of(stage, stage.ravi)

        await stage.decide(stage.priya, "Approve", card)
        await stage.status(root, "white_check_mark")
        assert "Nothing waits for you." in await home_of(stage, stage.priya)
        assert "Refunded\\n*₹2,499.00*" in await home_of(stage, stage.priya)
        assert stage.slack.permalink(root) in await home_of(stage, stage.ravi)


async def home_of(stage: Stage, who: Person) -> str:
    """The blocks of the page that this person gets when they open it."""
    await who.open_home()
    await stage.until(lambda: not stage.slack.sockets.unacknowledged)
    assert who.home is not None
    return json.dumps(who.home.blocks, ensure_ascii=False)


async def test_a_photo_from_another_channel_reaches_the_model(stage: Stage) -> None:
    stage.claude.script("speaker", [say("Thanks.")])
    async with stage.on():
        original = await stage.sam.post("approvals", WORDS, files=[photo()])
        await stage.meena.message_shortcut(original, "Open a case")
        modal = await stage.until(lambda: stage.meena.modal)
        assert "1 attached file comes along." in stage.slack.render(modal).replace("\n│ ", " ")
        await fill_customer(stage, stage.meena)
        assert (await stage.meena.fill_and_submit()).accepted
        await stage.shown(await root_of(stage), "Thanks.")
        assert [block["type"] for block in stage.said()[0]["content"]].count("image") == 1
