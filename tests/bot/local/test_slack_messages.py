"""Messages through the Web API: posting, threads, reading back, files, people and groups."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bot.local.slack import LocalSlack, Upload
from bot.local.slack.seed import APPROVALS, LEADS, OMAR, PRIYA, RAVI, SUPPORT_CASES
from tests.bot.local.slack_bench import Client, actions, button, manifest, section

CASE = {"event_type": "customer_case", "event_payload": {"customer_id": "cust_asha"}}


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=manifest(), now=lambda: 1_790_000_000.0) as local:
        yield local


@pytest.fixture
def client(slack: LocalSlack) -> Client:
    return Client(slack)


async def texts(client: Client, method: str, **args: Any) -> list[str]:
    answer = await client.as_form(method, **args)
    return [message["text"] for message in answer["messages"]]


async def test_a_post_is_answered_with_the_message(slack: LocalSlack, client: Client) -> None:
    answer = await client(
        "chat.postMessage",
        channel=SUPPORT_CASES,
        text="Hello",
        blocks=[section("Hello")],
        metadata=CASE,
    )
    message = answer["message"]
    assert (message["bot_id"], message["app_id"]) == ("B0CASETHRD", "A0CASETHRD")
    assert message["blocks"][0]["block_id"]
    assert message["metadata"] == CASE
    assert "thread_ts" not in message
    assert slack.messages("#support-cases")[0].ts == answer["ts"]


async def test_times_grow_even_when_the_clock_stands_still(client: Client) -> None:
    posted = [await client("chat.postMessage", channel=SUPPORT_CASES, text="x") for _ in range(3)]
    stamps = [answer["ts"] for answer in posted]
    assert stamps == sorted(set(stamps))


async def test_a_reply_joins_its_thread(slack: LocalSlack, client: Client) -> None:
    root = await slack.person("Ravi").post("#support-cases", "It broke")
    answer = await client(
        "chat.postMessage", channel=SUPPORT_CASES, text="Which?", thread_ts=root.ts
    )
    assert answer["message"]["thread_ts"] == root.ts
    assert answer["message"]["parent_user_id"] == RAVI
    assert [message.text for message in slack.thread(root)] == ["It broke", "Which?"]
    read = await client("conversations.history", channel=SUPPORT_CASES)
    assert [message["reply_count"] for message in read["messages"]] == [1]


@pytest.mark.parametrize("with_reply", [True, False])
async def test_a_post_into_a_deleted_thread_lands_at_the_channels_root(
    slack: LocalSlack, client: Client, with_reply: bool
) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post("#support-cases", "It broke")
    if with_reply:
        await ravi.reply(root, "really")
    await ravi.delete(root)
    answer = await client(
        "chat.postMessage", channel=SUPPORT_CASES, text="Sorry", thread_ts=root.ts
    )
    assert "thread_ts" not in answer["message"]


async def test_a_deleted_root_with_replies_stays_as_a_tombstone(
    slack: LocalSlack, client: Client
) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post("#support-cases", "It broke")
    await ravi.reply(root, "really")
    await ravi.delete(root)
    read = await client("conversations.replies", channel=SUPPORT_CASES, ts=root.ts)
    assert [message.get("subtype") for message in read["messages"]] == ["tombstone", None]


async def test_text_alone_takes_the_blocks_away_and_blocks_alone_keep_the_text(
    slack: LocalSlack, client: Client
) -> None:
    posted = await client(
        "chat.postMessage",
        channel=SUPPORT_CASES,
        text="Approve?",
        blocks=[actions(button("Approve"))],
        metadata=CASE,
    )
    args = {"channel": SUPPORT_CASES, "ts": posted["ts"]}
    changed = (await client("chat.update", **args, blocks=[section("Done")]))["message"]
    assert (changed["text"], "edited" in changed) == ("Approve?", False)
    changed = (await client("chat.update", **args, text="Approved"))["message"]
    assert (changed["text"], "edited" in changed) == ("Approved", True)
    assert "blocks" not in changed
    assert changed["metadata"] == CASE


async def test_replies_carry_metadata_only_when_asked(slack: LocalSlack, client: Client) -> None:
    root = await slack.other_app().post("#support-cases", "A case", metadata=CASE)
    read = await client("conversations.replies", channel=SUPPORT_CASES, ts=root.ts)
    assert "metadata" not in read["messages"][0]
    read = await client(
        "conversations.replies", channel=SUPPORT_CASES, ts=root.ts, include_all_metadata=True
    )
    assert read["messages"][0]["metadata"] == CASE


async def test_replies_come_in_pages_oldest_first(slack: LocalSlack, client: Client) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post("#support-cases", "0")
    for number in range(1, 6):
        await ravi.reply(root, str(number))
    pages: list[list[str]] = []
    cursor = ""
    while True:
        page = await client(
            "conversations.replies", channel=SUPPORT_CASES, ts=root.ts, limit=4, cursor=cursor
        )
        pages.append([message["text"] for message in page["messages"]])
        assert page["has_more"] is bool(page["response_metadata"]["next_cursor"])
        cursor = page["response_metadata"]["next_cursor"]
        if not cursor:
            break
    assert pages == [["0", "1", "2", "3"], ["4", "5"]]


async def test_history_is_newest_first_without_replies_and_between_times(
    slack: LocalSlack, client: Client
) -> None:
    ravi = slack.person("Ravi")
    posted = [await ravi.post("#support-cases", str(number)) for number in range(4)]
    await ravi.reply(posted[0], "in the thread")
    await ravi.post("#support-cases", "aloud", thread=posted[0], broadcast=True)
    read = {"channel": SUPPORT_CASES}
    assert await texts(client, "conversations.history", **read) == ["aloud", "3", "2", "1", "0"]
    between = read | {"oldest": posted[1].ts, "latest": posted[3].ts}
    assert await texts(client, "conversations.history", **between) == ["2"]
    inclusive = between | {"inclusive": "true"}
    assert await texts(client, "conversations.history", **inclusive) == ["3", "2", "1"]


async def test_a_private_message_is_seen_by_one_person(slack: LocalSlack, client: Client) -> None:
    await client("chat.postEphemeral", channel=APPROVALS, user=PRIYA, text="Not you")
    assert [message.text for message in slack.person("Priya").private] == ["Not you"]
    assert slack.person("Omar").private == []
    assert await texts(client, "conversations.history", channel=APPROVALS) == []


async def test_a_file_comes_back_byte_for_byte(slack: LocalSlack) -> None:
    content = bytes(range(256))
    upload = Upload(name="kettle photo.png", content=content)
    message = await slack.person("Ravi").post("#support-cases", "See", files=[upload])
    client = Client(slack)
    read = await client("conversations.history", channel=SUPPORT_CASES)
    [file] = read["messages"][0]["files"]
    assert (file["mimetype"], file["size"]) == ("image/png", 256)
    assert (await client("files.info", file=message.files[0]))["file"]["id"] == file["id"]
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(file["url_private_download"], headers=headers) as response,
    ):
        assert await response.read() == content


async def test_people_are_described_as_what_they_are(client: Client) -> None:
    kavya = (await client("users.info", user="U0KAVYA001"))["user"]
    assert (kavya["is_stranger"], kavya["team_id"]) == (True, "T0PARTNER1")
    gita = (await client("users.info", user="U0GITA0001"))["user"]
    assert gita["is_restricted"]
    assert gita["is_ultra_restricted"]
    ravi = (await client("users.info", user=RAVI))["user"]
    assert "is_stranger" not in ravi
    assert "email" not in ravi["profile"]


async def test_groups_channels_members_and_bots_can_be_read(
    slack: LocalSlack, client: Client
) -> None:
    assert (await client("usergroups.users.list", usergroup=LEADS))["users"] == [PRIYA, OMAR]
    slack.set_group("leads", "Priya")
    listed = (await client("usergroups.list", include_users=True))["usergroups"]
    assert [group["users"] for group in listed] == [[PRIYA]]
    channels = (await client("conversations.list"))["channels"]
    assert {channel["name"]: channel["is_member"] for channel in channels} == {
        "support-cases": True,
        "approvals": True,
        "random": False,
    }
    assert RAVI in (await client("conversations.members", channel=APPROVALS))["members"]
    assert (await client("conversations.info", channel=SUPPORT_CASES))["channel"]["is_ext_shared"]
    assert (await client("bots.info", bot="B0HELPDESK"))["bot"]["app_id"] == "A0HELPDESK"


async def test_direct_messages_are_opened_once(slack: LocalSlack, client: Client) -> None:
    opened = (await client("conversations.open", users=RAVI))["channel"]["id"]
    assert (await client("conversations.open", users=RAVI))["channel"]["id"] == opened
    answer = await client("chat.postMessage", channel=RAVI, text="Hello")
    assert answer["channel"] == opened
    assert slack.thread(slack.workspace.in_channel(opened)[0])[0].text == "Hello"


async def test_a_permalink_names_the_message_and_its_thread(
    slack: LocalSlack, client: Client
) -> None:
    ravi = slack.person("Ravi")
    root = await ravi.post("#support-cases", "It broke")
    reply = await ravi.reply(root, "really")
    link = await client("chat.getPermalink", channel=SUPPORT_CASES, message_ts=reply.ts)
    place = f"/archives/{SUPPORT_CASES}/p{reply.ts.replace('.', '')}"
    assert link["permalink"] == f"{slack.url}{place}?thread_ts={root.ts}&cid={SUPPORT_CASES}"


@pytest.mark.parametrize(
    ("text", "notified"),
    [
        ("<@U0RAVI0001> look", [RAVI]),
        ("<!subteam^S0LEADS001>", [PRIYA, OMAR]),
        ("<!channel> <!here|here>", ["channel", "here"]),
        ("&lt;@U0RAVI0001&gt; &lt;!channel&gt; @channel", []),
    ],
)
async def test_whom_a_post_notifies_is_recorded(
    text: str, notified: list[str], slack: LocalSlack, client: Client
) -> None:
    await client("chat.postMessage", channel=SUPPORT_CASES, text=text)
    assert [notification.user_id for notification in slack.notifications] == notified
    slack.notifications.clear()
    await client(
        "chat.postMessage",
        channel=SUPPORT_CASES,
        text="x",
        blocks=[{"type": "markdown", "text": text}],
    )
    await client("chat.postMessage", channel=SUPPORT_CASES, text="x", blocks=[section(text)])
    assert [notification.user_id for notification in slack.notifications] == notified * 2


async def test_every_call_is_kept_without_its_token(slack: LocalSlack, client: Client) -> None:
    await client("chat.postMessage", channel=SUPPORT_CASES, text="x")
    [call] = slack.calls
    assert (call.method, call.ok, call.at) == ("chat.postMessage", True, 1_790_000_000.0)
    assert call.args["text"] == "x"
    assert slack.bot_token not in str(call)
    assert slack.refused == []
