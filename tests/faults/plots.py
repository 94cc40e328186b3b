"""What happens in a case: what Claude does, what the people do, and how it has to end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.run import Status
from bot.local.claude import LocalClaude, Turn, call, say
from tests.faults.people import People
from tests.faults.world import order_of

DONE, HANDED_OFF = "white_check_mark", "raising_hand"
SPARE_REPLIES = 4
"""Words that come meanwhile cost a turn each: the reply is not posted then, and written anew."""


@dataclass(frozen=True, kw_only=True)
class Plot:
    """`refunds` are the order's rows, status and paise; `decisions` and `questions` count lines in
    the thread. `runs` is how many there are, at least and at most, all of them ended as `end`."""

    name: str
    turns: Callable[[int], Sequence[Turn]]
    act: Callable[[People], Awaitable[None]]
    refunds: tuple[tuple[str, int], ...] = ()
    decisions: int = 0
    questions: int = 0
    runs: tuple[int, int] = (1, 1)
    end: Status = Status.DONE

    def write_scripts(self, claude: LocalClaude, number: int) -> None:
        replies = [say(f"Reply for case-{number:04d}.")] * SPARE_REPLIES
        claude.script(f"case-{number:04d}", [*self.turns(number), *replies])
        # A run that begins with these words knows the first ones too; the latest script counts.
        claude.script(f"more-{number:04d}", replies)


def propose(number: int, rupees: int) -> Turn:
    return call(
        "propose_refund",
        order_id=order_of(number),
        amount_rupees=rupees,
        reason="damaged",
        explanation="Arrived broken.",
    )


# The people -------------------------------------------------------------------------------------


async def _asked_and_approved(people: People) -> None:
    await people.open("The lamp arrived broken")
    await people.sees("Question for the customer")
    await people.reply("Yes, all of it.")
    await people.decide(people.leads[0], "Approve")
    await people.status(DONE)


async def _approved(people: People) -> None:
    await people.open("The lamp arrived broken")
    await people.decide(people.leads[0], "Approve")
    await people.status(DONE)


async def _nobody_is_asked(people: People) -> None:
    await people.open("The lamp has a scratch")
    await people.status(DONE)


async def _declined(people: People) -> None:
    await people.open("I don't like the lamp")
    await people.decide(people.leads[0], "Decline", {"Note": "Not this time."})
    await people.status(DONE)


async def _smaller(people: People) -> None:
    await people.open("The lamp arrived broken")
    await people.decide(people.leads[0], "Change amount", {"Amount in rupees": "1200"})
    await people.status(DONE)


async def _two_at_once(people: People) -> None:
    await people.open("The lamp arrived broken")
    await people.until(people.open_card, "a card")
    async with asyncio.TaskGroup() as group:
        for lead in people.leads:
            group.create_task(people.decide(lead, "Approve", over=lambda: _closed(people)))
    await people.status(DONE)


async def _two_are_needed(people: People) -> None:
    first, second = people.leads

    def has_first() -> bool:
        return any("1 of 2" in each.text for each in people.cards()) or _closed(people)

    await people.open("The lamp arrived broken")
    await people.decide(first, "Approve", over=has_first)
    await people.decide(second, "Approve", over=lambda: _closed(people))
    await people.status(DONE)


async def _more_words(people: People) -> None:
    """At a bad moment: while the lead decides."""
    await people.open("The lamp arrived broken")
    await people.until(people.open_card, "a card")
    await people.reply(f"And the bulb too (more-{people.number:04d})")
    await people.decide(people.leads[0], "Approve", over=lambda: _closed(people))
    await people.status(DONE)


async def _edited(people: People) -> None:
    await people.open("The lamp arrived")
    await people.agent.edit(people.root, f"The lamp arrived broken ({people.token})")
    await people.decide(people.leads[0], "Approve")
    await people.status(DONE)


async def _handed_off(people: People) -> None:
    await people.open("I want to sue you")
    await people.status(HANDED_OFF)


async def _comes_back(people: People) -> None:
    await people.open("The lamp has a scratch")
    await people.status(DONE)
    await people.reply(f"When will it come? (more-{people.number:04d})")
    await people.until(
        lambda: sum("Reply to pass to the customer" in each.text for each in people.posts()) > 1,
        "a second reply",
    )
    await people.status(DONE)


def _closed(people: People) -> bool:
    return bool(people.cards()) and people.open_card() is None


# The plots --------------------------------------------------------------------------------------

PLOTS = (
    Plot(
        name="asked and approved",
        turns=lambda number: [
            call("get_order", order_id=order_of(number)),
            call("ask_customer", question="Is all of it broken?"),
            call("search_policies", query="damaged"),
            propose(number, 1_500),
        ],
        act=_asked_and_approved,
        refunds=(("paid", 1_500_00),),
        decisions=1,
        questions=1,
    ),
    Plot(
        name="small",
        turns=lambda number: [propose(number, 400)],
        act=_nobody_is_asked,
        refunds=(("paid", 400_00),),
    ),
    Plot(
        name="declined",
        turns=lambda number: [propose(number, 1_500)],
        act=_declined,
        refunds=(("declined", 1_500_00),),
        decisions=1,
    ),
    Plot(
        name="two leads at once",
        turns=lambda number: [propose(number, 1_500)],
        act=_two_at_once,
        refunds=(("paid", 1_500_00),),
        decisions=1,
    ),
    Plot(
        name="more words at a bad moment",
        turns=lambda number: [propose(number, 1_500)],
        act=_more_words,
        refunds=(("paid", 1_500_00),),
        decisions=1,
        runs=(1, 2),
    ),
    Plot(
        name="a smaller amount",
        turns=lambda number: [propose(number, 1_500)],
        act=_smaller,
        refunds=(("paid", 1_200_00),),
        decisions=1,
    ),
    Plot(
        name="two are needed",
        turns=lambda number: [propose(number, 12_000)],
        act=_two_are_needed,
        refunds=(("paid", 12_000_00),),
        decisions=1,
    ),
    Plot(
        name="split",
        turns=lambda number: [propose(number, 700), propose(number, 700)],
        act=_approved,
        refunds=(("paid", 700_00), ("paid", 700_00)),
        decisions=1,
    ),
    Plot(
        name="edited",
        turns=lambda number: [
            call("get_order", order_id=order_of(number)),
            propose(number, 1_500),
        ],
        act=_edited,
        refunds=(("paid", 1_500_00),),
        decisions=1,
    ),
    Plot(
        name="comes back",
        turns=lambda number: [propose(number, 400)],
        act=_comes_back,
        refunds=(("paid", 400_00),),
        runs=(2, 2),
    ),
    Plot(
        name="handed off",
        turns=lambda number: [
            call("get_order", order_id=order_of(number)),
            call("hand_off", reason="They threaten to sue."),
        ],
        act=_handed_off,
        end=Status.HANDED_OFF,
    ),
)
