"""The main job: a customer's thread becomes a run, a lead decides, the reply is in the thread."""

from __future__ import annotations

from bot.local.claude import call, say
from tests.scenarios.stage import Stage, photo, results

WORDS = "Hi, my Bluetooth speaker from order 4471 arrived broken. I'd like my money back."


def speaker_script(stage: Stage) -> None:
    stage.claude.script(
        "Bluetooth speaker",
        [
            call("get_order", order_id="4471"),
            call("ask_customer", question="Could you send a photo of the damage?"),
            call("search_policies", query="damaged electronics photo refund"),
            call(
                "propose_refund",
                order_id="4471",
                amount_rupees=2499,
                reason="damaged",
                explanation="Arrived broken, photo received within 7 days.",
            ),
            say("Your refund of ₹2,499.00 is on its way."),
        ],
    )


async def test_an_approved_refund_is_paid_once_and_the_reply_is_in_the_thread(
    stage: Stage,
) -> None:
    speaker_script(stage)
    async with stage.on():
        root = await stage.open(WORDS)
        await stage.shown(root, "Could you send a photo")
        await stage.status(root, "speech_balloon")
        await stage.ravi.reply(root, "Here is the photo.", files=[photo()])
        card = await stage.card("₹2,499.00")
        await stage.status(root, "lock")
        await stage.decide(stage.priya, "Approve", card)
        await stage.shown(root, "is on its way")
        await stage.status(root, "white_check_mark")

        assert stage.buttons(card) == []
        assert "approved" in stage.slack.render(stage.posts(root)[-2])
        [refund] = await stage.refunds("4471")
        assert (refund.status, refund.amount_paise) == ("paid", 249900)
        run = await stage.run()
        assert (run.status, run.steps) == ("done", 5)
        [answer] = [each for each in results(stage.said()) if isinstance(each["content"], list)]
        assert [block["type"] for block in answer["content"]] == ["text", "image"]
