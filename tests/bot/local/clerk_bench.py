"""Conversations with the clerk as the harness would have them: the refund agent's real tools over
a real sample shop, the real SDK, the strict stand-in; the test plays the customer and the lead."""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from anthropic import AsyncAnthropic
from PIL import Image

from agent.definition import Agent
from agent.refunds.agent import refund_agent
from agent.refunds.ports import Refund, RefundStatus, Rules
from agent.tools import Called, Context, call_tool
from bot.local.claude import LocalClaude
from storage.shop import Shop, open_shop
from tests.storage.shop.world import NOON, TODAY, Clock

Json = dict[str, Any]
PHOTO = "[photo]"
NOBODY_ASKS = Rules(approval_limit_paise=10**10, second_approval_over_paise=10**11)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a conversation ended. `how` is `reply`, `handed_off` or `waiting` (for more answers)."""

    how: str
    text: str
    """The reply, the handoff's reason, or the open question."""
    questions: Sequence[str]
    calls: Sequence[str]
    proposals: Sequence[Json]
    turns: int


@dataclass(kw_only=True)
class Desk:
    """One shop, one stand-in, and as many conversations as wanted."""

    claude: LocalClaude
    client: AsyncAnthropic
    shop: Shop
    agent: Agent
    told: list[str] = field(default_factory=list[str])
    """The texts of the thinking, in order."""

    async def talk(
        self,
        customer_id: str,
        *words: str,
        first: Sequence[Json] = (),
        then: Sequence[Json | None] = (),
    ) -> Ended:
        """Say the first words, and answer each question with the next; `[photo]` in one stands for
        a photo sent with it. `first` are blocks before the words, `then` results instead of the
        tools' own."""
        answers = list(words[1:])
        results = list(then)
        messages: list[Json] = [
            {"role": "user", "content": [*first, *said(words[0] if words else "")]}
        ]
        calls: list[Json] = []
        for turn in range(1, 13):
            message = await self._ask(messages)
            messages.append({"role": "assistant", "content": message["content"]})
            made = [block for block in message["content"] if block["type"] == "tool_use"]
            calls += made
            handed = next((call for call in made if call["name"] == "hand_off"), None)
            asked = next((call for call in made if call["name"] == "ask_customer"), None)
            if handed is not None:
                return self._ended("handed_off", handed["input"]["reason"], calls, turn)
            if not made:
                return self._ended("reply", text_of(message["content"]), calls, turn)
            if asked is not None and not answers:
                return self._ended("waiting", asked["input"]["question"], calls, turn)
            content: list[Json] = []
            for number, call in enumerate(made):
                if call["name"] == "ask_customer":
                    answer: Any = said(answers.pop(0))
                    content.append(result(call, answer))
                elif results and (told := results.pop(0)) is not None:
                    content.append(result(call, **told))
                else:
                    called = await self._call(customer_id, f"{turn}_{number}", call)
                    content.append(result(call, called.text or "", is_error=called.is_error))
            messages.append({"role": "user", "content": content})
        raise AssertionError(f"no end after 12 turns: {[call['name'] for call in calls]}")

    async def refunds(self, order_id: str) -> list[Refund]:
        """The order's refunds that were paid by the conversation."""
        rows = await self.shop.ledger.history(order_id)
        return [row for row in rows if row.run_id and row.status is RefundStatus.PAID]

    async def _ask(self, messages: Sequence[Json]) -> Json:
        frozen = self.agent.frozen
        response = await self.client.messages.with_raw_response.create(
            model=frozen["model"],
            max_tokens=frozen["max_tokens"],
            system=frozen["system"],
            tools=frozen["tools"],
            messages=cast(Any, messages),
            thinking={"type": "adaptive", "display": "summarized"},
        )
        message = cast(Json, await response.json())
        self.told += [x["thinking"] for x in message["content"] if x["type"] == "thinking"]
        return message

    async def _call(self, customer_id: str, call_id: str, call: Json) -> Called:
        context = Context(
            customer_id=customer_id,
            customer_name="",
            agent="refunds",
            run_id=f"run_{customer_id}",
            call_id=call_id,
            tool=call["name"],
            arguments=call["input"],
            now=NOON,
        )
        return await call_tool(self.agent.tool_table, call["name"], context, call["input"])

    def _ended(self, how: str, text: str, calls: Sequence[Json], turns: int) -> Ended:
        assert not self.claude.refused, [each.error for each in self.claude.refused]
        return Ended(
            how=how,
            text=text,
            questions=[x["input"]["question"] for x in calls if x["name"] == "ask_customer"],
            calls=[call["name"] for call in calls],
            proposals=[x["input"] for x in calls if x["name"] == "propose_refund"],
            turns=turns,
        )


@asynccontextmanager
async def open_desk(folder: Path) -> AsyncGenerator[Desk]:
    clock = Clock()
    shop = open_shop(f"sqlite:///{folder}/shop.db", now=clock, sample_on=TODAY)
    agent = refund_agent(
        model="claude-opus-5-5",
        orders=shop.orders,
        policies=shop.policies,
        ledger=shop.ledger,
        payments=shop.payments,
        rules=NOBODY_ASKS,
    )
    async with (
        LocalClaude(clerk=True, now=clock) as claude,
        AsyncAnthropic(base_url=claude.base_url, api_key="sk-ant-x", max_retries=0) as client,
    ):
        yield Desk(claude=claude, client=client, shop=shop, agent=agent)
    await shop.close()


def said(words: str) -> list[Json]:
    """A customer's message as blocks."""
    text = words.replace(PHOTO, "").strip()
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    return [*blocks, *[photo()] * words.count(PHOTO)]


def photo() -> Json:
    content = BytesIO()
    Image.new("RGB", (16, 16), (90, 30, 30)).save(content, "PNG")
    data = base64.b64encode(content.getvalue()).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }


def harness(text: str) -> Json:
    """A line of the harness."""
    return {"type": "text", "text": f"<harness>{text}</harness>"}


def result(call: Json, content: Any = "", *, is_error: bool = False) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": call["id"], "content": content}
    return block | ({"is_error": True} if is_error else {})


def text_of(content: Sequence[Json]) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")
