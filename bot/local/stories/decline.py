"""A saree that never came: a lead declines with a note, and the agent says what is possible."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import Request, Turn, call, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Refund, Story, said_by_tool

OPENING = (
    "Order 7004, the saree for my sister's wedding: the site says delivered, but nothing came to"
    " our house, I asked the guard too. Please refund it. Farhan"
)
NOTE = (
    "Tracking says it was left at the gate, so a carrier check comes first. I opened one just now,"
    " CC-2087, up to 3 business days. No proof of delivery by then: full refund."
)


def _reply(request: Request) -> Turn:
    said_by_tool(request, "CC-2087")
    return say(
        "Hi Farhan, I'm really sorry, of all parcels the one for the wedding! The carrier's record"
        " says it was left at your gate, so we have asked them to prove it (check CC-2087, up to 3"
        " business days). If they confirm the loss or can't prove the delivery, the full ₹1,850.00"
        " is refunded. Until that is clear I can't issue it, and I hope you understand."
    )


SCRIPT = (
    call("get_order", order_id="7004"),
    call("search_policies", query="parcel not delivered, tracking says delivered"),
    call(
        "propose_refund",
        order_id="7004",
        amount_rupees=1850,
        reason="not_delivered",
        explanation="Nothing arrived, 8 days after the promised date; the carrier has no"
        " signature. Policy not-delivered: a full refund once 7 days have passed.",
    ),
    _reply,
)


async def act(stage: Stage) -> None:
    await stage.open_case("Ravi", OPENING, customer="Farhan Ali")
    await stage.decline("Omar", await stage.card(), NOTE)
    await stage.ends(Status.DONE)


DECLINE = Story(
    name="decline",
    summary="a lead declines with a note, and the agent offers what the policy allows",
    match="the saree for my sister's wedding",
    scripts={"the saree for my sister's wedding": SCRIPT},
    act=act,
    expected=Expected(
        statuses=(Status.DONE,),
        model_calls=(4,),
        orders=("7004",),
        refunds=(Refund(order_id="7004", status="declined", amount_paise=185_000),),
        posts={"declined": 1, "Reply to pass to the customer": 1},
    ),
)
