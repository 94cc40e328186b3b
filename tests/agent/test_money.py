"""Money is exact: what is read, written and counted."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import ConfigurationError
from agent.pricing import built_in_prices, load_prices, price_of
from agent.refunds.money import parse_rupees, plain_rupees, rupees
from agent.run import Usage

PAISE = st.integers(min_value=1, max_value=10**13)


@given(PAISE)
@example(14505)
@example(14_990_000)
def test_what_is_written_is_read_back_exactly(paise: int) -> None:
    assert parse_rupees(plain_rupees(paise)) == paise
    assert parse_rupees(Decimal(plain_rupees(paise))) == paise
    assert parse_rupees(rupees(paise).removeprefix("₹").replace(",", "")) == paise


@given(PAISE)
def test_a_json_parsers_float_is_what_was_written(paise: int) -> None:
    # Up to 15 digits a float's shortest form is the decimal it was read from.
    assert parse_rupees(float(plain_rupees(paise))) == paise


@pytest.mark.parametrize(
    "odd",
    [
        0, 0.0, "0.00", -1, -0.01, "-5", "+5", 145.055, "1.005", "1e3", "1E3", 1e22, 1e-7,
        "NaN", math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("1E+3"), "1,000", "1_000",
        "₹5", " 5", "5 ", "5.", ".5", "", "\u0663", "\uff15", "0x10", "5\n", 10**13,
        True, False, None, [5], {"a": 5},
    ],
)  # fmt: skip
def test_every_odd_amount_is_refused(odd: object) -> None:
    with pytest.raises(ValueError, match="amount"):
        parse_rupees(odd)


@given(st.one_of(st.text(), st.floats(), st.decimals(), st.integers(), st.none(), st.binary()))
def test_whatever_is_accepted_is_a_positive_number_of_paise(given_: object) -> None:
    try:
        paise = parse_rupees(given_)
    except ValueError:
        return
    assert paise > 0
    assert Decimal(str(given_)) * 100 == paise


@given(st.integers(min_value=-(10**12), max_value=10**15))
def test_rupees_are_grouped_the_indian_way(paise: int) -> None:
    text = rupees(paise)
    assert re.fullmatch(r"-?₹(\d{1,2}(,\d\d)*,\d{3}|\d{1,3})\.\d\d", text)
    assert int(re.sub(r"[₹,.]", "", text)) == paise


@pytest.mark.parametrize(
    ("paise", "text"),
    [(5, "₹0.05"), (99_900, "₹999.00"), (100_000, "₹1,000.00"), (14_990_000, "₹1,49,900.00")],
)
def test_amounts_that_people_know(paise: int, text: str) -> None:
    assert rupees(paise) == text


# Prices ----------------------------------------------------------------------------------------


def test_the_seed_trace_sums_up_to_what_it_has_to() -> None:
    price = built_in_prices()["claude-opus-5-5"]
    given_in, out = (1000, 1350, 1900, 2200, 2450), (180, 150, 220, 200, 140)
    total, sums = Decimal(0), list[Decimal]()
    for uncached, output in zip(given_in, out, strict=True):
        total += price.cost(Usage(uncached=uncached, output=output))
        sums.append(total)
    assert sums == [Decimal(each) for each in ("0.0076", "0.0160", "0.0280", "0.0408", "0.0534")]


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("claude-opus-5-5", Usage(cache_read=1_000_000), "0.20"),
        ("claude-opus-5-5", Usage(cache_write_5m=1_000_000), "5"),
        ("claude-opus-5-5", Usage(cache_write_1h=1_000_000), "8"),
        ("claude-sonnet-5-5", Usage(uncached=1_000_000, output=1_000_000), "12"),
        ("claude-haiku-5-5", Usage(uncached=100_000, output=1_000_000), "0.51"),
        ("claude-haiku-5-5", Usage(uncached=1, cache_read=100_000), "0.00500050"),
        ("claude-haiku-5-5", Usage(uncached=100_001, output=1_000_000), "2.5500005"),
        ("claude-haiku-4-5", Usage(uncached=1_000_000, output=1_000_000), "6"),
    ],
)
def test_each_kind_of_token_has_its_price_and_a_long_prompt_another(
    model: str, usage: Usage, dollars: str
) -> None:
    assert price_of(model, built_in_prices()).cost(usage) == Decimal(dollars)


def test_a_model_without_a_price_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigurationError, match=r"claude-next.*CASETHREAD_PRICES"):
        price_of("claude-next", built_in_prices())


def test_a_file_adds_prices_and_replaces_them(tmp_path: Path) -> None:
    rows = "input = 1\noutput = 2.5\ncache_write_5m = 3\ncache_write_1h = 4\ncache_read = 0.1\n"
    path = tmp_path / "prices.toml"
    path.write_text(f'["claude-next"]\n{rows}["claude-opus-5-5"]\n{rows}', encoding="utf-8")
    prices = load_prices(path)
    assert prices["claude-next"].cost(Usage(output=1_000_000)) == Decimal("2.5")
    assert prices["claude-opus-5-5"].input == 1
    assert "claude-haiku-5-5" in prices


@pytest.mark.parametrize("content", ["x = ", '["m"]\ninput = 1\n', '["m"]\ninput = "much"\n'])
def test_a_file_that_is_no_price_table_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"CASETHREAD_PRICES: .*prices\.toml"):
        load_prices(path)
    with pytest.raises(ConfigurationError, match="can't be read"):
        load_prices(tmp_path / "none.toml")
