"""More than is left: the tool refuses with the limit, and the rest is paid at once."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import Request, Turn, call, calls, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Refund, Story, reference_of, said_by_tool

OPENING = (
    "My mixer, order 8100, came with a broken jar. I told you the same day and you agreed to give"
    " all of it back. Where are my 5,600 rupees? Lakshmi"
)


def _proposal(amount_rupees: int, explanation: str) -> Turn:
    return call(
        "propose_refund",
        order_id="8100",
        amount_rupees=amount_rupees,
        reason="damaged",
        explanation=explanation,
    )


def _what_is_left(request: Request) -> Turn:
    said_by_tool(request, "₹600.00")
    return _proposal(600, "The rest of the mixer's price; ₹5,000.00 was refunded earlier.")


def _reply(request: Request) -> Turn:
    return say(
        "Hi Lakshmi, thanks for your patience! ₹5,000.00 of the ₹5,600.00 went back to your card"
        " ten days ago already. The remaining ₹600.00 is issued now (reference"
        f" {reference_of(request)}) and arrives in 3–5 days, so the mixer is refunded in full."
    )


SCRIPT = (
    calls(
        call("get_order", order_id="8100"),
        call("search_policies", query="damaged item full refund"),
    ),
    _proposal(5600, "The mixer came with a broken jar, reported on the day of delivery."),
    _what_is_left,
    _reply,
)


async def act(stage: Stage) -> None:
    await stage.open_case("Ravi", OPENING, customer="Lakshmi Nair")
    await stage.ends(Status.DONE)


TOO_LARGE = Story(
    name="too-large",
    summary="more than is refundable is refused, the rest is paid",
    match="My mixer, order 8100, came with a broken jar",
    scripts={"My mixer, order 8100, came with a broken jar": SCRIPT},
    act=act,
    expected=Expected(
        statuses=(Status.DONE,),
        model_calls=(4,),
        orders=("8100",),
        refunds=(
            Refund(order_id="8100", status="refused", amount_paise=560_000),
            Refund(order_id="8100", status="paid", amount_paise=60_000),
        ),
        posts={"Reply to pass to the customer": 1},
    ),
)
