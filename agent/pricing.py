"""What a model call costs, in dollars, from the usage the API reports.

Prices are dollars a million tokens, from Anthropic's price list of November 2026.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.errors import ConfigurationError
from agent.run import Usage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, kw_only=True)
class Price:
    """Of one model. Above `long_prompt_over` input tokens the whole request costs `long`."""

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal
    long_prompt_over: int | None = None
    long: Price | None = None

    def cost(self, usage: Usage) -> Decimal:
        total_input = usage.uncached + usage.cache_read + usage.cache_write
        if self.long and self.long_prompt_over and total_input > self.long_prompt_over:
            return self.long.cost(usage)
        return (
            self.input * usage.uncached
            + self.cache_write_5m * usage.cache_write_5m
            + self.cache_write_1h * usage.cache_write_1h
            + self.cache_read * usage.cache_read
            + self.output * usage.output
        ) / _MILLION


def _price(row: str, **more: object) -> Price:
    """From "input output write-5m write-1h read"."""
    given, out, write_5m, write_1h, read = (Decimal(word) for word in row.split())
    return Price(
        input=given,
        output=out,
        cache_write_5m=write_5m,
        cache_write_1h=write_1h,
        cache_read=read,
        **more,  # type: ignore[arg-type]
    )


def built_in_prices() -> dict[str, Price]:
    """By model name."""
    return {
        "claude-opus-5-5": _price("4 20 5 8 0.20"),
        "claude-sonnet-5-5": _price("2 10 2.50 4 0.10"),
        "claude-haiku-5-5": _price(
            "0.10 0.50 0.125 0.20 0.01",
            long_prompt_over=100_000,
            long=_price("0.50 2.50 0.625 1.00 0.05"),
        ),
        "claude-opus-5": _price("5 25 6.25 10 0.50"),
        "claude-sonnet-5": _price("2 10 2.50 4 0.20"),
        "claude-haiku-4-5": _price("1 5 1.25 2 0.10"),
    }


class _PriceRow(BaseModel):
    model_config = ConfigDict(extra="forbid")

    input: Decimal
    output: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    cache_read: Decimal


def load_prices(path: Path | None) -> dict[str, Price]:
    """The built-in prices, with those of a TOML file added or put in their place.

    The file has one table a model: `["my-model"]` with `input`, `output`, `cache_write_5m`,
    `cache_write_1h` and `cache_read`. Raises `ConfigurationError`.
    """
    prices = built_in_prices()
    if path is None:
        return prices
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        rows = {name: _PriceRow.model_validate(table) for name, table in tables.items()}
    except OSError as error:
        raise ConfigurationError(f"CASETHREAD_PRICES: {path} can't be read: {error}") from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigurationError(
            f"CASETHREAD_PRICES: {path} is no price table ({reason}); each model is a table with"
            " input, output, cache_write_5m, cache_write_1h and cache_read in dollars a million"
            " tokens."
        ) from error
    return prices | {name: Price(**row.model_dump()) for name, row in rows.items()}


def price_of(model: str, prices: Mapping[str, Price]) -> Price:
    """Raises `ConfigurationError` for a model without a price."""
    if model not in prices:
        known = ", ".join(sorted(prices))
        raise ConfigurationError(
            f"CASETHREAD_MODEL: {model!r} has no price; use one of {known}, or give its price in"
            " CASETHREAD_PRICES."
        )
    return prices[model]
