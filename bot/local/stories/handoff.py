"""A case for a person: the agent hands it off, keeps quiet, and goes on when it is given back."""

from __future__ import annotations

from agent.run import Status
from bot.local.claude import call, calls, say
from bot.local.play.stage import Stage
from bot.local.play.story import Expected, Story

OPENING = (
    "My headphones, order 9001, went silent on the left after four days. I want them repaired under"
    " warranty, or I'll see you at the consumer forum! Vikram"
)
STAFF_NOTE = (
    "Called Vikram, all good now. The service centre in Andheri takes the headphones tomorrow from"
    " 10 am, ticket SC-118."
)

FIRST = (
    calls(
        call("get_order", order_id="9001"),
        call("search_policies", query="warranty repair, headphones stopped working"),
    ),
    call(
        "hand_off",
        reason="Vikram wants his headphones (9001, silent on the left) repaired under warranty and"
        " mentions the consumer forum. A colleague has to name the service centre.",
    ),
)
SECOND = (
    call("search_policies", query="warranty repair invoice serial number"),
    say(
        "Hi Vikram, thank you for taking our call. The service centre in Andheri expects your"
        " headphones tomorrow from 10 am, ticket SC-118. Please take the invoice and the serial"
        " number with you; the repair is covered by the maker's warranty of 12 months."
    ),
)


async def act(stage: Stage) -> None:
    await stage.open_case("Ravi", OPENING, customer="Vikram Shah")
    await stage.ends(Status.HANDED_OFF)
    quiet_since = len(stage.own_posts)
    await stage.note_by_staff("Meena", STAFF_NOTE)
    await stage.press("Meena", "Give back to the agent")
    await stage.ends(Status.DONE)
    since = len(stage.own_posts) - quiet_since
    stage.check(since == 1, "one post after the handoff, the reply", f"{since} posts")


HANDOFF = Story(
    name="handoff",
    summary="a person takes over, and gives the case back",
    match="My headphones, order 9001, went silent",
    scripts={
        "My headphones, order 9001, went silent": FIRST,
        "gave the case back to you": SECOND,
    },
    act=act,
    expected=Expected(
        statuses=(Status.HANDED_OFF, Status.DONE),
        model_calls=(2, 2),
        orders=("9001",),
        posts={"This case needs a person": 1, "Reply to pass to the customer": 1},
    ),
)
