"""Events as a real Bolt app gets them: what is sent, in which form, and how often."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp

from bot.local.slack import LocalSlack, Upload
from bot.local.slack.seed import APPROVALS, CASETHREAD_BOT_USER, PRIYA, RAVI, SUPPORT_CASES
from tests.bot.local.slack_bench import (
    EVENTS,
    Client,
    Json,
    actions,
    bolt_app,
    button,
    connected,
    manifest,
    recording,
    section,
)

CASE = {"event_type": "customer_case", "event_payload": {"customer_id": "cust_asha"}}


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=manifest()) as local:
        yield local


@pytest.fixture
def app(slack: LocalSlack) -> AsyncApp:
    return bolt_app(slack)


async def test_a_persons_message_arrives_in_slacks_form(slack: LocalSlack, app: AsyncApp) -> None:
    seen = recording(app, "message")
    text = "Cups & <b>\nask a@b.com, see https://x.com/a?b=1&c=2. Or x.com, +91 98765 43210 @Priya"
    async with connected(app, slack):
        await slack.person("Ravi").post("#support-cases", text)
        event = (await slack.until(lambda: seen))[0]
    assert event["text"] == (
        "Cups &amp; &lt;b&gt;\nask <mailto:a@b.com|a@b.com>, see <https://x.com/a?b=1&amp;c=2>."
        f" Or <http://x.com|x.com>, <tel:+919876543210|+91 98765 43210> <@{PRIYA}>"
    )
    assert (event["user"], event["team"], event["channel_type"]) == (RAVI, "T0CARTWISE", "channel")
    assert event["event_ts"] == event["ts"]
    elements = event["blocks"][0]["elements"][0]["elements"]
    assert {"type": "user", "user_id": PRIYA} in elements


async def test_a_mention_arrives_twice_with_different_ids(slack: LocalSlack, app: AsyncApp) -> None:
    bodies: list[Json] = []

    async def keep(body: Json) -> None:
        bodies.append(body)

    for name in ("message", "app_mention"):
        app.event(name)(keep)  # pyright: ignore[reportUnknownMemberType]
    async with connected(app, slack):
        await slack.person("Ravi").post("#support-cases", "@Casethread hello")
        await slack.until(lambda: len(bodies) == 2)
    assert {body["event"]["type"] for body in bodies} == {"message", "app_mention"}
    assert len({body["event_id"] for body in bodies}) == 2
    assert len({body["event"]["ts"] for body in bodies}) == 1
    assert bodies[0]["event"]["text"] == f"<@{CASETHREAD_BOT_USER}> hello"
    assert bodies[0]["is_ext_shared_channel"] is True


async def test_edits_and_deletions_arrive_with_both_versions(
    slack: LocalSlack, app: AsyncApp
) -> None:
    seen = recording(app, "message")
    ravi = slack.person("Ravi")
    async with connected(app, slack):
        message = await ravi.post("#support-cases", "one")
        await ravi.edit(message, "two")
        await ravi.delete(message)
        await slack.until(lambda: len(seen) == 3)
    _, changed, deleted = sorted(seen, key=lambda event: event["event_ts"])
    assert (changed["subtype"], changed["message"]["text"]) == ("message_changed", "two")
    assert changed["previous_message"]["text"] == "one"
    assert changed["message"]["edited"]["user"] == RAVI
    assert changed["ts"] != message.ts
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", message.ts)
    assert deleted["previous_message"]["text"] == "two"


async def test_a_deleted_root_with_replies_arrives_as_a_tombstone(
    slack: LocalSlack, app: AsyncApp
) -> None:
    seen = recording(app, "message")
    ravi = slack.person("Ravi")
    async with connected(app, slack):
        root = await ravi.post("#support-cases", "It broke")
        await ravi.reply(root, "really")
        await ravi.delete(root)
        await slack.until(lambda: len(seen) == 3)
    last = max(seen, key=lambda event: event["event_ts"])
    assert (last["subtype"], last["message"]["subtype"]) == ("message_changed", "tombstone")
    assert last["message"]["ts"] == root.ts
    assert last["previous_message"]["text"] == "It broke"


async def test_files_replies_and_broadcasts_say_what_they_are(
    slack: LocalSlack, app: AsyncApp
) -> None:
    seen = recording(app, "message")
    ravi = slack.person("Ravi")
    async with connected(app, slack):
        root = await ravi.post("#support-cases", "", files=[Upload(name="a.png", content=b"x")])
        await ravi.reply(root, "reply")
        await ravi.post("#support-cases", "aloud", thread=root, broadcast=True)
        await slack.until(lambda: len(seen) == 3)
    shared, reply, aloud = sorted(seen, key=lambda event: event["event_ts"])
    assert (shared["subtype"], shared["files"][0]["name"]) == ("file_share", "a.png")
    assert (reply["thread_ts"], reply["parent_user_id"]) == (root.ts, RAVI)
    assert "subtype" not in reply
    assert (aloud["subtype"], aloud["thread_ts"]) == ("thread_broadcast", root.ts)


async def test_other_apps_and_the_apps_own_messages_arrive_with_app_and_metadata(
    slack: LocalSlack,
) -> None:
    bodies: list[Json] = []

    async def keep(body: Json, next: Any) -> None:
        bodies.append(body["event"])
        await next()

    # Bolt drops the app's own messages before listeners; a middleware in front sees them.
    async with connected(bolt_app(slack, keep), slack):
        await slack.other_app().post("#support-cases", "A case", metadata=CASE)
        await slack.other_app().post("#support-cases", "old style", classic=True)
        await Client(slack)("chat.postMessage", channel=SUPPORT_CASES, text="mine", metadata=CASE)
        await slack.until(lambda: len(bodies) == 3)
    other, classic, own = sorted(bodies, key=lambda event: event["event_ts"])
    assert (other["app_id"], other["metadata"]) == ("A0HELPDESK", CASE)
    assert "subtype" not in other
    assert (classic["subtype"], classic["bot_id"]) == ("bot_message", "B0HELPDESK")
    assert "user" not in classic
    assert (own["app_id"], own["user"]) == ("A0CASETHRD", CASETHREAD_BOT_USER)


async def test_reactions_joins_and_home_arrive(slack: LocalSlack, app: AsyncApp) -> None:
    seen = recording(app, "reaction_added", "member_joined_channel", "app_home_opened")
    ravi = slack.person("Ravi")
    async with connected(app, slack):
        message = await ravi.post("#support-cases", "x")
        await ravi.react(message, "eyes")
        await ravi.invite_app("#random")
        await ravi.open_home()
        await slack.until(lambda: len(seen) == 3)
    events = {event["type"]: event for event in seen}
    assert events["reaction_added"]["item"]["ts"] == message.ts
    assert events["reaction_added"]["item_user"] == RAVI
    assert events["member_joined_channel"]["user"] == CASETHREAD_BOT_USER
    assert (events["app_home_opened"]["tab"], events["app_home_opened"]["user"]) == ("home", RAVI)


async def test_nothing_is_sent_of_channels_without_the_bot_or_without_a_subscription() -> None:
    events = tuple(name for name in EVENTS if name != "reaction_added")
    async with LocalSlack(manifest=manifest(events=events)) as slack:
        message = await slack.person("Ravi").post("#random", "@Casethread psst")
        assert slack.sockets.unacknowledged == 0
        message = await slack.person("Ravi").post("#approvals", "x")
        await slack.person("Omar").react(message, "eyes")
        assert slack.sockets.unacknowledged == 1


async def test_a_direct_message_arrives_as_one(slack: LocalSlack, app: AsyncApp) -> None:
    seen = recording(app, "message", "app_mention")
    async with connected(app, slack):
        await slack.person("Ravi").direct_message("@Casethread hello")
        await slack.until(lambda: seen and not slack.sockets.unacknowledged)
    assert [(event["type"], event["channel_type"]) for event in seen] == [("message", "im")]


async def test_an_unfurled_link_changes_the_message_but_not_its_text(
    slack: LocalSlack, app: AsyncApp
) -> None:
    seen = recording(app, "message")
    slack.unfurl_links = True
    async with connected(app, slack):
        await slack.person("Ravi").post("#support-cases", "see https://x.com")
        await slack.until(lambda: len(seen) == 2)
    changed = max(seen, key=lambda event: event["event_ts"])
    assert changed["subtype"] == "message_changed"
    assert changed["message"]["text"] == changed["previous_message"]["text"]
    assert "edited" not in changed["message"]


async def test_events_wait_for_an_app_that_is_away(slack: LocalSlack, app: AsyncApp) -> None:
    seen = recording(app, "message")
    for number in range(3):
        await slack.person("Ravi").post("#support-cases", str(number))
    assert slack.sockets.unacknowledged == 3
    async with connected(app, slack):
        await slack.until(lambda: len(seen) == 3)
        await slack.until(lambda: not slack.sockets.unacknowledged)
    assert slack.sockets.undelivered == []


async def test_too_many_waiting_events_are_dropped() -> None:
    async with LocalSlack(manifest=manifest(), queue_limit=2) as slack:
        for number in range(3):
            await slack.person("Ravi").post("#support-cases", str(number))
        assert slack.sockets.unacknowledged == 2
        assert [body["event"]["text"] for body in slack.sockets.undelivered] == ["2"]


async def test_an_unacknowledged_event_comes_three_times_more_then_is_given_up() -> None:
    attempts: list[tuple[str, str]] = []

    async def refuse(req: Any, resp: Any, next: Any) -> Any:
        headers = req.headers
        attempts.append(
            (headers["x-slack-retry-num"][0], headers.get("x-slack-retry-reason", [""])[0])
        )
        resp.status = 500
        return resp

    impatient = LocalSlack(
        manifest=manifest(), ack_timeout_seconds=0.1, retry_delays_seconds=(0.0, 0.05, 0.1)
    )
    async with impatient as slack, connected(bolt_app(slack, refuse), slack):
        await slack.person("Ravi").post("#support-cases", "x")
        await slack.until(lambda: slack.sockets.undelivered)
    assert [number for number, _ in attempts] == ["0", "1", "2", "3"]
    assert attempts[-1][1] == "timeout"


async def test_an_event_that_a_closed_socket_left_goes_to_the_other_at_once() -> None:
    stuck = asyncio.Event()

    async def hang() -> None:
        stuck.set()
        await asyncio.Event().wait()

    async with LocalSlack(manifest=manifest(), ack_timeout_seconds=30.0) as slack:
        silent, listening = bolt_app(slack, hang), bolt_app(slack)
        seen = recording(listening, "message")
        async with connected(silent, slack):
            await slack.person("Ravi").post("#support-cases", "x")
            await asyncio.wait_for(stuck.wait(), 5)
            async with connected(listening, slack):
                assert seen == []
                await slack.faults.disconnect_sockets()
                assert (await slack.until(lambda: seen))[0]["text"] == "x"


async def test_an_event_may_be_delivered_twice_or_again(slack: LocalSlack, app: AsyncApp) -> None:
    ids: list[str] = []

    async def keep(body: Json) -> None:
        ids.append(body["event_id"])

    app.event("message")(keep)  # pyright: ignore[reportUnknownMemberType]
    async with connected(app, slack):
        slack.faults.deliver_twice()
        await slack.person("Ravi").post("#support-cases", "x")
        await slack.until(lambda: len(ids) == 2)
        slack.faults.redeliver_last()
        await slack.until(lambda: len(ids) == 3)
        await slack.person("Ravi").post("#support-cases", "y")
        await slack.until(lambda: len(ids) == 4)
    assert [len(set(ids[:3])), len(set(ids))] == [1, 2]


async def test_events_may_come_out_of_order(slack: LocalSlack, app: AsyncApp) -> None:
    seen = recording(app, "message")
    async with connected(app, slack):
        with slack.faults.reorder():
            await slack.person("Ravi").post("#support-cases", "first")
            await slack.person("Ravi").post("#support-cases", "second")
        await slack.until(lambda: len(seen) == 2)
    assert [event["text"] for event in seen] == ["second", "first"]


async def test_guests_post_only_where_they_are_and_are_seen_as_guests(
    slack: LocalSlack, app: AsyncApp
) -> None:
    seen = recording(app, "message")
    with pytest.raises(PermissionError):
        await slack.person("Gita").post("#approvals", "x")
    async with connected(app, slack):
        await slack.person("Kavya").post("#support-cases", "x")
        await slack.until(lambda: seen)
    assert seen[0]["team"] == "T0PARTNER1"


async def test_a_wait_in_vain_shows_every_thread(slack: LocalSlack) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post("#support-cases", "The kettle is broken")
    await ravi.reply(root, "Photo & all")
    with pytest.raises(AssertionError, match="not within") as failure:
        await slack.until(lambda: slack.messages(APPROVALS), timeout_seconds=0.01)
    picture = str(failure.value)
    assert "#support-cases" in picture
    assert "Photo & all" in picture
    assert "2 events unacknowledged" in picture


async def test_a_thread_is_drawn_as_people_see_it(slack: LocalSlack) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post(
        "#support-cases", "Kettle & lid", files=[Upload(name="a.png", content=b"x" * 2000)]
    )
    await Client(slack)(
        "chat.postMessage",
        channel=root.channel,
        thread_ts=root.ts,
        text="Approve?",
        blocks=[
            section(f"For <@{PRIYA}>: &lt;b&gt;"),
            actions(button("Approve"), button("No", "n")),
        ],
    )
    await ravi.react(root, "lock")
    drawn = re.sub(r"\d\d:\d\d", "12:34", slack.render(root))
    assert drawn == (
        "#support-cases\n"
        " Ravi Kumar  12:34\n"
        "   Kettle & lid\n"
        "   [file] a.png (2,000 bytes)\n"
        "   🔒 1\n"
        "   │\n"
        "   │ Casethread [app]  12:34\n"
        "   │   For @Priya Menon: <b>\n"
        "   │   [ Approve ]  [ No ]"
    )
