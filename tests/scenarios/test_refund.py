"""The main job: a customer's thread becomes a run, a lead decides, the reply is in the thread."""

from __future__ import annotations

from bot.local.claude import Turn, call, say
from tests.scenarios.stage import Stage, photo, results

WORDS = "Hi, my Bluetooth speaker from order 4471 arrived broken. I'd like my money back."
QUESTION = "Could you send a photo of the damage?"
REPLY = "Your refund of ₹2,499.00 is on its way."


def propose(amount: object = 2499, order_id: str = "4471", reason: str = "damaged") -> Turn:
    return call(
        "propose_refund",
        order_id=order_id,
        amount_rupees=amount,
        reason=reason,
        explanation="Arrived broken, photo received in time.",
    )


def whole_job(stage: Stage) -> None:
    """The seed trace case: five model calls, both pauses."""
    stage.claude.script(
        "Bluetooth speaker",
        [
            call("get_order", order_id="4471"),
            call("ask_customer", question=QUESTION),
            call("search_policies", query="damaged electronics photo refund"),
            propose(),
            say(REPLY),
        ],
    )


async def test_an_approved_refund_is_paid_once_and_the_reply_is_in_the_thread(
    stage: Stage,
) -> None:
    whole_job(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.status(root, "speech_balloon")
        await stage.ravi.reply(root, "Here is the photo.", files=[photo()])
        card = await stage.card("₹2,499.00")
        await stage.status(root, "lock")
        await stage.decide(stage.priya, "Approve", card)
        await stage.shown(root, REPLY)
        await stage.status(root, "white_check_mark")

        assert stage.buttons(card) == []
        assert "approved" in stage.look(stage.posts(root)[-2])
        [refund] = await stage.refunds("4471")
        assert (refund.status, refund.amount_paise) == ("paid", 249900)
        assert str(refund.reference) in stage.look(card)
        run = await stage.run()
        assert (run.status, run.steps) == ("done", 5)
        [answer] = [each for each in results(stage.said()) if isinstance(each["content"], list)]
        assert [block["type"] for block in answer["content"]] == ["text", "image"]


async def test_our_sum_of_the_cost_is_what_the_api_would_bill(stage: Stage) -> None:
    whole_job(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, QUESTION)
        await stage.ravi.reply(root, "Here.", files=[photo()])
        await stage.decide(stage.priya, "Approve", await stage.card())
        await stage.status(root, "white_check_mark")

        assert (await stage.run()).cost_usd == stage.claude.account().cost_usd


async def test_a_decline_pays_nothing_and_its_note_reaches_the_model(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say("We can offer a replacement instead.")])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.decide(stage.omar, "Decline", card, Note="Offer a replacement first.")
        await stage.shown(root, "We can offer a replacement")
        await stage.status(root, "white_check_mark")

        [refund] = await stage.refunds("4471")
        assert (refund.status, refund.note) == ("declined", "Offer a replacement first.")
        [result] = results(stage.said())
        assert "Declined" in result["content"]
        assert "Offer a replacement first." in result["content"]
        assert "Offer a replacement first." in stage.look(card)
        assert stage.find(root, "declined") is not None
        assert stage.buttons(card) == []


async def test_a_refund_up_to_the_limit_is_paid_at_once(stage: Stage) -> None:
    stage.claude.script("kettle", [propose(899, "4502"), say("₹899.00 is on its way.")])
    async with stage.on():
        root = await stage.open("The kettle from order 4502 arrived cracked.")
        await stage.status(root, "white_check_mark")

        [refund] = await stage.refunds("4502")
        assert (refund.status, refund.automatic) == ("paid", True)
        assert stage.slack.messages("approvals") == []


async def test_another_customers_order_looks_like_none_and_pays_nothing(stage: Stage) -> None:
    stage.claude.script(
        "headphones",
        [
            call("get_order", order_id="9001"),
            propose(4999, "9001"),
            say("I can't find that order; please check the number."),
        ],
    )
    async with stage.on():
        root = await stage.open("Refund my headphones, order 9001.", customer="Asha Rao")
        await stage.status(root, "white_check_mark")

        looked_up, proposed = results(stage.said())
        assert looked_up["content"] == proposed["content"]
        assert "No order 9001 for this customer" in looked_up["content"]
        assert looked_up["is_error"]
        assert [each.status for each in await stage.refunds("9001")] == ["refused"]


