"""What people write in a thread, when, and what comes of it."""

from __future__ import annotations

from bot.local.claude import call, calls, say
from tests.scenarios.stage import Stage, photo, results
from tests.scenarios.test_refund import QUESTION, REPLY, WORDS, propose


async def test_messages_of_bots_and_of_the_bot_itself_open_no_case(stage: Stage) -> None:
    stage.claude.script("person", [say("Hello.")])
    async with stage.on():
        helpdesk = stage.slack.other_app("Helpdesk bot")
        foreign = await helpdesk.post("support-cases", "Ticket 17: the speaker is broken")
        classic = await helpdesk.post("support-cases", "Ticket 18", classic=True)
        root = await stage.open("A person writes here.")
        await stage.status(root, "white_check_mark")
        assert stage.posts(foreign) == []
        assert stage.posts(classic) == []
        assert len(await stage.runs()) == 1


async def test_until_a_customer_is_chosen_the_model_is_not_called(stage: Stage) -> None:
    async with stage.on():
        root = await stage.ravi.post("support-cases", WORDS)
        await stage.shown(root, "Whose case")
        await stage.ravi.reply(root, "It is order 4471.")
        assert stage.claude.requests == []
        assert await stage.runs() == []


async def test_the_run_starts_with_all_that_the_thread_said_until_then(stage: Stage) -> None:
    stage.claude.script("speaker", [say("Thank you.")])
    async with stage.on():
        root = await stage.ravi.post("support-cases", WORDS)
        picker = await stage.shown(root, "Whose case")
        await stage.ravi.reply(root, "The box was wet.", files=[photo()])
        await stage.ravi.choose(picker, "Asha Rao")
        await stage.status(root, "white_check_mark")
        first = stage.said()[0]["content"]
        assert [block["type"] for block in first] == ["text", "text", "image"]
        assert [block.get("text") for block in first[:2]] == [WORDS, "The box was wet."]


