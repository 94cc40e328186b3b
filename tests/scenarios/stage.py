"""A whole Casethread on a local Slack and a local Claude, and short words to act and look.

Everything is real but the two services: Bolt over a WebSocket, the Anthropic SDK over HTTP, SQLite
on disk. Nothing here waits for a time: it waits for what people see.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image as Pictures

from agent.ports import CaseStore, RunLine
from agent.refunds.ports import Refund
from agent.run import Json, Run
from bot.app import Bot, running_bot
from bot.local.claude import LocalClaude
from bot.local.play.process import BotProcess
from bot.local.slack import LocalSlack, Message, Person, Upload
from bot.local.slack.render import render_message
from bot.local.slack.seed import APPROVALS, LEADS, SUPPORT_CASES
from bot.records import read_records, sample_shop_url
from bot.settings import Settings, load_settings
from storage.shop import Shop, open_shop

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
LOOK_SECONDS = 0.05
# A reaction is put right by doing it again, wherever it stands.
HARMLESS = (
    ("reactions.add", "already_reacted"),
    ("reactions.add", "message_not_found"),
    ("reactions.remove", "no_reaction"),
    ("reactions.remove", "message_not_found"),
)
Found = TypeVar("Found")


class Clock:
    """Real time that can be moved forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self._ahead

    def jump(self, seconds: float) -> None:
        self._ahead += seconds


def photo() -> Upload:
    """A small picture, as a customer would send it."""
    content = BytesIO()
    Pictures.new("RGB", (32, 24), (200, 40, 40)).save(content, "PNG")
    return Upload(name="speaker.png", content=content.getvalue())


@dataclass(frozen=True, kw_only=True)
class Records:
    """What a bot left behind."""

    store: CaseStore
    shop: Shop


