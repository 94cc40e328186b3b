"""The wrong phone case: ₹145.05 is under the limit, so it is paid at once. In Hinglish."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import Request, Turn, call, calls, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Refund, Story, reference_of
from bot.local.stories.photos import black_phone_case

OPENING = (
    "Namaste! Maine blue phone case order kiya tha, order 6210, par black wala aa gaya. Photo"
    " saath mein hai. Paise wapas mil sakte hain kya? Meera"
)


def _reply(request: Request) -> Turn:
    return say(
        "Namaste Meera ji! Galat colour bhejne ke liye maafi chahte hain. Aapka ₹145.05 ka refund"
        f" ho gaya hai (reference {reference_of(request)}), 3–5 din mein aapke UPI account mein aa"
        " jayega. Black case hamara courier le jayega; tab tak use use mat kijiyega. Dhanyavaad!"
    )


SCRIPT = (
    calls(
        call("get_order", order_id="6210"),
        call("search_policies", query="wrong item received, black instead of blue"),
    ),
    call(
        "propose_refund",
        order_id="6210",
        amount_rupees=145.05,
        reason="wrong_item",
        explanation="A black case came instead of the blue one; photo received a day after"
        " delivery. Policy wrong-item: a full refund of that item.",
    ),
    _reply,
)


async def act(stage: Stage) -> None:
    await stage.open_case("Meena", OPENING, customer="Meera Iyer", photos=[black_phone_case()])
    await stage.ends(Status.DONE)


SMALL = Story(
    name="small",
    summary="a small refund, exact to the paisa, is paid at once",
    match="Maine blue phone case order kiya tha",
    scripts={"Maine blue phone case order kiya tha": SCRIPT},
    act=act,
    expected=Expected(
        statuses=(Status.DONE,),
        model_calls=(3,),
        orders=("6210",),
        refunds=(Refund(order_id="6210", status="paid", amount_paise=14_505),),
        posts={"Question for the customer": 0, "Reply to pass to the customer": 1},
    ),
)
