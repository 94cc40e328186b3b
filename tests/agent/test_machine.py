"""A case as a machine: anything that people, the model, time and failures can do, in any order.

`make test` plays a few examples, `make machine` thousands.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent.approval import Verdict
from agent.case import (
    CustomerChosen,
    Decided,
    Deleted,
    Edited,
    Event,
    Fact,
    Feedback,
    GaveBack,
    Message,
    NotACase,
    Photo,
    TookOver,
    WrongCustomer,
    ts_of,
)
from agent.run import Status
from tests.agent.bench import CASE, LEASE_SECONDS
from tests.agent.machine_checks import Checks
from tests.agent.machine_choices import (
    DAY,
    HOUR,
    MINUTE,
    WORKS,
    Change,
    changes,
    customers,
    fates,
    lateness,
    people,
    photos,
    places,
    some_answers,
    thens,
    words,
)
from tests.agent.machine_turns import ASKS, PAID_RUPEES, PROPOSES, Answer, Turn, answers
from tests.agent.machine_world import Fate, World, build_world

FEW = 25
EXAMPLES = int(os.environ.get("MACHINE_EXAMPLES", FEW))
STEPS = 25


class CaseMachine(RuleBasedStateMachine):
    """The world goes on after each event with a worker of some fate, or not yet."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.begin()
        self.delivered: list[Event] = []
        self.message_ids: list[str] = []
        self.checks = Checks(world=world, delivered=self.delivered)

    # What happened

    def happened(self, fact: Fact, *, late: float = 0.0, ts: str | None = None) -> Event:
        at = ts or ts_of(float(self.world.clock.tick()) - late)
        event = Event(event_id=f"e{len(self.delivered)}", ts=at, fact=fact)
        self.delivered.append(event)
        return event

    def deliver(self, event: Event) -> bool:
        return self.world.loop.run_until_complete(self.world.store.deliver(CASE, event))

    def go_on(self, then: Fate | None, answers: Sequence[Answer] = ()) -> None:
        self.world.answers.extend(answers)
        if then is not None:
            self.world.work(then)

    def message_id(self, place: int) -> str:
        return self.message_ids[place % len(self.message_ids)] if self.message_ids else "0.0"

    def spoken(self, text: str, pictures: Sequence[str], late: float, *, first: bool) -> Event:
        at = ts_of(float(self.world.clock.tick()) - late)
        self.message_ids.append(at)
        fact = Message(
            message_id=at,
            author="ravi",
            text=text,
            photos=tuple(Photo(file_id=each, url="", link=f"link:{each}") for each in pictures),
            first=first,
        )
        return self.happened(fact, ts=at)

    # People

    @initialize(
        text=words,
        customer=st.sampled_from([*PAID_RUPEES]),
        answers=st.lists(answers(), min_size=1, max_size=5),
        by=st.sampled_from(["ravi", "ravi", "meena", "priya"]),
        then=fates,
        opened=st.sampled_from([True, True, True, True, False]),
    )
    def a_case_opens(
        self, text: str, customer: str, by: str, answers: list[Answer], then: Fate, opened: bool
    ) -> None:
        self.world.answers.extend(answers)
        if opened:
            self.deliver(self.spoken(text, (), 0.0, first=True))
            self.deliver(self.happened(CustomerChosen(customer_id=customer, by=by, place="C")))
            self.go_on(then)

    @rule(text=words, pictures=photos, late=lateness, then=thens, answers=some_answers)
    def somebody_writes(
        self,
        text: str,
        pictures: Sequence[str],
        late: float,
        then: Fate | None,
        answers: list[Answer],
    ) -> None:
        self.deliver(self.spoken(text, pictures, late, first=not self.message_ids))
        self.go_on(then, answers)

    @rule(text=words, late=lateness)
    def a_message_is_only_in_the_thread(self, text: str, late: float) -> None:
        self.world.undelivered.append(self.spoken(text, (), late, first=False))

    @rule(place=places, text=words, then=thens)
    def somebody_edits(self, place: int, text: str, then: Fate | None) -> None:
        self.deliver(self.happened(Edited(message_id=self.message_id(place), text=text)))
        self.go_on(then)

    @precondition(lambda self: len(self.message_ids) > 1)
    @rule(place=st.sampled_from([*range(30, 0, -1), 0]), then=thens)
    def somebody_deletes(self, place: int, then: Fate | None) -> None:
        message_id = self.message_id(place and 1 + place % (len(self.message_ids) - 1))
        first = place == 0
        self.deliver(self.happened(Deleted(message_id=message_id, first=first)))
        self.go_on(then)

    @rule(customer=customers, by=people, then=thens, answers=some_answers)
    def somebody_chooses(
        self, customer: str, by: str, then: Fate | None, answers: list[Answer]
    ) -> None:
        self.deliver(self.happened(CustomerChosen(customer_id=customer, by=by, place="C")))
        self.go_on(then, answers)

    @rule(
        fact=st.sampled_from(
            [
                WrongCustomer(by="ravi", place="C"),
                NotACase(by="ravi"),
                TookOver(by="meena", place="C"),
                GaveBack(by="meena", place="C"),
                GaveBack(by="meena", place="C"),
                Feedback(run_id="run", good=True, by="ravi", place="C"),
            ]
        ),
        then=thens,
        answers=some_answers,
    )
    def somebody_presses(self, fact: Fact, then: Fate | None, answers: list[Answer]) -> None:
        self.deliver(self.happened(fact))
        self.go_on(then, answers)

    def cards(self) -> bool:
        return bool(self.world.shown_cards())

    @rule(
        less=st.sampled_from([False, False, True]),
        may=st.sampled_from([True, True, True, True, False]),
        then=fates,
        answers=some_answers,
    )
    def what_is_awaited_comes(
        self, less: bool, may: bool, then: Fate, answers: list[Answer]
    ) -> None:
        """Whatever would help the case on, so that it also gets far."""
        record = self.checks.record()
        run = record.run if record is not None else None
        if run is None:
            self.deliver(self.happened(CustomerChosen(customer_id="cust_asha", by="ravi")))
        elif run.pending is not None and run.pending.card is not None:
            card = run.pending.card
            fact = Decided(
                key=card.key,
                version=card.version,
                digest=card.digest,
                verdict="approve",
                by=("omar" if "priya" in card.approved_by else "priya") if may else "meena",
                place="C",
                amount_paise=(card.amount_paise or 0) * 3 // 4 if less else None,
            )
            self.deliver(self.happened(fact))
        elif run.status is Status.HANDED_OFF:
            self.deliver(self.happened(GaveBack(by="meena", place="C")))
        elif run.retry_at is not None:
            self.world.clock.seconds = max(self.world.clock.seconds, run.retry_at)
        else:
            self.deliver(self.spoken("It was the green one.", (), 0.0, first=False))
        self.go_on(then, answers)

    @precondition(cards)
    @rule(
        place=st.sampled_from([0, 0, 0, 0, 1, 2]),
        verdict=st.sampled_from(["approve", "approve", "approve", "decline"]),
        by=people,
        wrong=st.sampled_from(["", "", "", "", "", "version", "digest", "key"]),
        share=st.sampled_from([None, None, None, 0.5, 0.999, 1.0, 0.0, -1.0]),
        late=lateness,
        then=thens,
        answers=some_answers,
    )
    def a_lead_clicks(
        self,
        place: int,
        verdict: str,
        by: str,
        wrong: str,
        share: float | None,
        late: float,
        then: Fate | None,
        answers: list[Answer],
    ) -> None:
        cards = self.world.shown_cards()
        card = cards[-1 - place % len(cards)].card
        amount = None if share is None else int((card.amount_paise or 0) * share)
        fact = Decided(
            key="run_other:call" if wrong == "key" else card.key,
            version=card.version + (wrong == "version"),
            digest="0" * 64 if wrong == "digest" else card.digest,
            verdict="approve" if verdict == "approve" else "decline",
            by=by,
            place="C",
            note="Only what the policy gives." if share else "",
            amount_paise=amount if verdict == "approve" else None,
        )
        self.deliver(self.happened(fact, late=late))
        self.go_on(then, answers)

    def answer_in_time(self, verdict: Verdict) -> Event | None:
        """What ends the pause, by whoever may; None when nobody can end it just now."""
        record = self.checks.record()
        run = record.run if record is not None else None
        if record is None or record.case is None or run is None or run.pending is None:
            return None
        if not self.world.inbox_is_empty():
            return None
        card = run.pending.card
        if card is None:
            return self.spoken("It was the green one.", (), 0.0, first=False)
        standing, openers = self.world.standing, record.case.openers
        may = [lead for lead in ("omar", "priya") if standing[lead] == "approver"]
        leads = [lead for lead in may if lead not in openers]
        unsure = record.case.author is None or "unknown" in map(standing.get, card.approved_by)
        # A first approval of two leaves the pause as it is.
        if unsure or not leads or (verdict == "approve" and card.needs_approvals > 1):
            return None
        fact = Decided(
            key=card.key,
            version=card.version,
            digest=card.digest,
            verdict=verdict,
            by=leads[0],
            place="C",
        )
        return self.happened(fact)

    def somebody_is_asked(self, turn: Turn) -> None:
        """The run waits by now, or the model asks somebody next, if it can be asked at all."""
        record = self.checks.record()
        run = record.run if record is not None else None
        if run is None or run.pending is not None:
            return
        self.world.answers.clear()
        self.world.answers.append(turn)
        if run.status is Status.HANDED_OFF:
            self.deliver(self.happened(GaveBack(by="meena", place="C")))
        else:
            self.deliver(self.spoken("One more thing.", (), 0.0, first=False))
        self.world.work(WORKS)

    @rule(
        turn=st.sampled_from([PROPOSES, PROPOSES, ASKS]),
        verdict=st.sampled_from(["approve", "decline"]),
        stored=st.booleans(),
        then=fates,
        answers=some_answers,
    )
    def an_answer_comes_while_the_pause_expires(
        self, turn: Turn, verdict: Verdict, stored: bool, then: Fate, answers: list[Answer]
    ) -> None:
        """It was given in time and is there before the pause ends: it wins."""
        self.somebody_is_asked(turn)
        self.world.clock.go_on(4 * HOUR + 1)
        self.world.work(WORKS)
        event = self.answer_in_time(verdict)
        if event is None:
            return
        waits = self.runs_that_wait()
        if stored:
            self.deliver(event)
        else:
            self.world.arriving_late.append(event)
        self.world.clock.go_on(4 * DAY)
        self.go_on(then, answers)
        self.checks.not_expired(waits)

    def runs_that_wait(self) -> Sequence[str]:
        return [run.run_id for run in self.checks.runs() if run.pending is not None]

    # Time, failures, deliveries

    @rule(
        seconds=st.sampled_from(
            [10.0, MINUTE, 3 * MINUTE, 16 * MINUTE, HOUR, 4 * HOUR + 1, 13 * HOUR, DAY, 3 * DAY]
        ),
        then=fates,
    )
    def time_passes(self, seconds: float, then: Fate) -> None:
        self.world.clock.go_on(seconds)
        self.world.work(then)

    @rule(then=fates, answers=some_answers)
    def a_worker_looks(self, then: Fate, answers: list[Answer]) -> None:
        self.world.work(then, answers)

    @rule(text=words, over=st.sampled_from([False, False, True]), then=fates, answers=some_answers)
    def something_arrives_while_the_model_thinks(
        self, text: str, over: bool, then: Fate, answers: list[Answer]
    ) -> None:
        by_staff = self.happened(TookOver(by="meena", place="C")) if over else None
        self.world.arriving.append(by_staff or self.spoken(text, (), 0.0, first=False))
        self.deliver(self.spoken("One thing more.", (), 0.0, first=False))
        self.world.work(then, answers)

    @precondition(lambda self: bool(self.delivered))
    @rule(place=places, then=thens)
    def an_event_comes_again(self, place: int, then: Fate | None) -> None:
        event = self.delivered[place % len(self.delivered)]
        on_its_way = [
            *self.world.undelivered,
            *self.world.arriving,
            *self.world.arriving_late,
        ]
        if event in on_its_way:
            return
        assert not self.deliver(event), "an event counted twice"
        self.go_on(then)

    @precondition(lambda self: bool(self.world.stalled))
    @rule(overtaken=st.booleans())
    def a_stalled_owner_goes_on(self, overtaken: bool) -> None:
        if overtaken:
            self.world.clock.go_on(LEASE_SECONDS + 1)
            self.world.work(WORKS)
        self.world.wake(self.world.stalled.pop(0))

    @rule(change=changes)
    def something_changes(self, change: Change) -> None:
        change(self.world)

    # What must hold

    @invariant()
    def it_keeps_its_promises(self) -> None:
        self.world.steps += 1
        self.checks.all()

    def teardown(self) -> None:
        """All faults end; then the case must come to rest, and in the end to its end."""
        world = self.world
        for stalled in world.stalled:
            world.wake(stalled)
        world.stalled.clear()
        world.answers.clear()
        world.provider.recover()
        world.standing = dict.fromkeys(world.standing, "approver")
        world.sending = world.thread_readable = True
        world.clock.go_on(LEASE_SECONDS + 1)
        self.come_to_rest()
        self.checks.settled()
        world.clock.go_on(4 * DAY)
        self.come_to_rest()
        world.clock.go_on(2 * HOUR)
        self.come_to_rest()
        self.checks.settled()
        record = self.checks.record()
        if record is not None and record.run is not None:
            assert record.run.status in (Status.DONE, Status.HANDED_OFF), "nobody ends it"

    def come_to_rest(self) -> None:
        """Work until nothing is ready and no retry is due."""
        clock = self.world.clock
        for _ in range(60):
            self.world.work(WORKS)
            self.checks.all()
            record = self.checks.record()
            run = record.run if record is not None else None
            if run is not None and run.status is Status.RUNNING:
                clock.seconds = max(clock.seconds, run.retry_at or 0.0)
            elif not self.world.is_ready():
                return
        raise AssertionError("the case finds no rest")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    loop = asyncio.new_event_loop()
    parts = AsyncExitStack()
    logging.disable(logging.CRITICAL)
    try:
        yield loop.run_until_complete(build_world(tmp_path, parts))
    finally:
        logging.disable(logging.NOTSET)
        loop.run_until_complete(parts.aclose())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@pytest.mark.timeout(0 if EXAMPLES > FEW else 120)
def test_whatever_happens_a_case_keeps_its_promises(
    world: World, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    class OneWorld(CaseMachine):
        def __init__(self) -> None:
            super().__init__(world)

    run_state_machine_as_test(
        OneWorld,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            # The short form is the same each time; the long one is for finding what is new.
            derandomize=EXAMPLES == FEW,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    if EXAMPLES > FEW:
        told = f"{world.examples} examples with {world.steps} steps in all"
        with capsys.disabled():
            pytestconfig.get_terminal_writer().line(f"\n{told}")
