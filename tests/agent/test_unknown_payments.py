"""A payment whose outcome nobody knows: looked up, never guessed, and told in the end."""

from __future__ import annotations

import pytest

from agent.case import Approval, Handoff, Line, Notice
from agent.refunds.ports import Payment, Payments, Refund
from bot.local.claude import call, say
from tests.agent.bench import Bench, propose, refunds_of, results

WORDS = "My Bluetooth speaker, order 4471, arrived broken."


class Provider:
    """Pays through the shop's ledger, and answers as it is told."""

    def __init__(self, payments: Payments) -> None:
        self._payments = payments
        self.answers: list[Payment] = []
        """What `pay` says next, instead of the truth."""
        self.pays = True
        """Whether the money moves all the same."""
        self.knows = True
        """Whether a look-up finds what was paid."""
        self.sent = 0

    async def pay(self, refund: Refund) -> Payment:
        self.sent += 1
        paid = await self._payments.pay(refund) if self.pays else Payment(status="unknown")
        return self.answers.pop(0) if self.answers else paid

    async def look_up(self, refund: Refund) -> Payment | None:
        return await self._payments.look_up(refund) if self.knows else None


@pytest.fixture
def provider(bench: Bench) -> Provider:
    provider = Provider(bench.shop.payments)
    bench.agent = refunds_of(bench.shop, payments=provider)
    bench.claude.script("speaker", [propose(), say("Your refund is on its way.")])
    return provider


async def approved(bench: Bench) -> None:
    await bench.open(WORDS)
    await bench.decide("approve")
    await bench.go()


async def status(bench: Bench) -> str:
    [refund] = await bench.refunds("4471")
    return refund.status.value


async def test_a_lost_answer_is_looked_up_and_the_run_goes_on(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")]
    await approved(bench)
    assert (await bench.run()).status == "running"
    assert await status(bench) == "unknown"
    assert [each for each in bench.shown(Line) if "not confirmed yet" in each.text]
    await bench.go_after(31)
    assert (await bench.run()).status == "done"
    assert await status(bench) == "paid"
    assert provider.sent == 1
    assert '"issued"' in results(await bench.messages())[0]["content"]


async def test_while_it_is_looked_up_one_line_says_so_and_no_limit_ends_the_run(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")] * 99
    provider.knows = False
    await approved(bench)
    for _ in range(10):
        await bench.go_after(31)
    assert (await bench.run()).status == "running"
    assert len([each for each in bench.shown(Line) if "not confirmed" in each.text]) == 1
    assert await status(bench) == "unknown"


async def test_a_look_up_that_finds_nothing_sends_the_same_request_again(
    bench: Bench, provider: Provider
) -> None:
    provider.pays = False
    await approved(bench)
    provider.pays = True
    await bench.go_after(31)
    assert await status(bench) == "paid"
    assert provider.sent == 2
    assert len(await bench.refunds("4471")) == 1


async def test_after_15_minutes_a_person_gets_it_as_approved_and_not_confirmed(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")] * 999
    provider.knows = False
    await approved(bench)
    await bench.go_after(15 * 60 + 1)
    [handoff] = bench.shown(Handoff)
    assert "approved, not yet confirmed" in handoff.reason
    assert "approved and is being confirmed" in handoff.text
    outcome = bench.card.outcome
    assert outcome is not None
    assert "not yet confirmed" in outcome.detail
    assert await status(bench) == "unknown"


async def test_its_later_outcome_is_told_to_staff_once_and_shown_on_the_card(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")] * 999
    provider.knows = False
    await approved(bench)
    await bench.go_after(15 * 60 + 1)
    sent = provider.sent
    await bench.go_after(121)
    assert "not yet confirmed" in str(bench.shown(Approval)[-1].card.outcome)
    provider.knows = True
    await bench.go_after(121)
    told = [each.text for each in bench.shown(Line) if "known now" in each.text]
    assert len(told) == 1
    assert "was paid, reference" in told[0]
    assert "was paid, reference" in str(bench.card.outcome)
    assert await status(bench) == "paid"
    assert provider.sent == sent, "after a handoff nothing is sent again"
    await bench.go_after(7200)
    assert len([each for each in bench.shown(Line) if "known now" in each.text]) == 1
    assert (await bench.case()).unsettled == ()


async def test_while_it_is_looked_up_the_card_says_that_it_is_not_confirmed(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")]
    await approved(bench)
    assert "not yet confirmed" in str(bench.card.outcome)
    await bench.go_after(31)
    assert "was paid, reference" in str(bench.card.outcome)


async def test_when_the_thread_is_gone_its_later_outcome_is_told_elsewhere(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")]
    await approved(bench)
    await bench.delete("1", first=True)
    await bench.go()
    await bench.go_after(121)
    told = [each.text for each in bench.shown(Notice)]
    assert "is being confirmed" in told[0]
    assert "was paid, reference" in told[1]
    assert [each for each in bench.shown(Line) if "known now" in each.text] == []


async def test_taking_over_meanwhile_keeps_looking_and_tells_the_customer_the_truth(
    bench: Bench, provider: Provider
) -> None:
    provider.answers = [Payment(status="unknown")]
    await approved(bench)
    await bench.take_over()
    await bench.go()
    [handoff] = bench.shown(Handoff)
    assert "approved and is being confirmed" in handoff.text
    await bench.go_after(121)
    assert await status(bench) == "paid"
    assert [each for each in bench.shown(Line) if "known now" in each.text]


async def test_the_providers_refusal_fails_the_refund_and_hands_off(
    bench: Bench, provider: Provider
) -> None:
    provider.pays = False
    provider.answers = [Payment(status="failed", detail="account closed")]
    await approved(bench)
    [handoff] = bench.shown(Handoff)
    assert "account closed" in handoff.reason
    assert await status(bench) == "failed"
    assert "nothing was paid" in str(bench.card.outcome)


async def test_a_day_later_only_looking_up_is_safe(bench: Bench, provider: Provider) -> None:
    provider.pays = False
    await approved(bench)
    sent = provider.sent
    await bench.go_after(25 * 3600)
    assert provider.sent == sent
    assert await status(bench) == "unknown"


async def test_a_payment_that_is_awaited_reserves_its_money(
    bench: Bench, provider: Provider
) -> None:
    bench.claude.script("speaker", [propose(), call("get_order", order_id="4471"), say("Done.")])
    provider.answers = [Payment(status="unknown")]
    await approved(bench)
    order = await bench.shop.orders.order("cust_asha", "4471")
    assert order is not None
    assert (order.refundable_paise, order.refunded_paise) == (0, 0)
