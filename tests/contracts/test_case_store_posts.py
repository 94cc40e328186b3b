"""What every `CaseStore` keeps to about posts: the outbox, where a post is, the mail of a case."""

from __future__ import annotations

import pytest

from agent.errors import StoreError
from agent.ports import CaseStore, Change, Mail, Posted
from tests.contracts.conftest import SetClock
from tests.contracts.samples import CASE_ID, case, claimed, event, outbox_ids, owned, post


async def test_posts_wait_in_the_order_they_were_saved(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("z"), post("a"))))
    await store.save(lease, Change(case=case(), run=None, posts=(post("m"),)))
    entries = await store.outbox(lease)
    assert [entry.post for entry in entries] == [post("z"), post("a"), post("m")]
    assert [entry.seq for entry in entries] == sorted(entry.seq for entry in entries)
    assert {entry.token for entry in entries} == {lease.token}


async def test_a_post_that_is_known_is_left_alone(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1", "old"),)))
    await store.save(
        lease, Change(case=case(), run=None, posts=(post("p1", "new"), post("p2", "two")))
    )
    assert [entry.post for entry in await store.outbox(lease)] == [
        post("p1", "old"),
        post("p2", "two"),
    ]


async def test_a_post_that_was_sent_is_not_sent_again_when_it_is_saved_again(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"),)))
    await store.sent(lease, {"p1": Posted(channel="C1", message_id="1.1")})
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1", "new"),)))
    assert await store.outbox(lease) == []
    assert await store.posted(CASE_ID, "p1") == Posted(channel="C1", message_id="1.1")


async def test_an_outbox_entry_names_the_lease_that_saved_it(
    store: CaseStore, clock: SetClock
) -> None:
    first = await claimed(store)
    await store.save(first, Change(case=case(), run=None, posts=(post("p1"),)))
    clock.go_on(8)
    second = await owned(store, "next")
    await store.save(second, Change(case=case(), run=None, posts=(post("p1"), post("p2"))))
    tokens = {entry.post.post_id: entry.token for entry in await store.outbox(second)}
    assert tokens == {"p1": first.token, "p2": second.token}


async def test_a_claim_says_whether_posts_are_left_to_send(
    store: CaseStore, other: CaseStore
) -> None:
    async def has_posts() -> bool:
        claim = await other.claim(CASE_ID, "next", seconds=8)
        assert claim
        await other.release(claim.lease, due_at=None)
        return claim.has_posts

    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"), post("p2"))))
    await store.sent(lease, {"p1": Posted(channel="C1", message_id="1.1")})
    await store.release(lease, due_at=None)
    assert await has_posts()
    lease = await owned(store)
    await store.sent(lease, {"p2": Posted(channel="", message_id="")})
    await store.release(lease, due_at=None)
    assert not await has_posts()


async def test_a_sent_post_leaves_the_outbox_and_its_place_is_known(
    store: CaseStore, other: CaseStore
) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"), post("p2"))))
    assert await store.posted(CASE_ID, "p1") is None
    await store.sent(lease, {"p1": Posted(channel="C1", message_id="17.1")})
    assert await outbox_ids(store, lease) == ["p2"]
    assert await other.posted(CASE_ID, "p1") == Posted(channel="C1", message_id="17.1")
    assert await other.posted(CASE_ID, "p2") is None
    assert await other.posted("another", "p1") is None


async def test_a_post_that_left_no_message_counts_as_sent(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"),)))
    await store.sent(lease, {"p1": Posted(channel="", message_id="")})
    assert await store.outbox(lease) == []
    assert await store.posted(CASE_ID, "p1") == Posted(channel="", message_id="")


async def test_a_post_that_was_never_saved_cannot_be_sent(store: CaseStore) -> None:
    lease = await claimed(store)
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"),)))
    here = Posted(channel="C1", message_id="1.1")
    with pytest.raises(StoreError, match="p9"):
        await store.sent(lease, {"p1": here, "p9": here})
    assert await outbox_ids(store, lease) == ["p1"]


async def test_several_posts_are_marked_as_sent_at_once(store: CaseStore) -> None:
    lease = await claimed(store)
    posts = (post("p1"), post("p2"), post("p3"))
    await store.save(lease, Change(case=case(), run=None, posts=posts))
    places = {each: Posted(channel="C1", message_id=each) for each in ("p1", "p3")}
    await store.sent(lease, places)
    assert await outbox_ids(store, lease) == ["p2"]
    assert {each: await store.posted(CASE_ID, each) for each in places} == places


async def test_the_mail_of_a_case_is_all_that_came_and_went_with_what_became_of_it(
    store: CaseStore,
) -> None:
    lease = await claimed(store)
    await store.deliver(CASE_ID, event("e2"))
    await store.save(lease, Change(case=case(), run=None, posts=(post("p1"), post("p2"))))
    here = Posted(channel="C1", message_id="17.1")
    await store.sent(lease, {"p1": here})
    mail = await store.mail(CASE_ID)
    events = [(stored.seq, stored.event.event_id, applied) for stored, applied in mail.events]
    assert events == [(1, "first", True), (2, "e2", False)]
    posts = [(entry.seq, entry.post.post_id, posted) for entry, posted in mail.posts]
    assert posts == [(1, "p1", here), (2, "p2", None)]
    newest = await store.mail(CASE_ID, limit=1)
    assert [stored.event.event_id for stored, _ in newest.events] == ["e2"]
    assert [entry.post.post_id for entry, _ in newest.posts] == ["p2"]
    assert await store.mail("unknown") == Mail(events=[], posts=[])
