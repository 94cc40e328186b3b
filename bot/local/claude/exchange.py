"""What happened: one record a request, and the money of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from bot.local.claude.models import MODELS
from bot.local.claude.usage import TokenUsage

Outcome = Literal["pending", "answered", "served", "refused", "fault", "script_error", "abandoned"]


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and what became of it.

    `outcome`: `pending` until answered; `served` when it asked for models or a token count;
    `refused` when a rule was broken; `fault` when an ordered fault answered (a cut answer has its
    message and usage all the same); `abandoned` when the client was gone before the answer.
    """

    request_id: str
    headers: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    """None when it wasn't a JSON object."""
    conversation: str = ""
    """Equal for all requests that begin with the same model and first message."""
    first_text: str = ""
    script: str | None = None
    """The `match` of the script that answered; None for the clerk, or for polite words."""
    clerk: bool = False
    """The rule-based clerk answered."""
    outcome: Outcome = "pending"
    status: int | None = None
    message: Mapping[str, Any] | None = None
    error: str | None = None
    usage: TokenUsage | None = None
    dropped: tuple[str, ...] = ()

    @property
    def cost_usd(self) -> Decimal:
        if self.usage is None or self.body is None:
            return Decimal(0)
        return self.usage.cost_usd(MODELS[self.body["model"]])

    @property
    def uncached_cost_usd(self) -> Decimal:
        if self.usage is None or self.body is None:
            return Decimal(0)
        return self.usage.uncached_cost_usd(MODELS[self.body["model"]])


@dataclass(frozen=True, kw_only=True)
class Account:
    """Sums over whole answers: those that were cut or never sent aren't in them."""

    calls: int
    usage: TokenUsage
    cost_usd: Decimal
    uncached_cost_usd: Decimal


def account_of(exchanges: Iterable[Exchange]) -> Account:
    answered = [found for found in exchanges if found.outcome == "answered"]
    usages = [found.usage for found in answered if found.usage is not None]
    return Account(
        calls=len(answered),
        usage=TokenUsage(
            uncached=sum(usage.uncached for usage in usages),
            read=sum(usage.read for usage in usages),
            written_5m=sum(usage.written_5m for usage in usages),
            written_1h=sum(usage.written_1h for usage in usages),
            output=sum(usage.output for usage in usages),
            thinking=sum(usage.thinking for usage in usages),
        ),
        cost_usd=sum((found.cost_usd for found in answered), Decimal(0)),
        uncached_cost_usd=sum((found.uncached_cost_usd for found in answered), Decimal(0)),
    )
