"""The models the stand-in knows: prices, limits, and which requests each of them refuses.

Its own table on purpose, so that the harness's sums can be checked against it. Prices and least
cacheable lengths are those published for November 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from bot.local.claude.refusals import RefusedError

CONTEXT_TOKENS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Price:
    """Dollars for a million tokens."""

    input: Decimal
    output: Decimal
    write_5m: Decimal
    write_1h: Decimal
    read: Decimal


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model. The `accepts_…` fields say which requests it takes; a 400 answers the others."""

    name: str
    price: Price
    least_cacheable_tokens: int
    long_price: Price | None = None
    """The price of the whole request when its input is above `long_over_tokens`."""
    long_over_tokens: int = 100_000
    max_output_tokens: int = 128_000
    always_thinks: bool = False
    """Thinking can't be disabled."""
    thinks_by_default: bool = True
    accepts_adaptive_thinking: bool = True
    accepts_thinking_budget: bool = False
    accepts_forced_tools: bool = True
    accepts_prefill: bool = False
    accepts_sampling: bool = False
    accepts_system_messages: bool = True
    binds_thinking: bool = False
    """A thinking block is valid only behind the exact system, tools and messages it came after."""

    def price_of(self, input_tokens: int) -> Price:
        if self.long_price is not None and input_tokens > self.long_over_tokens:
            return self.long_price
        return self.price


def model_named(name: str) -> Model:
    """The model of that name; an unknown one is the API's 404."""
    try:
        return MODELS[name]
    except KeyError:
        raise RefusedError(f"model: {name}", status=404, error_type="not_found_error") from None


def _price(values: str) -> Price:
    """`values`: input, output, 5-minute write, 1-hour write and read, separated by spaces."""
    input_, output, write_5m, write_1h, read = map(Decimal, values.split())
    return Price(input=input_, output=output, write_5m=write_5m, write_1h=write_1h, read=read)


def _haiku_4_5(name: str) -> Model:
    return Model(
        name=name,
        price=_price("1 5 1.25 2 0.10"),
        least_cacheable_tokens=4096,
        max_output_tokens=64_000,
        thinks_by_default=False,
        accepts_adaptive_thinking=False,
        accepts_thinking_budget=True,
        accepts_prefill=True,
        accepts_sampling=True,
        accepts_system_messages=False,
    )


MODELS = {
    model.name: model
    for model in (
        Model(
            name="claude-opus-5-5",
            price=_price("4 20 5 8 0.20"),
            least_cacheable_tokens=512,
            always_thinks=True,
            accepts_forced_tools=False,
            binds_thinking=True,
        ),
        Model(
            name="claude-sonnet-5-5",
            price=_price("2 10 2.50 4 0.10"),
            least_cacheable_tokens=512,
            always_thinks=True,
            accepts_forced_tools=False,
            binds_thinking=True,
        ),
        Model(
            name="claude-haiku-5-5",
            price=_price("0.10 0.50 0.125 0.20 0.01"),
            long_price=_price("0.50 2.50 0.625 1.00 0.05"),
            least_cacheable_tokens=512,
            binds_thinking=True,
        ),
        Model(name="claude-opus-5", price=_price("5 25 6.25 10 0.50"), least_cacheable_tokens=512),
        Model(
            name="claude-sonnet-5", price=_price("2 10 2.50 4 0.20"), least_cacheable_tokens=1024
        ),
        _haiku_4_5("claude-haiku-4-5"),
        _haiku_4_5("claude-haiku-4-5-20251001"),
    )
}
