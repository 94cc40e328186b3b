"""The workspace with its bot: a case by the page's ids, restarts, trouble, the run's records."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import aiohttp
import pytest

from bot.local.claude import LocalClaude, call, say
from bot.local.slack.seed import APPROVALS, MEENA, OMAR, PRIYA, RAVI, SAM, SUPPORT_CASES
from bot.local.stories.decline import NOTE, OPENING
from tests.bot.local.workspace_bench import (
    Page,
    begin,
    holds,
    newest,
    page,
    page_without_bot,
    play,
    turn,
)

pytestmark = pytest.mark.timeout(180)

START = """
import asyncio, sys
from pathlib import Path
from rich.console import Console
from bot.local.workspace import serve_workspace
from bot.settings import load_settings
settings = load_settings(env={}, env_file=None)
folder = Path(sys.argv[1])
asyncio.run(serve_workspace(settings, port=0, fresh=False, open_browser=False,
    console=Console(width=200), folder=folder))
"""


async def test_a_lead_declines_in_a_modal_and_the_run_shows_it_all(tmp_path: Path) -> None:
    async with page(tmp_path / "state") as shown, shown.live(MEENA) as live:
        await shown.bot_is("up")
        await begin(shown, "decline", 0)
        ts = await shown.case(OPENING, "Farhan Ali")
        card = await shown.card("₹1,850.00")

        assert (await shown.click(SAM, card, "Decline"))["ok"]
        told = await shown.until(
            f"/api/channel/{APPROVALS}?as={SAM}",
            lambda seen: next((each for each in seen["messages"] if each["is_private"]), None),
        )
        seen_by_priya = await shown.get(f"/api/channel/{APPROVALS}?as={PRIYA}")
        assert told["ts"] not in [each["ts"] for each in seen_by_priya["messages"]]

        assert (await shown.click(OMAR, card, "Decline"))["ok"]
        view = await shown.until(f"/api/modal?as={OMAR}", lambda seen: seen["view"])
        (note,) = [each for each in view["blocks"] if each["type"] == "input"]
        values = {note["block_id"]: {note["element"]["action_id"]: NOTE}}
        await shown.did(OMAR, "submit", view_id=view["id"], values=values)
        assert (await shown.get(f"/api/modal?as={OMAR}"))["view"] is None

        case = await shown.status(ts, "done")
        await shown.shown(ts, "Reply to pass to the customer")
        await live.until({"what": "case"}, {"what": "exchanges"})

        # A click on the card as it was before it changed.
        assert (await shown.click(PRIYA, card, "Approve"))["ok"]
        late = await shown.until(
            f"/api/channel/{APPROVALS}?as={PRIYA}",
            lambda seen: next((each for each in seen["messages"] if each["is_private"]), None),
        )
        assert "already" in late["text"].lower()

        (run,) = case["runs"]
        assert [each["step"] for each in run["steps"] if each["kind"] == "step"] == [1, 2, 3, 4]
        assert [(each["status"], each["amount_paise"]) for each in run["payments"]] == [
            ("declined", 185_000)
        ]
        assert case["case"]["customer_name"] == "Farhan Ali"
        assert all(each["applied"] for each in case["inbox"])
        assert {each["event"]["fact"]["kind"] for each in case["inbox"]} >= {
            "message",
            "customer_chosen",
            "decided",
        }
        assert [each["post"]["content"]["kind"] for each in case["outbox"]].count("approval") >= 1
        third = case["chart"][2]
        exchange = await shown.get(f"/api/exchange/{third['request_id']}")
        assert exchange["reply"]["content"][-1]["name"] == "propose_refund"
        assert len(exchange["request"]["body"]["messages"]) == exchange["new_from"] + 2
        assert exchange["request"]["body"]["messages"][-1]["role"] == "user"
        assert exchange["usage"]["read"] == third["cache_read"]
        assert "sk-ant" not in str(exchange["request"]["headers"])
        (line,) = (await shown.get("/api/cases"))["cases"]
        assert (line["ts"], line["status"], line["steps"]) == (ts, "done", 4)


async def test_a_restart_shows_the_same_and_the_case_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    async with page(folder) as before:
        await before.bot_is("up")
        paid = (await play(before, "small"))["thread"]["ts"]
        asked = (await begin(before, "stranger", 2))["thread"]["ts"]
        await before.status(asked, "waiting_customer")
        await before.shown(asked, "Question for the customer")
        await before.until("/api/trouble", lambda s: not s["waiting"]["events_unacknowledged"])
        paths = [
            f"/api/channel/{SUPPORT_CASES}?as={RAVI}",
            f"/api/thread/{SUPPORT_CASES}/{paid}?as={RAVI}",
            f"/api/exchange/{(await before.status(paid, 'done'))['chart'][0]['request_id']}",
            "/api/cases",
        ]
        await before.did(RAVI, "mark_read", channel=SUPPORT_CASES, ts=asked)
        shown = [await before.get(path) for path in paths]
    async with page(folder) as after:
        assert [await after.get(path) for path in paths] == shown
        photo = next(each for each in shown[1]["messages"] if "files" in each)["files"][0]
        async with after.session.get(after.url + photo["page_url"]) as response:
            assert len(await response.read()) == photo["size"]
        await after.bot_is("up")
        answer = "Oh, it was Vikram's order. Can't you refund it to me anyway?"
        await after.did(MEENA, "post", channel=SUPPORT_CASES, text=answer, thread_ts=asked)
        await after.status(asked, "done")
        assert not [
            each
            for each in (await after.status(asked, "done"))["runs"][0]["steps"]
            if each["kind"] == "attempt"
        ]
    async with page(folder, fresh=True) as anew:
        assert (await anew.get("/api/me"))["first_visit"]
        assert (await anew.get("/api/cases"))["cases"] == []
        code, _ = await anew.refused("GET", paths[2])
        assert code == 404


async def test_what_happens_while_the_bot_is_down_is_waiting_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    async with page(folder) as shown:
        first = (await shown.bot_is("up"))["bot"]["pid"]
        killed = await shown.trouble("kill")
        assert (killed["bot"]["state"], killed["bot"]["kills"]) == ("down", 1)
        await shown.until("/api/trouble", lambda seen: not seen["bot"]["connected"])
        code, answer = await shown.refused("POST", "/api/trouble/kill")
        assert (code, answer["code"]) == (409, "conflict")
        posted = await shown.did(RAVI, "post", channel=SUPPORT_CASES, text="Is anybody there?")
        ts = posted["message"]["ts"]
        trouble = await shown.get("/api/trouble")
        assert trouble["waiting"] == {"events_unacknowledged": 1, "events_lost": 0}
    # Not even when all of it is stopped meanwhile.
    async with page(folder) as shown:
        await shown.shown(ts, "Whose case is this?")
        trouble = await shown.bot_is("up")
        assert trouble["bot"]["pid"] != first
        again = await shown.trouble("restart")
        assert again["bot"]["starts"] == trouble["bot"]["starts"] + 1
        await shown.bot_is("up")
        await shown.trouble("deliver-twice")
        await shown.until("/api/trouble", lambda seen: not seen["waiting"]["events_unacknowledged"])
        thread = await shown.get(f"/api/thread/{SUPPORT_CASES}/{ts}?as={RAVI}")
        assert len(thread["messages"]) == 2


async def test_a_payment_whose_answer_was_lost_is_made_once_and_found(tmp_path: Path) -> None:
    async with page(tmp_path / "state") as shown:
        await shown.bot_is("up")
        armed = await shown.trouble("payment-unknown")
        assert [(each["kind"], each["uses_left"]) for each in armed["faults"]] == [
            ("payment-unknown", 1)
        ]
        await shown.post("/api/stories/small/start", {})
        for _ in range(2):
            await turn(shown)
            await shown.post("/api/stories/small/next", {})
        thread = (await turn(shown, "acting"))["thread"]
        await shown.shown(thread["ts"], "not confirmed yet")
        await shown.trouble("clock-1m")
        played = await turn(shown, "done", "failed")
        assert (played["state"], played["failures"]) == ("done", [])
        case = await shown.status(played["thread"]["ts"], "done")
        assert [each["status"] for each in case["runs"][0]["payments"]] == ["paid"]
        trouble = await shown.trouble("kill")
        assert trouble["faults"] == []
        assert any("its answer got lost" in line for line in trouble["log_tail"])
        # The records can be read without a bot, whatever state its death left them in.
        dead = await shown.get(f"/api/case/{SUPPORT_CASES}/{played['thread']['ts']}")
        assert dead["runs"] == case["runs"]


async def test_days_pass_at_a_click_for_everybody(tmp_path: Path) -> None:
    async with page(tmp_path / "state") as shown:
        await shown.bot_is("up")
        ts = (await begin(shown, "stranger", 2))["thread"]["ts"]
        await shown.shown(ts, "Question for the customer")
        before = (await shown.get(f"/api/thread/{SUPPORT_CASES}/{ts}?as={RAVI}"))["messages"]
        jumped = await shown.trouble("clock-4h")
        assert jumped["clock"]["offset_seconds"] == 4 * 3600
        reminded = await shown.until(
            f"/api/thread/{SUPPORT_CASES}/{ts}?as={RAVI}",
            lambda seen: seen["messages"][-1] if len(seen["messages"]) > len(before) else None,
        )
        assert float(reminded["ts"]) - float(before[-1]["ts"]) > 4 * 3600
        await shown.trouble("clock-3d")
        await shown.status(ts, "handed_off")
        assert (await shown.get("/api/trouble"))["clock"]["offset_seconds"] == 76 * 3600


async def test_slack_and_claude_turn_calls_away_until_all_is_calm(tmp_path: Path) -> None:
    async with page_without_bot(tmp_path / "state") as (shown, world):
        assert world.claude is not None

        async def slack() -> tuple[int, str | None]:
            token = {"Authorization": f"Bearer {world.slack.bot_token}"}
            url = f"{world.slack.api_url}auth.test"
            async with shown.session.post(url, headers=token) as response:
                return response.status, response.headers.get("Retry-After")

        async def claude(address: str) -> int:
            headers = {"x-api-key": "sk-ant-x", "anthropic-version": "2023-06-01"}
            body = {
                "model": "claude-opus-5-5",
                "max_tokens": 100,
                "messages": [{"role": "user", "content": "hello"}],
            }
            url = f"{address}/v1/messages"
            async with shown.session.post(url, json=body, headers=headers) as response:
                return response.status

        address = world.claude.base_url
        async with shown.live(RAVI) as live:
            await shown.trouble("slack-limited")
            faults = (await shown.trouble("claude-overloaded"))["faults"]
            await live.until({"what": "trouble"})
        assert [each["kind"] for each in faults] == ["slack-limited", "claude-overloaded"]
        assert 5 < faults[0]["seconds_left"] <= 10 < 25 < faults[1]["seconds_left"] <= 30
        assert await slack() == (429, "10")
        assert await claude(address) == 529
        assert (await shown.trouble("calm"))["faults"] == []
        assert await slack() == (200, None)
        assert await claude(address) == 200

        # Both go by the workspace's clock, which passes them at a click.
        await shown.trouble("slack-limited")
        await shown.trouble("claude-overloaded")
        assert (await shown.trouble("clock-1m"))["faults"] == []
        assert await slack() == (200, None)
        assert await claude(address) == 200
        code, answer = await shown.refused("POST", "/api/trouble/flood")
        assert (code, answer["code"]) == (404, "not_found")


async def test_with_a_key_the_real_claude_answers_and_its_calls_come_from_the_record(
    tmp_path: Path,
) -> None:
    async with LocalClaude(api_key="sk-ant-real") as claude:
        claude.script("Where is my kettle", [call("get_order", order_id="4502"), say("On its way")])
        key = {"ANTHROPIC_API_KEY": "sk-ant-real", "ANTHROPIC_BASE_URL": claude.base_url}
        async with page(tmp_path / "state", env=key) as shown:
            assert (await shown.get("/api/me"))["claude"]["kind"] == "real"
            await shown.bot_is("up")
            ts = await shown.case("Where is my kettle, order 4502?", "Asha Rao")
            case = await shown.status(ts, "done")
            first, second = claude.requests
            kept = [
                await shown.get(f"/api/exchange/{each['request_id']}") for each in case["chart"]
            ]
            for exchange, sent in zip(kept, (first, second), strict=True):
                assert sent.body is not None
                assert sent.message is not None
                assert exchange["source"] == "record"
                assert exchange["request"]["body"]["messages"] == sent.body["messages"]
                assert exchange["request"]["body"]["tools"] == sent.body["tools"]
                assert exchange["reply"]["content"] == sent.message["content"]
            assert [each["new_from"] for each in kept] == [0, 1]
            for path in ("/api/trouble/claude-overloaded", "/api/stories/seed/start"):
                code, answer = await shown.refused("POST", path)
                assert (code, answer["code"]) == (409, "conflict")


async def test_when_the_workspace_is_killed_its_bot_ends_and_the_next_start_has_it_all(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "state"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", START, str(folder), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        assert first.startswith("No Slack tokens are set")
        assert "stand-in" in first
        url = (await process.stdout.readline()).decode().split()[1]
        async with aiohttp.ClientSession() as session:
            shown = Page(url, session)
            pid = (await shown.bot_is("up"))["bot"]["pid"]
            posted = await shown.did(RAVI, "post", channel=SUPPORT_CASES, text="Hello?")
            ts = posted["message"]["ts"]
            await shown.shown(ts, "Whose case is this?")
            kept = folder / "slack.json"
            await holds(
                lambda: kept.exists() and "Whose case is this?" in kept.read_text(encoding="utf-8")
            )
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    await holds(lambda: has_ended(pid))
    async with page(folder) as after:
        await after.bot_is("up")
        thread = await after.get(f"/api/thread/{SUPPORT_CASES}/{ts}?as={RAVI}")
        assert newest(thread, "Whose case is this?")
        with pytest.raises(Exception, match="Another local workspace"):
            async with page(folder):
                pass


def has_ended(pid: int) -> bool:
    """Also true of one whose parent never asked how it ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
