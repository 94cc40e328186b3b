"""Who works on which case when: claims, leases, the second-by-second look for work, draining.

A wake-up only saves waiting: the store's index of due cases is looked at every second, so a case
whose worker died is found without one. One case is worked on by one task; its posts go out beside
the work, so that a card changes while the model still thinks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agent.claimed import Claimed
from agent.endings import give_up
from agent.errors import LeaseLost, StoreAway, StoreError
from agent.harness import Harness
from agent.loop import advance
from agent.ports import CaseStore, Claim, Clock, Lease
from bot.posting import Poster
from bot.slack_calls import CALL_TIMEOUT_SECONDS

log = logging.getLogger("casethread.workers")

LEASE_SECONDS = 8.0
RENEW_SECONDS = 2.0
LOOK_SECONDS = 1.0
MOST_CASES = 1_000
"""Worked on at once by one process; most of them wait for the model."""
KEEP_SECONDS = CALL_TIMEOUT_SECONDS + 1.0
"""A case whose posts can go out within this time is kept."""
LEAVE_SECONDS = 1.5
"""For the posts of a case that is given up in the middle."""
BACKOFF_SECONDS = 4.0
LONGEST_BACKOFF_SECONDS = 300.0
GIVE_UP_AFTER = 5
"""Failures in a row, over some minutes, after which a person gets the case."""


class Workers:
    """All work on cases in this process. `owner` names it in leases."""

    def __init__(
        self,
        *,
        harness: Harness,
        poster: Poster,
        owner: str,
        on_dead_root: Callable[[str], Awaitable[None]],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._harness = harness
        self._store: CaseStore = harness.store
        self._poster = poster
        self._owner = owner
        self._on_dead_root = on_dead_root
        self._look_seconds = look_seconds
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._woken: set[str] = set()
        self._look = asyncio.Event()
        self._failures: dict[str, _Failures] = {}
        self._draining = False

    def wake(self, case_id: str) -> None:
        """There is work for this case. Never blocks; may be lost or doubled without harm: a process
        with its hands full lets others find the case, or finds it itself later."""
        self._woken.add(case_id)
        self._look.set()

    async def run(self) -> None:
        """Look for work and have it done until `drain` is called."""
        while not self._draining:
            self._look.clear()
            woken, self._woken = self._woken, set()
            room = MOST_CASES - len(self._tasks)
            due = await self._due(room) if room > 0 else ()
            for case_id in dict.fromkeys([*woken, *due]):
                if len(self._tasks) < MOST_CASES:
                    self._begin(case_id)
            try:
                async with asyncio.timeout(self._look_seconds):
                    await self._look.wait()
            except TimeoutError:
                continue

    async def _due(self, room: int) -> Sequence[str]:
        try:
            return await self._store.ready(limit=room)
        except StoreError:
            log.exception("the store can't be asked for work; asking again")
            return ()

    async def drain(self, *, seconds: float) -> None:
        """Begin nothing new, let what is under way come to its next save, then cut it short.

        Either way the case is given up at once, with its posts out where there is time, and goes
        on elsewhere where its last save left it.
        """
        self._draining = True
        self._look.set()
        running = list(self._tasks.values())
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=LEAVE_SECONDS)

    def _begin(self, case_id: str) -> None:
        if self._draining or case_id in self._tasks:
            return
        failures = self._failures.get(case_id)
        if failures is not None and time.monotonic() < failures.not_before:
            return
        task = asyncio.create_task(self._work(case_id), name=f"case {case_id}")
        self._tasks[case_id] = task
        task.add_done_callback(lambda done: self._ended(case_id, done))

    def _ended(self, case_id: str, task: asyncio.Task[None]) -> None:
        del self._tasks[case_id]
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            self._failures.pop(case_id, None)
            if case_id in self._woken:
                self._look.set()
            return
        # The case stays as its last save left it and is tried again, ever more slowly.
        before = self._failures.get(case_id)
        count = before.count + 1 if before is not None else 1
        wait = min(LONGEST_BACKOFF_SECONDS, BACKOFF_SECONDS * 2 ** min(count, 10))
        self._failures[case_id] = _Failures(count=count, not_before=time.monotonic() + wait)
        log.error("work on case %s failed, again in %.0f s", case_id, wait, exc_info=error)

    async def _work(self, case_id: str) -> None:
        try:
            await self._claim_and_work(case_id)
        except* StoreAway as away:
            # Says nothing about the case: it is found again, here or elsewhere, when its lease is
            # over and the store is back.
            log.warning("case %s waits for the store: %s", case_id, away.exceptions[0])

    async def _claim_and_work(self, case_id: str) -> None:
        asked = time.monotonic()
        claim = await self._store.claim(case_id, self._owner, seconds=LEASE_SECONDS)
        if claim is None:
            return
        held = _Held(self._store, claim.lease, asked=asked)
        mail = _Mail(
            self._poster,
            held,
            self._harness.now,
            self._on_dead_root,
            has_posts=claim.has_posts,
        )
        try:
            await self._hold(claim, held, mail)
        except asyncio.CancelledError:
            await self._leave(held, mail)
            raise

    async def _hold(self, claim: Claim, held: _Held, mail: _Mail) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(held.keep())
                mailing = group.create_task(mail.run())
                await self._advance(claim, held, mail)
                keeping.cancel()
                mailing.cancel()
        except* LeaseLost:
            self._poster.lost(held.lease)
            log.warning("case %s was taken over by another worker", held.lease.case_id)

    async def _leave(self, held: _Held, mail: _Mail) -> None:
        """Give a case up in the middle, still due, so that another worker goes on at once."""
        with contextlib.suppress(LeaseLost, StoreError):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await mail.send()
            if held.at_a_save:
                await self._store.hand_over(held.lease)
            else:
                # As if it died: whatever it waited for may have been done.
                await self._store.renew(held.lease, seconds=0)

    def _saved(self, held: _Held, mail: _Mail, *, has_posts: bool) -> None:
        if has_posts:
            mail.kick()
        if self._draining:
            # The one place where nothing is half done. A task that is cancelled goes on to where it
            # waits next, and by then Claude has a request whose answer nobody takes.
            held.at_a_save = True
            raise asyncio.CancelledError

    async def _advance(self, claim: Claim, held: _Held, mail: _Mail) -> None:
        """Work until the case waits with all its posts out, and give it up in that moment."""
        harness, lease = self._harness, claim.lease
        claimed = Claimed(
            store=self._store,
            claim=claim,
            now=harness.now,
            waiting=harness.waiting,
            on_saved=lambda has_posts: self._saved(held, mail, has_posts=has_posts),
        )
        failures = self._failures.get(lease.case_id)
        if failures is not None and failures.count >= GIVE_UP_AFTER:
            await give_up(harness, claimed)
            await mail.send()
        while True:
            await advance(harness, claimed)
            post_at = await mail.send()
            if post_at is not None and post_at - harness.now() <= KEEP_SECONDS:
                # Another owner would first have to wait for what this one may have sent.
                await asyncio.sleep(max(post_at - harness.now(), 0.0))
                continue
            work_at = claimed.due_at()
            due = [at for at in (post_at, work_at) if at is not None]
            if await self._store.release(lease, due_at=min(due) if due else None):
                return


@dataclass(frozen=True, kw_only=True)
class _Failures:
    """Of the work on one case, in a row. `not_before` is monotonic seconds."""

    count: int
    not_before: float


class _Held:
    """A lease that is renewed while its case is worked on."""

    def __init__(self, store: CaseStore, lease: Lease, *, asked: float) -> None:
        """`asked`: when the store was asked for it, in monotonic seconds."""
        self._store = store
        self.lease = lease
        self._ends = asked + LEASE_SECONDS
        self.at_a_save = False
        """The work ended there, to be handed over."""

    def seconds_left(self) -> float:
        """By our own monotonic clock, counted from before the store was asked."""
        return self._ends - time.monotonic()

    async def keep(self) -> None:
        """Renew until cancelled. Raises `LeaseLost` when another worker has the case."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            asked = time.monotonic()
            await self._store.renew(self.lease, seconds=LEASE_SECONDS)
            self._ends = asked + LEASE_SECONDS