async def test_more_than_is_refundable_is_refused_with_what_is_left(stage: Stage) -> None:
    stage.claude.script(
        "mixer", [propose(5600, "8100"), propose(600, "8100"), say("₹600.00 is on its way.")]
    )
    async with stage.on():
        root = await stage.open("Refund the mixer, order 8100.", customer="Lakshmi Nair")
        await stage.status(root, "white_check_mark")

        refused, issued = results(stage.said())
        assert "₹600.00" in refused["content"]
        assert refused["is_error"]
        assert '"issued"' in issued["content"]
        rows = [(each.status, each.amount_paise) for each in await stage.refunds("8100")]
        assert rows == [("refused", 560000), ("paid", 60000)]


async def test_zero_negative_and_odd_amounts_are_refused_before_the_ledger(stage: Stage) -> None:
    amounts = [0, -5, 145.055, 1e22]
    turns = [*(propose(each, "6210") for each in amounts), propose(145.05, "6210"), say("Done.")]
    stage.claude.script("phone case", turns)
    async with stage.on():
        root = await stage.open("My phone case, order 6210, is wrong.", customer="Meera Iyer")
        await stage.status(root, "white_check_mark")

        *refused, issued = results(stage.said())
        assert all(each["is_error"] for each in refused)
        assert len(refused) == len(amounts)
        assert "145.05" in issued["content"]
        [refund] = await stage.refunds("6210")
        assert (refund.status, refund.amount_paise) == ("paid", 14505)


async def test_splitting_a_refund_gains_nothing(stage: Stage) -> None:
    stage.claude.script(
        "three things",
        [propose(700, "4480"), propose(700, "4480"), propose(700, "4480"), say("All refunded.")],
    )
    async with stage.on():
        root = await stage.open("All three things of order 4480 are broken.")
        first = await stage.card("₹700.00")
        rows = await stage.refunds("4480")
        assert [(each.status, each.automatic) for each in rows] == [
            ("paid", True),
            ("waiting", False),
        ]
        await stage.decide(stage.priya, "Approve", first)
        second = await stage.card("₹700.00", after=first)
        await stage.decide(stage.priya, "Approve", second)
        await stage.status(root, "white_check_mark")

        rows = await stage.refunds("4480")
        assert [(each.status, each.automatic) for each in rows] == [
            ("paid", True),
            ("paid", False),
            ("paid", False),
        ]


async def test_above_the_second_limit_two_leads_must_approve(stage: Stage) -> None:
    stage.claude.script("laptop", [propose(149900, "6203"), say("Refunded.")])
    async with stage.on():
        root = await stage.open("My laptop, order 6203, is broken.", customer="Meera Iyer")
        card = await stage.card("₹1,49,900.00")
        await stage.decide(stage.priya, "Approve", card)
        await stage.until(lambda: "1 of 2" in stage.look(card))
        await stage.priya.click(card, "Approve")
        await stage.told(stage.priya, "second lead")
        assert [each.status for each in await stage.refunds("6203")] == ["waiting"]
        await stage.decide(stage.omar, "Approve", card)
        await stage.status(root, "white_check_mark")

        [refund] = await stage.refunds("6203")
        assert refund.status == "paid"
        assert {each.by for each in refund.approvals} == {stage.priya.id, stage.omar.id}


async def test_a_lead_can_approve_a_smaller_amount(stage: Stage) -> None:
    stage.claude.script("speaker", [propose(), say("₹2,000.00 is on its way.")])
    async with stage.on():
        root = await stage.open(WORDS)
        card = await stage.card()
        await stage.priya.click(card, "Change amount")
        await stage.until(lambda: stage.priya.modal)
        wrong = await stage.priya.fill_and_submit({"Amount in rupees": "2499.01"})
        assert not wrong.accepted
        sent = await stage.priya.fill_and_submit({"Amount in rupees": "2000"})
        assert sent.accepted, sent
        await stage.status(root, "white_check_mark")

        [refund] = await stage.refunds("4471")
        assert (refund.status, refund.amount_paise, refund.proposed_paise) == (
            "paid",
            200000,
            249900,
        )
        [result] = results(stage.said())
        assert "2000.00" in result["content"]
        assert "2499.00" in result["content"]
