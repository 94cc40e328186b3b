"""Photos on their way to the model: when they are fetched, and what happens when they can't be."""

from __future__ import annotations

import pytest

from agent.asking import PHOTO_RETRY_SECONDS
from agent.case import Handoff
from agent.loop import advance
from bot.local.claude import call, say
from tests.agent.bench import Bench, ask, blocks, results, texts

WORDS = "The kettle from order 4502 arrived cracked."
LOST = "could not be read"


async def shows(bench: Bench, *photos: str) -> None:
    """A customer is chosen for a message with these photos."""
    await bench.says(WORDS, first=True, photos=photos)
    await bench.choose("cust_asha")
    await bench.go()


def kinds(bench: Bench) -> list[str]:
    """Of the first message's blocks, as the model got them."""
    return [block["type"] for block in blocks(bench.request()["messages"][0])]


async def test_a_photo_that_can_not_be_had_just_now_parks_the_run_and_comes_later(
    bench: Bench,
) -> None:
    bench.claude.script("kettle", [say("I see.")])
    bench.late_photos = {"F1"}
    await shows(bench, "F1", "F2")
    run = await bench.run()
    assert (run.status, run.retry_at) == ("running", pytest.approx(bench.clock() + 5, abs=0.1))
    assert bench.claude.requests == []
    bench.late_photos.clear()
    await bench.go_after(4)
    assert bench.claude.requests == []
    await bench.go_after(1)
    assert kinds(bench) == ["text", "image", "image"]
    assert (await bench.run()).status == "done"


async def test_a_photo_that_never_comes_is_tried_for_a_while_and_then_told_as_lost(
    bench: Bench,
) -> None:
    bench.claude.script("kettle", [say("Sorry.")])
    bench.late_photos = {"F1"}
    await shows(bench, "F1")
    for seconds in PHOTO_RETRY_SECONDS:
        assert bench.claude.requests == []
        await bench.go_after(seconds)
    assert PHOTO_RETRY_SECONDS == (5, 15, 45)
    assert kinds(bench) == ["text", "text"]
    assert LOST in texts(bench.request()["messages"][0])[1]
    assert [each["problem"] for each in await bench.trace("photo")] == [
        *["can't be had just now"] * 3,
        "can't be had",
    ]


async def test_a_photo_that_is_lost_for_good_is_told_at_once(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Sorry.")])
    bench.lost_photos = {"F1"}
    await shows(bench, "F1")
    assert LOST in texts(bench.request()["messages"][0])[1]
    assert bench.fetched_photos == ["F1"]


async def test_each_photo_gets_its_own_tries(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Sorry.")])
    bench.late_photos = {"F1", "F2"}
    await shows(bench, "F1", "F2")
    for seconds in PHOTO_RETRY_SECONDS:
        await bench.go_after(seconds)
    assert bench.claude.requests == []
    assert (await bench.run()).retry_at == bench.clock() + 5
    for seconds in PHOTO_RETRY_SECONDS:
        await bench.go_after(seconds)
    assert kinds(bench) == ["text", "text", "text"]


async def test_what_became_of_a_photo_stays_and_it_is_fetched_once(bench: Bench) -> None:
    bench.claude.script(
        "kettle", [call("get_order", order_id="4502"), ask("Another?"), say("Thanks.")]
    )
    bench.lost_photos = {"F1"}
    await shows(bench, "F1", "F2")
    bench.lost_photos.clear()
    await bench.says("Here.", photos=["F3"])
    await bench.go()
    assert bench.fetched_photos == ["F1", "F2", "F3"]
    first, second, third = (bench.request(number)["messages"][0] for number in range(3))
    assert first == second == third


async def test_a_reply_with_a_late_photo_is_the_answer_once_it_is_there(bench: Bench) -> None:
    bench.claude.script("kettle", [ask("A photo?"), say("Thanks.")])
    await bench.open(WORDS)
    bench.late_photos = {"F1"}
    await bench.says("Here.", photos=["F1"])
    await bench.go()
    await bench.says("Did you get it?")
    await bench.go()
    assert len(bench.claude.requests) == 1
    bench.late_photos.clear()
    await bench.go_after(5)
    sent = bench.request()["messages"]
    [result] = results(sent)
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert texts(sent[-1]) == ["Did you get it?"]


async def test_a_take_over_does_not_wait_for_a_photo(bench: Bench) -> None:
    bench.claude.script("kettle", [say("Never said.")])
    bench.late_photos = {"F1"}
    await shows(bench, "F1")
    await bench.take_over()
    await bench.go()
    assert len(bench.shown(Handoff)) == 1
    assert bench.claude.requests == []


async def test_a_run_that_waited_for_a_photo_is_not_charged_for_a_lost_call(bench: Bench) -> None:
    bench.claude.script("kettle", [say("I see.")])
    bench.late_photos = {"F1"}
    await shows(bench, "F1")
    bench.late_photos.clear()
    await bench.go_after(5)
    assert await bench.trace("attempt") == []


async def test_a_photo_that_was_fetched_before_a_failure_is_not_fetched_again(
    bench: Bench,
) -> None:
    bench.claude.script("kettle", [say("I see.")])
    bench.claude.faults.overloaded()
    await shows(bench, "F1")
    await bench.go_after(5)
    assert kinds(bench) == ["text", "image"]
    assert bench.fetched_photos == ["F1"]


@pytest.mark.parametrize("text", ["// look at that", "Hello?"], ids=["note", "after a handoff"])
async def test_a_photo_that_the_model_does_not_see_is_not_fetched(bench: Bench, text: str) -> None:
    bench.claude.script("kettle", [ask("Which one?")])
    await bench.open(WORDS)
    if text == "Hello?":
        await bench.take_over()
    await bench.says(text, photos=["F1"])
    lease, claimed = await bench.claim()
    await advance(bench.harness, claimed)
    await bench.store.release(lease, due_at=None)
    assert bench.fetched_photos == []
