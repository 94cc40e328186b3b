"""What the Web API refuses, one row a rule, seen through the real client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from bot.local.slack import LocalSlack, Upload
from bot.local.slack.seed import APPROVALS, RANDOM, RAVI, SUPPORT_CASES, cartwise
from bot.local.slack.workspace import Channel
from tests.bot.local.slack_bench import SCOPES, Client, manifest, mrkdwn, section

Json = dict[str, Any]
ABSENT_TS = "1700000000.000001"
SECRET = Channel(id="C0SECRET01", name="secret", kind="group", members=(RAVI,))
ARCHIVED = Channel(id="C0ARCHIVED", name="archived", members=("U0CASEBOT1",), is_archived=True)


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    local = LocalSlack(manifest=manifest())
    seed = cartwise(local.manifest)
    seed = replace(seed, channels=(*seed.channels, SECRET, ARCHIVED))
    async with LocalSlack(manifest=manifest(), seed=seed) as local:
        yield local


POST: Json = {"channel": SUPPORT_CASES, "text": "x"}
REFUSALS: dict[str, tuple[str, Json, str]] = {
    "unknown method": ("chat.postMesage", POST, "unknown_method"),
    "unknown channel": ("chat.postMessage", POST | {"channel": "C0NOWHERE1"}, "channel_not_found"),
    "no channel": ("chat.postMessage", {"text": "x"}, "invalid_arguments"),
    "a channel the bot is not in": (
        "chat.postMessage",
        POST | {"channel": RANDOM},
        "not_in_channel",
    ),
    "a private channel the bot can't see": (
        "chat.postMessage",
        POST | {"channel": SECRET.id},
        "channel_not_found",
    ),
    "an archived channel": ("chat.postMessage", POST | {"channel": ARCHIVED.id}, "is_archived"),
    "no words": ("chat.postMessage", POST | {"text": " "}, "no_text"),
    "text of 40,001": ("chat.postMessage", POST | {"text": "x" * 40_001}, "msg_too_long"),
    "blocks that aren't JSON": (
        "chat.postMessage",
        POST | {"blocks": "[{"},
        "invalid_blocks_format",
    ),
    "broken blocks": ("chat.postMessage", POST | {"blocks": [section("")]}, "invalid_blocks"),
    "metadata that isn't an object": (
        "chat.postMessage",
        POST | {"metadata": "x"},
        "invalid_metadata_format",
    ),
    "metadata without a payload": (
        "chat.postMessage",
        POST | {"metadata": {"event_type": "case"}},
        "invalid_metadata_schema",
    ),
    "metadata of 16 KB": (
        "chat.postMessage",
        POST | {"metadata": {"event_type": "case", "event_payload": {"x": "y" * 16_000}}},
        "metadata_too_large",
    ),
    "a thread_ts that is no ts": (
        "chat.postMessage",
        POST | {"thread_ts": "yesterday"},
        "invalid_arguments",
    ),
    "attachments": ("chat.postMessage", POST | {"attachments": []}, "invalid_arguments"),
    "an update of nothing": (
        "chat.update",
        POST | {"ts": ABSENT_TS},
        "message_not_found",
    ),
    "a deletion of nothing": (
        "chat.delete",
        {"channel": SUPPORT_CASES, "ts": ABSENT_TS},
        "message_not_found",
    ),
    "a private message to someone outside": (
        "chat.postEphemeral",
        {"channel": APPROVALS, "user": "U0KAVYA001", "text": "x"},
        "user_not_in_channel",
    ),
    "a link to nothing": (
        "chat.getPermalink",
        {"channel": SUPPORT_CASES, "message_ts": ABSENT_TS},
        "message_not_found",
    ),
    "a thread that isn't there": (
        "conversations.replies",
        {"channel": SUPPORT_CASES, "ts": ABSENT_TS},
        "thread_not_found",
    ),
    "a history of a channel the bot is not in": (
        "conversations.history",
        {"channel": RANDOM},
        "not_in_channel",
    ),
    "a broken cursor": (
        "conversations.history",
        {"channel": SUPPORT_CASES, "cursor": "???"},
        "invalid_cursor",
    ),
    "a limit of nothing": (
        "conversations.history",
        {"channel": SUPPORT_CASES, "limit": 0},
        "invalid_limit",
    ),
    "unknown kinds of channels": ("conversations.list", {"types": "all"}, "invalid_types"),
    "a scope the manifest lacks": ("conversations.list", {"types": "im"}, "missing_scope"),
    "direct messages with nobody": (
        "conversations.open",
        {"users": "U0NOBODY01"},
        "user_not_found",
    ),
    "a reaction to nothing": (
        "reactions.add",
        {"channel": SUPPORT_CASES, "timestamp": ABSENT_TS, "name": "lock"},
        "message_not_found",
    ),
    "a reaction that is no emoji": (
        "reactions.add",
        {"channel": SUPPORT_CASES, "timestamp": ABSENT_TS, "name": "Not An Emoji"},
        "invalid_name",
    ),
    "nobody's profile": ("users.info", {"user": "U0NOBODY01"}, "user_not_found"),
    "no such group": ("usergroups.users.list", {"usergroup": "S0NOGROUP1"}, "no_such_subteam"),
    "no such bot": ("bots.info", {"bot": "B0NOBOT001"}, "bot_not_found"),
    "no such file": ("files.info", {"file": "F0NOFILE01"}, "file_not_found"),
    "a made-up trigger": (
        "views.open",
        {"trigger_id": "1.2.3", "view": {"type": "modal"}},
        "invalid_trigger_id",
    ),
    "an update of no view": ("views.update", {"view_id": "V0", "view": {}}, "not_found"),
    "a Home for nobody": (
        "views.publish",
        {"user_id": "U0NOBODY01", "view": {"type": "home", "blocks": []}},
        "user_not_found",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_call_that_breaks_a_rule_gets_slacks_own_error(
    name: str, slack: LocalSlack
) -> None:
    method, args, error = REFUSALS[name]
    assert (await Client(slack).refused(method, **args))["error"] == error
    assert [(call.method, call.error) for call in slack.refused] == [(method, error)]


async def test_tokens_are_checked(slack: LocalSlack) -> None:
    assert (await Client(slack, "xoxb-wrong").refused("auth.test"))["error"] == "invalid_auth"
    assert (await Client(slack, slack.app_token).refused("auth.test"))[
        "error"
    ] == "not_allowed_token_type"
    answer = await Client(slack, slack.bot_token).refused("apps.connections.open")
    assert answer["error"] == "not_allowed_token_type"
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{slack.api_url}auth.test") as response,
    ):
        assert (await response.json())["error"] == "not_authed"


METHOD_SCOPES: dict[str, tuple[Json, str]] = {
    "chat.postMessage": (POST, "chat:write"),
    "chat.postEphemeral": (POST, "chat:write"),
    "chat.update": (POST | {"ts": ABSENT_TS}, "chat:write"),
    "chat.delete": (POST | {"ts": ABSENT_TS}, "chat:write"),
    "conversations.history": (POST, "channels:history"),
    "conversations.replies": (POST | {"ts": ABSENT_TS}, "channels:history"),
    "conversations.info": (POST, "channels:read"),
    "conversations.members": (POST, "channels:read"),
    "conversations.list": ({"types": "public_channel"}, "channels:read"),
    "conversations.open": ({"users": RAVI}, "im:write"),
    "reactions.add": (POST | {"timestamp": ABSENT_TS, "name": "lock"}, "reactions:write"),
    "reactions.remove": (POST | {"timestamp": ABSENT_TS, "name": "lock"}, "reactions:write"),
    "reactions.get": (POST | {"timestamp": ABSENT_TS}, "reactions:read"),
    "users.info": ({"user": RAVI}, "users:read"),
    "bots.info": ({"bot": "B0CASETHRD"}, "users:read"),
    "usergroups.list": ({}, "usergroups:read"),
    "usergroups.users.list": ({"usergroup": "S0LEADS001"}, "usergroups:read"),
    "files.info": ({"file": "F1"}, "files:read"),
}


@pytest.mark.parametrize("method", METHOD_SCOPES)
async def test_a_method_needs_its_scope_and_the_answer_says_which(method: str) -> None:
    args, needed = METHOD_SCOPES[method]
    scopes = tuple(scope for scope in SCOPES if scope not in (needed, "commands"))
    granted = manifest(scopes=(*scopes, "commands"), events=())
    async with LocalSlack(manifest=granted) as slack:
        answer = await Client(slack).refused(method, **args)
    assert (answer["error"], answer["needed"]) == ("missing_scope", needed)
    assert set(answer["provided"].split(",")) == {*scopes, "commands"}


async def test_an_app_changes_only_its_own_messages(slack: LocalSlack) -> None:
    theirs = await slack.person("Ravi").post("#support-cases", "mine")
    args = {"channel": theirs.channel, "ts": theirs.ts}
    assert (await Client(slack).refused("chat.update", **args, text="x"))[
        "error"
    ] == "cant_update_message"
    assert (await Client(slack).refused("chat.delete", **args))["error"] == "cant_delete_message"
    helpdesk = await slack.other_app().post("#support-cases", "ours")
    args = {"channel": helpdesk.channel, "ts": helpdesk.ts}
    assert (await Client(slack).refused("chat.update", **args, text="x"))[
        "error"
    ] == "cant_update_message"


async def test_an_update_may_have_4000_characters_and_needs_words(slack: LocalSlack) -> None:
    client = Client(slack)
    posted = await client("chat.postMessage", channel=SUPPORT_CASES, text="x")
    args = {"channel": SUPPORT_CASES, "ts": posted["ts"]}
    await client("chat.update", **args, text="x" * 4000)
    answer = await Client(slack).refused("chat.update", **args, text="x" * 4001)
    assert answer["error"] == "msg_too_long"
    assert (await Client(slack).refused("chat.update", **args))["error"] == "no_text"


async def test_a_post_cannot_answer_a_reply(slack: LocalSlack) -> None:
    ravi = slack.person("Ravi")
    reply = await ravi.reply(await ravi.post("#support-cases", "root"), "reply")
    answer = await Client(slack).refused("chat.postMessage", **POST, thread_ts=reply.ts)
    assert answer["error"] == "cannot_reply_to_message"


async def test_reactions_are_counted(slack: LocalSlack) -> None:
    message = await slack.person("Ravi").post("#support-cases", "x")
    client = Client(slack)
    args = {"channel": message.channel, "timestamp": message.ts}
    await client("reactions.add", **args, name="lock")
    assert (await Client(slack).refused("reactions.add", **args, name="lock"))[
        "error"
    ] == "already_reacted"
    await client("reactions.remove", **args, name="lock")
    assert (await Client(slack).refused("reactions.remove", **args, name="lock"))[
        "error"
    ] == "no_reaction"
    for number in range(23):
        await client("reactions.add", **args, name=f"emoji_{number}")
    answer = await Client(slack).refused("reactions.add", **args, name="lock")
    assert answer["error"] == "too_many_reactions"


async def test_a_refusal_of_blocks_comes_with_its_details(slack: LocalSlack) -> None:
    blocks = [{"type": "header", "text": mrkdwn("x")}]
    answer = await Client(slack).refused("chat.postMessage", **POST, blocks=blocks)
    [detail] = answer["response_metadata"]["messages"]
    assert "json-pointer:/blocks/0/text" in detail
    assert slack.refused[0].details == (detail,)


@pytest.mark.parametrize("right", ["none", "another app's", "no scope"])
async def test_a_file_without_the_right_is_a_page_to_sign_in(right: str) -> None:
    scopes = tuple(scope for scope in SCOPES if right != "no scope" or scope != "files:read")
    async with LocalSlack(manifest=manifest(scopes=scopes)) as slack:
        upload = Upload(name="kettle.png", content=b"\x89PNG")
        message = await slack.person("Ravi").post("#support-cases", "", files=[upload])
        url = f"{slack.url}/files-pri/T0CARTWISE-{message.files[0]}/download/kettle.png"
        token = {"none": "", "another app's": "xoxb-local-helpdesk"}.get(right, slack.bot_token)
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, headers={"Authorization": f"Bearer {token}"}) as response,
        ):
            assert (response.status, response.content_type) == (200, "text/html")
            assert "Sign in" in await response.text()
