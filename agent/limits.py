"""The limits of one run, checked before money is spent, and how long a pause may last."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from agent.case import Case
from agent.run import FINAL, Pending, Run


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of one run, over all its resumes. Typical refunds take 3 to 7 calls and about 5 cents."""

    max_steps: int = 12
    """Model calls with a usable answer."""
    max_cost_usd: Decimal = Decimal("0.50")
    max_working_seconds: float = 15 * 60
    """Time inside model calls and tools; waiting does not count."""

    def reached(self, run: Run) -> str | None:
        """Why this run may make no further model call, for staff; None while it may."""
        if run.steps >= self.max_steps:
            return f"The limit of {self.max_steps} model calls was reached."
        if run.cost_usd >= self.max_cost_usd:
            return f"The limit of ${self.max_cost_usd} was reached."
        if run.working_seconds >= self.max_working_seconds:
            return f"The limit of {self.max_working_seconds / 60:.0f} working minutes was reached."
        return None


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How long a pause lasts without an answer, in seconds: a reminder, then expiry."""

    remind_after_seconds: float = 4 * 3600
    expire_after_seconds: float = 3 * 86400

    @property
    def grace_seconds(self) -> float:
        """Expiry comes this much after its deadline, so that an answer in time can arrive."""
        return min(120.0, self.expire_after_seconds / 10)

    def expires_at(self, since: float, reminded_at: float | None) -> float:
        """When a pause that began at `since` expires: at least an hour after its reminder."""
        between = max(self.expire_after_seconds - self.remind_after_seconds, 0.0)
        after_reminder = (reminded_at or 0.0) + min(3600.0, between)
        return max(since + self.expire_after_seconds, after_reminder) + self.grace_seconds

    def pause_due_at(self, pending: Pending) -> float:
        """When this pause wants attention next: its reminder, then its expiry."""
        if pending.reminded_at is None:
            return pending.since + min(self.remind_after_seconds, self.expire_after_seconds)
        return self.expires_at(pending.since, pending.reminded_at)

    def due_at(self, case: Case, run: Run | None, *, now: float) -> float | None:
        """When a case with this run wants attention next if nothing comes from outside."""
        due = [each.look_at for each in case.unsettled]
        if run is not None and run.status not in FINAL:
            due.append(self.pause_due_at(run.pending) if run.pending else run.retry_at or now)
        return min(due, default=None)
