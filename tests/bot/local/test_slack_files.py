"""Fields for files in modals, with Bolt on the other side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from bot.local.slack import LocalSlack, Upload
from bot.local.slack.fields import FILE_BYTES
from bot.local.slack.seed import APPROVALS, PRIYA
from tests.bot.local.slack_bench import (
    SCOPES,
    Client,
    Heard,
    Json,
    bolt_app,
    connected,
    manifest,
    modal,
    note_input,
    open_modal,
    plain,
)

PHOTO = Upload(name="Cracked screen.jpg", content=b"\xff\xd8 a photo")
WITHOUT_FILES = tuple(scope for scope in SCOPES if scope != "files:read")


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(manifest=manifest()) as local:
        yield local


@pytest.fixture
async def heard(slack: LocalSlack) -> AsyncIterator[Heard]:
    app = bolt_app(slack)
    async with connected(app, slack):
        yield Heard(app)


def file_input(*, block: Json | None = None, **element: Any) -> Json:
    return {
        "type": "input",
        "block_id": "photos",
        "label": plain("Photos"),
        "element": {"type": "file_input", "action_id": "files", **element},
        **(block or {}),
    }


async def test_files_of_a_modal_arrive_with_its_submission_and_can_be_downloaded(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("view", "decline")
    await open_modal(slack, heard, modal(file_input(), note_input()))
    priya = slack.person("Priya")
    assert priya.modal
    assert priya.modal.values["photos"]["files"] == {"type": "file_input", "files": []}
    assert (await priya.fill_and_submit({"Photos": [PHOTO], "Note": "See there"})).accepted
    [body] = heard.bodies
    state = body["view"]["state"]["values"]["photos"]["files"]
    assert state["type"] == "file_input"
    [file] = state["files"]
    assert file["name"] == "Cracked screen.jpg"
    assert (file["mimetype"], file["filetype"], file["size"]) == ("image/jpeg", "jpg", 10)
    assert (file["user"], file["mode"], file["is_public"]) == (PRIYA, "hosted", False)
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(file["url_private_download"]) as answer,
    ):
        assert await answer.read() == PHOTO.content
    assert (await Client(slack)("files.info", file=file["id"]))["file"] == file


async def test_a_field_for_files_may_be_left_empty_only_where_it_is_optional(
    slack: LocalSlack, heard: Heard
) -> None:
    heard.on("view", "decline")
    await open_modal(slack, heard, modal(file_input()))
    assert list((await slack.person("Priya").fill_and_submit()).errors) == ["Photos"]
    await open_modal(slack, heard, modal(file_input(block={"optional": True})))
    assert (await slack.person("Priya").fill_and_submit()).accepted
    assert heard.bodies[0]["view"]["state"]["values"]["photos"]["files"]["files"] == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([PHOTO, PHOTO, PHOTO], "No more than 2 files can be added."),
        ([Upload(name="bill.pdf", content=b"%PDF")], "only jpg, png."),
        ([Upload(name="huge.PNG", content=bytes(FILE_BYTES + 1))], "larger than 10 MB"),
    ],
)
async def test_slack_itself_turns_away_files_that_the_field_does_not_take(
    slack: LocalSlack, heard: Heard, files: list[Upload], words: str
) -> None:
    heard.on("view", "decline")
    await open_modal(slack, heard, modal(file_input(filetypes=["jpg", "png"], max_files=2)))
    priya = slack.person("Priya")
    result = await priya.fill_and_submit({"Photos": files})
    assert words in result.errors["Photos"]
    assert (heard.bodies, result.accepted) == ([], False)
    assert (await priya.fill_and_submit({"Photos": [PHOTO]})).accepted


async def test_only_a_field_for_files_is_filled_with_files(slack: LocalSlack, heard: Heard) -> None:
    await open_modal(slack, heard, modal(file_input(), note_input()))
    priya = slack.person("Priya")
    with pytest.raises(LookupError, match="not with words"):
        await priya.fill({"Photos": "photo.jpg"})
    with pytest.raises(LookupError, match="takes no files"):
        await priya.fill({"Note": [PHOTO]})


@pytest.mark.parametrize("most", [0, 11])
async def test_a_field_for_files_takes_one_to_ten(
    slack: LocalSlack, heard: Heard, most: int
) -> None:
    answer = await refused(slack, heard, modal(file_input(max_files=most)))
    assert answer["error"] == "invalid_arguments"
    assert "/view/blocks/0/element/max_files" in answer["response_metadata"]["messages"][0]


async def test_a_field_for_files_tells_the_app_nothing_before_the_modal_is_sent_in(
    slack: LocalSlack, heard: Heard
) -> None:
    answer = await refused(slack, heard, modal(file_input(block={"dispatch_action": True})))
    assert answer["error"] == "invalid_arguments"
    assert "dispatch_action" in answer["response_metadata"]["messages"][0]


async def test_a_field_for_files_stands_in_modals_alone(slack: LocalSlack) -> None:
    client = Client(slack)
    home = {"type": "home", "blocks": [file_input()]}
    assert (await client.refused("views.publish", user_id=PRIYA, view=home))["error"] == (
        "invalid_arguments"
    )
    posted = await client.refused(
        "chat.postMessage", channel=APPROVALS, text="x", blocks=[file_input()]
    )
    assert posted["error"] == "invalid_blocks"


async def test_an_app_that_may_not_read_files_cannot_ask_for_them() -> None:
    async with LocalSlack(manifest=manifest(scopes=WITHOUT_FILES)) as slack:
        app = bolt_app(slack)
        async with connected(app, slack):
            answer = await refused(slack, Heard(app), modal(file_input()))
    assert (answer["error"], answer["needed"]) == ("missing_scope", "files:read")


async def refused(slack: LocalSlack, heard: Heard, view: Json) -> Json:
    """What Slack answers to this modal."""
    heard.on("shortcut", "new_case")
    assert (await slack.person("Priya").global_shortcut("New case")).acked
    trigger_id = heard.bodies.pop()["trigger_id"]
    return await Client(slack).refused("views.open", trigger_id=trigger_id, view=view)


async def test_only_a_picture_that_is_there_is_drawn_in_a_message(slack: LocalSlack) -> None:
    client = Client(slack)
    upload = slack.workspace.upload

    def drawn(file_id: str) -> Json:
        return {"type": "image", "slack_file": {"id": file_id}, "alt_text": "A photo"}

    picture = upload("a.png", b"\x89PNG", PRIYA, is_public=False)
    text = upload("a.txt", b"words", PRIYA)
    await client("chat.postMessage", channel=APPROVALS, text="x", blocks=[drawn(picture.id)])
    for file_id in (text.id, "F404"):
        answer = await client.refused(
            "chat.postMessage", channel=APPROVALS, text="x", blocks=[drawn(file_id)]
        )
        assert answer["error"] == "invalid_blocks"
        assert answer["errors"] == [
            "[ERROR] invalid slack file [json-pointer:/blocks/0/slack_file]"
        ]
