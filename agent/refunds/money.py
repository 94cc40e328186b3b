"""Rupees at the edge, integer paise inside; never floats.

`parse_rupees` is the one way in and `rupees` the one way out.
"""

from __future__ import annotations

import re
from decimal import Decimal

PAISE_PER_RUPEE = 100

# Plain digits with at most two decimals: no sign, exponent, separator, NaN or infinity.
_PLAIN_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,2}0*)?")


def parse_rupees(value: object) -> int:
    """Turn an amount in rupees into integer paise, exactly.

    Takes a JSON number (as ``int``, ``Decimal`` or the ``float`` a JSON parser made of it) or
    its plain text ("145.05"). Raises ``ValueError`` with words for the model when it is anything
    but a positive plain decimal with at most two decimals.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError("The amount must be a number of rupees, like 145.05.")
    # Of a float this is its shortest form, which is what was written: 145.05, not 145.0500001.
    text = str(value)
    if not _PLAIN_AMOUNT.fullmatch(text):
        raise ValueError(
            "The amount must be a plain positive number of rupees with at most 2 decimals,"
            " like 145.05."
        )
    paise = Decimal(text) * PAISE_PER_RUPEE
    if paise <= 0:
        raise ValueError("The amount must be more than zero.")
    return int(paise)


def rupees(paise: int) -> str:
    """Write paise the Indian way, always with two decimals: 14990000 is "₹1,49,900.00"."""
    sign = "-" if paise < 0 else ""
    whole, rest = divmod(abs(paise), PAISE_PER_RUPEE)
    digits = str(whole)
    head, tail = digits[:-3], digits[-3:]
    pairs = re.findall(r"\d{1,2}(?=(?:\d\d)*$)", head)
    return f"{sign}₹{','.join([*pairs, tail])}.{rest:02d}"


def plain_rupees(paise: int) -> str:
    """Write paise as a plain decimal for a form field or a JSON number: "2499.00"."""
    whole, rest = divmod(paise, PAISE_PER_RUPEE)
    return f"{whole}.{rest:02d}"
