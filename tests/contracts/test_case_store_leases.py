"""What every `CaseStore` keeps to when owners come, go, die and meet."""

from __future__ import annotations

import asyncio
import random

import pytest

from agent.errors import LeaseLost
from agent.ports import CaseStore, Change, Posted
from agent.run import Status
from tests.contracts.conftest import SetClock
from tests.contracts.samples import CASE_ID, case, event, owned, post, record_of, run


@pytest.fixture(autouse=True)
async def a_case_with_one_event(store: CaseStore) -> None:
    await store.deliver(CASE_ID, event("e1"))


# Claiming and renewing -------------------------------------------------------------------------


async def test_a_lease_says_who_owns_which_case_until_when(
    store: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    assert (lease.case_id, lease.owner, lease.expires_at) == (CASE_ID, "first", clock() + 8)


@pytest.mark.parametrize("owner", ["second", "first"])
async def test_a_case_is_not_claimed_while_a_lease_on_it_lasts(
    store: CaseStore, other: CaseStore, clock: SetClock, owner: str
) -> None:
    await owned(store, "first")
    clock.go_on(7.999)
    assert await other.claim(CASE_ID, owner, seconds=8) is None
    assert await store.claim(CASE_ID, owner, seconds=8) is None
    clock.go_on(0.001)
    assert await other.claim(CASE_ID, owner, seconds=8) is not None


async def test_a_case_that_the_store_does_not_know_is_not_claimed(store: CaseStore) -> None:
    assert await store.claim("nowhere", "first", seconds=8) is None
    assert await store.case("nowhere") is None


async def test_tokens_only_grow(store: CaseStore, other: CaseStore, clock: SetClock) -> None:
    tokens: list[int] = []
    for keeper in (store, other, store):
        lease = await owned(keeper, "first")
        await keeper.save(lease, Change(case=case(), run=None, applied=("e1",)))
        tokens.append(lease.token)
        assert await keeper.release(lease, due_at=None)
        tokens.append((await owned(other, "first")).token)
        clock.go_on(8)
    assert tokens == sorted(set(tokens))


async def test_one_of_many_at_once_gets_the_case(store: CaseStore, other: CaseStore) -> None:
    for n in range(20):
        case_id = f"case {n}"
        await store.deliver(case_id, event())
        claims = await asyncio.gather(
            *(
                keeper.claim(case_id, f"owner {i}", seconds=8)
                for i in range(4)
                for keeper in (store, other)
            )
        )
        assert len([claim for claim in claims if claim]) == 1


async def test_a_renewed_lease_is_the_same_with_a_later_end(
    store: CaseStore, other: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    clock.go_on(6)
    renewed = await store.renew(lease, seconds=8)
    assert (renewed.token, renewed.owner, renewed.expires_at) == (lease.token, "first", clock() + 8)
    clock.go_on(6)
    assert await other.claim(CASE_ID, "second", seconds=8) is None
    await store.save(lease, Change(case=case(), run=None))


# Losing a lease --------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [True, False], ids=["taken by another", "just over"])
async def test_an_owner_that_lost_its_lease_writes_nothing_more(
    store: CaseStore, other: CaseStore, clock: SetClock, taken: bool
) -> None:
    lease = await owned(store, "first")
    await store.save(lease, Change(case=case(), run=run(), posts=(post("p1"),)))
    clock.go_on(8)
    next_lease = await owned(other, "second") if taken else None

    with pytest.raises(LeaseLost, match="first"):
        await store.renew(lease, seconds=8)
    with pytest.raises(LeaseLost):
        await store.sent(lease, {"p1": Posted(channel="C1", message_id="1.1")})
    with pytest.raises(LeaseLost):
        await store.save(
            lease,
            Change(
                case=case(posts=9),
                run=run(status=Status.DONE, message_count=1),
                messages=({"n": 0},),
                trace=({"n": 0},),
                applied=("e1",),
                posts=(post("p2"),),
                images={"d": b""},
                due_at=clock() + 60,
            ),
        )

    next_lease = next_lease or await owned(other, "second")
    record = await record_of(other)
    assert (record.case, record.run, record.messages) == (case(), run(), ())
    assert [stored.event for stored in await other.inbox(next_lease)] == [event("e1")]
    assert [entry.post for entry in await other.outbox(next_lease)] == [post("p1")]
    assert await other.trace("r1") == []
    assert await other.images(["d"]) == {}


async def test_releasing_a_lost_lease_is_no_error_and_changes_nothing(
    store: CaseStore, other: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    await store.save(lease, Change(case=case(), run=None, applied=("e1",)))
    clock.go_on(8)
    assert await store.release(lease, due_at=None)
    assert await store.ready(limit=10) == [CASE_ID]
    next_lease = await owned(other, "second")
    assert await store.release(lease, due_at=None)
    await other.save(next_lease, Change(case=case(), run=None))
    assert await store.claim(CASE_ID, "third", seconds=8) is None


async def test_an_old_token_is_refused_although_the_case_is_owned_by_the_same_owner_again(
    store: CaseStore, clock: SetClock
) -> None:
    old = await owned(store, "first")
    clock.go_on(8)
    await owned(store, "first")
    with pytest.raises(LeaseLost):
        await store.save(old, Change(case=case(), run=None))


# Releasing -------------------------------------------------------------------------------------


async def test_a_release_with_an_unapplied_event_fails_and_the_case_stays_owned(
    store: CaseStore, other: CaseStore
) -> None:
    lease = await owned(store, "first")
    assert not await store.release(lease, due_at=None)
    assert await other.claim(CASE_ID, "second", seconds=8) is None
    await store.save(lease, Change(case=case(), run=None, applied=("e1",)))
    assert await store.release(lease, due_at=None)
    await owned(other, "second")


async def test_a_case_that_is_handed_over_is_ready_at_once_whatever_its_inbox_holds(
    store: CaseStore, other: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store)
    await store.save(lease, Change(case=case(), run=None, due_at=clock() + 60))
    await store.hand_over(lease)
    assert await other.ready(limit=10) == [CASE_ID]
    with pytest.raises(LeaseLost):
        await store.save(lease, Change(case=case(posts=9), run=None))
    claim = await other.claim(CASE_ID, "second", seconds=8)
    assert claim
    assert claim.lease.token > lease.token
    assert [stored.event for stored in claim.record.inbox] == [event("e1")]


async def test_handing_over_a_lost_lease_is_no_error_and_changes_nothing(
    store: CaseStore, other: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store)
    clock.go_on(8)
    next_lease = await owned(other, "second")
    await store.hand_over(lease)
    await other.save(next_lease, Change(case=case(), run=None))
    assert await store.claim(CASE_ID, "third", seconds=8) is None


@pytest.mark.parametrize(
    ("end", "interrupted"),
    [("released", False), ("handed over", False), ("given up", True), ("over", True)],
)
async def test_a_claim_says_whether_the_last_owner_was_interrupted(
    store: CaseStore, other: CaseStore, clock: SetClock, end: str, interrupted: bool
) -> None:
    claim = await store.claim(CASE_ID, "first", seconds=8)
    assert claim
    assert not claim.interrupted
    lease = claim.lease
    await store.save(lease, Change(case=case(), run=None, applied=("e1",)))
    match end:
        case "released":
            assert await store.release(lease, due_at=None)
        case "handed over":
            await store.hand_over(lease)
        case "given up":
            await store.renew(lease, seconds=0)
        case _:
            clock.go_on(8)
    claim = await other.claim(CASE_ID, "second", seconds=8)
    assert claim
    assert claim.interrupted == interrupted
    await other.hand_over(claim.lease)
    claim = await store.claim(CASE_ID, "third", seconds=8)
    assert claim
    assert not claim.interrupted


async def test_a_released_case_is_ready_when_it_said(store: CaseStore, clock: SetClock) -> None:
    lease = await owned(store, "first")
    await store.save(lease, Change(case=case(), run=None, applied=("e1",), due_at=clock() + 5))
    assert await store.release(lease, due_at=clock() + 60)
    clock.go_on(59.999)
    assert await store.ready(limit=10) == []
    clock.go_on(0.001)
    assert await store.ready(limit=10) == [CASE_ID]


async def test_a_case_released_without_a_time_is_not_ready_any_more(
    store: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    await store.save(lease, Change(case=case(), run=None, applied=("e1",)))
    assert await store.release(lease, due_at=None)
    clock.go_on(10**6)
    assert await store.ready(limit=10) == []


async def test_a_release_takes_the_time_it_is_given_although_a_post_is_unsent(
    store: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    change = Change(case=case(), run=None, applied=("e1",), posts=(post("p1"),))
    await store.save(lease, change)
    assert await store.release(lease, due_at=clock() + 30)
    assert await store.ready(limit=10) == []


async def test_no_event_falls_between_the_last_look_and_the_release(
    store: CaseStore, other: CaseStore
) -> None:
    """One store delivers while the other applies and releases; at the end nothing is left over."""
    chance = random.Random(7)
    sent = [f"x{n}" for n in range(120)]
    applied: list[str] = []

    async def deliver(some: list[str]) -> None:
        for event_id in some:
            await store.deliver(CASE_ID, event(event_id))
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)

    async def work(owner: str) -> None:
        while len(applied) < len(sent) + 1:
            for case_id in await other.ready(limit=1):
                claim = await other.claim(case_id, owner, seconds=8)
                released = claim is None
                while claim and not released:
                    lease = claim.lease
                    ids = tuple(stored.event.event_id for stored in await other.inbox(lease))
                    await other.save(lease, Change(case=case(), run=None, applied=ids))
                    applied.extend(ids)
                    released = await other.release(lease, due_at=None)

    await asyncio.gather(deliver(sent[::2]), deliver(sent[1::2]), work("first"), work("second"))
    assert sorted(applied) == sorted([*sent, "e1"])
    assert await store.ready(limit=10) == []


# Who is ready ----------------------------------------------------------------------------------


async def test_the_case_that_waits_longest_comes_first_and_no_more_than_asked_for(
    store: CaseStore, clock: SetClock
) -> None:
    for case_id in ("b", "a"):
        clock.go_on(1)
        await store.deliver(case_id, event())
    assert await store.ready(limit=10) == [CASE_ID, "b", "a"]
    assert await store.ready(limit=2) == [CASE_ID, "b"]


async def test_an_owned_case_is_not_ready_until_its_lease_is_over(
    store: CaseStore, clock: SetClock
) -> None:
    await owned(store, "first")
    assert await store.ready(limit=10) == []
    clock.go_on(8)
    assert await store.ready(limit=10) == [CASE_ID]


async def died_after(store: CaseStore, clock: SetClock, change: Change) -> list[str]:
    """Who is ready once an owner saved this, told nobody, and its lease is over."""
    lease = await owned(store, "first")
    await store.save(lease, change)
    clock.go_on(8)
    return list(await store.ready(limit=10))


async def test_a_case_whose_owner_died_before_saving_anything_is_ready(
    store: CaseStore, clock: SetClock
) -> None:
    lease = await owned(store, "first")
    await store.save(lease, Change(case=case(), run=None, applied=("e1",)))
    assert await store.release(lease, due_at=None)
    await owned(store, "first")
    clock.go_on(8)
    assert await store.ready(limit=10) == [CASE_ID]


async def test_a_case_whose_owner_died_in_the_middle_of_its_work_is_ready(
    store: CaseStore, clock: SetClock
) -> None:
    change = Change(case=case(), run=run(), applied=("e1",))
    assert await died_after(store, clock, change) == [CASE_ID]


async def test_a_case_that_was_parked_before_its_owner_died_is_ready_in_time(
    store: CaseStore, clock: SetClock
) -> None:
    parked = Change(case=case(), run=run(), applied=("e1",), due_at=clock() + 60)
    assert await died_after(store, clock, parked) == []
    clock.go_on(52)
    assert await store.ready(limit=10) == [CASE_ID]


async def test_a_case_with_a_post_to_send_is_ready_when_its_owner_died(
    store: CaseStore, clock: SetClock
) -> None:
    due_at = clock() + 10**6
    with_post = Change(case=case(), run=None, applied=("e1",), posts=(post("p1"),), due_at=due_at)
    assert await died_after(store, clock, with_post) == [CASE_ID]
    later = Change(case=case(), run=None, due_at=due_at)
    assert await died_after(store, clock, later) == [CASE_ID]

    lease = await owned(store, "first")
    await store.sent(lease, {"p1": Posted(channel="C1", message_id="1.1")})
    await store.save(lease, later)
    clock.go_on(8)
    assert await store.ready(limit=10) == []


async def test_a_case_with_an_event_left_is_ready_when_its_owner_died(
    store: CaseStore, clock: SetClock
) -> None:
    later = Change(case=case(), run=None, due_at=clock() + 10**6)
    assert await died_after(store, clock, later) == [CASE_ID]
