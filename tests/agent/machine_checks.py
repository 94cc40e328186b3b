"""What holds at every moment, read from the shop's rows, the store's records and the thread.

`Checks` lives as long as an example and compares what it sees with what it saw before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlalchemy import select

from agent.case import Approval, Case, Decided, Event, Handoff, Line, Notice, Question, Reply
from agent.messages import calls_of
from agent.ports import Record
from agent.refunds.ports import RESERVING, Refund, RefundStatus
from agent.run import FINAL, Json, Run, Status
from agent.timers import READ_AGAIN_SECONDS
from storage import codec
from storage.shop.database import orders, payouts, refunds
from storage.shop.ledger import AUTOMATIC_WINDOW_SECONDS
from storage.shop.rows import refund_of
from tests.agent.bench import CASE, RULES
from tests.agent.machine_world import World

_BECOMES: dict[RefundStatus, frozenset[RefundStatus]] = {
    RefundStatus.WAITING: frozenset(RefundStatus),
    RefundStatus.INTENDED: frozenset(
        {RefundStatus.PAID, RefundStatus.UNKNOWN, RefundStatus.FAILED}
    ),
    RefundStatus.UNKNOWN: frozenset({RefundStatus.PAID, RefundStatus.FAILED}),
}


@dataclass(frozen=True, kw_only=True)
class Books:
    """The shop's money as it stands."""

    rows: Sequence[Refund]
    """The agent's, oldest first."""
    others: Sequence[Refund]
    payouts: Sequence[Any]
    paid_paise: dict[str, int]
    owner: dict[str, str]


