"""Everything a claimed case needs to go on: the parts, given once by whoever puts them together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from agent.approval import Approvals, Request
from agent.claude import Claude
from agent.definition import Agent
from agent.errors import StoreError
from agent.limits import Limits, Waiting
from agent.ports import Approvers, CaseStore, Clock, Customers, FetchPhoto
from agent.pricing import Price, price_of
from agent.run import Json, Pending, Run


@dataclass(frozen=True, kw_only=True)
class Harness:
    """One for a process."""

    store: CaseStore
    claude: Claude
    agent: Agent
    prices: Mapping[str, Price]
    now: Clock
    customers: Customers
    approvers: Approvers
    fetch_photo: FetchPhoto
    read_thread: Callable[[str], Awaitable[bool]]
    """Deliver what a case's thread holds and the inbox lacks; False when it can't be read now."""
    limits: Limits = field(default_factory=Limits)
    waiting: Waiting = field(default_factory=Waiting)
    four_eyes: bool = True
    look_seconds: float = 1.0
    """How often the inbox is looked at for a stop sign while the model is asked."""

    def price(self, run: Run) -> Price:
        return price_of(run.model, self.prices)

    async def frozen(self, run: Run) -> Json:
        """The prompt and tools this run was started with, whatever the agent has now."""
        if run.frozen == self.agent.digest:
            return self.agent.frozen
        kept = await self.store.frozen(run.frozen)
        if kept is None:
            raise StoreError(f"{run.run_id}: its prompt {run.frozen} is not in the store")
        return kept

    def approvals(self) -> Approvals:
        if self.agent.approvals is None:
            raise RuntimeError(f"agent {self.agent.name} has no approvals")
        return self.agent.approvals


def request_of(run: Run, pending: Pending, *, token: int) -> Request:
    """The waited call as the approvals need it; `token` is the lease's."""
    if pending.card is None:
        raise RuntimeError(f"{run.run_id}: {pending.call_id} waits for no lead")
    return Request(
        key=pending.card.key,
        token=token,
        run_id=run.run_id,
        call_id=pending.call_id,
        customer_id=run.customer_id,
        agent=run.agent,
        tool=pending.tool,
        input=pending.input,
        card=pending.card,
    )
