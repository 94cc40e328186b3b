"""What the model is told about an amount that is none."""

from __future__ import annotations

import pytest

from agent.refunds.money import parse_rupees

NO_NUMBER = "The amount must be a number of rupees, like 145.05."
NOT_PLAIN = (
    "The amount must be a plain positive number of rupees with at most 2 decimals, like 145.05."
)
ZERO = "The amount must be more than zero."


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (True, NO_NUMBER),
        (None, NO_NUMBER),
        ([5], NO_NUMBER),
        ("1,000", NOT_PLAIN),
        (-5, NOT_PLAIN),
        (145.055, NOT_PLAIN),
        (0, ZERO),
        ("0.00", ZERO),
    ],
)
def test_an_odd_amount_is_answered_with_what_it_has_to_be(amount: object, words: str) -> None:
    with pytest.raises(ValueError, match="amount") as raised:
        parse_rupees(amount)
    assert str(raised.value) == words
