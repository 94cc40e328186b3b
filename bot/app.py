"""The composition root: settings → parts → run → drain."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_sdk.web.async_client import AsyncWebClient

from agent.case import Deleted, Event, ts_of
from agent.claude import Claude
from agent.errors import ConfigurationError
from agent.harness import Harness
from agent.limits import Limits, Waiting
from agent.ports import CaseStore, Clock
from agent.pricing import load_prices, price_of
from agent.refunds.agent import refund_agent
from agent.refunds.ports import Payments, Rules
from bot.approvers import SlackApprovers
from bot.catching_up import CatchUp
from bot.imports import uncollected
from bot.listeners import FrontDesk, Identity, build_app
from bot.people import People
from bot.photos import SlackPhotos
from bot.posting import Audience, Poster, make_client
from bot.reading import ThreadReader
from bot.records import Shop, open_records
from bot.settings import Settings
from bot.thread import Thread
from bot.webapi import SlackError, ask
from bot.workers import LOOK_SECONDS, Workers

log = logging.getLogger("casethread")

START_SECONDS = 10.0
"""How long Slack may take for each question at the start."""
LIMITED_SECONDS = 60.0
LIMITED_PAUSE_SECONDS = 2.0
DRAIN_SECONDS = 6.0
"""With what follows it, a stop takes less than 10 s: what supervisors wait before they kill."""


@dataclass(frozen=True, kw_only=True)
class Bot:
    """The parts of a running bot that others may look at."""

    store: CaseStore
    shop: Shop
    workers: Workers
    looking: asyncio.Task[None]
    """Ends only when the workers drain, or by a fault of ours."""


@asynccontextmanager
async def running_bot(
    settings: Settings,
    *,
    now: Clock = time.time,
    look_seconds: float = LOOK_SECONDS,
    payer: Callable[[Payments], Payments] | None = None,
    listen: bool = True,
) -> AsyncGenerator[Bot]:
    """The bot and its workers, connected and at work; drained on the way out.

    Without `listen` only workers: what people do in Slack is taken by another process.
    `payer` puts somebody between the agent and whoever pays.
    Raises `ConfigurationError`, one line for the operator, when a setting does not fit the world.
    """
    async with AsyncExitStack() as parts:
        prices = load_prices(settings.prices)
        price_of(settings.model, prices)
        store, shop = await parts.enter_async_context(open_records(settings, now=now))

        client = make_client(_secret(settings.slack_bot_token), settings.slack_api_url)
        identity = await _identity(client)
        await _check_slack(settings, client)

        claude = Claude(
            api_key=_secret(settings.anthropic_api_key), base_url=settings.anthropic_base_url
        )
        parts.push_async_callback(claude.close)
        rules = Rules(
            approval_limit_paise=settings.approval_limit_paise,
            second_approval_over_paise=settings.second_approval_over_paise,
        )
        agent = refund_agent(
            model=settings.model,
            orders=shop.orders,
            policies=shop.policies,
            ledger=shop.ledger,
            payments=shop.payments if payer is None else payer(shop.payments),
            rules=rules,
        )
        approvers = SlackApprovers(
            client,
            team_id=identity.team_id,
            users=settings.approver_users,
            groups=settings.approver_groups,
        )

        async def name_of(customer_id: str) -> str | None:
            customer = await shop.orders.customer(customer_id)
            return customer.name if customer is not None else None

        async def root_is_gone(case_id: str) -> None:
            thread = Thread.parse(case_id)
            event = Event(
                event_id=f"del:{thread.team}:{thread.channel}:{thread.ts}",
                ts=ts_of(now()),
                fact=Deleted(message_id=thread.ts, first=True),
            )
            await store.deliver(case_id, event)

        desk = FrontDesk(
            client=client,
            identity=identity,
            settings=settings,
            store=store,
            wake=lambda case_id: wake(case_id),
            search_customers=shop.orders.search_customers,
            approvers=approvers,
            people=People(client, team_id=identity.team_id, now=now),
            now=now,
            refunded_since=shop.refunded_since,
        )
        read_thread = ThreadReader(desk)
        harness = Harness(
            store=store,
            claude=claude,
            agent=agent,
            prices=prices,
            now=now,
            customers=name_of,
            approvers=approvers,
            fetch_photo=SlackPhotos(client),
            read_thread=read_thread,
            limits=Limits(max_steps=settings.max_steps, max_cost_usd=settings.max_cost_usd),
            waiting=Waiting(
                remind_after_seconds=settings.remind_after_seconds,
                expire_after_seconds=settings.expire_after_seconds,
            ),
            four_eyes=settings.four_eyes,
        )
        audience = Audience(
            approvals_channel=settings.approvals_channel,
            handoff_mention=settings.handoff_mention,
            approvers=settings.approvers,
        )
        poster = Poster(client=client, store=store, audience=audience, now=now)
        parts.push_async_callback(poster.close)
        workers = Workers(
            harness=harness,
            poster=poster,
            owner=f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
            on_dead_root=root_is_gone,
            look_seconds=look_seconds,
        )
        wake = await parts.enter_async_context(_waking(settings, workers))
        async with AsyncExitStack() as ears:
            if listen:
                # Left first: no further event is taken while the workers drain; what was not
                # acknowledged, Slack delivers again.
                await ears.enter_async_context(_listening(settings, desk, store, read_thread))
            looking = asyncio.create_task(workers.run(), name="workers")
            try:
                yield Bot(store=store, shop=shop, workers=workers, looking=looking)
            finally:
                await ears.aclose()
                await workers.drain(seconds=DRAIN_SECONDS)
                await looking


@asynccontextmanager
async def _listening(
    settings: Settings, desk: FrontDesk, store: CaseStore, read_thread: ThreadReader
) -> AsyncGenerator[None]:
    """Connected to Slack's events, with what was missed before and in between fetched."""
    handler = AsyncSocketModeHandler(build_app(desk), _secret(settings.slack_app_token))
    catch_up = CatchUp(store=store, read_thread=read_thread, wake=desk.wake, now=desk.now)
    try:
        await handler.connect_async()
        catch_up.begin()
        catch_up.watch(handler.client.is_connected)
        yield
    finally:
        await catch_up.close()
        await handler.close_async()