async def test_an_internal_note_never_reaches_the_model(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thank you.")])
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.ravi.reply(root, "// he is a friend of mine")
        await stage.ravi.reply(root, "Here it is.")
        await stage.status(root, "white_check_mark")
        assert "friend of mine" not in str([each.body for each in stage.claude.requests])


async def test_a_message_that_is_delivered_twice_is_one(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thank you.")])
    async with stage.on():
        stage.slack.faults.deliver_twice(4)
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.ravi.reply(root, "Here it is.")
        stage.slack.faults.redeliver_last()
        await stage.status(root, "white_check_mark")
        assert len(await stage.runs()) == 1
        assert str(stage.said()).count("Here it is.") == 1
        assert sum("Whose" in stage.look(each) for each in stage.posts(root)) == 0
        assert len(stage.posts(root)) == 3


async def test_a_reply_while_the_model_works_goes_to_it_next(stage: Stage) -> None:
    stage.claude.script("speaker", [say("First answer."), say("Second answer.")])
    async with stage.on():
        stage.claude.faults.hold()
        root = await stage.open(WORDS)
        await stage.claude.arrived(1)
        await stage.ravi.reply(root, "I also have a question.")
        await stage.until(lambda: stage.slack.sockets.unacknowledged == 0)
        stage.claude.faults.release()
        await stage.shown(root, "Second answer.")
        assert stage.find(root, "First answer.") is None
        assert stage.said()[-1]["content"] == [{"type": "text", "text": "I also have a question."}]


async def test_replies_to_a_question_count_in_the_order_they_were_written(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thanks.")])
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        with stage.slack.faults.reorder():
            await stage.ravi.reply(root, "one")
            await stage.ravi.reply(root, "two")
        await stage.status(root, "white_check_mark")
        said = str(stage.said())
        assert said.index("'one'") < said.index("'two'")


async def test_a_reply_after_the_end_starts_a_new_run_that_knows_the_case(stage: Stage) -> None:
    stage.claude.script("kettle", [propose(899, "4502"), say("₹899.00 is on its way.")])
    async with stage.on():
        root = await stage.open("The kettle from order 4502 arrived cracked.")
        await stage.status(root, "white_check_mark")
        stage.claude.script("When will it arrive", [say("In 3 to 5 days.")])
        await stage.ravi.reply(root, "When will it arrive?")
        await stage.shown(root, "In 3 to 5 days.")

        newest, first = await stage.runs()
        assert (newest.run.steps, first.run.steps) == (1, 2)
        summary, words = stage.said()[0]["content"]
        assert words["text"] == "When will it arrive?"
        assert "The kettle from order 4502" in summary["text"]
        assert "₹899.00 is on its way." in summary["text"]
        assert "was issued, reference" in summary["text"]


async def test_two_questions_in_one_step_are_asked_one_after_the_other(stage: Stage) -> None:
    stage.claude.script(
        "speaker",
        [
            calls(
                call("ask_customer", question="Is the box damaged?"),
                call("ask_customer", question="Which colour?"),
            ),
            say("Thanks."),
        ],
    )
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, "Is the box damaged?")
        assert stage.find(root, "Which colour?") is None
        await stage.ravi.reply(root, "Yes.")
        await stage.status(root, "white_check_mark")
        answered, refused = results(stage.said())
        assert answered["content"] == "Yes."
        assert "try again after the first is answered" in refused["content"]


async def test_an_effect_beside_a_question_is_not_run(stage: Stage) -> None:
    stage.claude.script(
        "kettle",
        [
            calls(call("ask_customer", question=QUESTION), propose(899, "4502")),
            say("Thanks."),
        ],
    )
    async with stage.on():
        root = await stage.open("The kettle from order 4502 arrived cracked.")
        await stage.shown(root, QUESTION)
        assert await stage.refunds("4502") == []
        await stage.ravi.reply(root, "Here.")
        await stage.status(root, "white_check_mark")
        assert await stage.refunds("4502") == []
        assert results(stage.said())[1]["is_error"]


async def test_reads_beside_a_pause_keep_their_results(stage: Stage) -> None:
    stage.claude.script(
        "speaker",
        [
            calls(
                call("get_order", order_id="4471"),
                call("ask_customer", question=QUESTION),
                call("search_policies", query="damaged"),
                call("get_order", order_id="9001"),
            ),
            say(REPLY),
        ],
    )
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.ravi.reply(root, "A photo.", files=[photo()])
        await stage.status(root, "white_check_mark")
        order, answer, policies, missing = results(stage.said())
        assert "Bluetooth speaker" in order["content"]
        assert answer["content"][0] == {"type": "text", "text": "A photo."}
        assert "policy_id" in policies["content"]
        assert missing["is_error"]
        assert [message["role"] for message in stage.said()] == ["user", "assistant", "user"]


async def test_what_customers_write_notifies_nobody(stage: Stage) -> None:
    evil = "<!channel> <@U0PRIYA001> <!subteam^S0LEADS001> *bold* https://evil.example"
    stage.claude.script("speaker", [propose(), say(f"You wrote: {evil}")])
    async with stage.on():
        root = await stage.open(f"speaker {evil}")
        await stage.decide(stage.omar, "Decline", await stage.card(), Note=f"no {evil}")
        await stage.shown(root, "You wrote")
        told = {each.user_id for each in stage.slack.notifications}
        assert told <= {stage.ravi.id, stage.omar.id}
        assert not any(each.how.startswith("<!") for each in stage.slack.notifications)


async def test_a_guest_can_write_but_chooses_no_customer(stage: Stage) -> None:
    async with stage.on():
        root = await stage.ravi.post("support-cases", WORDS)
        picker = await stage.shown(root, "Whose case")
        kavya = stage.slack.person("Kavya")
        assert await kavya.suggest(picker, "Asha") == []
        await kavya.click(picker, "Not a case")
        await stage.told(kavya, "Guests")
        assert stage.look(picker).count("Whose case") == 1


async def test_a_thread_that_is_not_a_case_is_left_alone(stage: Stage) -> None:
    async with stage.on():
        root = await stage.ravi.post("support-cases", "Lunch at one?")
        picker = await stage.shown(root, "Whose case")
        await stage.ravi.click(picker, "Not a case")
        await stage.until(lambda: stage.buttons(picker) == [])
        await stage.meena.reply(root, "Yes!")
        other = await stage.ravi.post("support-cases", "The next one")
        await stage.shown(other, "Whose case")
        assert len(stage.posts(root)) == 1
        assert stage.claude.requests == []


async def test_a_wrong_customer_is_mended_before_the_first_proposal(stage: Stage) -> None:
    stage.claude.script(
        "speaker",
        [call("get_order", order_id="4471"), call("ask_customer", question=QUESTION)],
    )
    async with stage.on():
        root = await stage.open(WORDS, customer="Vikram Shah")
        await stage.shown(root, QUESTION)
        line = await stage.shown(root, "Vikram Shah")
        stage.claude.script("speaker", [call("get_order", order_id="4471"), say("Found it.")])
        await stage.meena.click(line, "Wrong customer")
        await stage.until(lambda: "Whose case" in stage.look(line))
        await stage.meena.choose(line, "Asha Rao")
        await stage.shown(root, "Found it.")
        await stage.status(root, "white_check_mark")

        newest, first = [each.run for each in await stage.runs()]
        assert (first.customer_id, first.status) == ("cust_vikram", "handed_off")
        assert (newest.customer_id, newest.status) == ("cust_asha", "done")
        assert stage.said()[0]["content"] == [{"type": "text", "text": WORDS}]
        assert stage.find(root, "passed your request to a colleague") is None


async def test_an_edit_before_the_model_read_the_words_replaces_them(stage: Stage) -> None:
    stage.claude.script("speaker", [say("Thank you.")])
    async with stage.on():
        root = await stage.ravi.post("support-cases", "My speeker is broken")
        picker = await stage.shown(root, "Whose case")
        await stage.ravi.edit(root, "My speaker is broken")
        await stage.until(lambda: stage.slack.sockets.unacknowledged == 0)
        await stage.ravi.choose(picker, "Asha Rao")
        await stage.status(root, "white_check_mark")
        assert stage.said()[0]["content"] == [{"type": "text", "text": "My speaker is broken"}]


async def test_a_link_preview_is_no_second_message(stage: Stage) -> None:
    stage.claude.script("speaker", [call("ask_customer", question=QUESTION), say("Thanks.")])
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        stage.slack.unfurl_links = True
        await stage.ravi.reply(root, "See https://example.com/photo")
        await stage.status(root, "white_check_mark")
        assert str(stage.said()).count("example.com/photo") == 1
        assert len(await stage.runs()) == 1


async def test_a_deleted_first_message_hands_the_case_off_outside_the_thread(
    stage: Stage,
) -> None:
    stage.claude.script("speaker", [propose()])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.ravi.delete(root)
        await stage.until(lambda: stage.buttons(card) == [])
        await stage.until(lambda: "first message was deleted" in str(stage.slack.picture()))
        assert [each.status.value for each in await stage.refunds("4471")] == ["withdrawn"]
        roots = [each for each in stage.slack.messages("support-cases") if not each.thread_ts]
        assert all(not each.app_id for each in roots)
