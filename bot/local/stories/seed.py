"""A damaged speaker: a photo is asked for, a lead approves ₹2,499, and the bot dies six times."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import Request, Turn, call, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Refund, Story, reference_of
from bot.local.stories.photos import cracked_speaker

OPENING = (
    "Hi, my Bluetooth speaker arrived damaged, the side is cracked right through. Order 4471."
    " I'd like my money back, please. Asha"
)


def _reply(request: Request) -> Turn:
    return say(
        "Hi Asha, thank you for the photo, and sorry again about the speaker. Your refund of"
        f" ₹2,499.00 is issued (reference {reference_of(request)}) and reaches your UPI account"
        " in 3–5 days. Nothing needs to be sent back."
    ).using(input=2450, output=140)


SCRIPT = (
    call("get_order", order_id="4471").using(input=1000, output=180),
    call(
        "ask_customer",
        question="Hi Asha, I'm so sorry that your speaker came like that! Could you send us a"
        " photo that shows the crack? Then we can put this right straight away.",
    ).using(input=1350, output=150),
    call("search_policies", query="damaged electronics photo refund").using(input=1900, output=220),
    call(
        "propose_refund",
        order_id="4471",
        amount_rupees=2499,
        reason="damaged",
        explanation="The speaker's housing is cracked; reported 3 days after delivery with a"
        " photo. Policy damaged-items: for electronics the customer may choose a full refund.",
    ).using(input=2200, output=200),
    _reply,
)


async def act(stage: Stage) -> None:
    """Everything that can be between two steps has the bot killed in it."""
    stage.hold_claude()
    await stage.open_case("Ravi", OPENING, customer="Asha Rao")
    await stage.model_call()
    await stage.model_call(kill="after step 1, the order look-up")
    await stage.question()
    await stage.kill_bot("while it waits for the customer")
    await stage.relay(
        "Ravi", "Here you go. It was like this when I opened the box.", photos=[cracked_speaker()]
    )
    await stage.model_call(kill="after step 2, with the answer stored")
    await stage.model_call(kill="after step 3, the policy search")
    card = await stage.card()
    await stage.kill_bot("while it waits for a lead")
    await stage.approve("Priya", card)
    await stage.model_call(kill="after step 4, with the refund paid")
    await stage.ends(Status.DONE)


SEED = Story(
    name="seed",
    summary="a damaged speaker, a photo, a lead's approval, and six kills in between",
    match="my Bluetooth speaker arrived damaged",
    scripts={"my Bluetooth speaker arrived damaged": SCRIPT},
    act=act,
    expected=Expected(
        statuses=(Status.DONE,),
        model_calls=(5,),
        orders=("4471",),
        refunds=(Refund(order_id="4471", status="paid", amount_paise=249_900),),
        posts={"Question for the customer": 1, "approved": 1, "Reply to pass to the customer": 1},
    ),
)
