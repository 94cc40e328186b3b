"""What was asked for outside any thread, and cases that begin with their customer."""

from __future__ import annotations

import pytest

from agent.case import Addressed, Asked, Offer, Opened, Opening, Picker, StatusLine
from bot.local.claude import say
from tests.agent.bench import CASE, Bench, ask

WORDS = "The kettle from order 4502 arrived cracked."
ASKED = Asked(customer_id="cust_asha", by="ravi", text=WORDS, place="desk")


async def test_a_request_posts_a_thread_and_then_tells_where_it_is(bench: Bench) -> None:
    event = await bench.deliver(ASKED)
    await bench.go()

    opening, answer = bench.posts
    assert opening.content == Opening(asked=ASKED, asked_at=float(event.ts))
    assert answer.content == Opened(
        opening=opening.post_id, user="ravi", place="desk", text=WORDS, asked_at=float(event.ts)
    )
    assert (await bench.record()).run is None
    assert bench.claude.requests == []


async def test_a_request_that_comes_twice_posts_once(bench: Bench) -> None:
    event = bench.event(ASKED)
    for _ in range(2):
        await bench.store.deliver(CASE, event)
        await bench.go()

    assert len(bench.shown(Opening)) == 1


@pytest.mark.parametrize("refusal", ["", "Guests can't do this."])
async def test_who_speaks_to_us_outside_a_case_gets_an_offer(bench: Bench, refusal: str) -> None:
    event = await bench.deliver(Addressed(by="ravi", place="hall", refusal=refusal))
    await bench.go()

    assert bench.shown(Offer) == [
        Offer(user="ravi", place="hall", asked_at=float(event.ts), refusal=refusal)
    ]


async def test_a_case_that_begins_with_its_customer_shows_no_picker(bench: Bench) -> None:
    bench.claude.script("kettle", [ask(), say("Done.")])
    await bench.open(WORDS)
    await bench.go()

    assert bench.shown(Picker) == []
    first, *later = bench.posts
    assert isinstance(first.content, StatusLine)
    assert first.update_of is None
    assert first.post_id == (await bench.case()).status_post

    await bench.says("The red one.")
    await bench.go()
    assert [post.update_of for post in bench.posts if isinstance(post.content, StatusLine)] == [
        None,
        first.post_id,
    ]
    assert later


async def test_a_picker_that_was_shown_becomes_the_status_line(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Done.")])
    await bench.says(WORDS, first=True)
    await bench.go()
    await bench.choose("cust_asha")
    await bench.go()

    [picker] = [post for post in bench.posts if isinstance(post.content, Picker)]
    lines = [post for post in bench.posts if isinstance(post.content, StatusLine)]
    assert {post.update_of for post in lines} == {picker.post_id}
