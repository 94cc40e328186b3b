"""The whole bot in a process of its own against the local Slack: how fast it acknowledges events,
and how fast a click changes its card.

The local Slack, which measures, shares the machine with the bot. Its times begin when a person
acts and end when the app's answer has arrived, with everything of its own in between.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.refunds.ports import RefundStatus
from bench.report import Table, percentile
from bench.runs import sample_shop
from bench.server import SHORT_WORDS, claude_elsewhere
from bot.local.play.process import BotProcess
from bot.local.slack import LocalSlack, Message
from bot.local.slack.seed import APPROVALS, LEADS, SUPPORT_CASES
from bot.records import agents_refunds
from bot.settings import Settings, load_settings
from tests.redis_server import RedisServer

MANIFEST = Path(__file__).parent.parent / "manifest.yml"
THREADS = 50
EVENTS_PER_SECOND = 50
STEADY_SECONDS, STEADY_SECONDS_IN_FULL = 20, 60
BURST = 500
CARDS = 100
WARM_UP = 5
PATIENCE_SECONDS = 60.0
PAID = "was paid, reference"
"""On the card, once the payment is in the shop's records."""


@dataclass(frozen=True, kw_only=True)
class _Workspace:
    slack: LocalSlack
    settings: Settings

    def own_posts(self, channel: str) -> list[Message]:
        return [message for message in self.slack.messages(channel) if message.app_id]


async def measure(folder: Path, *, full: bool) -> Sequence[Table]:
    (folder / "redis").mkdir()
    server = RedisServer(folder / "redis", "--appendonly", "yes")
    acks: list[Sequence[str]] = []
    clicks: list[Sequence[str]] = []
    seconds = STEADY_SECONDS_IN_FULL if full else STEADY_SECONDS
    try:
        for name, store_url in (("SQLite", None), ("Redis", server.url())):
            place = folder / name
            place.mkdir()
            with claude_elsewhere() as base_url:
                async with _workspace(place, base_url, store_url) as workspace:
                    roots = await _open_threads(workspace)
                    steady = await _steady(workspace, roots, seconds)
                    acks.append((f"{EVENTS_PER_SECOND} a second for {seconds} s, {name}", *steady))
                    burst = await _burst(workspace, roots)
                    acks.append((f"{BURST} at once, {name}", *burst))
                    times = await _clicks(workspace)
                await _check_paid(workspace.settings)
            clicks.append((name, *_milliseconds(times, 50, 95, 100)))
    finally:
        server.kill()
    return [
        Table(
            title="Acknowledging events, ms",
            headings=("people's messages", "p50", "p99", "most", "over 3 s"),
            rows=acks,
        ),
        Table(
            title=f"From a click on Approve to the paid refund's card, {CARDS} cards, ms",
            headings=("store", "p50", "p95", "most"),
            rows=clicks,
        ),
    ]


@asynccontextmanager
async def _workspace(
    folder: Path, base_url: str, store_url: str | None
) -> AsyncGenerator[_Workspace]:
    """A fresh workspace with the bot at work in it."""
    await sample_shop(folder, now=time.time).close()
    async with LocalSlack(manifest=MANIFEST, queue_limit=10_000) as slack:
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "ANTHROPIC_API_KEY": "sk-ant-local",
            "ANTHROPIC_BASE_URL": base_url,
            "CASETHREAD_STORE_URL": store_url or f"sqlite:///{folder}/cases.db",
            "CASETHREAD_SHOP_URL": f"sqlite:///{folder}/shop.db",
            "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
            "CASETHREAD_APPROVALS_CHANNEL": APPROVALS,
            "CASETHREAD_APPROVERS": LEADS,
            "CASETHREAD_APPROVAL_LIMIT": "0",
        }
        bot = BotProcess(environment, folder)
        await bot.start()
        try:
            await slack.until(lambda: slack.sockets.connected, PATIENCE_SECONDS)
            settings = load_settings(env=environment, env_file=None)
            yield _Workspace(slack=slack, settings=settings)
        finally:
            await bot.stop()


# Acknowledging ----------------------------------------------------------------------------------


