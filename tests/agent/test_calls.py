"""The calls of one step: reads side by side, effects one by one, each answered exactly once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from agent import Agent, Context, Pause, Tool, ask_customer, hand_off, tool
from agent.calls import CASE_PASSED_ON, ONE_AT_A_TIME
from agent.case import Approval, Question, Reply
from agent.tools import ToolReturn
from bot.local.claude import Turn, call, calls, say
from tests.agent.bench import MODEL, Bench, ask, blocks, propose, results

WORDS = "The kettle from order 4502 arrived cracked."


@dataclass
class Doings:
    """Tools that write down when they begin and end. `read` waits until `together` are at it."""

    together: int = 1
    log: list[str] = field(default_factory=list[str])
    _barrier: asyncio.Barrier | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (
            tool(self.read),
            tool(self.write, kind="effect"),
            tool(self.wait_for_answer, kind="effect"),
            ask_customer,
            hand_off,
        )

    async def read(self, context: Context, *, name: str) -> str:
        """Reads."""
        self._barrier = self._barrier or asyncio.Barrier(self.together)
        self.log.append(f"read {name}")
        async with asyncio.timeout(5):
            await self._barrier.wait()
        return f"read {name}"

    async def write(self, context: Context, *, name: str) -> str:
        """Writes."""
        self.log.append(f"begin {name}")
        await asyncio.sleep(0)
        self.log.append(f"end {name}")
        return f"wrote {name}"

    async def wait_for_answer(self, context: Context) -> ToolReturn:
        """Asks before it writes."""
        self.log.append("ask")
        return Pause(question="May I?")


def doings(bench: Bench, *, together: int = 1) -> Doings:
    made = Doings(together=together)
    bench.agent = Agent(name="tried", prompt="Try.", tools=made.tools, model=MODEL)
    return made


def read(name: str) -> Turn:
    return call("read", name=name)


def write(name: str) -> Turn:
    return call("write", name=name)


async def test_reads_run_side_by_side(bench: Bench) -> None:
    doings(bench, together=3)
    bench.claude.script("kettle", [calls(read("a"), read("b"), read("c")), say("Done.")])
    await bench.open(WORDS)
    assert [each["content"] for each in results(await bench.messages())] == [
        "read a",
        "read b",
        "read c",
    ]


async def test_all_results_go_back_in_one_message_in_the_order_of_the_calls(bench: Bench) -> None:
    doings(bench)
    turn = calls(say("Let me see."), write("a"), read("b"), write("c"), read("d"))
    bench.claude.script("kettle", [turn, say("Done.")])
    await bench.open(WORDS)
    _, asked, answer, _ = await bench.messages()
    ids = [block["id"] for block in blocks(asked) if block["type"] == "tool_use"]
    assert [block.get("tool_use_id") for block in blocks(answer)] == ids
    assert [block["content"] for block in blocks(answer)] == [
        "wrote a",
        "read b",
        "wrote c",
        "read d",
    ]


async def test_effects_run_one_by_one_in_order_after_the_reads(bench: Bench) -> None:
    done = doings(bench)
    bench.claude.script("kettle", [calls(write("a"), read("b"), write("c")), say("Done.")])
    await bench.open(WORDS)
    assert done.log == ["read b", "begin a", "end a", "begin c", "end c"]


async def test_text_beside_calls_is_never_posted(bench: Bench) -> None:
    doings(bench)
    bench.claude.script("kettle", [calls(say("Secret plan."), read("a")), say("Done.")])
    await bench.open(WORDS)
    assert [each.text for each in bench.shown(Reply)] == ["Done."]
    assert "Secret plan" not in str(bench.posts)


async def test_the_first_call_that_needs_a_person_is_the_only_pause_of_its_step(
    bench: Bench,
) -> None:
    done = doings(bench)
    turn = calls(read("a"), ask("First?"), write("b"), ask("Second?"), call("wait_for_answer"))
    bench.claude.script("kettle", [turn, say("Done.")])
    await bench.open(WORDS)
    assert [each.text for each in bench.shown(Question)] == ["First?"]
    assert done.log == ["read a"]
    await bench.says("Yes.")
    await bench.go()
    first, answer, *others = results(await bench.messages())
    assert (first["content"], answer["content"]) == ("read a", "Yes.")
    assert [(each["content"], each["is_error"]) for each in others] == [(ONE_AT_A_TIME, True)] * 3
    assert done.log == ["read a"]


async def test_an_effect_before_a_question_is_done_and_one_behind_it_is_not(bench: Bench) -> None:
    done = doings(bench)
    bench.claude.script("kettle", [calls(write("a"), ask("Which?"), write("b")), say("Done.")])
    await bench.open(WORDS)
    await bench.says("This one.")
    await bench.go()
    contents = [each["content"] for each in results(await bench.messages())]
    assert contents == ["wrote a", "This one.", ONE_AT_A_TIME]
    assert done.log == ["begin a", "end a"]


async def test_of_two_refunds_that_need_a_lead_only_the_first_is_asked_for(bench: Bench) -> None:
    bench.claude.script(
        "speaker", [calls(propose(2499), propose(2100, "4480"), ask("Which?")), say("Done.")]
    )
    await bench.open("My speaker, order 4471, is broken.")
    assert len(bench.shown(Approval)) == 1
    assert await bench.refunds("4480") == []
    await bench.decide("approve")
    await bench.go()
    _, *others = results(await bench.messages())
    assert [each["content"] for each in others] == [ONE_AT_A_TIME] * 2
    assert bench.shown(Question) == []


async def test_handing_off_answers_the_other_calls_and_runs_none_behind_it(bench: Bench) -> None:
    done = doings(bench)
    turn = calls(read("a"), call("hand_off", reason="Too odd."), write("b"), ask("Which?"))
    bench.claude.script("kettle", [turn])
    await bench.open(WORDS)
    contents = [each["content"] for each in results(await bench.messages())]
    assert contents[0] == "read a"
    assert contents[2:] == [CASE_PASSED_ON] * 2
    assert done.log == ["read a"]
    assert (await bench.run()).status == "handed_off"


async def test_a_call_that_has_a_result_is_never_run_again(bench: Bench) -> None:
    done = doings(bench)
    bench.claude.script("kettle", [calls(read("a"), write("b"), ask("Which?")), say("Done.")])
    await bench.open(WORDS)
    before = list(done.log)
    await bench.go()
    await bench.says("This one.")
    await bench.go()
    assert done.log == before == ["read a", "begin b", "end b"]


async def test_the_trace_joins_each_result_to_its_call(bench: Bench) -> None:
    doings(bench)
    bench.claude.script("kettle", [calls(read("a"), ask("Which?"), write("b")), say("Done.")])
    await bench.open(WORDS)
    await bench.says("This one.")
    await bench.go()
    [step, _] = await bench.trace("step")
    noted = {each["call_id"]: each["is_error"] for each in await bench.trace("result")}
    assert [noted[each["id"]] for each in step["calls"]] == [False, False, True]
