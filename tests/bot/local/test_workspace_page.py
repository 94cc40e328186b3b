"""The page's server without a bot: who may ask, what people see, and what they do by themselves."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import pytest

from bot.local.slack.seed import (
    APPROVALS,
    GITA,
    KAVYA,
    LEADS,
    MEENA,
    PRIYA,
    RANDOM,
    RAVI,
    SAM,
    SUPPORT_CASES,
)
from bot.local.workspace.changes import Changes
from bot.local.workspace.web import PAGE
from bot.local.workspace.world import World
from tests.bot.local.workspace_bench import Json, Page, page_without_bot


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[tuple[Page, World]]:
    async with page_without_bot(tmp_path / "state") as found:
        yield found


@pytest.fixture
def page(both: tuple[Page, World]) -> Page:
    return both[0]


@pytest.fixture
def world(both: tuple[Page, World]) -> World:
    return both[1]


# Who may ask ------------------------------------------------------------------------------------


async def status(page: Page, method: str, path: str, **headers: str) -> int:
    async with page.session.request(method, page.url + path, headers=headers) as response:
        return response.status


async def test_a_name_that_somebody_bound_to_this_address_is_turned_away(page: Page) -> None:
    port = page.url.rpartition(":")[2]
    assert await status(page, "GET", "/api/me", Host=f"evil.example:{port}") == 403
    assert await status(page, "GET", "/api/me", Host=f"127.0.0.1.evil.example:{port}") == 403
    assert await status(page, "GET", "/api/me", Host="localhost:1") == 403
    assert await status(page, "GET", "/api/me", Host=f"localhost:{port}") == 200


@pytest.mark.parametrize("path", ["/api/act", "/api/trouble/kill", "/api/fresh"])
async def test_another_site_in_the_same_browser_can_do_nothing(page: Page, path: str) -> None:
    assert await status(page, "POST", path) == 403
    assert await status(page, "POST", path, Origin="http://evil.example") == 403
    assert await status(page, "POST", path, Origin="null") == 403


async def test_another_site_cannot_listen_on_the_live_socket(page: Page) -> None:
    url = f"{page.url}/api/live?as={RAVI}"
    for headers in ({}, {"Origin": "http://evil.example"}):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await page.session.ws_connect(url, headers=headers)
        assert refused.value.status == 403


async def test_every_answer_forbids_what_comes_from_elsewhere(page: Page) -> None:
    async with page.session.get(page.url + "/api/me") as response:
        headers = response.headers
    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers


async def test_nothing_beside_the_page_is_served_as_static(page: Page) -> None:
    for path in ("/static/../workspace/web.py", "/static/%2e%2e/workspace/web.py", "/static/."):
        assert await status(page, "GET", path) == 404


async def test_the_page_and_its_permalinks_are_the_same_document(page: Page) -> None:
    if not (PAGE / "index.html").exists():
        pytest.skip("the page itself isn't in this tree")
    async with page.session.get(page.url + "/") as response:
        first = await response.text()
        assert response.content_type == "text/html"
    async with page.session.get(f"{page.url}/archives/{SUPPORT_CASES}/p1764440000000100") as link:
        assert await link.text() == first


# Who there is -----------------------------------------------------------------------------------


async def test_one_can_be_any_person_and_is_told_in_which_role(page: Page) -> None:
    me = await page.get("/api/me")
    roles = {each["id"]: each["role"] for each in me["people"]}
    assert roles == {
        RAVI: "agent",
        MEENA: "agent",
        PRIYA: "lead",
        "U0OMAR0001": "lead",
        SAM: "colleague",
        KAVYA: "connect",
        GITA: "guest",
    }
    assert me["claude"] == {"kind": "stand-in", "model": "claude-opus-5-5"}
    assert me["first_visit"]


async def test_a_visit_is_not_the_first_once_a_case_was_begun(page: Page) -> None:
    await page.did(RAVI, "post", channel=RANDOM, text="hello")
    assert (await page.get("/api/me"))["first_visit"]
    await page.did(RAVI, "post", channel=SUPPORT_CASES, text="hello")
    assert not (await page.get("/api/me"))["first_visit"]


async def test_people_see_only_the_channels_they_are_in(page: Page) -> None:
    guests = await page.get(f"/api/workspace?as={GITA}")
    assert [each["name"] for each in guests["channels"]] == ["support-cases", "Casethread"]
    rav = await page.get(f"/api/workspace?as={RAVI}")
    assert {each["id"] for each in rav["channels"]} >= {SUPPORT_CASES, APPROVALS, RANDOM}
    assert rav["groups"][LEADS]["users"] == [PRIYA, "U0OMAR0001"]
    code, answer = await page.refused("GET", f"/api/channel/{APPROVALS}?as={GITA}")
    assert (code, answer["code"]) == (403, "forbidden")


@pytest.mark.parametrize("query", ["", "?as=", "?as=U0NOBODY01", "?as=U0CASEBOT1"])
async def test_looking_needs_a_person_whose_eyes_they_are(page: Page, query: str) -> None:
    code, answer = await page.refused("GET", f"/api/workspace{query}")
    assert (code, answer["code"]) == (400, "bad_request")


@pytest.mark.parametrize(
    "path",
    [
        f"/api/channel/C0NOWHERE1?as={RAVI}",
        f"/api/thread/{SUPPORT_CASES}/1764440000.000100?as={RAVI}",
        "/api/file/F00000000/x.png",
        "/api/exchange/req_local_000099",
        "/api/image/0000",
    ],
)
async def test_what_is_not_there_is_said_to_be_not_there(page: Page, path: str) -> None:
    code, answer = await page.refused("GET", path)
    assert (code, answer["code"], answer["ok"]) == (404, "not_found", False)


# Messages ---------------------------------------------------------------------------------------


async def channel(page: Page, user: str, query: str = "") -> list[Json]:
    return (await page.get(f"/api/channel/{SUPPORT_CASES}?as={user}{query}"))["messages"]


async def test_a_message_is_shown_as_slack_writes_it_with_what_the_reader_may_do(
    page: Page,
) -> None:
    await page.did(RAVI, "post", channel=SUPPORT_CASES, text="1 < 2, @nobody & @meena")
    (mine,) = await channel(page, RAVI)
    (theirs,) = await channel(page, MEENA)
    assert mine["text"] == f"1 &lt; 2, @nobody &amp; <@{MEENA}>"
    assert (mine["is_mine"], mine["mentions_me"], mine["unread"]) == (True, False, False)
    assert (theirs["is_mine"], theirs["mentions_me"], theirs["unread"]) == (False, True, True)
    assert theirs["permalink"].endswith(f"/archives/{SUPPORT_CASES}/p{mine['ts'].replace('.', '')}")


async def test_a_thread_has_its_replies_and_the_channel_their_number(page: Page) -> None:
    root = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="root"))["message"]["ts"]
    await page.did(MEENA, "post", channel=SUPPORT_CASES, text="quiet", thread_ts=root)
    loud = await page.did(
        MEENA, "post", channel=SUPPORT_CASES, text="loud", thread_ts=root, broadcast=True
    )
    thread = await page.get(f"/api/thread/{SUPPORT_CASES}/{loud['message']['ts']}?as={RAVI}")
    assert [each["text"] for each in thread["messages"]] == ["root", "quiet", "loud"]
    assert thread["case_id"] == f"T0CARTWISE:{SUPPORT_CASES}:{root}"
    shown = await channel(page, RAVI)
    assert [each["text"] for each in shown] == ["root", "loud"]
    assert (shown[0]["reply_count"], shown[0]["unread_replies"]) == (2, 2)


async def test_older_messages_come_in_pages(page: Page) -> None:
    for number in range(5):
        await page.did(RAVI, "post", channel=SUPPORT_CASES, text=f"m{number}")
    newest = await page.get(f"/api/channel/{SUPPORT_CASES}?as={RAVI}&limit=2")
    assert ([each["text"] for each in newest["messages"]], newest["has_more"]) == (
        ["m3", "m4"],
        True,
    )
    before = newest["messages"][0]["ts"]
    older = await page.get(f"/api/channel/{SUPPORT_CASES}?as={RAVI}&limit=3&before={before}")
    assert ([each["text"] for each in older["messages"]], older["has_more"]) == (
        ["m0", "m1", "m2"],
        False,
    )
    code, _ = await page.refused("GET", f"/api/channel/{SUPPORT_CASES}?as={RAVI}&limit=0")
    assert code == 400


async def test_a_file_comes_back_byte_by_byte_and_is_never_run(page: Page) -> None:
    given = {"photo #1?.png": b"\x89PNG not really", "page.html": b"<script>alert(1)</script>"}
    posted = await page.did(
        RAVI,
        "post",
        channel=SUPPORT_CASES,
        files=[
            {"name": name, "content_base64": base64.b64encode(content).decode()}
            for name, content in given.items()
        ],
    )
    files = posted["message"]["files"]
    assert [each["name"] for each in files] == list(given)
    kinds: dict[str, tuple[str, str]] = {}
    for file in files:
        async with page.session.get(page.url + file["page_url"]) as response:
            assert await response.read() == given[file["name"]]
            assert "sandbox" in response.headers["Content-Security-Policy"]
            shown = response.headers["Content-Disposition"]
            kinds[file["name"]] = (response.content_type, shown)
    assert kinds == {
        "photo #1?.png": ("image/png", "inline"),
        "page.html": ("application/octet-stream", "attachment"),
    }


async def test_own_words_can_be_edited_and_deleted_and_no_others(page: Page) -> None:
    ts = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="frist"))["message"]["ts"]
    edited = await page.did(RAVI, "edit", channel=SUPPORT_CASES, ts=ts, text="first")
    assert (edited["message"]["text"], edited["message"]["edited"]["user"]) == ("first", RAVI)
    refused = await page.act(MEENA, "edit", channel=SUPPORT_CASES, ts=ts, text="mine now")
    assert refused == {"ok": False, "error": "people edit and delete only their own messages"}
    refused = await page.act(MEENA, "delete", channel=SUPPORT_CASES, ts=ts)
    assert not refused["ok"]
    await page.did(RAVI, "delete", channel=SUPPORT_CASES, ts=ts)
    assert await channel(page, RAVI) == []
    gone = await page.act(RAVI, "edit", channel=SUPPORT_CASES, ts=ts, text="again")
    assert gone == {"ok": False, "error": "That message is gone."}


async def test_a_reaction_counts_once_a_person_and_can_be_taken_back(page: Page) -> None:
    ts = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="hi"))["message"]["ts"]
    where = {"channel": SUPPORT_CASES, "ts": ts, "name": "+1"}
    for user in (RAVI, MEENA, MEENA):
        await page.did(user, "react", **where)
    (shown,) = await channel(page, RAVI)
    assert shown["reactions"] == [{"name": "+1", "users": [RAVI, MEENA], "count": 2}]
    for _ in range(2):
        await page.did(MEENA, "unreact", **where)
    (shown,) = await channel(page, RAVI)
    assert shown["reactions"] == [{"name": "+1", "users": [RAVI], "count": 1}]


async def test_whoever_is_not_in_a_channel_writes_nothing_there(page: Page) -> None:
    refused = await page.act(KAVYA, "post", channel=APPROVALS, text="let me in")
    assert refused == {"ok": False, "error": "Kavya Pillai is not in #approvals"}
    empty = await page.act(RAVI, "post", channel=SUPPORT_CASES, text="  ")
    assert not empty["ok"]


async def test_what_was_read_stays_read_for_that_person_alone(page: Page) -> None:
    root = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="for @leads"))["message"]["ts"]
    reply = await page.did(MEENA, "post", channel=SUPPORT_CASES, text="a reply", thread_ts=root)

    async def marks(user: str) -> tuple[int, int, int]:
        seen = await page.get(f"/api/workspace?as={user}")
        found = next(each for each in seen["channels"] if each["id"] == SUPPORT_CASES)
        return found["unread"], found["mentions"], found["unread_threads"]

    assert await marks(PRIYA) == (1, 1, 1)
    assert await marks(SAM) == (1, 0, 0)
    assert await marks(RAVI) == (0, 0, 1)
    await page.did(PRIYA, "mark_read", channel=SUPPORT_CASES, ts=root)
    assert await marks(PRIYA) == (0, 0, 1)
    await page.did(
        PRIYA, "mark_read", channel=SUPPORT_CASES, ts=reply["message"]["ts"], thread_ts=root
    )
    assert await marks(PRIYA) == (0, 0, 0)
    assert await marks(SAM) == (1, 0, 0)


async def test_an_act_of_no_known_form_is_told_where_it_is_wrong(page: Page) -> None:
    for body in (
        {"as": RAVI, "kind": "dance"},
        {"as": RAVI, "kind": "post"},
        {"as": RAVI, "kind": "post", "channel": SUPPORT_CASES, "text": "x", "colour": "red"},
        {"kind": "open_home"},
    ):
        code, answer = await page.refused("POST", "/api/act", body)
        assert (code, answer["code"]) == (400, "bad_request")
    assert not (await page.act("U0NOBODY01", "open_home"))["ok"]


async def test_without_a_bot_an_interaction_says_that_no_app_is_connected(page: Page) -> None:
    world = await page.get(f"/api/workspace?as={RAVI}")
    [command] = world["app"]["commands"]
    assert command["usage_hint"] == "[status | RUN_ID | help]"
    told = await page.act(RAVI, "slash", channel=SUPPORT_CASES, command=command["command"])
    assert told == {"ok": False, "error": "no app is connected"}
    for shortcut in world["app"]["global_shortcuts"]:
        told = await page.act(RAVI, "global_shortcut", callback_id=shortcut["callback_id"])
        assert told == {"ok": False, "error": "no app is connected"}


# Live -------------------------------------------------------------------------------------------


async def test_a_notice_names_what_changed_for_those_who_see_it(page: Page, world: World) -> None:
    async with page.live(PRIYA) as priyas, page.live(GITA) as gitas:
        assert priyas.hello["type"] == "hello"
        assert priyas.hello["boot"] == gitas.hello["boot"]
        await page.did(RAVI, "post", channel=APPROVALS, text="a secret")
        told = {"what": "channel", "channel": APPROVALS}
        await priyas.until(told, {"what": "workspace"})
        ts = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="hi"))["message"]["ts"]
        seen = await gitas.until({"what": "thread", "channel": SUPPORT_CASES, "ts": ts})
        assert told not in seen
        world.slack.surfaces.publish_home(
            GITA, world.slack.app, {"type": "home", "blocks": []}, None
        )
        await gitas.until({"what": "home"})


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has so much to do that the server never looks by itself for what changed."""

    async def run(_: Changes) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Changes, "run", run)


