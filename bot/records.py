"""Where the settings say that cases and the shop are. The only file of `bot` that names storage.

Nothing here needs Slack's or Anthropic's packages: who only looks at records starts at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime

from agent.errors import ConfigurationError
from agent.ports import CaseStore, Clock
from agent.refunds.ports import Refund
from bot.settings import Settings
from storage import check_store, open_store
from storage.shop import SAMPLE_POLICIES, PolicyError, Shop, ShopError, open_shop

__all__ = ["Shop", "agents_refunds", "open_records", "read_records", "sample_shop_url"]


@asynccontextmanager
async def open_records(settings: Settings, *, now: Clock) -> AsyncGenerator[tuple[CaseStore, Shop]]:
    """The cases and the shop whose refunds they are about, to work with. Raises
    `ConfigurationError`."""
    async with AsyncExitStack() as parts:
        store = open_store(settings.store_url, now=now)
        parts.push_async_callback(store.close)
        await check_store(store)
        shop = await _shop(settings, now=now)
        parts.push_async_callback(shop.close)
        if await store.remember("shop", shop.shop_id) != shop.shop_id:
            raise ConfigurationError(
                "CASETHREAD_SHOP_URL: this store's cases belong to another shop; set the shop they"
                " were made with, or a new CASETHREAD_STORE_URL."
            )
        yield store, shop


def read_records(settings: Settings) -> CaseStore:
    """The cases to look at, beside a running bot. Raises `ConfigurationError`."""
    return open_store(settings.store_url, read_only=True)


async def agents_refunds(settings: Settings, order_id: str) -> Sequence[Refund]:
    """What agents proposed on an order, as the shop's rows, oldest first. Beside a running bot."""
    shop = await _shop(settings, now=time.time)
    try:
        rows = await shop.ledger.history(order_id)
    finally:
        await shop.close()
    return [row for row in rows if row.run_id is not None]


def sample_shop_url(settings: Settings) -> str:
    """Where the sample shop lives when no shop is configured: beside the cases."""
    if not settings.store_url.startswith("sqlite:///"):
        return "sqlite:///casethread-shop.db"
    return settings.store_url.removesuffix(".db") + "-shop.db"


async def _shop(settings: Settings, *, now: Clock) -> Shop:
    today = datetime.fromtimestamp(now(), UTC).date()
    try:
        return await asyncio.to_thread(
            open_shop,
            settings.shop_url or sample_shop_url(settings),
            now=now,
            policies=settings.policies or SAMPLE_POLICIES,
            sample_on=None if settings.shop_url else today,
        )
    except ShopError as error:
        raise ConfigurationError(f"CASETHREAD_SHOP_URL: {error}") from error
    except PolicyError as error:
        raise ConfigurationError(f"CASETHREAD_POLICIES: {error}") from error