async def _open_threads(workspace: _Workspace) -> Sequence[Message]:
    """Cases without a customer yet: each message is kept and applied, and no model is asked."""
    ravi = workspace.slack.person("Ravi")
    roots = [await ravi.post("support-cases", f"A customer's words {n}") for n in range(THREADS)]
    await workspace.slack.until(
        lambda: len(workspace.own_posts("support-cases")) >= THREADS, PATIENCE_SECONDS
    )
    await _settled(workspace)
    return roots


async def _steady(workspace: _Workspace, roots: Sequence[Message], seconds: int) -> Sequence[str]:
    ravi = workspace.slack.person("Ravi")
    workspace.slack.sockets.ack_seconds.clear()
    started = time.monotonic()
    for number in range(seconds * EVENTS_PER_SECOND):
        await asyncio.sleep(max(0.0, started + number / EVENTS_PER_SECOND - time.monotonic()))
        await ravi.reply(roots[number % THREADS], f"More words {number}")
    await _settled(workspace)
    return _acks(workspace, seconds * EVENTS_PER_SECOND)


async def _burst(workspace: _Workspace, roots: Sequence[Message]) -> Sequence[str]:
    ravi = workspace.slack.person("Ravi")
    workspace.slack.sockets.ack_seconds.clear()
    for number in range(BURST):
        await ravi.reply(roots[number % THREADS], f"Words of many {number}")
    await _settled(workspace)
    return _acks(workspace, BURST)


async def _settled(workspace: _Workspace) -> None:
    sockets = workspace.slack.sockets
    await workspace.slack.until(lambda: not sockets.unacknowledged, PATIENCE_SECONDS)


def _acks(workspace: _Workspace, sent: int) -> Sequence[str]:
    sockets = workspace.slack.sockets
    if sockets.undelivered or len(sockets.ack_seconds) < sent:
        raise RuntimeError(f"of {sent} events {len(sockets.ack_seconds)} were acknowledged")
    times = list(sockets.ack_seconds)
    return (*_milliseconds(times, 50, 99, 100), str(sum(each > 3 for each in times)))


def _milliseconds(times: Sequence[float], *percents: int) -> Sequence[str]:
    return [f"{percentile(times, percent) * 1000:.0f}" for percent in percents]


# Clicking ---------------------------------------------------------------------------------------


async def _clicks(workspace: _Workspace) -> Sequence[float]:
    """Seconds from each click to the change of its card, one case after the other."""
    times = [await _click(workspace) for _ in range(WARM_UP + CARDS)]
    return times[WARM_UP:]


async def _click(workspace: _Workspace) -> float:
    slack = workspace.slack
    root = await slack.person("Ravi").post("support-cases", SHORT_WORDS)
    answers = await slack.until(lambda: slack.thread(root)[1:], PATIENCE_SECONDS)
    chosen = await slack.person("Ravi").choose(answers[0], "Asha", option="Asha Rao")
    known = len(workspace.own_posts("approvals"))
    cards = await slack.until(lambda: workspace.own_posts("approvals")[known:], PATIENCE_SECONDS)
    await _settled(workspace)
    started = time.monotonic()
    clicked = await slack.person("Priya").click(cards[0], "Approve")
    await slack.until(lambda: PAID in _shown(slack, cards[0]), PATIENCE_SECONDS)
    taken = time.monotonic() - started
    if not (chosen.acked and clicked.acked):
        raise RuntimeError(f"not acknowledged: {chosen.error or clicked.error}")
    await slack.until(lambda: "white_check_mark" in slack.reactions(root), PATIENCE_SECONDS)
    return taken


def _shown(slack: LocalSlack, card: Message) -> str:
    now = slack.message(card)
    return now.text if now else ""


async def _check_paid(settings: Settings) -> None:
    refunds = await agents_refunds(settings, "4471")
    paid = sum(refund.status is RefundStatus.PAID for refund in refunds)
    if paid != WARM_UP + CARDS:
        raise RuntimeError(f"{paid} refunds are paid, of {WARM_UP + CARDS} that were approved")
