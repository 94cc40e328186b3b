"""A provider with moods: what it does with a payment, and what it says of it.

Money moves by the shop's own payments, once a key. A mood belongs to a key from its first payment
on, as a provider remembers what it did.
"""

from __future__ import annotations

from typing import Literal

from agent.refunds.ports import Payment, Payments, Refund

Mood = Literal["pays", "loses its answer", "loses the request", "refuses", "refuses later", "away"]
MOODS: tuple[Mood, ...] = (
    "pays",
    "loses its answer",
    "loses the request",
    "refuses",
    "refuses later",
    "away",
)
UNKNOWN = Payment(status="unknown", detail="no answer")
REFUSED = Payment(status="failed", detail="the account is closed")


class Provider:
    """`Payments`. While it is `silent`, nobody gets an answer, though requests arrive."""

    def __init__(self) -> None:
        self.shop: Payments
        self.mood: Mood = "pays"
        self.silent = False
        self._moods: dict[str, Mood] = {}
        self._asked: set[str] = set()

    def begin(self) -> None:
        self.mood = "pays"
        self.silent = False
        self._moods.clear()
        self._asked.clear()

    def recover(self) -> None:
        """From now on every answer arrives; what was refused stays refused."""
        self.mood = "pays"
        self.silent = False
        for key, mood in self._moods.items():
            if mood in ("away", "loses its answer", "loses the request"):
                self._moods[key] = "pays"

    async def pay(self, refund: Refund) -> Payment:
        mood = self._moods.setdefault(refund.key, self.mood)
        first = refund.key not in self._asked
        self._asked.add(refund.key)
        if mood == "refuses":
            return UNKNOWN if self.silent else REFUSED
        if mood == "refuses later" or mood == "away" or (mood == "loses the request" and first):
            return UNKNOWN
        paid = await self.shop.pay(refund)
        return UNKNOWN if self.silent or (mood == "loses its answer" and first) else paid

    async def look_up(self, refund: Refund) -> Payment | None:
        mood = self._moods.get(refund.key)
        if self.silent or mood == "away":
            return UNKNOWN
        if mood in ("refuses", "refuses later"):
            return REFUSED
        return await self.shop.look_up(refund)
