"""A worker that wrote in the shop and died before it could save the case."""

from __future__ import annotations

import pytest

from agent.approval import LeadDecision
from agent.case import Approval, PrivateLine
from agent.harness import request_of
from bot.local.claude import say
from tests.agent.bench import Bench, propose

WORDS = "My Bluetooth speaker, order 4471, arrived broken."


@pytest.fixture
async def asked(bench: Bench) -> Bench:
    """A card is open; its row is what the tests change behind the case's back."""
    bench.claude.script("speaker", [propose(), say("Your refund is on its way.")])
    await bench.open(WORDS)
    return bench


async def raise_version(bench: Bench) -> None:
    """As a worker does for words that came, which are gone before the next one reads them."""
    harness = bench.harness
    run = await bench.run()
    assert run.pending is not None
    await harness.approvals().show_anew(request_of(run, run.pending, token=1))


async def test_a_card_whose_row_has_a_newer_version_is_shown_as_the_row_has_it(
    asked: Bench,
) -> None:
    await raise_version(asked)
    await asked.decide("approve")
    await asked.go()
    assert "changed since you looked" in asked.shown(PrivateLine)[-1].text
    assert asked.card.version == 2
    assert len(asked.shown(Approval)) == 2
    await asked.decide("approve")
    await asked.go()
    assert (await asked.run()).status == "done"
    assert await asked.payouts() == [249_900]


async def test_a_first_approval_that_only_the_row_has_is_shown_when_its_lead_clicks_again(
    bench: Bench,
) -> None:
    bench.claude.script("laptop", [propose(149_900, order_id="6203"), say("Done.")])
    await bench.open("My laptop arrived broken.", customer="cust_meera")
    card = bench.card
    harness, run = bench.harness, await bench.run()
    assert run.pending is not None
    lost = LeadDecision(
        decision_id="lost",
        version=card.version,
        digest=card.digest,
        verdict="approve",
        by="priya",
        at=bench.clock(),
    )
    await harness.approvals().decide(request_of(run, run.pending, token=1), lost)
    await bench.decide("approve")
    await bench.go()
    assert "is kept" in bench.shown(PrivateLine)[-1].text
    assert bench.card.approved_by == ("priya",)
    await bench.decide("approve", by="omar")
    await bench.go()
    assert await bench.payouts() == [14_990_000]
