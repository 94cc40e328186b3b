"""What a request says, as the clerk reads it: the customer's words, its own calls, the results.

Everything is taken from the request alone; nothing is remembered from one to the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from bot.local.claude.blocks import Block, blocks_of, is_list, is_object, setting, tools_of

_HARNESS = re.compile(r"<harness>(.*)</harness>", re.DOTALL)
_EARLIER = re.compile(r"^- (?P<who>[A-Z][\w ]+?): (?P<text>.*(?:\n(?!- ).*)*)", re.MULTILINE)
_CUSTOMER, _STAFF, _RECORDS = (
    "The customer wrote",
    "A colleague wrote in the thread",
    "From our records",
)
# Such a call wasn't carried out, and may be made again.
_NOT_DONE = ("cut off", "one question or refund at a time")


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message of the customer."""

    text: str
    photos: int = 0
    lost_photos: bool = False


@dataclass(frozen=True, kw_only=True)
class Made:
    """A call of an earlier turn, and what came of it. `answer` is a customer's, to a question."""

    name: str
    input: Block
    text: str
    is_error: bool
    answer: Said | None = None


@dataclass(frozen=True, kw_only=True)
class Item:
    name: str
    category: str
    quantity: int
    price: Decimal

    @property
    def cost(self) -> Decimal:
        return self.price * self.quantity


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order as `get_order` told it; amounts are rupees."""

    order_id: str
    status: str
    items: tuple[Item, ...]
    paid: Decimal
    refunded: Decimal
    refundable: Decimal
    payment_method: str
    promised_on: date | None
    delivered_on: date | None
    tracking: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A passage of a policy as `search_policies` told it."""

    policy_id: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A request. `earlier` is what the customer wrote before this run, `staff` what colleagues
    did, `records` what the system says was paid or decided then."""

    tools: frozenset[str]
    one_call_a_turn: bool
    no_calls: bool
    said: tuple[Said, ...]
    made: tuple[Made, ...]
    earlier: tuple[str, ...] = ()
    staff: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    given_back: bool = False

    def calls(self, name: str) -> list[Made]:
        """The calls of a tool that were carried out, oldest first."""
        return [made for made in self.made if made.name == name]

    def orders(self) -> dict[str, Order | None]:
        """The orders looked up, by number; None for one that isn't this customer's."""
        found: dict[str, Order | None] = {}
        for made in self.calls("get_order"):
            number = str(made.input.get("order_id"))
            if not made.is_error:
                found[number] = order_of(made.text)
            elif "no order" in made.text.lower():
                found[number] = None
        return found

    def passages(self) -> list[Passage]:
        return [
            passage for made in self.calls("search_policies") for passage in _passages(made.text)
        ]

    @property
    def trouble(self) -> str | None:
        """What a tool said that can't be used now: a system is down."""
        return next(
            (made.text for made in self.made if made.is_error and "unavailable" in made.text), None
        )


def conversation_of(body: Block) -> Conversation:
    """Read a request that broke no rule."""
    reader = _Reader()
    for message in body["messages"]:
        reader.read(message)
    choice = setting(body, "tool_choice")
    return Conversation(
        tools=frozenset(tool["name"] for tool in tools_of(body)),
        one_call_a_turn=bool(choice.get("disable_parallel_tool_use")),
        no_calls=choice.get("type") == "none",
        said=tuple(reader.said),
        made=tuple(reader.made),
        earlier=tuple(reader.told(_CUSTOMER)),
        staff=tuple(reader.told(_STAFF)),
        records=tuple(reader.told(_RECORDS)),
        given_back=any("gave the case back" in line for line in reader.harness),
    )


def order_of(text: str) -> Order | None:
    """An order from its JSON; None when it isn't one."""
    try:
        told: Any = json.loads(text)
        return Order(
            order_id=str(told["order_id"]),
            status=str(told["status"]),
            items=tuple(
                Item(
                    name=str(item["name"]),
                    category=str(item["category"]),
                    quantity=int(item["quantity"]),
                    price=Decimal(str(item["price_rupees"])),
                )
                for item in told["items"]
            ),
            paid=Decimal(str(told["paid_rupees"])),
            refunded=Decimal(str(told["refunded_rupees"])),
            refundable=Decimal(str(told["refundable_rupees"])),
            payment_method=str(told["payment_method"]),
            promised_on=_day(told.get("promised_on")),
            delivered_on=_day(told.get("delivered_on")),
            tracking=str(told.get("tracking") or ""),
            note=str(told.get("seller_note") or ""),
        )
    except (ValueError, KeyError, TypeError, InvalidOperation):
        return None


def _day(text: object) -> date | None:
    return date.fromisoformat(str(text)) if text else None


def _passages(text: str) -> Iterator[Passage]:
    try:
        told: object = json.loads(text)
    except ValueError:
        return
    for each in told if is_list(told) else []:
        if is_object(each) and {"policy_id", "title", "text"} <= each.keys():
            yield Passage(
                policy_id=str(each["policy_id"]), title=str(each["title"]), text=str(each["text"])
            )


class _Reader:
    """Goes through the messages once, oldest first."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.made: list[Made] = []
        self.harness: list[str] = []
        self._open: dict[str, Block] = {}

    def told(self, who: str) -> Iterator[str]:
        """The lines of the summary of earlier runs that somebody wrote."""
        for line in self.harness:
            if line.startswith("Earlier in this case"):
                for found in _EARLIER.finditer(line):
                    if found["who"] == who:
                        yield found["text"].strip()

    def read(self, message: Block) -> None:
        blocks = blocks_of(message["content"])
        if message["role"] == "assistant":
            self._open.update((each["id"], each) for each in blocks if each["type"] == "tool_use")
            return
        for each in blocks:
            if each["type"] == "tool_result":
                self._result(each)
        words = [each for each in blocks if each["type"] != "tool_result"]
        if said := self._words(words):
            self.said.append(said)

    def _result(self, block: Block) -> None:
        call = self._open.pop(block["tool_use_id"], None)
        content = blocks_of(block.get("content"))
        text = "\n".join(each["text"] for each in content if each["type"] == "text")
        is_error = bool(block.get("is_error"))
        if call is None or (is_error and any(each in text.lower() for each in _NOT_DONE)):
            return
        answer = None
        if call["name"] == "ask_customer" and not is_error:
            answer = self._words(content) or Said(text="")
            self.said.append(answer)
        self.made.append(
            Made(
                name=call["name"], input=call["input"], text=text, is_error=is_error, answer=answer
            )
        )

    def _words(self, blocks: list[Block]) -> Said | None:
        """The customer's own words and photos in these blocks; None when there are none."""
        texts: list[str] = []
        lost = False
        for each in blocks:
            if each["type"] != "text":
                continue
            if own := _HARNESS.fullmatch(each["text"].strip()):
                self.harness.append(own[1])
                lost = lost or "could not be read" in own[1]
            else:
                texts.append(each["text"])
        photos = sum(each["type"] == "image" for each in blocks)
        if not texts and not photos and not lost:
            return None
        return Said(text="\n".join(texts), photos=photos, lost_photos=lost)