class _Mail:
    """The case's outbox, sent whenever something is put in, one post at a time."""

    def __init__(
        self,
        poster: Poster,
        held: _Held,
        now: Clock,
        on_dead_root: Callable[[str], Awaitable[None]],
        *,
        has_posts: bool,
    ) -> None:
        """`has_posts`: some are there from a former owner."""
        self._poster = poster
        self._now = now
        self._held = held
        self._claimed_at = now()
        self._on_dead_root = on_dead_root
        self._kicked = asyncio.Event()
        if has_posts:
            self._kicked.set()
        self._is_empty = True
        """What was there at the last kick is out."""
        self._sending = asyncio.Lock()

    def kick(self) -> None:
        self._kicked.set()

    async def run(self) -> None:
        """Send after each kick, and again when Slack wants it later, until cancelled."""
        retry_at: float | None = None
        while True:
            wait = None if retry_at is None else max(retry_at - self._now(), 0.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._kicked.wait()
            retry_at = await self.send()

    async def send(self) -> float | None:
        """Send what is there; None when all is out, else the Unix time to try again."""
        async with self._sending:
            if self._is_empty and not self._kicked.is_set():
                return None
            self._kicked.clear()
            self._is_empty = False
            retry_at = await self._poster.drain(
                self._held.lease,
                claimed_at=self._claimed_at,
                seconds_left=self._held.seconds_left,
                on_dead_root=self._on_dead_root,
            )
            self._is_empty = retry_at is None
            return retry_at
