"""The local Claude's prompt cache and bill, with the sample shop's seed trace as the example."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any, cast

import pytest
from anthropic import AsyncAnthropic

from bot.local.claude import LocalClaude, TokenUsage, Turn, call, say
from bot.local.claude.models import model_named

Json = dict[str, Any]
MARK: Json = {"cache_control": {"type": "ephemeral"}}
HOUR: Json = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
SYSTEM = "You resolve refund requests. " * 90
INPUTS = (1000, 1350, 1900, 2200, 2450)
OUTPUTS = (180, 150, 220, 200, 140)


class Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def claude(clock: Clock) -> AsyncIterator[LocalClaude]:
    async with LocalClaude(now=clock) as server:
        server.script("", [say("Fine.")] * 99)
        yield server


@pytest.fixture
async def client(claude: LocalClaude) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        base_url=claude.base_url, api_key="sk-ant-local", max_retries=0
    ) as sdk:
        yield sdk


async def ask(client: AsyncAnthropic, messages: list[Json], **fields: Any) -> Json:
    response = await client.messages.with_raw_response.create(
        model=fields.pop("model", "claude-opus-5-5"),
        max_tokens=1000,
        messages=messages,  # pyright: ignore[reportArgumentType]
        extra_body=fields,
    )
    return cast(Json, await response.json())


async def split(client: AsyncAnthropic, text: str, **fields: Any) -> tuple[int, int, int, int]:
    """Tokens read, written for 5 minutes and for 1 hour, and plain, of a one-message request."""
    usage = (await ask(client, [user(text)], **fields))["usage"]
    written = usage["cache_creation"]
    assert usage["cache_creation_input_tokens"] == sum(written.values())
    return (
        usage["cache_read_input_tokens"],
        written["ephemeral_5m_input_tokens"],
        written["ephemeral_1h_input_tokens"],
        usage["input_tokens"],
    )


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def text(words: str, mark: Json | None = None) -> Json:
    return {"type": "text", "text": words, **(mark or {})}


def tool(name: str, *properties: str) -> Json:
    return {
        "name": name,
        "description": f"What {name} does. " * 4,
        "strict": True,
        "input_schema": {
            "type": "object",
            "properties": {each: {"type": "string"} for each in properties},
            "required": list(properties),
            "additionalProperties": False,
        },
    }


TOOLS = [
    tool("get_order", "order_id"),
    tool("search_policies", "query"),
    tool("ask_customer", "question"),
    tool("propose_refund", "order_id", "amount_rupees", "reason", "explanation"),
]
SEED = (
    call("get_order", order_id="4471"),
    call("search_policies", query="damaged electronics"),
    call("ask_customer", question="Could you send a photo of the speaker?"),
    call(
        "propose_refund",
        order_id="4471",
        amount_rupees="2499.00",
        reason="damaged",
        explanation="Cracked on arrival; the photo shows it.",
    ),
    say("Your refund of ₹2,499.00 was issued and arrives in 3–5 days."),
)


async def play_seed_trace(
    claude: LocalClaude, client: AsyncAnthropic, customer: str, **fields: Any
) -> list[Decimal]:
    """The five steps of the seed trace; the cost so far after each."""
    turns: list[Turn] = [
        turn.using(input=input, output=output)
        for turn, input, output in zip(SEED, INPUTS, OUTPUTS, strict=True)
    ]
    claude.script(customer, turns)
    history = [user(f"{customer}: the Bluetooth speaker of order 4471 came cracked.")]
    sums: list[Decimal] = []
    for _ in turns:
        answer = await ask(client, history, tools=TOOLS, **fields)
        sums.append(claude.cost_usd(customer))
        history.append({"role": "assistant", "content": answer["content"]})
        history.append(
            user(
                [
                    {"type": "tool_result", "tool_use_id": block["id"], "content": "Done. " * 40}
                    for block in answer["content"]
                    if block["type"] == "tool_use"
                ]
            )
        )
    return sums


async def test_the_seed_trace_costs_5_34_cents_without_caching(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    sums = await play_seed_trace(claude, client, "Asha", system=SYSTEM)
    assert sums == [Decimal(cost) for cost in ("0.0076", "0.0160", "0.0280", "0.0408", "0.0534")]
    account = claude.account("Asha")
    assert (account.calls, account.usage.input, account.usage.output) == (5, 8900, 890)
    assert account.cost_usd == account.uncached_cost_usd
    assert claude.refused == []


async def test_a_warm_system_prompt_makes_the_seed_trace_clearly_cheaper(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    cached: Json = {"system": [text(SYSTEM, MARK)], **MARK}
    await play_seed_trace(claude, client, "Meera", **cached)
    sums = await play_seed_trace(claude, client, "Asha", **cached)
    first, *later = [found.usage for found in claude.requests if "Asha" in found.first_text]
    assert first is not None
    assert first.read > 900
    for usage, before in zip(later, INPUTS, strict=False):
        assert usage is not None
        assert (usage.read, usage.uncached) == (before, 0)
    account = claude.account("Asha")
    assert account.uncached_cost_usd == Decimal("0.0534")
    assert account.cost_usd == sums[-1] < Decimal("0.03")
    assert claude.cost_usd() == claude.cost_usd("Asha") + claude.cost_usd("Meera")


async def test_a_marked_system_prompt_is_written_once_and_read_by_other_conversations(
    client: AsyncAnthropic,
) -> None:
    system = [text(SYSTEM, MARK)]
    read, written, _, plain = await split(client, "Hello", system=system)
    assert (read, written > 600, plain < 20) == (0, True, True)
    assert await split(client, "Good evening", system=system) == (written, 0, 0, plain + 1)


async def test_another_byte_model_or_tool_misses_the_cache(client: AsyncAnthropic) -> None:
    await split(client, "Hello", system=[text(SYSTEM, MARK)])
    for changes in (
        {"system": [text(SYSTEM + ".", MARK)]},
        {"system": [text(SYSTEM, MARK)], "model": "claude-sonnet-5-5"},
        {"system": [text(SYSTEM, MARK)], "tools": TOOLS},
    ):
        assert (await split(client, "Hello", **changes))[0] == 0


async def test_another_tool_choice_keeps_the_system_prompt_but_not_the_messages(
    client: AsyncAnthropic,
) -> None:
    fields: Json = {"system": [text(SYSTEM, MARK)], "tools": TOOLS, **MARK}
    _, whole, _, _ = await split(client, "x" * 4000, **fields)
    read, written, _, _ = await split(client, "x" * 4000, tool_choice={"type": "none"}, **fields)
    assert read > 900
    assert written > 900
    assert read + written == whole


@pytest.mark.parametrize(("mark", "seconds"), [(MARK, 300), (HOUR, 3600)])
async def test_an_entry_lives_for_its_ttl_and_reading_it_starts_that_again(
    mark: Json, seconds: int, clock: Clock, client: AsyncAnthropic
) -> None:
    system = [text(SYSTEM, mark)]
    whole = sum((await split(client, "Hello", system=system))[1:3])
    for _ in range(3):
        clock.seconds += seconds - 1
        assert (await split(client, "Hello", system=system))[0] == whole
    clock.seconds += seconds
    assert (await split(client, "Hello", system=system))[0] == 0


async def test_a_prefix_shorter_than_the_models_least_is_not_cached(
    client: AsyncAnthropic,
) -> None:
    for model, words, cached in (
        ("claude-opus-5-5", 500, False),
        ("claude-opus-5-5", 520, True),
        ("claude-sonnet-5", 1000, False),
        ("claude-sonnet-5", 1040, True),
        ("claude-haiku-4-5", 4080, False),
        ("claude-haiku-4-5", 4110, True),
    ):
        fields: Json = {"model": model, "system": [text("wxyz" * words, MARK)]}
        assert ((await split(client, "Hi", **fields))[1] > 0) is cached


async def test_a_mark_looks_back_over_20_blocks_and_no_further(client: AsyncAnthropic) -> None:
    blocks = [text("z" * 4000)]
    await ask(client, [user(blocks)], **MARK)
    near = [*blocks, *(text(str(number)) for number in range(19))]
    far = [*blocks, *(text(str(-number)) for number in range(20))]
    for content, hit in ((near, True), (far, False)):
        usage = (await ask(client, [user(content)], **MARK))["usage"]
        assert (usage["cache_read_input_tokens"] > 0) is hit


async def test_a_long_mark_before_a_short_one_writes_each_part_at_its_price(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    read, short, long, plain = await split(
        client, "x" * 4000, system=[text(SYSTEM, HOUR)], cache_control={"type": "ephemeral"}
    )
    assert (read, plain) == (0, 0)
    usage = claude.requests[0].usage
    assert usage is not None
    assert long == pytest.approx(len(SYSTEM) / 4, rel=0.05)
    assert short == pytest.approx(1000, rel=0.05)
    assert claude.cost_usd() == (short * 5 + long * 8 + usage.output * 20) / Decimal(1_000_000)


async def test_a_refused_or_failed_request_writes_no_cache(
    claude: LocalClaude, client: AsyncAnthropic
) -> None:
    system = [text(SYSTEM, MARK)]
    claude.faults.overloaded()
    for changes in ({"temperature": 1.0}, {}):
        with pytest.raises(Exception, match="Error code"):
            await split(client, "Hello", system=system, **changes)
    assert (await split(client, "Hello", system=system))[0] == 0
    assert claude.account().calls == 1


def test_a_long_prompt_costs_haiku_5_5_more_for_the_whole_request() -> None:
    model = model_named("claude-haiku-5-5")
    short = TokenUsage(uncached=40_000, read=60_000, output=1000)
    long = TokenUsage(uncached=40_001, read=60_000, output=1000)
    assert short.cost_usd(model) == Decimal("0.0051")
    assert long.cost_usd(model) == Decimal("0.0255005")