@dataclass(kw_only=True)
class Checks:
    world: World
    delivered: list[Event]
    """Everything that people did, in whatever order it came in."""
    _rows: dict[str, Refund] = field(default_factory=dict[str, Refund])
    _messages: dict[str, Sequence[Json]] = field(default_factory=dict[str, Sequence[Json]])
    _declined: set[str] = field(default_factory=set[str])

    def all(self) -> None:
        """Whatever is going on, and whoever died."""
        assert [each.error for each in self.world.claude.refused] == []
        assert self.world.claude.script_errors == []
        books = self.world.loop.run_until_complete(self.books())
        record = self.record()
        self._money(books, chosen_by=record.case.chosen_by if record and record.case else "")
        if record is None or record.case is None:
            return
        for run in self.runs():
            self._conversation(run)
            if run.status in FINAL:
                self._told_of_the_end(run, record.case)
        if record.run is not None:
            self._waits_or_works(record.run)
        self._somebody_comes_back(record)

    # Money

    async def books(self) -> Books:
        async def rows(query: Any) -> Sequence[Any]:
            return await self.world.shop.database.read(
                lambda connection: connection.execute(query).mappings().all()
            )

        every = [refund_of(row) for row in await rows(select(refunds).order_by(refunds.c.id))]
        sold = await rows(select(orders.c.id, orders.c.paid_paise, orders.c.customer_id))
        return Books(
            rows=[row for row in every if row.run_id is not None],
            others=[row for row in every if row.run_id is None],
            payouts=await rows(select(payouts)),
            paid_paise={each["id"]: each["paid_paise"] for each in sold},
            owner={each["id"]: each["customer_id"] for each in sold},
        )

    def _money(self, books: Books, *, chosen_by: str) -> None:
        by_key = {row.key: row for row in books.rows}
        assert self._rows.keys() <= by_key.keys(), "a row is gone"
        for row in books.rows:
            if (before := self._rows.get(row.key)) is not None:
                _became(before, row)
            elif row.automatic:
                assert row.order_id not in self._declined, "automatic after a decline"
            if row.status in RESERVING:
                assert books.owner[row.order_id] == row.customer_id
            if row.status in RESERVING and not row.automatic:
                assert chosen_by not in {each.by for each in row.approvals}, "four eyes"
                self._approved(row, books)
        reserved: Counter[str] = Counter()
        for row in [*books.rows, *books.others]:
            if row.status in RESERVING:
                reserved[row.order_id] += row.amount_paise
        for order, paise in reserved.items():
            assert paise <= books.paid_paise[order], f"more than was paid on {order}"
        for payout in books.payouts:
            row = by_key[payout["idempotency_key"]]
            assert row.status in RESERVING, f"paid, and the row is {row.status}"
            told = (payout["order_id"], payout["customer_id"], payout["amount_paise"])
            assert told == (row.order_id, row.customer_id, row.amount_paise)
        references = {each["idempotency_key"]: each["reference"] for each in books.payouts}
        for row in books.rows:
            if row.status is RefundStatus.PAID:
                assert row.reference == references[row.key]
            if row.automatic and row.status in RESERVING:
                _within_the_limit(row, books)
        self._rows = by_key
        declined = [row for row in books.rows if row.status is RefundStatus.DECLINED]
        self._declined = {row.order_id for row in declined}

    def _approved(self, row: Refund, books: Books) -> None:
        """Different approvers who saw exactly this amount, each asked about before it counted."""
        by = {each.by for each in row.approvals}
        earlier = [
            each
            for each in books.rows
            if each.order_id == row.order_id
            and each.key != row.key
            and each.status in RESERVING
            and (each.intended_at or 0) < (row.intended_at or 0)
        ]
        sum_paise = row.amount_paise + sum(each.amount_paise for each in earlier)
        needed = 2 if sum_paise > RULES.second_approval_over_paise else 1
        assert len(by) >= needed, f"{row.key} has {len(by)} of {needed} approvals"
        shown = {
            (card.key, card.version, card.digest): card.amount_paise
            for card in (x.card for x in self.posts().values() if isinstance(x, Approval))
        }
        decisions = [each.fact for each in self.delivered if isinstance(each.fact, Decided)]
        for lead in by:
            assert (lead, "approver") in {(user, told) for _, user, told in self.world.asked}
            assert any(
                fact.by == lead
                and fact.verdict == "approve"
                and (fact.amount_paise or shown.get((fact.key, fact.version, fact.digest)))
                == row.amount_paise
                for fact in decisions
                if fact.key == row.key
            ), f"{lead} approved no {row.amount_paise} paise"

    # Records

    def record(self) -> Record | None:
        return self.world.loop.run_until_complete(self.world.store.case(CASE))

    def runs(self) -> Sequence[Run]:
        async def read() -> Sequence[Run]:
            return [line.run async for line in self.world.store.runs()]

        return self.world.loop.run_until_complete(read())

    def messages(self, run_id: str) -> Sequence[Json]:
        query = "SELECT record FROM messages WHERE run_id = ? ORDER BY n"
        stored = self.world.file.execute(query, (run_id,))
        return [codec.decode_json(raw, run_id) for (raw,) in stored]

    def posts(self) -> dict[str, Any]:
        """Contents by post id, in the thread or on the way there."""
        query = "SELECT post_id, record FROM outbox ORDER BY seq"
        return {
            post_id: codec.decode_post(raw, post_id).content
            for post_id, raw in self.world.file.execute(query)
        }

    def _conversation(self, run: Run) -> None:
        messages = self.messages(run.run_id)
        before = self._messages.get(run.run_id, [])
        assert messages[: len(before)] == list(before), "a message was rewritten"
        self._messages[run.run_id] = messages
        for message, following in pairwise(messages):
            wanted = [call["id"] for call in calls_of(message)]
            given = [each["tool_use_id"] for each in _results(following)]
            assert given == wanted, "not exactly one result for each call, in their order"
            leading = following["content"][: len(given)]
            assert _results({"role": "user", "content": leading}) == leading, "results come first"
        assert run.steps <= 12
        assert len({each["tool_use_id"] for each in run.results}) == len(run.results)

    def _told_of_the_end(self, run: Run, case: Case) -> None:
        contents = list(self.posts().values())
        replies = [x for x in contents if isinstance(x, Reply) and x.run_id == run.run_id]
        handoffs = [
            x
            for x in contents
            if (isinstance(x, Handoff) and x.run_id == run.run_id)
            or (isinstance(x, Notice) and x.text.startswith(run.run_id))
        ]
        assert run.pending is None
        if run.status is Status.DONE:
            assert run.heard == (), "the reply was written without the customer's last words"
            assert ([each.text for each in replies], handoffs) == ([run.reply], [])
        else:
            # Who says that the customer is wrong sees the picker come back.
            assert len(handoffs) == (run.reason != "The wrong customer was chosen.")
            assert [each.text for each in replies] == ([run.reply] if run.reply else [])

    def _waits_or_works(self, run: Run) -> None:
        assert (run.pending is not None) == run.status.startswith("waiting")
        if run.pending is not None:
            content = self.posts()[run.pending.post_id]
            assert isinstance(
                content, Question if run.status is Status.WAITING_CUSTOMER else Approval
            )

    def _somebody_comes_back(self, record: Record) -> None:
        """The store has the case ready by the time it wants something, whoever died."""
        world, clock = self.world, self.world.clock
        [due_at, lease_ends] = world.file.execute("SELECT due_at, expires_at FROM cases").fetchone()
        query = (
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE NOT applied)"
            " OR EXISTS (SELECT 1 FROM outbox WHERE NOT sent)"
        )
        [has_work] = world.file.execute(query).fetchone()
        assert record.case is not None
        wanted = world.waiting.due_at(record.case, record.run, now=clock.seconds)
        if has_work:
            # Slack may be away; it is tried again within a few seconds.
            wanted = min(clock.seconds + 5, wanted or clock.seconds + 5)
        if wanted is not None:
            latest = max(wanted, lease_ends, clock.seconds)
            if record.run is not None and record.run.pending is not None:
                # A thread that could not be read before an expiry is read again a little later.
                latest = max(latest, clock.seconds + READ_AGAIN_SECONDS)
            assert due_at is not None, "nobody will look at the case again"
            assert max(due_at, lease_ends) <= latest, "the case is looked at too late"

    def not_expired(self, run_ids: Sequence[str]) -> None:
        """None of these runs ended because nobody answered, and no row of theirs did."""
        books = self.world.loop.run_until_complete(self.books())
        expired = [row.key for row in books.rows if row.status is RefundStatus.EXPIRED]
        for run in self.runs():
            if run.run_id in run_ids:
                assert not (run.reason or "").startswith("Nobody answered"), "an answer was there"
                waited = run.decided.card.key if run.decided and run.decided.card else None
                assert waited not in expired, "a decision was there"

    # At the end

    def settled(self) -> None:
        """Nothing fails any more and nobody is under way: all is told, nothing is left open."""
        record = self.record()
        books = self.world.loop.run_until_complete(self.books())
        if record is None or record.case is None:
            assert not books.rows
            return
        run, case = record.run, record.case
        if run is not None:
            assert run.status is not Status.RUNNING, "a run that neither ended nor waits"
        watched = {each.key for each in case.unsettled}
        contents = list(self.posts().values())
        shown: dict[str, Approval] = {
            content.card.key: content for content in contents if isinstance(content, Approval)
        }
        runs = {each.run_id: each for each in self.runs()}
        pending = run.pending if run is not None else None
        asked = pending.card.key if pending is not None and pending.card is not None else None
        for row in books.rows:
            if row.status is RefundStatus.WAITING:
                # Watched: its call failed, so nobody was asked, and it is about to be withdrawn.
                assert row.key in {asked, *watched}, "a row waits, and its case does not"
            if row.status in (RefundStatus.INTENDED, RefundStatus.UNKNOWN):
                assert row.key in watched, f"nobody looks up a payment that is {row.status}"
            if (card := shown.get(row.key)) is not None:
                assert (card.card.outcome is None) == (row.status is RefundStatus.WAITING)
            if row.status is RefundStatus.PAID and row.run_id and row.key not in watched:
                reference = row.reference or ""
                assert self._customer_reads(runs[row.run_id], reference, contents), (
                    f"nobody told the customer of {reference}"
                )
                if card is not None and card.card.outcome is not None:
                    assert reference in card.card.outcome.detail

    def _customer_reads(self, run: Run, reference: str, contents: Sequence[Any]) -> bool:
        """In our words after a handoff; a run that is done has told the model at least, and one
        that goes on will."""
        if run.status not in FINAL:
            return True
        if run.status is Status.HANDED_OFF:
            ends = [x for x in contents if isinstance(x, Handoff) and x.run_id == run.run_id]
            notices = [x for x in contents if isinstance(x, Notice)]
            lines = [x for x in contents if isinstance(x, Line)]
            return any(reference in x.text for x in [*ends, *notices, *lines])
        return any(
            reference in str(each["content"])
            for message in self.messages(run.run_id)
            for each in _results(message)
        )


