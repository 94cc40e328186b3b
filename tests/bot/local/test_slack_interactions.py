"""Clicks, choices, modals, shortcuts, commands and Home, with Bolt on the other side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bot.local.slack import LocalSlack
from bot.local.slack.seed import APPROVALS, PRIYA, RAVI, SUPPORT_CASES
from tests.bot.local.slack_bench import (
    Client,
    Heard,
    Json,
    actions,
    bolt_app,
    button,
    card,
    connected,
    manifest,
    modal,
    note_input,
    open_modal,
    plain,
    section,
)

SEARCH: Json = {
    "type": "external_select",
    "action_id": "customer",
    "placeholder": plain("Customer"),
    "min_query_length": 2,
}
CONFIRM: Json = {
    "title": plain("Sure?"),
    "text": plain("It is final"),
    "confirm": plain("Yes"),
    "deny": plain("No"),
}


class Clock:
    def __init__(self) -> None:
        self.time = 1_790_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slack(clock: Clock) -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=manifest(), now=clock) as local:
        yield local


@pytest.fixture
async def heard(slack: LocalSlack) -> AsyncIterator[Heard]:
    app = bolt_app(slack)
    async with connected(app, slack):
        yield Heard(app)


async def test_a_click_brings_all_that_the_app_needs(slack: LocalSlack, heard: Heard) -> None:
    heard.on("action", "approve")
    root = await slack.person("Ravi").post("#support-cases", "x")
    message = await card(
        slack,
        actions(button("Approve", "approve", value="v1", style="primary")),
        channel=SUPPORT_CASES,
        thread_ts=root.ts,
    )
    assert (await slack.person("Priya").click(message, "Approve")).acked
    [body] = heard.bodies
    [action] = body["actions"]
    assert (action["action_id"], action["value"]) == ("approve", "v1")
    assert float(action["action_ts"]) > float(message.ts)
    assert (body["user"]["id"], body["user"]["team_id"]) == (PRIYA, "T0CARTWISE")
    assert body["container"] == {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": SUPPORT_CASES,
        "is_ephemeral": False,
        "thread_ts": root.ts,
    }
    assert (body["message"]["thread_ts"], body["channel"]["name"]) == (root.ts, "support-cases")
    assert body["response_url"].startswith(slack.url)


async def test_a_button_that_is_not_there_is_named_with_those_that_are(slack: LocalSlack) -> None:
    message = await card(slack, actions(button("Approve", "a"), button("Decline", "d")))
    with pytest.raises(LookupError, match="Approve, Decline"):
        await slack.person("Priya").click(message, "Aprove")


async def test_a_button_that_was_changed_meanwhile_can_still_be_pressed_as_it_was_seen(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("action", "press")
    message = await card(slack, actions(button("Approve", value="v1")))
    place = {"channel": message.channel, "ts": message.ts}
    changed = [actions(button("Approve", value="v2"))]
    await Client(slack)("chat.update", **place, text="A card", blocks=changed)
    priya = slack.person("Priya")
    assert (await priya.click(message, "Approve", as_seen=True)).acked
    assert (await priya.click(message, "Approve")).acked
    assert [body["actions"][0]["value"] for body in heard.bodies] == ["v1", "v2"]


async def test_nobody_presses_what_they_cannot_see_or_what_is_another_apps(
    slack: LocalSlack, heard: Heard
) -> None:
    message = await card(slack, actions(button("Approve")))
    with pytest.raises(PermissionError, match="Gita Bose is not in #approvals"):
        await slack.person("Gita").click(message, "Approve")
    blocks = [actions(button("Approve"))]
    other = await slack.other_app().post("#support-cases", "x", blocks=blocks)
    with pytest.raises(LookupError, match="isn't the app's"):
        await slack.person("Priya").click(other, "Approve")


async def test_a_click_without_an_app_is_an_error_the_person_sees(slack: LocalSlack) -> None:
    message = await card(slack, actions(button("Approve")))
    priya = slack.person("Priya")
    assert (await priya.click(message, "Approve")).error == "no app is connected"
    assert priya.errors == ["no app is connected"]


async def test_a_click_that_nobody_acknowledges_is_not_repeated() -> None:
    calls: list[Json] = []

    async def forget(body: Json) -> None:
        calls.append(body)

    async with LocalSlack(manifest=manifest(), ack_timeout_seconds=0.2) as slack:
        app: Any = bolt_app(slack)
        app.action("press")(forget)
        async with connected(app, slack):
            message = await card(slack, actions(button("Approve")))
            priya = slack.person("Priya")
            late = "the app did not respond in time"
            assert (await priya.click(message, "Approve")).error == late
    assert len(calls) == 1
    assert priya.errors == [late]
    assert slack.sockets.unacknowledged == 0


async def test_a_confirmation_can_be_declined(slack: LocalSlack, heard: Heard) -> None:
    heard.on("action", "press")
    message = await card(slack, actions(button("Pay", confirm=CONFIRM)))
    priya = slack.person("Priya")
    assert (await priya.click(message, "Pay", confirm=False)).error == "cancelled"
    assert heard.bodies == []
    assert (await priya.click(message, "Pay")).acked


async def test_a_search_offers_and_a_choice_arrives(slack: LocalSlack, heard: Heard) -> None:
    offered = [
        {"text": plain("Asha Rao · asha@example.com"), "value": "cust_asha"},
        {"text": plain("Asha Menon"), "value": "cust_other"},
    ]
    heard.on("options", "customer", options=offered)
    heard.on("action", "customer")
    message = await card(slack, {"type": "actions", "block_id": "pick", "elements": [SEARCH]})
    ravi = slack.person("Ravi")
    assert await ravi.suggest(message, "asha") == [
        "Asha Rao · asha@example.com",
        "Asha Menon",
    ]
    assert (await ravi.choose(message, "asha", option="Asha Rao")).acked
    suggestion, _, action = heard.bodies
    assert (suggestion["type"], suggestion["value"]) == ("block_suggestion", "asha")
    assert (suggestion["action_id"], suggestion["block_id"]) == ("customer", "pick")
    assert action["actions"][0]["selected_option"]["value"] == "cust_asha"
    assert action["state"]["values"]["pick"]["customer"]["selected_option"]["value"] == "cust_asha"
    with pytest.raises(LookupError, match="offered: Asha Rao"):
        await ravi.choose(message, "asha", option="Vikram")
    with pytest.raises(LookupError, match="from 2 characters"):
        await ravi.choose(message, "a")


async def test_options_that_slack_would_not_show_are_recorded(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("options", "customer", options=[{"text": plain("x" * 76), "value": "1"}])
    message = await card(slack, actions(SEARCH))
    ravi = slack.person("Ravi")
    assert await ravi.suggest(message, "asha") == []
    assert [(call.method, call.error) for call in slack.refused] == [
        ("block_suggestion", "invalid_options")
    ]
    assert ravi.errors


async def test_static_selects_and_overflow_menus_are_chosen_by_text(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("action", "pick")
    options = [{"text": plain(text), "value": text.lower()} for text in ("One", "Two")]
    for kind in ("static_select", "overflow", "radio_buttons"):
        message = await card(
            slack, actions({"type": kind, "action_id": "pick", "options": options})
        )
        assert (await slack.person("Ravi").choose(message, option="Two")).acked
        action = heard.bodies[-1]["actions"][0]
        assert (action["type"], action["selected_option"]["value"]) == (kind, "two")


async def test_feedback_buttons_bring_the_value_of_their_side(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("action", "feedback")
    element = {
        "type": "feedback_buttons",
        "action_id": "feedback",
        "positive_button": {"text": plain("Good"), "value": "good"},
        "negative_button": {"text": plain("Bad"), "value": "bad"},
    }
    message = await card(slack, {"type": "context_actions", "elements": [element]})
    assert (await slack.person("Ravi").click(message, "Bad")).acked
    assert heard.bodies[0]["actions"][0]["value"] == "bad"


async def test_a_modal_is_filled_by_label_and_sent_in(slack: LocalSlack, heard: Heard) -> None:
    heard.on("view", "decline")
    await open_modal(slack, heard, modal(note_input(), private_metadata="run 7"))
    priya = slack.person("Priya")
    assert priya.modal
    assert priya.modal.title == "Decline"
    assert "Note: ________" in slack.render(priya.modal)
    assert slack.person("Omar").modal is None
    assert (await priya.fill_and_submit({"Note": "Not <damaged>"})).accepted
    [body] = heard.bodies
    assert body["type"] == "view_submission"
    assert body["view"]["state"]["values"]["note"]["text"]["value"] == "Not <damaged>"
    assert body["view"]["private_metadata"] == "run 7"
    assert priya.modal is None


async def test_slack_itself_asks_for_required_fields(slack: LocalSlack, heard: Heard) -> None:
    heard.on("view", "decline")
    await open_modal(slack, heard, modal(note_input()))
    result = await slack.person("Priya").fill_and_submit({})
    assert list(result.errors) == ["Note"]
    assert heard.bodies == []


async def test_errors_of_the_app_stand_beside_their_fields(slack: LocalSlack, heard: Heard) -> None:
    heard.on("view", "decline", response_action="errors", errors={"note": "Too short"})
    await open_modal(slack, heard, modal(note_input()))
    priya = slack.person("Priya")
    result = await priya.fill_and_submit({"Note": "no"})
    assert (result.accepted, result.errors) == (False, {"Note": "Too short"})
    assert priya.modal
    assert priya.modal.values["note"]["text"]["value"] == "no"


@pytest.mark.parametrize(
    "answer",
    [
        {"response_action": "errors", "errors": {"amount": "no such field"}},
        {"response_action": "errors", "errors": {"note": ""}},
        {"response_action": "update", "view": modal(section("x"), title=plain("x" * 25))},
        {"response_action": "replace"},
    ],
)
async def test_answers_to_a_modal_that_break_a_rule_are_recorded(
    answer: Json, slack: LocalSlack, heard: Heard
) -> None:
    heard.on("view", "decline", **answer)
    await open_modal(slack, heard, modal(note_input()))
    priya = slack.person("Priya")
    assert (await priya.fill_and_submit({"Note": "x"})).error
    assert [call.method for call in slack.refused] == ["view_submission"]
    assert priya.errors


async def test_a_modal_may_be_changed_pushed_and_cleared(slack: LocalSlack, heard: Heard) -> None:
    priya = slack.person("Priya")
    second = modal(note_input(), title=plain("Look again"), callback_id="again")
    third = modal(note_input(), title=plain("Sure?"), callback_id="sure")
    heard.on("view", "decline", response_action="update", view=second)
    heard.on("view", "again", response_action="push", view=third)
    heard.on("view", "sure", response_action="clear")
    await open_modal(slack, heard, modal(note_input()))
    await priya.fill_and_submit({"Note": "kept"})
    assert priya.modal
    assert (priya.modal.title, priya.modal.values["note"]["text"]["value"]) == (
        "Look again",
        "kept",
    )
    await priya.fill_and_submit()
    assert priya.modal
    assert priya.modal.title == "Sure?"
    assert priya.modal.previous_view_id
    await priya.fill_and_submit({"Note": "yes"})
    assert priya.modal is None
    assert slack.refused == []


async def test_a_modal_is_searched_and_updated_while_it_is_open(
    slack: LocalSlack, heard: Heard
) -> None:
    option = {"text": plain("Asha Rao"), "value": "cust_asha"}
    heard.on("options", "customer", options=[option])
    heard.on("view", "decline")
    picker = {"type": "input", "block_id": "who", "label": plain("Customer"), "element": SEARCH}
    await open_modal(slack, heard, modal(picker, note_input()))
    priya = slack.person("Priya")
    assert priya.modal
    assert (await priya.choose(priya.modal, "asha")).acked
    view = heard.bodies.pop()["view"]
    client = Client(slack)
    stale = await client.refused("views.update", view_id=view["id"], view={}, hash="h0")
    assert stale["error"] == "hash_conflict"
    await client("views.update", view_id=view["id"], view=modal(picker, note_input("Why?")))
    await priya.fill_and_submit({"Why?": "x"})
    values = heard.bodies[-1]["view"]["state"]["values"]
    assert values["who"]["customer"]["selected_option"]["value"] == "cust_asha"


async def test_closing_a_modal_is_told_when_the_app_asked(slack: LocalSlack, heard: Heard) -> None:
    heard.on("view_closed", "decline")
    await open_modal(slack, heard, modal(note_input(), notify_on_close=True))
    priya = slack.person("Priya")
    await priya.close_modal()
    assert priya.modal is None
    assert [body["type"] for body in heard.bodies] == ["view_closed"]
    await open_modal(slack, heard, modal(note_input()))
    await priya.close_modal()
    assert len(heard.bodies) == 1


async def test_a_trigger_opens_one_modal_within_three_seconds(
    slack: LocalSlack, heard: Heard, clock: Clock
) -> None:
    heard.on("action", "press")
    message = await card(slack, actions(button("Open")))
    client = Client(slack)
    await slack.person("Priya").click(message, "Open")
    args = {"trigger_id": heard.bodies.pop()["trigger_id"], "view": modal(note_input())}
    await client("views.open", **args)
    assert (await client.refused("views.open", **args))["error"] == "exchanged_trigger_id"
    await slack.person("Priya").click(message, "Open")
    args["trigger_id"] = heard.bodies.pop()["trigger_id"]
    clock.time += 3.1
    assert (await client.refused("views.open", **args))["error"] == "expired_trigger_id"


async def test_three_modals_at_most_are_stacked(slack: LocalSlack, heard: Heard) -> None:
    pressing = modal(actions(button("More")), submit=None)
    client = Client(slack)
    priya = slack.person("Priya")
    await open_modal(slack, heard, pressing)
    for count in (2, 3, 4):
        assert priya.modal
        await priya.click(priya.modal, "More")
        args = {"trigger_id": heard.bodies.pop()["trigger_id"], "view": pressing}
        if count < 4:
            await client("views.push", **args)
        else:
            answer = await client.refused("views.push", **args)
            assert answer["error"] == "push_limit_reached"


async def test_shortcuts_and_commands_reach_the_app(slack: LocalSlack, heard: Heard) -> None:
    heard.on("shortcut", "open_case")
    heard.on("shortcut", "new_case")
    heard.on("command", "/case", text="Nothing waits for you")
    ravi = slack.person("Ravi")
    message = await ravi.post("#support-cases", "It broke")
    assert (await ravi.message_shortcut(message, "Open a case")).acked
    assert (await ravi.global_shortcut("New case")).acked
    assert (await ravi.slash("/case", "status")).acked
    on_message, on_all, command = heard.bodies
    assert (on_message["type"], on_message["message"]["ts"]) == ("message_action", message.ts)
    assert (on_all["type"], on_all["user"]["id"]) == ("shortcut", RAVI)
    assert (command["text"], command["channel_id"]) == ("status", SUPPORT_CASES)
    assert [message.text for message in ravi.private] == ["Nothing waits for you"]
    with pytest.raises(LookupError, match="known: Open a case, New case"):
        await ravi.global_shortcut("New cas")
    with pytest.raises(LookupError, match="known: /case"):
        await ravi.slash("/cases")


async def test_home_is_published_for_one_person_and_its_buttons_work(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("action", "press")
    home = {"type": "home", "blocks": [section("Waiting for you"), actions(button("Look"))]}
    client = Client(slack)
    await client("views.publish", user_id=PRIYA, view=home)
    priya = slack.person("Priya")
    assert priya.home
    assert "Waiting for you" in slack.render(priya.home)
    assert slack.person("Omar").home is None
    assert (await priya.click(priya.home, "Look")).acked
    assert heard.bodies[0]["container"]["type"] == "view"
    answer = await client("views.publish", user_id=PRIYA, view=home)
    assert answer["view"]["id"] == priya.home.id


async def respond(url: str, **content: Any) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, json=content) as response:
        return response.status, await response.text()


async def test_a_response_url_answers_replaces_and_deletes(
    slack: LocalSlack, heard: Heard, clock: Clock
) -> None:
    heard.on("action", "press")
    message = await card(slack, actions(button("Approve")))
    priya = slack.person("Priya")
    await priya.click(message, "Approve")
    url = heard.bodies[0]["response_url"]
    assert await respond(url, text="Too late") == (200, "ok")
    assert [private.text for private in priya.private] == ["Too late"]
    await respond(url, text="All see this", response_type="in_channel")
    assert slack.messages("#approvals")[-1].text == "All see this"
    await respond(url, text="Approved", replace_original=True)
    changed = slack.message(message)
    assert changed
    assert (changed.text, changed.blocks) == ("Approved", ())
    await respond(url, delete_original=True)
    assert slack.message(message) is None
    assert (await respond(url, blocks=[section("")]))[0] == 400
    assert (await respond(url, text="a sixth"))[0] == 404
    await priya.click(await card(slack, actions(button("Approve"))), "Approve")
    clock.time += 31 * 60
    assert "expired_url" in (await respond(heard.bodies[-1]["response_url"], text="x"))[1]


async def test_buttons_of_a_private_message_work_and_replace_it(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("action", "press")
    await Client(slack)(
        "chat.postEphemeral",
        channel=APPROVALS,
        user=PRIYA,
        text="Sure?",
        blocks=[actions(button("Yes"))],
    )
    priya = slack.person("Priya")
    assert (await priya.click(priya.private[0], "Yes")).acked
    [body] = heard.bodies
    assert body["container"]["is_ephemeral"]
    assert "message" not in body
    await respond(body["response_url"], text="Done", replace_original=True)
    assert [(private.text, private.blocks) for private in priya.private] == [("Done", ())]


async def test_a_button_for_some_is_seen_by_them_alone(slack: LocalSlack, heard: Heard) -> None:
    heard.on("action", "press")
    message = await card(slack, actions(button("Approve", visible_to_user_ids=[PRIYA])))
    with pytest.raises(LookupError):
        await slack.person("Omar").click(message, "Approve")
    assert (await slack.person("Priya").click(message, "Approve")).acked
