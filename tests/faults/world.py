"""What a round of chaos takes place in: the services that stay up, and the processes that don't.

The local Slack, the local Claude, a real Redis behind a proxy and the shop's file belong to the
suite. The bot and its workers are children, each in a folder of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert

from agent.ports import CaseStore
from bot.local.claude import LocalClaude
from bot.local.play.process import BotProcess
from bot.local.slack import LocalSlack
from bot.local.slack.seed import APPROVALS, LEADS, SUPPORT_CASES
from bot.records import read_records
from bot.settings import load_settings
from storage.shop import Shop, open_shop
from storage.shop.database import customers, order_items, orders
from tests.faults.redis_proxy import RedisProxy
from tests.redis_server import RedisServer

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
# As Slack does it, in shorter times: at once, then later, then much later.
RETRY_SECONDS = (0.2, 4.0, 15.0)
PAID_PAISE = 20_000_00
AT_WORK = b"t work."
"""How a process says in its log that its start is over."""


@dataclass(kw_only=True)
class Child:
    """A process of ours that dies, stands still, and comes back."""

    name: str
    process: BotProcess
    folder: Path
    down: bool = True
    stopped: bool = False
    ended_by_itself: list[str] = field(default_factory=list[str])
    """The last line of its log each time it ended without being killed."""
    _began_at: int = 0
    _is_up: bool = False
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self) -> None:
        """Nothing when it runs already."""
        async with self._changing:
            if self.process.is_down:
                self._began_at = self._log_path.stat().st_size if self._log_path.exists() else 0
                await self.process.start()
                self.down = self.stopped = self._is_up = False

    @property
    def at_work(self) -> bool:
        """Its start is over, by its own log, and it neither is dead nor stands still."""
        if self.down or self.stopped:
            return False
        if not self._is_up:
            with self._log_path.open("rb") as log:
                log.seek(self._began_at)
                self._is_up = AT_WORK in log.read()
        return self._is_up

    async def kill(self) -> None:
        self.down = True
        async with self._changing:
            await self.process.kill()
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True
        self.process.send(signal.SIGSTOP)

    def go_on(self) -> None:
        if self.stopped and not self.down:
            self.process.send(signal.SIGCONT)
        self.stopped = False

    @property
    def log(self) -> str:
        if not self._log_path.exists():
            return ""
        return self._log_path.read_text(encoding="utf-8", errors="replace")

    @property
    def _log_path(self) -> Path:
        return self.folder / "bot.log"


@dataclass(kw_only=True)
class World:
    """The shop has a customer for each case, with one order of ₹20,000."""

    folder: Path
    slack: LocalSlack
    claude: LocalClaude
    redis: RedisServer
    proxy: RedisProxy
    shop: Shop
    environment: Mapping[str, str]
    """Of each child."""
    children: Sequence[Child] = ()
    began: float = field(default_factory=time.monotonic)

    @property
    def progress(self) -> int:
        """Grows with what the processes do: calls to Slack and requests to Claude."""
        return len(self.slack.calls) + len(self.claude.requests)

    @property
    def seconds(self) -> float:
        """Since the round began."""
        return time.monotonic() - self.began

    @asynccontextmanager
    async def records(self) -> AsyncGenerator[CaseStore]:
        """The store, looked at past the proxy."""
        settings = load_settings(
            env={"CASETHREAD_STORE_URL": self.redis.url()},
            env_file=None,
        )
        store = read_records(settings)
        try:
            yield store
        finally:
            await store.close()


def order_of(number: int) -> str:
    return f"O{number:04d}"


def customer_of(number: int) -> tuple[str, str]:
    """Id and name."""
    return f"cust_c{number:04d}", f"Client{number:04d} Rao"


@asynccontextmanager
async def new_world(folder: Path, *, cases: int, children: Sequence[str]) -> AsyncGenerator[World]:
    """Everything up, the children started; all of it gone afterwards.

    Of the children, by name, the first is `casethread start` and the others are workers.
    """
    async with AsyncExitStack() as parts:
        redis = await asyncio.to_thread(
            RedisServer, folder, "--appendonly", "yes", "--appendfsync", "always"
        )
        parts.callback(redis.kill)
        proxy = await parts.enter_async_context(RedisProxy(upstream=redis.port))
        slack = await parts.enter_async_context(
            LocalSlack(manifest=MANIFEST, retry_delays_seconds=RETRY_SECONDS)
        )
        claude = await parts.enter_async_context(LocalClaude())
        shop_url = f"sqlite:///{folder}/shop.db"
        shop = await asyncio.to_thread(open_shop, shop_url, now=time.time)
        parts.push_async_callback(shop.close)
        await shop.database.write(lambda connection: _fill(connection, cases))
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_APP_TOKEN": slack.app_token,
            "SLACK_API_URL": slack.api_url,
            "ANTHROPIC_API_KEY": "sk-ant-local",
            "ANTHROPIC_BASE_URL": claude.base_url,
            "CASETHREAD_STORE_URL": f"redis://127.0.0.1:{proxy.port}/0",
            "CASETHREAD_SHOP_URL": shop_url,
            "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
            "CASETHREAD_APPROVALS_CHANNEL": APPROVALS,
            "CASETHREAD_APPROVERS": LEADS,
            "CASETHREAD_LOG": "info",
        }
        world = World(
            folder=folder,
            slack=slack,
            claude=claude,
            redis=redis,
            proxy=proxy,
            shop=shop,
            environment=environment,
            children=[
                _child(folder, name, "worker" if number else "start", environment)
                for number, name in enumerate(children)
            ],
        )
        parts.push_async_callback(_end, world.children)
        for child in world.children:
            await child.start()
        supervising = asyncio.create_task(_supervise(world.children))
        parts.push_async_callback(_cancel, supervising)
        yield world


def _child(folder: Path, name: str, command: str, environment: Mapping[str, str]) -> Child:
    place = folder / name
    place.mkdir()
    process = BotProcess(environment, place, module=("bot.cli", command))
    return Child(name=name, process=process, folder=place)


async def _supervise(children: Sequence[Child]) -> None:
    """Start again what ended by itself, as systemd would."""
    while True:
        for child in children:
            if not child.down and child.process.exit_code is not None:
                child.ended_by_itself.append(child.process.log_tail(1))
                await child.start()
        await asyncio.sleep(0.3)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _end(children: Sequence[Child]) -> None:
    for child in children:
        await child.kill()


def _fill(connection: Connection, cases: int) -> None:
    today = datetime.now(UTC).date()
    for number in range(cases):
        customer_id, name = customer_of(number)
        order_id = order_of(number)
        connection.execute(insert(customers).values(id=customer_id, name=name))
        connection.execute(
            insert(orders).values(
                id=order_id,
                customer_id=customer_id,
                status="delivered",
                paid_paise=PAID_PAISE,
                payment_method="card",
                placed_on=today,
                delivered_on=today,
            )
        )
        connection.execute(
            insert(order_items).values(
                order_id=order_id, name="Lamp", category="home", quantity=1, price_paise=PAID_PAISE
            )
        )
