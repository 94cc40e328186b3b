"""What goes wrong, and when: a plan made from a seed alone, and what carries it out.

A step comes after so much progress of the processes, not after a time, so that a seed does about
the same again on a slower machine. Where nothing progresses, it comes after a while all the same.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tests.faults.recovery import Recoveries
from tests.faults.world import Child, World

LOOK_SECONDS = 0.05
STALLED_SECONDS = 1.5

# How often each kind comes, beside the others.
WEIGHTS = {
    "kill": 22.0,
    "stop": 1.5,
    "restart redis": 1.0,
    "cut redis": 2.0,
    "redis answers": 1.5,
    "redis away": 0.7,
    "deliver twice": 2.0,
    "reorder": 1.2,
    "lose answers": 2.0,
    "slow posts": 1.0,
    "slack fails": 1.0,
    "slack limits": 0.5,
    "cut sockets": 0.7,
    "claude fails": 0.4,
    "claude cuts": 0.4,
    "claude is slow": 0.8,
}
REDIS_ERRORS = (
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist",
    "READONLY You can't write against a read only replica.",
    "LOADING Redis is loading the dataset in memory",
    "OOM command not allowed when used memory > 'maxmemory'.",
)
METHODS = ("chat.postMessage", "chat.update", "reactions.add", "conversations.replies")


@dataclass(frozen=True, kw_only=True)
class Step:
    """`gap` is the progress before it; the others are for its kind to use."""

    kind: str
    gap: int
    target: int
    times: int
    seconds: float
    rare: bool
    word: str


def plan(seed: int, *, gaps: tuple[int, int]) -> Iterator[Step]:
    """Endless, and the same for the same seed."""
    chance = random.Random(seed)
    kinds, weights = list(WEIGHTS), list(WEIGHTS.values())
    while True:
        (kind,) = chance.choices(kinds, weights)
        yield Step(
            kind=kind,
            gap=chance.randint(*gaps),
            target=chance.randrange(1_000),
            times=chance.randint(1, 3),
            seconds=chance.uniform(0.2, 1.0),
            rare=chance.random() < 0.1,
            word=chance.choice(REDIS_ERRORS if kind == "redis answers" else METHODS),
        )


@dataclass(kw_only=True)
class Mischief:
    """Carries a plan out, one step after the other; what lasts goes on beside the next ones.

    It begins once all processes are at work. After `most_kills` none is killed any more; `steps` is
    how far the plan is carried out, None for as long as it goes on. With `only_deaths` nothing else
    goes wrong, and a process is killed only while all the others are at work.
    """

    world: World
    seed: int
    gaps: tuple[int, int]
    most_kills: int
    steps: int | None = None
    only_deaths: bool = False
    done: list[str] = field(default_factory=list[str])
    """What was done, in words, with the progress and the second at which it was."""
    kills: int = 0
    stops: int = 0
    redis_restarts: int = 0
    recoveries: Recoveries = field(default_factory=Recoveries)
    _lasting: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def run(self) -> None:
        """To its end, or until cancelled. Then everything is put right."""
        try:
            await self._all_at_work()
            for step in islice(plan(self.seed, gaps=self.gaps), self.steps):
                if self.only_deaths:
                    if step.kind != "kill":
                        continue
                    await self._all_at_work()
                moved = await self._progress(step.gap)
                if step.kind == "kill" and not moved:
                    # So that a slow machine is not kept from ever getting anywhere.
                    continue
                await self._do(step)
        finally:
            await self.calm()

    async def calm(self) -> None:
        """Wait for what lasts, and forget all that is still to go wrong."""
        while going_on := [each for each in self._lasting if not each.done()]:
            await asyncio.wait(going_on)
        for each in self._lasting:
            each.result()
        self.world.proxy.clear()
        self.world.slack.faults.clear()
        self.world.claude.faults.clear()

    async def _all_at_work(self) -> None:
        while True:
            if all(child.at_work for child in self.world.children):
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _progress(self, gap: int) -> bool:
        """Wait for it; False when there was none at all for a while."""
        before, ends = self.world.progress, time.monotonic() + STALLED_SECONDS
        while True:
            moved = self.world.progress - before
            if moved >= gap or time.monotonic() > ends:
                return moved > 0
            await asyncio.sleep(LOOK_SECONDS)

    async def _do(self, step: Step) -> None:
        world, slack, claude = self.world, self.world.slack.faults, self.world.claude.faults
        match step.kind:
            case "kill":
                if self.kills < self.most_kills:
                    self._kill(step)
            case "stop":
                self._stop(step)
            case "restart redis":
                await self._restart_redis()
            case "cut redis":
                self._tell(f"{step.times} writes lose their answers")
                world.proxy.cut_after_write(step.times)
            case "redis answers":
                self._tell(f"{3 * step.times} commands get {step.word.partition(' ')[0]}")
                world.proxy.answer(step.word, 3 * step.times)
            case "redis away":
                self._tell(f"Redis is away for {step.seconds:.1f} s")
                self.recoveries.disturbed()
                world.proxy.refuse(step.seconds)
            case "deliver twice":
                self._tell(f"{step.times} events come twice")
                slack.deliver_twice(step.times)
            case "reorder":
                self._last(self._reorder(step.seconds))
            case "lose answers":
                method = METHODS[step.target % 2]
                self._tell(f"{step.times} answers of {method} are lost")
                slack.drop_answer(method, step.times)
            case "slow posts":
                seconds = 1 + 4 * step.seconds
                self._tell(f"a post takes {seconds:.1f} s")
                slack.slow("chat.postMessage", seconds)
            case "slack fails":
                self._tell(f"{step.word} fails {step.times} times")
                slack.server_error(step.word, step.times)
            case "slack limits":
                self._tell("Slack answers 429 for a second")
                slack.rate_limited(1.0)
            case "cut sockets":
                self._tell("Slack closes its sockets")
                await slack.disconnect_sockets(announce=step.times == 1)
            case "claude fails":
                self._tell("Claude is overloaded")
                claude.overloaded(1)
            case "claude cuts":
                self._tell("Claude's answer is cut")
                claude.cut(1)
            case _:
                self._last(self._hold_claude(step.seconds))

    # Processes

    def _kill(self, step: Step) -> None:
        # Now and then one that is only starting again; it has little to lose yet.
        child = self._one_of(step, lambda each: each.at_work or (step.rare and not each.down))
        if child is None:
            return
        self.kills += 1
        self._tell(f"{child.name} is killed")
        self._last(self._kill_and_start(child, step.seconds))

    async def _kill_and_start(self, child: Child, seconds: float) -> None:
        pid = child.process.pid or 0
        await child.kill()
        self._last(self.recoveries.measure(self.world, pid))
        await asyncio.sleep(seconds)
        await child.start()

    def _stop(self, step: Step) -> None:
        child = self._one_of(step, lambda each: each.at_work)
        if child is None:
            return
        self.stops += 1
        # Most of them past the end of a lease.
        seconds = 3 + 9 * step.seconds
        self._tell(f"{child.name} stands still for {seconds:.1f} s")
        child.stop()
        self._last(self._go_on(child, seconds))

    async def _go_on(self, child: Child, seconds: float) -> None:
        await asyncio.sleep(seconds)
        child.go_on()

    def _one_of(self, step: Step, fit: Callable[[Child], bool]) -> Child | None:
        fitting = [each for each in self.world.children if fit(each)]
        return fitting[step.target % len(fitting)] if fitting else None

    # Services

    async def _restart_redis(self) -> None:
        self.redis_restarts += 1
        self._tell("Redis is killed and started again")
        self.recoveries.disturbed()
        self.world.redis.kill()
        # To its end, also when the chaos ends meanwhile.
        await asyncio.shield(self._last(asyncio.to_thread(self.world.redis.start)))

    async def _reorder(self, seconds: float) -> None:
        self._tell(f"the events of {seconds:.1f} s come newest first")
        with self.world.slack.faults.reorder():
            await asyncio.sleep(seconds)

    async def _hold_claude(self, seconds: float) -> None:
        self._tell(f"Claude takes {2 * seconds:.1f} s")
        self.world.claude.faults.hold()
        await asyncio.sleep(2 * seconds)
        self.world.claude.faults.release()

    def _last(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Goes on beside the next steps; what it raises comes out in the end."""
        lasting = asyncio.create_task(doing)
        self._lasting.add(lasting)
        return lasting

    def _tell(self, words: str) -> None:
        self.done.append(f"{self.world.seconds:6.1f} s, {self.world.progress:5d}: {words}")