def _results(message: Json) -> list[Json]:
    if message["role"] != "user":
        return []
    return [block for block in message["content"] if block["type"] == "tool_result"]


def _became(before: Refund, row: Refund) -> None:
    """A row only goes on, and what was decided is never decided again."""
    if before.status is not row.status:
        assert row.status in _BECOMES[before.status], f"{before.status} became {row.status}"
    if before.status is not RefundStatus.WAITING:
        for name in ("amount_paise", "approvals", "decided_by", "decision_id", "digest"):
            assert getattr(before, name) == getattr(row, name), name
    assert (before.customer_id, before.order_id) == (row.customer_id, row.order_id)


def _within_the_limit(row: Refund, books: Books) -> None:
    """The agent's money on that order before it, and what was automatic elsewhere in a day."""
    counted = row.amount_paise
    for each in books.rows:
        if each.status not in RESERVING or each.key == row.key:
            continue
        if (each.intended_at or 0) >= (row.intended_at or 0):
            continue
        recent = row.created_at - each.created_at <= AUTOMATIC_WINDOW_SECONDS
        if each.order_id == row.order_id or (
            each.automatic and recent and each.customer_id == row.customer_id
        ):
            counted += each.amount_paise
    assert counted <= RULES.approval_limit_paise, "automatic beyond the limit"