@dataclass(kw_only=True)
class Stage:
    """The two services, the people, and the bot while it is on."""

    slack: LocalSlack
    claude: LocalClaude
    clock: Clock
    folder: Path
    overrides: dict[str, str] = field(default_factory=dict[str, str])
    bot: Bot | None = None
    seen: Records | None = None

    # People

    @property
    def ravi(self) -> Person:
        return self.slack.person("Ravi")

    @property
    def meena(self) -> Person:
        return self.slack.person("Meena")

    @property
    def priya(self) -> Person:
        return self.slack.person("Priya")

    @property
    def omar(self) -> Person:
        return self.slack.person("Omar")

    @property
    def sam(self) -> Person:
        return self.slack.person("Sam")

    # The bot

    @property
    def environment(self) -> dict[str, str]:
        """What the bot's process would find in its environment."""
        return {
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "SLACK_API_URL": self.slack.api_url,
            "ANTHROPIC_API_KEY": "sk-ant-local",
            "ANTHROPIC_BASE_URL": self.claude.base_url,
            "CASETHREAD_STORE_URL": f"sqlite:///{self.folder}/cases.db",
            "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
            "CASETHREAD_APPROVALS_CHANNEL": APPROVALS,
            "CASETHREAD_APPROVERS": LEADS,
            **self.overrides,
        }

    def settings(self) -> Settings:
        return load_settings(env=self.environment, env_file=None)

    @asynccontextmanager
    async def on(self, **overrides: str) -> AsyncGenerator[Bot]:
        """The bot at work in this process."""
        self.overrides |= overrides
        async with running_bot(self.settings(), now=self.clock, look_seconds=LOOK_SECONDS) as bot:
            self.bot = bot
            yield bot
        self.bot = None

    @asynccontextmanager
    async def process(self, **overrides: str) -> AsyncGenerator[BotProcess]:
        """The bot in a process of its own, which can be killed; look at it with `records`."""
        self.overrides |= overrides
        process = BotProcess(self.environment, self.folder)
        await process.start()
        try:
            yield process
        finally:
            await process.kill()

    @asynccontextmanager
    async def records(self) -> AsyncGenerator[None]:
        """Look at the store and shop of a bot that is no more, or runs in its own process."""
        settings = self.settings()
        shop = open_shop(settings.shop_url or sample_shop_url(settings), now=self.clock)
        self.seen = Records(store=read_records(settings), shop=shop)
        try:
            yield
        finally:
            await self.seen.store.close()
            await shop.close()
            self.seen = None

    @property
    def store(self) -> CaseStore:
        return self._looked_at.store

    @property
    def _looked_at(self) -> Bot | Records:
        found = self.bot or self.seen
        assert found is not None, "neither a bot here nor records are open"
        return found

    # Acting

    async def open(
        self,
        text: str,
        *,
        customer: str = "Asha Rao",
        by: Person | None = None,
        chooser: Person | None = None,
        files: Sequence[Upload] = (),
    ) -> Message:
        """Relay a customer's words and choose whose they are; returns the thread's root."""
        person = by or self.ravi
        root = await person.post("support-cases", text, files=files)
        picker = await self.shown(root, "Whose case")
        result = await (chooser or person).choose(picker, customer, option=customer)
        assert result.acked, result.error
        return root

    async def decide(self, who: Person, button: str, card: Message, **fields: str) -> None:
        """Press a button on the card and send its modal in, where it opens one."""
        result = await who.click(card, button)
        assert result.acked, result.error
        if fields:
            await self.until(lambda: who.modal)
            sent = await who.fill_and_submit(fields)
            assert sent.accepted, sent

    # Looking

    async def until(self, look: Callable[[], Found], *, seconds: float = 15) -> Any:
        return await self.slack.until(look, timeout_seconds=seconds)

    async def shown(self, root: Message, text: str, *, seconds: float = 15) -> Message:
        """The first message of ours in the thread that shows this text."""
        return await self.until(lambda: self.find(root, text), seconds=seconds)

    def find(self, root: Message, text: str) -> Message | None:
        wanted = text.lower()
        return next((x for x in self.posts(root) if wanted in self.look(x).lower()), None)

    def look(self, message: Message) -> str:
        """One message as it is now, as plain text; "" when it was deleted."""
        now = self.slack.message(message)
        return "\n".join(render_message(self.slack.workspace, now)) if now else ""

    def posts(self, root: Message) -> list[Message]:
        """Our messages in the thread, oldest first."""
        return [each for each in self.slack.thread(root)[1:] if each.app_id]

    async def card(self, text: str = "Refund", *, after: Message | None = None) -> Message:
        """The newest card in the approvals channel that shows this text."""

        def newest() -> Message | None:
            cards = [
                each
                for each in self.slack.messages("approvals")
                if text.lower() in self.look(each).lower() and (after is None or each.ts > after.ts)
            ]
            return cards[-1] if cards else None

        return await self.until(newest)

    def buttons(self, message: Message) -> list[str]:
        """The labels of the buttons that are on a message now."""
        now = self.slack.message(message)
        blocks: list[Json] = [] if now is None else list(now.blocks or ())
        return [
            element["text"]["text"]
            for block in blocks
            if block["type"] == "actions"
            for element in block["elements"]
            if element["type"] == "button"
        ]

    async def status(self, root: Message, reaction: str, *, seconds: float = 15) -> None:
        """Wait until the thread's one reaction is this."""
        await self.until(lambda: self.slack.reactions(root) == [reaction], seconds=seconds)

    async def told(self, who: Person, text: str) -> str:
        """The private line that this person got, with this in it."""

        def line() -> str | None:
            return next((each.text for each in who.private if text in each.text), None)

        return await self.until(line)

    async def run(self) -> Run:
        """The newest run."""
        return (await self.runs())[0].run

    async def runs(self) -> Sequence[RunLine]:
        return [line async for line in self.store.runs()]

    async def refunds(self, order_id: str) -> list[Refund]:
        """The order's refund rows that an agent made, oldest first."""
        rows = await self._looked_at.shop.ledger.history(order_id)
        return [row for row in rows if row.run_id is not None]

    def said(self, match: str = "") -> list[Json]:
        """The messages of the last request that Claude answered in the matching conversation."""
        found = [each for each in self.claude.requests if match in each.first_text]
        return list((found[-1].body or {})["messages"])


def results(messages: Sequence[Json]) -> list[Json]:
    """All tool results in a conversation, in order."""
    blocks: list[Json] = [
        block for message in messages if message["role"] == "user" for block in message["content"]
    ]
    return [block for block in blocks if block["type"] == "tool_result"]


@asynccontextmanager
async def new_stage(folder: Path) -> AsyncGenerator[Stage]:
    """A fresh workspace. At the end nothing may have been refused, by Slack or by Claude."""
    clock = Clock()
    async with (
        LocalSlack(manifest=MANIFEST, now=clock, retry_delays_seconds=(0.05, 0.1, 0.2)) as slack,
        LocalClaude(now=clock) as claude,
    ):
        stage = Stage(slack=slack, claude=claude, clock=clock, folder=folder)
        yield stage
        assert not claude.refused, [each.error for each in claude.refused]
        refused = [(each.method, each.error) for each in slack.refused]
        assert [each for each in refused if each not in HARMLESS] == []
