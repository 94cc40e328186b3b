"""What goes on around a payment that takes its time, and one that breaks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agent.calls import NOT_CONFIRMED
from agent.case import Handoff
from agent.endings import UNCONFIRMED
from agent.limits import Limits
from agent.refunds.ports import Payment, Payments, Refund
from agent.tools import UNAVAILABLE
from bot.local.claude import say
from tests.agent.bench import Bench, blocks, propose, refunds_of, results

WORDS = "The kettle from order 4502 arrived cracked."
PAID = Payment(status="paid", reference="CW1")
UNKNOWN = Payment(status="unknown", detail="timed out")


@dataclass(frozen=True)
class Provider:
    """Answers as it is told."""

    pays: Payment | Exception
    finds: Sequence[Payment]
    looks: itertools.count[int] = field(default_factory=itertools.count)

    async def pay(self, refund: Refund) -> Payment:
        if isinstance(self.pays, Exception):
            raise self.pays
        return self.pays

    async def look_up(self, refund: Refund) -> Payment | None:
        return self.finds[next(self.looks)]


def paying(bench: Bench, pays: Payment | Exception, *finds: Payment) -> None:
    provider = Provider(pays=pays, finds=finds)
    bench.agent = refunds_of(bench.shop, payments=provider)
    bench.claude.script("kettle", [propose(899, "4502"), say("It is on its way.")])


async def test_no_limit_ends_a_run_while_its_payment_is_looked_up(bench: Bench) -> None:
    bench.limits = Limits(max_steps=1, max_working_seconds=0.0001)
    paying(bench, UNKNOWN, UNKNOWN, PAID)
    await bench.open(WORDS)
    await bench.go_after(30)
    assert (await bench.run()).status == "running"
    await bench.go_after(30)
    assert (await bench.run()).status == "handed_off"
    assert "reference CW1" in bench.shown(Handoff)[-1].text


async def test_what_the_customer_writes_meanwhile_goes_behind_the_result(bench: Bench) -> None:
    paying(bench, UNKNOWN, PAID)
    await bench.open(WORDS)
    await bench.says("Is it done?")
    await bench.go()
    assert len(bench.claude.requests) == 1
    await bench.go_after(30)
    kinds = [each["type"] for each in blocks(bench.request()["messages"][-1])]
    assert kinds == ["tool_result", "text"]


async def test_a_payment_system_that_breaks_gives_safe_words_and_keeps_the_row(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    paying(bench, OSError("tls: internal host"))
    await bench.open(WORDS)
    [result] = results(await bench.messages())
    assert (result["content"], result["is_error"]) == (UNAVAILABLE, True)
    assert "tls: internal host" in caplog.text
    [row] = await bench.refunds("4502")
    assert row.status == "intended"
    assert (await bench.run()).status == "handed_off"


@dataclass(frozen=True)
class Breaking:
    """Pays, and breaks before it can say so."""

    payments: Payments

    async def pay(self, refund: Refund) -> Payment:
        await self.payments.pay(refund)
        raise OSError("connection cut")

    async def look_up(self, refund: Refund) -> Payment | None:
        return await self.payments.look_up(refund)


async def test_until_it_is_known_what_a_broken_payment_did_no_other_is_made(bench: Bench) -> None:
    bench.agent = refunds_of(bench.shop, payments=Breaking(bench.shop.payments))
    again = propose(300, "4502")
    bench.claude.script("kettle", [again, again, say("A colleague will follow up.")])
    await bench.open(WORDS)
    assert await bench.payouts() == [300_00]
    _, second = results(await bench.messages())
    assert (second["content"], second["is_error"]) == (NOT_CONFIRMED, True)
    assert UNCONFIRMED in bench.shown(Handoff)[-1].reason
    await bench.go_after(121)
    assert (await bench.case()).unsettled == ()
    bench.agent = refunds_of(bench.shop)
    bench.claude.script("gave the case back", [propose(200, "4502"), say("All done.")])
    await bench.give_back()
    await bench.go()
    assert await bench.payouts() == [300_00, 200_00]
