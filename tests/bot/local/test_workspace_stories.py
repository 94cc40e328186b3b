"""Stories on the page: each to its end, by the button and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.local.slack.seed import APPROVALS, PRIYA, RAVI, SUPPORT_CASES
from bot.local.stories import STORIES
from tests.bot.local.workspace_bench import begin, newest, page, play, turn

pytestmark = pytest.mark.timeout(240)

OTHERS = [story.name for story in STORIES if story.name != "seed"]


async def test_every_story_comes_to_its_end_and_a_second_time_only_in_a_new_workspace(
    tmp_path: Path,
) -> None:
    async with page(tmp_path / "state") as shown:
        told = await shown.get("/api/stories")
        assert [each["name"] for each in told["stories"]] == [story.name for story in STORIES]
        assert told["playing"] is None
        await shown.bot_is("up")
        for name in OTHERS:
            played = await play(shown, name)
            assert (played["state"], played["failures"]) == ("done", []), name
            await shown.status(played["thread"]["ts"], played["ends_as"][-1])
        code, answer = await shown.refused("POST", "/api/stories/small/start")
        assert (code, answer["code"]) == (409, "needs_fresh")

        async with shown.live(RAVI) as live:
            await shown.post("/api/fresh", {})
            await live.closed()
            async with shown.live(RAVI) as again:
                assert again.hello["boot"] != live.hello["boot"]
        assert (await shown.get("/api/me"))["first_visit"]
        assert (await play(shown, "small"))["state"] == "done"


async def test_somebody_may_act_by_hand_where_a_story_waits(tmp_path: Path) -> None:
    async with page(tmp_path / "state") as shown:
        await shown.bot_is("up")
        await shown.post("/api/stories/stranger/start", {})
        for _ in range(2):
            await turn(shown)
            await shown.post("/api/stories/stranger/next", {})
        waiting = await turn(shown)
        assert waiting["turn"]["what"] == "relays the customer's answer"
        await shown.did(
            RAVI,
            "post",
            channel=SUPPORT_CASES,
            text="It was Vikram's, she says.",
            thread_ts=waiting["thread"]["ts"],
        )
        played = await turn(shown, "done", "failed")
        assert (played["state"], played["failures"]) == ("done", [])


async def test_a_stopped_story_leaves_its_case_to_the_people(tmp_path: Path) -> None:
    async with page(tmp_path / "state") as shown:
        await shown.bot_is("up")
        stopped = await begin(shown, "decline", 2)
        assert (stopped["state"], stopped["turn"]) == ("stopped", None)
        card = newest(await shown.get(f"/api/channel/{APPROVALS}?as={PRIYA}"), "₹1,850.00")
        assert card is not None
        for step in ("next", "stop"):
            code, answer = await shown.refused("POST", f"/api/stories/decline/{step}")
            assert (code, answer["code"]) == (409, "conflict")
        code, answer = await shown.refused("POST", "/api/stories/nothing/start")
        assert (code, answer["code"]) == (404, "not_found")
        assert (await shown.click(PRIYA, card, "Approve"))["ok"]
        await shown.status(stopped["thread"]["ts"], "done")
