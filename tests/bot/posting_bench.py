"""A case with an outbox, the local Slack to send it to, and a clock that stands still.

A second `Owner` stands for another process: it knows nothing of what the first one sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agent.case import Case, Content, Event, NotACase, Post, Reply, ts_of
from agent.ports import CaseStore, Change, Lease, Posted
from bot.actions import POST_METADATA
from bot.local.slack import LocalSlack, Message
from bot.posting import Audience, Poster, make_client
from bot.thread import Thread
from storage import open_store
from tests.bot import card_samples as samples
from tests.contracts.samples import owned

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
IN_THREAD = Audience(approvals_channel=None, handoff_mention=None, approvers=("S0LEADS001",))
TIMEOUT_SECONDS = 3.0
LEASE_SECONDS = 1_000.0
"""Long, because nobody renews it here."""

LONG_REPLY = Reply(text="A sentence of the reply. " * 400, run_id="r1")
"""Four messages long."""
OPENED = Event(event_id="opened", ts=ts_of(1.0), fact=NotACase(by=samples.RAVI))


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_790_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def go_on(self, seconds: float) -> None:
        self.seconds += seconds


class Bench:
    def __init__(self, slack: LocalSlack, store: CaseStore, clock: Clock, root: Message) -> None:
        self.slack = slack
        self.store = store
        self.clock = clock
        self.root = root
        self.thread = Thread(team=slack.workspace.team.id, channel=root.channel, ts=root.ts)
        self.case = Case(case_id=self.thread.case_id, agent="refunds", opened_at=clock())
        self.dead_roots: list[str] = []

    def owner(self, audience: Audience = IN_THREAD, *, url: str | None = None) -> Owner:
        return Owner(self, audience, url or self.slack.api_url)

    @property
    def posts(self) -> list[Message]:
        """The bot's messages in the thread, oldest first."""
        return [message for message in self.slack.thread(self.root) if message.bot_id]

    def at_root(self, channel: str) -> list[Message]:
        """The bot's messages at a channel's root, oldest first."""
        found = self.slack.messages(channel)
        return [message for message in found if message.bot_id and not message.is_reply]

    def ids(self) -> list[str]:
        """The post ids of the bot's messages in the thread."""
        return [post_id_of(message) for message in self.posts]

    def called(self, method: str) -> int:
        """How often Slack did what was asked with this method."""
        return sum(call.method == method and call.ok for call in self.slack.calls)

    def deleted(self) -> int:
        return self.called("chat.delete")

    async def where(self, post_id: str) -> Posted | None:
        return await self.store.posted(self.case.case_id, post_id)


class Owner:
    """One process that owns the case from time to time."""

    def __init__(self, bench: Bench, audience: Audience, url: str) -> None:
        self.bench = bench
        self.poster = Poster(
            client=make_client(bench.slack.bot_token, url),
            store=bench.store,
            audience=audience,
            now=bench.clock,
        )
        self.lease: Lease | None = None
        self.claimed_at = 0.0

    async def claim(self) -> None:
        """Takes the case over; an earlier lease has run out by then."""
        self.bench.clock.go_on(LEASE_SECONDS)
        case_id = self.bench.case.case_id
        self.lease = await owned(self.bench.store, "owner", case_id=case_id, seconds=LEASE_SECONDS)
        self.claimed_at = self.bench.clock()

    async def say(self, *contents: Content, update_of: str | None = None, start: int = 1) -> None:
        """Saves posts with the ids "p1", "p2" … (counted from `start`)."""
        if self.lease is None:
            await self.bench.store.deliver(self.bench.case.case_id, OPENED)
            await self.claim()
        assert self.lease is not None
        posts = tuple(
            Post(post_id=f"p{number}", content=content, update_of=update_of)
            for number, content in enumerate(contents, start=start)
        )
        await self.bench.store.save(self.lease, Change(case=self.bench.case, run=None, posts=posts))

    async def drain(self, *, seconds_left: float | Callable[[], float] = 8.0) -> float | None:
        assert self.lease is not None

        async def on_dead_root(case_id: str) -> None:
            self.bench.dead_roots.append(case_id)

        return await self.poster.drain(
            self.lease,
            claimed_at=self.claimed_at,
            seconds_left=seconds_left if callable(seconds_left) else lambda: seconds_left,
            on_dead_root=on_dead_root,
        )

    async def drain_when_told(self) -> float | None:
        """Drains; when it is told to wait, waits exactly so long and drains again."""
        at = await self.drain()
        if at is None:
            return None
        self.bench.clock.go_on(at - self.bench.clock())
        return await self.drain()

    async def unsent(self) -> list[str]:
        assert self.lease is not None
        return [entry.post.post_id for entry in await self.bench.store.outbox(self.lease)]


def post_id_of(message: Message) -> str:
    metadata = message.metadata or {}
    assert metadata["event_type"] == POST_METADATA
    return metadata["event_payload"]["post_id"]


@asynccontextmanager
async def opened_bench(folder: Path) -> AsyncGenerator[Bench]:
    clock = Clock()
    async with LocalSlack(manifest=MANIFEST, now=clock) as slack:
        store = open_store(f"sqlite:///{folder / 'store.db'}", now=clock)
        root = await slack.person("Ravi").post("support-cases", samples.PICKER.words)
        try:
            yield Bench(slack, store, clock, root)
        finally:
            await store.close()