@pytest.mark.usefixtures("busy")
async def test_looking_finds_no_files_changed_that_other_looks_may_have_opened(
    tmp_path: Path,
) -> None:
    channel = {"what": "channel", "channel": SUPPORT_CASES}
    async with page_without_bot(tmp_path / "state") as (page, _), page.live(RAVI) as ravis:
        (tmp_path / "state" / "casethread.db-wal").write_bytes(b"a write")
        await page.did(RAVI, "post", channel=SUPPORT_CASES, text="hi")
        await page.get("/api/trouble")
        assert {"what": "case"} not in await ravis.until(channel)


@pytest.mark.usefixtures("busy")
async def test_what_was_shown_and_is_gone_again_is_told_too(tmp_path: Path) -> None:
    channel = {"what": "channel", "channel": SUPPORT_CASES}
    async with page_without_bot(tmp_path / "state") as (page, _), page.live(RAVI) as ravis:
        ts = (await page.did(RAVI, "post", channel=SUPPORT_CASES, text="oh"))["message"]["ts"]
        shown = await page.get(f"/api/channel/{SUPPORT_CASES}?as={RAVI}")
        assert shown["messages"][-1]["ts"] == ts
        await ravis.until(channel)
        await page.did(RAVI, "delete", channel=SUPPORT_CASES, ts=ts)
        await page.get("/api/trouble")
        await ravis.until(channel)


