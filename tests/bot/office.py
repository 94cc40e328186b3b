"""A front desk that works: the local Slack, the real Bolt app on a socket, a real SQLite store.

No harness runs behind it, so what was delivered stays in the inbox to be looked at.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from agent.approval import Card, CardFact
from agent.case import Approval, Case, Content, Event, NotACase, Offer, Picker, Post, Reply
from agent.ports import CaseStore, Change, Lease, Posted
from agent.refunds.ports import Customer
from agent.run import Json, Pending, Run, Status
from bot.approvers import SlackApprovers
from bot.cards.draw import draw
from bot.cards.message import Audience
from bot.cards.message import Message as Drawn
from bot.cards.new_case import offer
from bot.listeners import FrontDesk, Identity, build_app
from bot.local.slack import LocalSlack
from bot.local.slack.people import Person
from bot.local.slack.seed import APPROVALS, LEADS, SUPPORT_CASES
from bot.local.slack.workspace import Message
from bot.people import People
from bot.settings import load_settings
from bot.webapi import send
from storage import open_store
from tests.bot.local.slack_bench import connected
from tests.contracts.samples import owned

MANIFEST = Path(__file__).parents[2] / "manifest.yml"
TEAM = "T0CARTWISE"
RUN_ID = "run-1"
ASKED_PAISE = 249_900
ASHA = Customer(customer_id="cust_asha", name="Asha Rao", email="asha.rao@example.com")
VIKRAM = Customer(customer_id="cust_vikram", name="Vikram Shah", email="vikram.shah@example.com")


class StoreDoor:
    """Leads to a store that can be taken away and brought back."""

    def __init__(self, path: Path) -> None:
        self._url = f"sqlite:///{path}"
        self._store = open_store(self._url)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def kill(self) -> None:
        await self._store.close()

    def revive(self) -> None:
        self._store = open_store(self._url)


@dataclass(kw_only=True)
class Office:
    slack: LocalSlack
    client: AsyncWebClient
    door: StoreDoor
    desk: FrontDesk
    app: AsyncApp
    woken: list[str]
    searched: list[str]
    customers: list[Customer] = field(default_factory=lambda: [ASHA, VIKRAM])

    @property
    def store(self) -> CaseStore:
        return self.desk.store

    def person(self, name: str) -> Person:
        return self.slack.person(name)

    async def settled(self) -> None:
        """Until Slack has every acknowledgement."""
        await self.slack.until(lambda: not self.slack.sockets.unacknowledged)

    async def inbox(self, case_id: str) -> list[Event]:
        """What was delivered to the case, in the order of its time; none for an unknown case."""
        claim = await self.store.claim(case_id, "a look", seconds=60)
        if claim is None:
            return []
        await self._give_up(claim.lease)
        return [stored.event for stored in claim.record.inbox]

    async def _give_up(self, lease: Lease) -> None:
        if not await self.store.release(lease, due_at=None):
            # Owned for as long as events wait: a lease of no time gives it up.
            await self.store.renew(lease, seconds=0)

    async def put(
        self,
        case_id: str,
        *,
        card: Card | None = None,
        openers: Sequence[str] = (),
        trace: Sequence[Json] = (),
        decided: Card | None = None,
        customer_name: str = "",
        **changes: Any,
    ) -> None:
        """Save the case with a run; with a card it waits for a lead. `changes` are the run's."""
        # Any event makes the case's row.
        seed = Event(event_id=f"seed:{time.time_ns()}", ts="1.000000", fact=NotACase(by="U"))
        await self.store.deliver(case_id, seed)
        lease = await owned(self.store, "the harness", case_id=case_id, seconds=60)
        facts: dict[str, Any] = {
            "run_id": RUN_ID,
            "case_id": case_id,
            "customer_id": "cust_asha",
            "agent": "refunds",
            "model": "claude-opus-5-5",
            "frozen": "digest",
            "status": Status.WAITING_APPROVAL if card else Status.DONE,
            "opened_at": 1.0,
            "pending": _pending(card) if card else None,
            "decided": _pending(decided) if decided else None,
        }
        run = Run(**(facts | changes))
        case = Case(
            case_id=case_id,
            agent="refunds",
            opened_at=1.0,
            customer_id="cust_asha",
            customer_name=customer_name,
            openers=tuple(openers),
            run_ids=(run.run_id,),
        )
        change = Change(case=case, run=run, trace=tuple(trace), applied=(seed.event_id,))
        await self.store.save(lease, change)
        await self._give_up(lease)

    async def show(
        self,
        content: Content,
        case_id: str,
        *,
        channel: str = SUPPORT_CASES,
        thread: str = "",
        post_id: str = "",
    ) -> Message:
        """Post what the harness would; the last message of it."""
        audience = Audience(
            approvals_channel=APPROVALS, handoff_mention=None, approvers=("S0LEADS001",)
        )
        messages = draw(content, case_id=case_id, audience=audience, link=None, post_id=post_id)
        return await self._post(messages[-1], channel, thread)

    async def show_offer(self, content: Offer, root: Message) -> Message:
        """In the thread, as if everybody were offered a case."""
        return await self._post(offer(content), root.channel, root.ts)

    async def _post(self, drawn: Drawn, channel: str, thread: str) -> Message:
        where = {"thread_ts": thread} if thread else {}
        answer = await send(
            self.client,
            "chat.postMessage",
            seconds=5,
            channel=channel,
            text=drawn.text,
            blocks=list(drawn.blocks),
            **where,
        )
        message = self.slack.workspace.message(channel, answer["ts"])
        assert message is not None
        return message

    async def show_card(self, case_id: str, card: Card, *, post_id: str = "") -> Message:
        """The card in the approvals channel."""
        content = Approval(card=card, openers=(), run_id=RUN_ID)
        return await self.show(content, case_id, channel=APPROVALS, post_id=post_id)

    async def sent(self, case_id: str, post: Post, message: Message) -> None:
        """The store knows that this post is that message."""
        lease = await owned(self.store, "test", case_id=case_id, seconds=60)
        record = await self.store.case(case_id)
        assert record is not None
        assert record.case is not None
        await self.store.save(lease, Change(case=record.case, run=None, posts=(post,)))
        posted = Posted(channel=message.channel, message_id=message.ts)
        await self.store.sent(lease, {post.post_id: posted})
        await self._give_up(lease)

    async def show_picker(self, root: Message, words: str = "") -> Message:
        return await self.show(Picker(words=words), case_of(root), thread=root.ts)

    async def show_reply(self, root: Message) -> Message:
        content = Reply(text="Your refund is on its way.", run_id=RUN_ID)
        return await self.show(content, case_of(root), thread=root.ts)