@asynccontextmanager
async def _waking(settings: Settings, workers: Workers) -> AsyncGenerator[Callable[[str], None]]:
    """How workers are told that there is work for a case."""
    if settings.store_url.startswith("sqlite:"):
        # It serves this process alone: no engine has to be imported, run and asked.
        yield workers.wake
        return
    with uncollected():
        from bot.wakeups import carrying

    async with carrying(settings.store_url, workers.wake) as wake_ups:
        yield wake_ups.send


async def _identity(client: AsyncWebClient) -> Identity:
    """Who we are in the workspace; the first question to Slack, so it also checks the token."""
    try:
        me = await _ask(client, "auth.test")
        bot = await _ask(client, "bots.info", bot=me.get("bot_id", ""))
    except SlackError as error:
        raise ConfigurationError(_token_trouble("SLACK_BOT_TOKEN", error)) from error
    return Identity(
        team_id=me["team_id"],
        bot_user_id=me["user_id"],
        bot_id=me["bot_id"],
        app_id=bot["bot"]["app_id"],
        url=str(me.get("url", "")),
    )


async def _check_slack(settings: Settings, client: AsyncWebClient) -> None:
    app_client = make_client(_secret(settings.slack_app_token), settings.slack_api_url)
    try:
        await _ask(app_client, "apps.connections.open")
    except SlackError as error:
        raise ConfigurationError(_token_trouble("SLACK_APP_TOKEN", error)) from error
    channels = [("CASETHREAD_CASE_CHANNELS", each) for each in settings.case_channels]
    if settings.approvals_channel:
        channels.append(("CASETHREAD_APPROVALS_CHANNEL", settings.approvals_channel))
    for setting, channel in channels:
        try:
            info = await _ask(client, "conversations.info", channel=channel)
        except SlackError as error:
            if error.may_pass:
                raise ConfigurationError(_away(error)) from error
            raise ConfigurationError(
                f"{setting}: Slack can't show the channel {channel} ({error.reason}); copy its id"
                " from the channel's details in Slack."
            ) from error
        if not info["channel"].get("is_member"):
            raise ConfigurationError(
                f"{setting}: the bot is not in {channel}; invite it there with /invite."
            )


def _token_trouble(setting: str, error: SlackError) -> str:
    refused = ("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired")
    if error.reason in refused:
        return f"{setting}: Slack refuses this token ({error.reason}); copy it from the app's page."
    return _away(error)


def _away(error: SlackError) -> str:
    return f"SLACK_API_URL: Slack can't be reached or refused the question ({error})."


async def _ask(client: AsyncWebClient, method: str, **arguments: str) -> dict[str, Any]:
    """A question at the start. A rate limit is waited for: it is over within a minute, and who
    starts us again sooner would meet it again. Raises `SlackError`."""
    ends = time.monotonic() + LIMITED_SECONDS
    while True:
        try:
            return await ask(client, method, seconds=START_SECONDS, **arguments)
        except SlackError as error:
            if error.reason != "ratelimited" or time.monotonic() > ends:
                raise
            await asyncio.sleep(LIMITED_PAUSE_SECONDS)


def _secret(value: object) -> str:
    get = getattr(value, "get_secret_value", None)
    if get is None:
        raise ConfigurationError("A token is missing; see the settings in docs/operating.md.")
    return str(get())