async def test_a_view_is_seen_by_its_person_alone(page: Page, world: World) -> None:
    modal = {
        "type": "modal",
        "title": {"type": "plain_text", "text": "A note"},
        "submit": {"type": "plain_text", "text": "Send"},
        "blocks": [
            {
                "type": "input",
                "block_id": "note",
                "label": {"type": "plain_text", "text": "Note"},
                "element": {"type": "plain_text_input", "action_id": "note", "max_length": 5},
            }
        ],
    }
    async with page.live(PRIYA) as live:
        view = world.slack.surfaces.open_view(PRIYA, world.slack.app, modal)
        await live.until({"what": "modal"})
    seen = await page.get(f"/api/modal?as={PRIYA}")
    assert (seen["view"]["id"], seen["depth"]) == (view.id, 1)
    assert (await page.get(f"/api/modal?as={RAVI}"))["view"] is None
    empty = await page.act(PRIYA, "submit", view_id=view.id)
    assert empty["errors"] == {"note": "Please complete this required field."}
    long = await page.act(PRIYA, "submit", view_id=view.id, values={"note": {"note": "too long"}})
    assert long["errors"] == {"note": "This is too long."}
    assert not (await page.act(RAVI, "submit", view_id=view.id))["ok"]
    await page.did(PRIYA, "close", view_id=view.id)
    assert (await page.get(f"/api/modal?as={PRIYA}"))["view"] is None