def case_of(message: Message) -> str:
    return f"{TEAM}:{message.channel}:{message.root_ts}"


def card(version: int = 1, **changes: Any) -> Card:
    facts: dict[str, Any] = {
        "key": "run-1:call-1",
        "version": version,
        "digest": f"digest-{version}",
        "title": "Refund ₹2,499.00 for order 4471",
        "amount_paise": ASKED_PAISE,
        "facts": (CardFact(label="Order", value="4471"),),
        "explanation": "Damaged on arrival.",
    }
    return Card(**(facts | changes))


def _pending(card: Card) -> Pending:
    return Pending(
        kind="approval",
        call_id="call-1",
        tool="propose_refund",
        input={},
        digest=card.digest,
        post_id="post-1",
        since=1.0,
        card=card,
    )


@contextlib.asynccontextmanager
async def open_office(
    folder: Path, *, env: Mapping[str, str] | None = None, **slack_options: Any
) -> AsyncGenerator[Office]:
    """`env` are further settings; `slack_options` are the local Slack's."""
    door = StoreDoor(folder / "cases.db")
    options: dict[str, Any] = {"ack_timeout_seconds": 3.0, "retry_delays_seconds": (0.0, 0.0, 0.0)}
    async with LocalSlack(manifest=MANIFEST, **(options | slack_options)) as slack:
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url, retry_handlers=[])
        woken: list[str] = []
        searched: list[str] = []
        settings = load_settings(
            env={
                "CASETHREAD_CASE_CHANNELS": SUPPORT_CASES,
                "CASETHREAD_APPROVALS_CHANNEL": APPROVALS,
                "CASETHREAD_APPROVERS": LEADS,
            }
            | dict(env or {}),
            env_file=None,
        )

        async def search(query: str) -> Sequence[Customer]:
            searched.append(query)
            return [each for each in office.customers if query.lower() in each.name.lower()]

        async def refunded_since(at: float) -> int:
            return 249_900

        desk = FrontDesk(
            client=client,
            identity=Identity(
                team_id=TEAM,
                bot_user_id="U0CASEBOT1",
                bot_id="B0CASETHRD",
                app_id="A0CASETHRD",
                url="https://cartwise.slack.com/",
            ),
            settings=settings,
            store=cast("CaseStore", door),
            wake=woken.append,
            search_customers=search,
            approvers=SlackApprovers(
                client,
                team_id=TEAM,
                users=settings.approver_users,
                groups=settings.approver_groups,
            ),
            people=People(client, team_id=TEAM, now=time.time),
            now=time.time,
            refunded_since=refunded_since,
        )
        app = build_app(desk)
        office = Office(
            slack=slack,
            client=client,
            door=door,
            desk=desk,
            app=app,
            woken=woken,
            searched=searched,
        )
        async with connected(app, slack):
            yield office
    await door.kill()
