"""Of two owners of a case only the newer one changes a refund that waits, whoever acts last."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from agent.errors import LeaseLost
from agent.refunds.ports import Refund, RefundStatus
from storage.shop import Shop
from storage.shop.ledger import ShopLedger
from tests.storage.shop.world import (
    NOON,
    RULES,
    Refusing,
    approve,
    decline,
    proposal,
    waiting,
)

Look = Callable[[Shop, Refund, int], Awaitable[object]]


async def hold(shop: Shop, row: Refund, token: int) -> object:
    return await shop.ledger.hold(row.key, token=token)


async def decide(shop: Shop, row: Refund, token: int) -> object:
    return await shop.ledger.decide(row.key, replace(decline(row), token=token), RULES)


async def decide_on_another_card(shop: Shop, row: Refund, token: int) -> object:
    click = replace(approve(row), token=token, digest="of another card")
    return await shop.ledger.decide(row.key, click, RULES)


async def show_anew(shop: Shop, row: Refund, token: int) -> object:
    return await shop.ledger.show_anew(row.key, row.version, token=token)


async def close(shop: Shop, row: Refund, token: int) -> object:
    return await shop.ledger.close(row.key, RefundStatus.EXPIRED, at=NOON, token=token)


@pytest.mark.parametrize("act", [hold, decide, show_anew, close])
async def test_an_owner_that_was_overtaken_changes_nothing(shop: Shop, act: Look) -> None:
    row = await waiting(shop)
    await hold(shop, row, 8)
    with pytest.raises(LeaseLost, match="run_1:call_1 was looked at under lease 8, after 7"):
        await act(shop, row, 7)
    assert await shop.ledger.find(row.key) == row


@pytest.mark.parametrize("look", [hold, decide_on_another_card, show_anew])
async def test_whoever_looks_keeps_older_owners_out(shop: Shop, look: Look) -> None:
    row = await waiting(shop)
    await hold(shop, row, 2)
    await look(shop, row, 8)
    shown = await shop.ledger.find(row.key)
    assert shown is not None
    with pytest.raises(LeaseLost):
        await decide(shop, shown, 7)
    await decide(shop, shown, 8)


async def test_an_owner_holds_one_refund_and_no_other(shop: Shop) -> None:
    row = await waiting(shop)
    other = await waiting(shop, proposal(amount_paise=200_000, key="run_2:call_2"))
    await hold(shop, row, 8)
    await decide(shop, other, 7)
    await hold(shop, row, 9)
    assert await shop.ledger.find(row.key) == row


async def test_what_is_held_comes_back_as_it_stands(shop: Shop) -> None:
    row = await waiting(shop)
    assert await hold(shop, row, 1) == row
    assert await shop.ledger.hold("run_9:call_9", token=1) is None


async def test_what_was_decided_is_told_to_older_owners_too(shop: Shop) -> None:
    row = await waiting(shop)
    await hold(shop, row, 8)
    decided = await shop.ledger.decide(row.key, replace(approve(row), token=8), RULES)
    assert await hold(shop, row, 7) == decided.refund
    late = await shop.ledger.decide(row.key, replace(decline(row), token=7), RULES)
    assert late == replace(decided, result="already_decided")


@pytest.mark.parametrize("amount_paise", [249_900, 100], ids=["for a lead", "automatic"])
async def test_what_was_withdrawn_before_it_was_proposed_is_never_paid(
    shop: Shop, amount_paise: int
) -> None:
    asked = proposal(amount_paise=amount_paise)
    row = await shop.ledger.propose(asked, RULES, withdrawn=True)
    assert (row.status, row.automatic, row.needs_approvals) == ("withdrawn", False, 0)
    assert (row.refusal, row.intended_at) == (None, None)
    assert await shop.ledger.propose(asked, RULES) == row
    [order_row] = await shop.ledger.history(asked.order_id)
    assert order_row == row


async def test_what_would_be_refused_is_refused_when_it_is_withdrawn(shop: Shop) -> None:
    asked = proposal(amount_paise=249_901)
    row = await shop.ledger.propose(asked, RULES, withdrawn=True)
    assert (row.status, row.refusal) == ("refused", "above_refundable")


async def test_what_was_proposed_before_is_not_withdrawn(shop: Shop) -> None:
    row = await waiting(shop)
    assert await shop.ledger.propose(proposal(), RULES, withdrawn=True) == row


async def test_a_proposal_that_was_given_up_before_it_was_begun_is_never_begun(
    shop: Shop,
) -> None:
    assert await shop.ledger.find_or_bar("run_1:call_1") is None
    for _ in range(2):
        with pytest.raises(LeaseLost, match=r"^Refund run_1:call_1 was given up before it was b"):
            await shop.ledger.propose(proposal(), RULES)
    assert await shop.ledger.find_or_bar("run_1:call_1") is None
    assert await shop.ledger.find("run_1:call_1") is None
    other = await shop.ledger.propose(proposal(key="run_1:call_2"), RULES)
    assert other.status is RefundStatus.WAITING


async def test_a_proposal_that_was_begun_is_found_instead_of_barred(shop: Shop) -> None:
    row = await waiting(shop)
    assert await shop.ledger.find_or_bar(row.key) == row
    assert await shop.ledger.propose(proposal(), RULES) == row
    decided = await shop.ledger.decide(row.key, replace(approve(row), token=1), RULES)
    assert decided.result == "approved"


async def test_a_proposal_that_comes_in_between_is_found_instead_of_barred(shop: Shop) -> None:
    row = await waiting(shop)
    behind = Refusing(shop.database, [IntegrityError("INSERT", None, Exception("not unique"))])
    assert await ShopLedger(behind, now=lambda: NOON).find_or_bar(row.key) == row


async def test_of_a_proposal_and_its_giving_up_at_once_one_comes_first(shop: Shop) -> None:
    for number in range(20):
        key = f"run_1:call_{number}"
        made, barred = await asyncio.gather(
            shop.ledger.propose(proposal(key=key), RULES),
            shop.ledger.find_or_bar(key),
            return_exceptions=True,
        )
        if barred is None:
            assert isinstance(made, LeaseLost)
        else:
            assert made == barred
