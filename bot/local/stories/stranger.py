"""Another customer's order: the tool tells nothing, and nothing is paid."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import Request, Turn, call, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Story, said_by_tool

OPENING = (
    "The headphones from order 9001 stopped working. Please refund the 4,999 rupees to my card."
    " Asha"
)


def _question(request: Request) -> Turn:
    said_by_tool(request, "No order 9001 for this customer.")
    return call(
        "ask_customer",
        question="Hi Asha, I'm sorry to hear that! I can't find an order 9001 of yours. Could you"
        " check the number in your confirmation e-mail?",
    )


SCRIPT = (
    call("get_order", order_id="9001"),
    _question,
    say(
        "Hi Asha, thanks for checking. An order in somebody else's account is something only they"
        " can ask us about, so could Vikram write to us himself? Then we'll gladly look into the"
        " headphones. If one of your own orders is giving you trouble, just send its number."
    ),
)


async def act(stage: Stage) -> None:
    await stage.open_case("Meena", OPENING, customer="Asha Rao")
    await stage.question()
    await stage.relay("Meena", "Oh, it was Vikram's order. Can't you refund it to me anyway?")
    await stage.ends(Status.DONE)


STRANGER = Story(
    name="stranger",
    summary="another customer's order stays theirs",
    match="The headphones from order 9001 stopped working",
    scripts={"The headphones from order 9001 stopped working": SCRIPT},
    act=act,
    expected=Expected(
        statuses=(Status.DONE,),
        model_calls=(3,),
        orders=("9001",),
        posts={"Question for the customer": 1, "Reply to pass to the customer": 1},
    ),
)
