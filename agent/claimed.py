"""A claimed case in one worker's hands: changes are collected and saved at once.

What is changed here exists only in memory until `save`; a worker that dies before it has changed
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agent import trace
from agent.case import (
    Case,
    Content,
    Deleted,
    Fact,
    Post,
    PrivateLine,
    Reaction,
    StatusLine,
    TookOver,
    WrongCustomer,
)
from agent.limits import Waiting
from agent.messages import calls_of, tool_result
from agent.ports import CaseStore, Change, Claim, Clock, StoredEvent
from agent.run import FINAL, TRANSITIONS, Json, Run, Status

_Record = TypeVar("_Record", Case, Run)


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What `Claimed.restore` goes back to."""

    case: Case | None
    run: Run | None
    messages: int
    pending: tuple[int, int, int, int]


class Claimed:
    """One case, its latest run and that run's messages, under a lease."""

    def __init__(
        self,
        *,
        store: CaseStore,
        claim: Claim,
        now: Clock,
        waiting: Waiting,
        on_saved: Callable[[bool], None],
    ) -> None:
        """`on_saved` is called after each save, with whether it put posts into the outbox."""
        self._store = store
        self._lease = claim.lease
        self._now = now
        self._waiting = waiting
        self._on_saved = on_saved
        self.interrupted = claim.interrupted
        record = claim.record
        self._case = record.case
        self.run = record.run
        self._saved = record.case, record.run
        self.messages: list[Json] = list(record.messages)
        self.seen = 0
        """Highest seq of the inbox that was read."""
        self._inbox: Sequence[StoredEvent] | None = record.inbox
        self.images: dict[str, bytes] = {}
        self._rests_until = 0.0
        self._appended: list[Json] = []
        self._entries: list[Json] = []
        self._applied: list[str] = []
        self._posts: list[Post] = []

    @property
    def case_id(self) -> str:
        return self._lease.case_id

    @property
    def token(self) -> int:
        """The lease's, which fences what is written elsewhere than in the store."""
        return self._lease.token

    @property
    def known(self) -> bool:
        """False until the case's first event made its record."""
        return self._case is not None

    @property
    def case(self) -> Case:
        if self._case is None:
            raise RuntimeError(f"case {self.case_id} has no record yet")
        return self._case

    @property
    def running(self) -> Run:
        """The run, where there must be one."""
        if self.run is None:
            raise RuntimeError(f"case {self.case_id} has no run yet")
        return self.run

    @property
    def carrying_out(self) -> bool:
        """An effect is under way: it gets its result before anything else happens."""
        run = self.run
        if run is None or run.status is not Status.RUNNING or run.later_since is not None:
            return False
        return any(call["id"] == run.started for call in self.open_calls())

    @property
    def unsaved(self) -> bool:
        """Something changed since the last save."""
        case, run = self._saved
        return case is not self._case or run is not self.run or any(self._sizes())

    # Changing ------------------------------------------------------------------------------

    def open(self, case: Case) -> None:
        self._case = case

    def amend(self, **changes: Any) -> None:
        """Change the case."""
        self._case = _changed(self.case, changes)

    def start(self, run: Run, messages: Sequence[Json]) -> None:
        """A new run of the case, with its first messages."""
        self.run = run
        self.messages = []
        self._appended = []
        self.amend(run_ids=(*self.case.run_ids, run.run_id))
        for message in messages:
            self.append(message)

    def update(self, **changes: Any) -> None:
        """Change the run. Raises `ValueError` for a transition that the table does not have."""
        run = self.running
        status: Status = changes.get("status", run.status)
        if status is not run.status and status not in TRANSITIONS[run.status]:
            raise ValueError(f"{run.run_id}: {run.status} can't become {status}")
        self.run = _changed(run, changes)

    def append(self, message: Json) -> None:
        """Append a message to the conversation; a turn of the model exactly as it came."""
        self.messages.append(message)
        self._appended.append(message)
        self.update(message_count=self.running.message_count + 1)

    def answer(self, call_id: str, content: str | list[Json], *, is_error: bool = False) -> None:
        """Give an open call its one result."""
        result = tool_result(call_id, content, is_error=is_error)
        self.update(results=(*self.running.results, result))

    def open_calls(self) -> list[Json]:
        """Calls of the last turn that have no result yet, in order."""
        if self.run is None or not self.messages:
            return []
        answered = {result["tool_use_id"] for result in self.run.results}
        return [call for call in calls_of(self.messages[-1]) if call["id"] not in answered]

    def say(self, content: Content, *, update_of: str | None = None) -> str:
        """Put a post into the outbox; returns its id."""
        number = self.case.posts + 1
        self.amend(posts=number)
        post_id = f"{self.case_id}/{number}"
        self._posts.append(Post(post_id=post_id, content=content, update_of=update_of))
        return post_id

    def tell(self, user: str, place: str, text: str, *, person: str = "") -> None:
        """Answer one person's click, seen by them alone; `person` is who `{person}` names."""
        if place:
            self.say(PrivateLine(user=user, place=place, text=text, person=person))

    def rest_until(self, at: float) -> None:
        """What is due can't be done before then; an event wakes the case all the same."""
        self._rests_until = at

    def note(self, kind: str, **facts: Any) -> None:
        """Add an entry to the trace."""
        self.record({"kind": kind, "at": self._now(), **facts})

    def record(self, entry: Json) -> None:
        self._entries.append(entry)

    def done_with(self, *event_ids: str) -> None:
        """These events are applied, with the next save."""
        self._applied.extend(event_ids)

    # Reading and saving --------------------------------------------------------------------

    async def inbox(self) -> Sequence[StoredEvent]:
        """Events not yet applied, oldest first: what the store told with the claim or the last
        save, once, and after that as it is now."""
        stored, self._inbox = self._inbox, None
        return await self.inbox_now() if stored is None else self._unread(stored)

    async def inbox_now(self) -> Sequence[StoredEvent]:
        """Events not yet applied, asked for anew."""
        self._inbox = None
        return self._unread(await self._store.inbox(self._lease))

    async def has_stop_sign(self, *, anew: bool = True) -> bool:
        """An event is stored that takes the case from the agent.

        Only a glance: what it sees still counts as not read. `anew` False: what the store
        told with the claim or the last save will do, where that wasn't read yet.
        """
        stored = self._inbox
        if anew or stored is None:
            stored = await self._store.inbox(self._lease)
        return any(self._stops(each.event.fact) for each in stored)

    def due_at(self) -> float | None:
        """When the case wants attention next if nothing comes from outside."""
        if self._case is None:
            return None
        due_at = self._waiting.due_at(self._case, self.run, now=self._now())
        return None if due_at is None else max(due_at, self._rests_until)

    def snapshot(self) -> Snapshot:
        return Snapshot(
            case=self._case,
            run=self.run,
            messages=len(self.messages),
            pending=self._sizes(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Forget what changed since the snapshot, which must be younger than the last save."""
        self._case, self.run = snapshot.case, snapshot.run
        del self.messages[snapshot.messages :]
        lists: list[list[Any]] = [self._appended, self._entries, self._applied, self._posts]
        for changes, size in zip(lists, snapshot.pending, strict=True):
            del changes[size:]

    async def save(self, *, guarded: bool = False) -> None:
        """Write all changes in one step.

        `guarded`: refuse with `InboxChanged` when an event arrived since the inbox was last read.
        Raises `LeaseLost`; then this worker is out of it.
        """
        self._show_status()
        self._inbox = None
        self._inbox = await self._store.save(
            self._lease,
            Change(
                case=self.case,
                run=self.run,
                messages=tuple(self._appended),
                trace=tuple(self._entries),
                applied=tuple(self._applied),
                posts=tuple(self._posts),
                images=dict(self.images),
                due_at=self.due_at(),
                inbox_seen=self.seen if guarded else None,
            ),
        )
        has_posts = bool(self._posts)
        if self.run is not None:
            for entry in self._entries:
                trace.write_log(self.run, entry)
        for changes in (self._appended, self._entries, self._applied, self._posts):
            changes.clear()
        self._saved = self._case, self.run
        self.images.clear()
        self._on_saved(has_posts)

    def _unread(self, stored: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """Those that aren't applied here already, with a save to come. All count as read."""
        self.seen = max([self.seen, *(each.seq for each in stored)])
        return [each for each in stored if each.event.event_id not in self._applied]

    def _stops(self, fact: Fact) -> bool:
        match fact:
            case TookOver():
                return True
            case Deleted():
                return fact.first
            case WrongCustomer():
                return self.run is not None and not self.run.proposed
            case _:
                return False

    def _sizes(self) -> tuple[int, int, int, int]:
        return len(self._appended), len(self._entries), len(self._applied), len(self._posts)

    def _show_status(self) -> None:
        """Keep the reaction and the status line in step with the record, in one place."""
        case, run = self.case, self.run
        if case.status_post is None:
            return
        status = "" if run is None or case.customer_id is None else run.status.value
        line = self._status_line(run)
        shown = (
            f"{status}|{line.status},{line.customer_id},{line.can_mend_customer}" if line else ""
        )
        before, _, line_before = case.shown.partition("|")
        if shown == case.shown:
            return
        if status != before and not case.closed:
            self.say(Reaction(status=status, previous=before))
        if line is not None and shown.partition("|")[2] != line_before:
            self._say_status(line, case.status_post)
        self.amend(shown=shown)

    def _say_status(self, line: StatusLine, status_post: str) -> None:
        """Change the picker, or take its place when it was never saved: nobody needs to see it."""
        for place, post in enumerate(self._posts):
            if post.post_id == status_post:
                self._posts[place] = replace(post, content=line)
                return
        self.say(line, update_of=status_post)

    def _status_line(self, run: Run | None) -> StatusLine | None:
        case = self.case
        if case.closed == "deleted":
            return None
        if case.closed:
            return StatusLine(
                customer_id="",
                customer_name="",
                status="not_a_case",
                by=case.chosen_by,
                can_mend_customer=False,
                can_take_over=False,
            )
        if run is None or case.customer_id is None:
            return None
        working = run.status not in FINAL
        over = "done" if run.status is Status.DONE else "handed_off"
        return StatusLine(
            customer_id=case.customer_id,
            customer_name=case.customer_name,
            status="working" if working else over,
            by=case.chosen_by,
            can_mend_customer=working and not run.proposed,
            can_take_over=working,
        )


def _changed(record: _Record, changes: dict[str, Any]) -> _Record:
    """As `dataclasses.replace`, which sets each of the many fields anew: a run is changed some
    eighty times. Raises `TypeError` for a field that the record doesn't have."""
    before = vars(record)
    if unknown := changes.keys() - before.keys():
        raise TypeError(f"{type(record).__name__} has no {sorted(unknown)}")
    changed = object.__new__(type(record))
    vars(changed).update(before, **changes)
    return changed
