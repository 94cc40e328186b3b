"""Stories on the page: one at a time, stopping at each person's turn until somebody says go on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agent.ports import Clock
from agent.run import Status
from bot.local.claude import Request, ScriptedTurn
from bot.local.claude import Turn as Answer
from bot.local.claude.clerk import clerk_turn
from bot.local.play.scene import Scene
from bot.local.play.stage import Stage, Turn
from bot.local.play.story import Story
from bot.local.slack.workspace import Json
from bot.local.stories import STORIES
from bot.local.workspace.background import begun
from bot.local.workspace.keeping import Marks
from bot.local.workspace.refusals import NeedsFreshError, NotHereError, NotNowError
from bot.records import agents_refunds

State = Literal["acting", "waiting", "done", "failed", "stopped"]

LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 180.0
"""How long a story waits for what should happen: somebody may make trouble meanwhile."""
_MARKUP = re.compile(r"\[/?[a-z]*\]")


class Player:
    """Plays one story at a time. `changed` is called at each change of what `as_json` shows.

    Without a `scene` none can be played: the real Claude is in use.
    """

    def __init__(
        self,
        scene: Scene | None,
        *,
        shop: Path,
        marks: Marks,
        now: Clock,
        changed: Callable[[], None],
        stories: Sequence[Story] = STORIES,
    ) -> None:
        self._scene = scene
        self._shop = shop
        self._marks = marks
        self._now = now
        self._changed = changed
        self._stories = {story.name: story for story in stories}
        self._playing: _Playing | None = None
        for name in marks.stories:
            # Their conversations may still be under way.
            self._script(self._stories[name])

    async def start(self, name: str) -> None:
        """Raises `NotHereError`, `NotNowError`, `NeedsFreshError`."""
        story, scene = self._story(name), self._scene
        if scene is None:
            raise NotNowError(_ONLY_SCRIPTED)
        if self._playing is not None and self._playing.is_on:
            raise NotNowError(f"The story “{self._playing.story.name}” is being played.")
        for order_id in story.expected.orders if self._shop.exists() else ():
            if await agents_refunds(scene.settings, order_id):
                raise NeedsFreshError(
                    f"Order {order_id} of this story was dealt with before in this workspace. Begin"
                    " anew to play it again."
                )
        if name not in self._marks.stories:
            self._marks.stories.append(name)
            self._script(story)
        self._playing = _Playing(story, scene, self._changed)
        self._playing.begin()

    async def next(self, name: str) -> None:
        """Let the person act whose turn it is."""
        self._on(name).go_on()

    async def stop(self, name: str) -> None:
        """End it where it is; the case stays as it is."""
        await self._on(name).stop()

    async def close(self) -> None:
        if self._playing is not None and self._playing.is_on:
            await self._playing.stop()

    def as_json(self) -> Json:
        why_not = _ONLY_SCRIPTED if self._scene is None else None
        return {
            "stories": [
                {
                    "name": story.name,
                    "summary": story.summary,
                    "available": why_not is None,
                    "why_not": why_not,
                }
                for story in self._stories.values()
            ],
            "playing": None if self._playing is None else self._playing.as_json(),
        }

    def _story(self, name: str) -> Story:
        if name not in self._stories:
            raise NotHereError(f"There is no story {name!r}.")
        return self._stories[name]

    def _on(self, name: str) -> _Playing:
        self._story(name)
        if self._playing is None or self._playing.story.name != name or not self._playing.is_on:
            raise NotNowError("That story isn't being played.")
        return self._playing

    def _script(self, story: Story) -> None:
        if self._scene is not None:
            for match, turns in story.scripts.items():
                self._scene.claude.script(match, [self._or_clerk(turn) for turn in turns])

    def _or_clerk(self, turn: ScriptedTurn) -> ScriptedTurn:
        """The story's turn; the clerk's where people let the conversation go another way."""
        if isinstance(turn, Answer):
            return turn

        def answer(request: Request) -> Answer:
            try:
                return turn(request)
            except (ValueError, LookupError):
                today = datetime.fromtimestamp(self._now(), UTC).date()
                return clerk_turn(request.body, today=today)

        return answer


_ONLY_SCRIPTED = (
    "Stories are played with the scripted stand-in, and the real Claude is in use here."
)


class _Playing:
    """A story under way, or how it ended."""

    def __init__(self, story: Story, scene: Scene, changed: Callable[[], None]) -> None:
        self.story = story
        self._slack = scene.slack
        self._stage = Stage(
            scene, tell=self.tell, turn=self.turn, patience_seconds=PATIENCE_SECONDS
        )
        self._changed = changed
        self._state: State = "acting"
        self._turn: Turn | None = None
        self._go_on = asyncio.Event()
        self._happened: list[str] = []
        self._failures: list[str] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def is_on(self) -> bool:
        return self._state in ("acting", "waiting")

    def begin(self) -> None:
        self._task = begun(self._play())
        self._changed()

    def go_on(self) -> None:
        if self._state != "waiting":
            raise NotNowError("Nobody's turn yet: things are under way.")
        self._go_on.set()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._state = "stopped"
            self._changed()

    def tell(self, markup: str) -> None:
        """One happening; the styles of the terminal are taken off."""
        self._happened.append(_MARKUP.sub("", markup).strip())
        self._changed()

    async def turn(self, turn: Turn) -> bool:
        """Wait until somebody says go on (False) or has done it by hand (True)."""
        self._go_on.clear()
        self._turn, self._state = turn, "waiting"
        self._changed()
        bell = self._slack.workspace.bell
        try:
            while not self._go_on.is_set():
                heard = bell.rings
                if turn.done():
                    self.tell(f"Somebody acts by hand where {turn.who} {turn.what}")
                    return True
                told = asyncio.create_task(self._go_on.wait())
                rung = asyncio.create_task(bell.wait(LOOK_SECONDS, heard=heard))
                await asyncio.wait({told, rung}, return_when=asyncio.FIRST_COMPLETED)
                told.cancel()
                rung.cancel()
            return False
        finally:
            self._turn, self._state = None, "acting"
            self._changed()

    async def _play(self) -> None:
        try:
            failure = await self._stage.play(self.story)
            self._failures = await self._not_as_expected() if failure is None else [failure]
            self._state = "failed" if self._failures else "done"
        finally:
            # A story may hold the stand-in's answers back.
            self._stage.claude.faults.release()
            if self.is_on:
                self._state = "failed"
            self._changed()

    async def _not_as_expected(self) -> list[str]:
        wanted = [str(each) for each in self.story.expected.statuses]
        seen = [str(run.status) for run, _ in await self._stage.runs()]
        return [] if wanted == seen else [f"expected runs that ended as {wanted}, saw {seen}"]

    def as_json(self) -> Json:
        turn = self._turn
        return {
            "name": self.story.name,
            "state": self._state,
            "turn": None if turn is None else self._turn_json(turn),
            "thread": self._thread_json(),
            "happened": list(self._happened),
            "failures": list(self._failures),
            "kills": self._stage.kills,
            "ends_as": [Status(each).value for each in self.story.expected.statuses],
        }

    def _turn_json(self, turn: Turn) -> Json:
        user = self._slack.person(turn.who).user
        where = turn.where
        return {
            "who": user.real_name,
            "user_id": user.id,
            "what": turn.what,
            "words": turn.words,
            "channel": where.channel if where else None,
            "ts": where.ts if where else None,
            "thread_ts": where.thread_ts if where else None,
        }

    def _thread_json(self) -> Json | None:
        root = self._stage.opened
        return None if root is None else {"channel": root.channel, "ts": root.ts}