async def test_files_are_chosen_in_a_modal_kept_for_their_owner_and_sent_in_with_it(
    page: Page, world: World
) -> None:
    photos = {
        "type": "input",
        "block_id": "photos",
        "label": {"type": "plain_text", "text": "Photos"},
        "element": {"type": "file_input", "action_id": "files", "filetypes": ["png"]},
    }
    modal = {
        "type": "modal",
        "title": {"type": "plain_text", "text": "Photos"},
        "submit": {"type": "plain_text", "text": "Send"},
        "blocks": [photos],
    }
    opened = world.slack.surfaces.open_view(PRIYA, world.slack.app, modal)
    where = {"view_id": opened.id, "block_id": "photos", "action_id": "files"}

    def given(name: str) -> list[Json]:
        return [{"name": name, "content_base64": base64.b64encode(b"\x89PNG").decode()}]

    refused = await page.act(PRIYA, "attach", files=given("bill.pdf"), **where)
    assert refused == {"ok": False, "error": "bill.pdf can't be added: only png."}
    assert world.slack.workspace.files == {}
    [file] = (await page.did(PRIYA, "attach", files=given("a.png"), **where))["files"]
    assert not (await page.act(RAVI, "attach", files=given("a.png"), **where))["ok"]

    chosen = {"photos": {"files": {"type": "file_input", "files": [{"id": file["id"]}]}}}
    sent = await page.act(PRIYA, "submit", view_id=opened.id, values=chosen)
    assert sent == {"ok": False, "error": "no app is connected", "errors": {}}
    kept = (await page.get(f"/api/modal?as={PRIYA}"))["view"]["state"]["values"]
    assert kept["photos"]["files"] == {"type": "file_input", "files": [file]}

    # Somebody else's modal doesn't take it, nor one that was chosen nowhere.
    ravis = world.slack.surfaces.open_view(RAVI, world.slack.app, modal)
    for file_id in (file["id"], "F404"):
        theirs = {"photos": {"files": {"type": "file_input", "files": [{"id": file_id}]}}}
        answer = await page.act(RAVI, "submit", view_id=ravis.id, values=theirs)
        assert "choose it again" in answer["error"]
