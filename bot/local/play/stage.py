"""What a story's people can do, and what they can wait to see.

People act on what they see: they find the picker, the buttons and the modals by their words.
Nothing here sleeps; every wait is for a condition and has an end.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from agent.errors import ConfigurationError, StoreError
from agent.run import Json, Run, Status
from bot.cards.case import REACTIONS
from bot.local.play.scene import Scene
from bot.local.play.story import Story
from bot.local.slack import Message, Upload
from bot.local.slack.render import button_texts
from bot.records import read_records
from bot.thread import Thread

Found = TypeVar("Found")

WAIT_SECONDS = 30.0
CASES, APPROVALS = "support-cases", "approvals"

_STATUS_LINES = {Status.DONE: ": Done.", Status.HANDED_OFF: ": With a colleague."}


class UnmetError(Exception):
    """Something that should have happened didn't; the words say what, and what was seen."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Somebody is about to act: `who` does `what`, typing `words` where there are any. `where` is
    the message to look at; `done` tells that somebody did it by hand meanwhile."""

    who: str
    what: str
    words: str = ""
    where: Message | None = None
    done: Callable[[], bool] = lambda: False


async def act_at_once(_: Turn) -> bool:
    """Nobody waits between the turns."""
    return False


class Stage:
    """One story's view of the local workspace. `tell` prints what happens as it happens.

    `turn` is awaited before each person's act; True when the act was done by hand meanwhile.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        tell: Callable[[str], None],
        turn: Callable[[Turn], Awaitable[bool]] = act_at_once,
        patience_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.slack = scene.slack
        self.claude = scene.claude
        self.settings = scene.settings
        self._process = scene.process
        self._tell = tell
        self._turn = turn
        self._patience_seconds = patience_seconds
        self._root: Message | None = None
        self._seen_requests = len(scene.claude.requests)
        self._seen_questions = 0
        self.kills = 0

    async def play(self, story: Story) -> str | None:
        """Start the bot where it is down, and let the story's people act; in words what should
        have happened and didn't."""
        try:
            if self._process.is_down:
                await self.start_bot()
            await story.act(self)
        except (UnmetError, LookupError, PermissionError, ConfigurationError, StoreError) as error:
            return str(error)
        return None

    # People ------------------------------------------------------------------------------------

    async def open_case(
        self, by: str, words: str, *, customer: str, photos: Sequence[Upload] = ()
    ) -> None:
        """Post the customer's words in the case channel, then choose whose case it is."""
        person = self.slack.person(by)
        await self._turn(Turn(who=by, what=f"posts the customer's words in #{CASES}", words=words))
        self._root = await person.post(CASES, words, files=photos)
        picker = await self.until(
            lambda: self._own_post("Whose case is this?"), "the customer picker in the thread"
        )
        choosing = Turn(
            who=by,
            what=f"chooses {customer} as the customer",
            where=picker,
            done=lambda: self._own_post("Whose case is this?") is None,
        )
        if not await self._turn(choosing):
            first_name = customer.partition(" ")[0]
            choice = await person.choose(picker, first_name, option=customer)
            self.check(choice.acked, f"{customer} can be chosen", str(choice.error))
        self._tell(f"{by} posts the customer's words and chooses {customer}")

    async def relay(self, by: str, words: str, *, photos: Sequence[Upload] = ()) -> None:
        """Answer in the thread."""
        photo = " with a photo" if photos else ""
        if not await self._turn(self._writing(by, f"relays the customer's answer{photo}", words)):
            await self.slack.person(by).reply(self.root, words, files=photos)
        self._tell(f"{by} relays the customer's answer{photo}")

    async def note_by_staff(self, by: str, words: str) -> None:
        """Write in the thread of a case that was handed off; the bot hears it and keeps quiet."""
        if not await self._turn(self._writing(by, "writes a note in the thread", words)):
            await self.slack.person(by).reply(self.root, words)
        await self.until(lambda: not self.slack.sockets.unacknowledged, "the words to be taken in")
        self._tell(f"{by} writes in the thread; the bot keeps quiet")

    async def approve(self, by: str, card: Message) -> None:
        if await self._turn(self._pressing(by, "Approve", card)):
            return
        clicked = await self.slack.person(by).click(card, "Approve")
        self.check(clicked.acked, "the click is acknowledged", str(clicked.error))
        self._tell(f"{by} presses Approve")
        await self._card_closed(card, "Approved", by)

    async def decline(self, by: str, card: Message, note: str) -> None:
        if await self._turn(self._pressing(by, "Decline", card, note)):
            return
        person = self.slack.person(by)
        clicked = await person.click(card, "Decline")
        self.check(clicked.acked, "the click is acknowledged", str(clicked.error))
        await self.until(lambda: person.modal, "the modal for a note")
        sent = await person.fill_and_submit({"Note": note})
        self.check(sent.accepted, "the note is taken", f"{sent.error} {dict(sent.errors)}")
        self._tell(f"{by} declines with a note")
        await self._card_closed(card, "Declined", by)

    async def press(self, by: str, button: str) -> None:
        """Press a button in the thread, the newest with that text."""
        found = next(
            (each for each in reversed(self.own_posts) if button in button_texts(each.blocks)), None
        )
        if found is None:
            raise UnmetError(f"expected a button {button!r} in the thread")
        if await self._turn(self._pressing(by, button, found)):
            return
        clicked = await self.slack.person(by).click(found, button)
        self.check(clicked.acked, "the click is acknowledged", str(clicked.error))
        self._tell(f"{by} presses “{button}”")

    # What they see -----------------------------------------------------------------------------

    @property
    def opened(self) -> Message | None:
        """The thread's first message; None before the story has one."""
        return self._root

    @property
    def root(self) -> Message:
        """The thread's first message."""
        if self._root is None:
            raise UnmetError("expected a thread; the story has opened none")
        return self._root

    @property
    def own_posts(self) -> list[Message]:
        """The bot's posts in the thread, oldest first."""
        return [each for each in self.slack.thread(self.root) if each.bot_id]

    @property
    def card_message(self) -> Message | None:
        """This case's newest card in the approvals channel."""
        cards = [each for each in self.slack.messages(APPROVALS) if each.ts > self.root.ts]
        return cards[-1] if cards else None

    async def question(self) -> Message:
        """The next question to the customer, once it is in the thread."""
        self._seen_questions += 1

        def asked() -> Message | None:
            found = [each for each in self.own_posts if "Question for the customer" in each.text]
            return found[self._seen_questions - 1] if len(found) >= self._seen_questions else None

        found = await self.until(asked, "a question to the customer in the thread")
        self._tell("the agent asks the customer, and waits")
        return found

    async def card(self) -> Message:
        """The approval card with its buttons."""

        def shown() -> Message | None:
            card = self.card_message
            return card if card and "Approve" in button_texts(card.blocks) else None

        found = await self.until(shown, "an approval card with buttons")
        self._tell("a card in #approvals asks the leads, and the agent waits")
        return found

    async def ends(self, status: Status) -> None:
        """The thread shows that the run ended so: reaction, status line, last words."""
        reaction = REACTIONS[status.value]

        def shown() -> bool:
            line = self._own_post(_STATUS_LINES[status])
            return self.slack.reactions(self.root) == [reaction] and line is not None

        await self.until(shown, f"the thread to show {status}")

    def picture(self) -> str:
        """The thread as plain text; "" before there is one."""
        return self.slack.render(self._root) if self._root else ""

    # The bot's process and its store -----------------------------------------------------------

    def hold_claude(self) -> None:
        """From now on the stand-in answers only one request for each `model_call`."""
        self.claude.faults.hold()

    async def model_call(self, *, kill: str | None = None) -> None:
        """Wait for the next request to Claude and let it be answered.

        With `kill` (words for when) the bot is killed while it waits for the answer and started
        again, and the request that it then makes anew is answered.
        """
        await self._next_request()
        if kill is not None:
            await self.kill_bot(kill)
            await self._next_request()
        self.claude.faults.release()
        self.claude.faults.hold()

    async def kill_bot(self, when: str) -> None:
        """`kill -9`, and a new process; returns when it is connected."""
        self.kills += 1
        await self._process.kill()
        await self.until(lambda: not self.slack.sockets.connected, "the dead bot's socket to close")
        self._tell(f"[bad]✗[/] the bot is killed with -9 {when}")
        seconds = await self.start_bot()
        self._tell(f"[good]✓[/] a new one starts ({seconds:.1f} s) and goes on")

    async def start_bot(self) -> float:
        """Start it and wait until it is connected to Slack; how many seconds that took."""
        began = time.monotonic()
        await self._process.start()
        await self.until(lambda: self.slack.sockets.connected, "the bot to connect")
        return time.monotonic() - began

    async def runs(self) -> list[tuple[Run, Sequence[Json]]]:
        """This case's runs as the store has them, oldest first, each with its trace."""
        if self._root is None:
            return []
        store = read_records(self.settings)
        try:
            lines = [line async for line in store.runs() if line.run.case_id == self.case_id]
            return [(line.run, await store.trace(line.run.run_id)) for line in reversed(lines)]
        finally:
            await store.close()

    @property
    def case_id(self) -> str:
        team = self.slack.workspace.team.id
        return Thread(team=team, channel=self.root.channel, ts=self.root.ts).case_id

    # Turns -------------------------------------------------------------------------------------

    def _writing(self, by: str, what: str, words: str) -> Turn:
        def written() -> int:
            return sum(each.bot_id is None for each in self.slack.thread(self.root))

        before = written()
        return Turn(
            who=by, what=what, words=words, where=self.root, done=lambda: written() > before
        )

    def _pressing(self, by: str, button: str, where: Message, note: str = "") -> Turn:
        def is_gone() -> bool:
            now = self.slack.message(where)
            return now is None or button not in button_texts(now.blocks)

        what = f"presses “{button}”{' and writes a note' if note else ''}"
        return Turn(who=by, what=what, words=note, where=where, done=is_gone)

    # Waiting and checking ----------------------------------------------------------------------

    async def until(self, predicate: Callable[[], Found | None], what: str) -> Found:
        """The predicate's value once it is true. Raises `UnmetError` with what was seen instead."""

        def looked() -> Found | None:
            if self._process.exit_code is not None and self._process.exit_code != -9:
                raise UnmetError(
                    f"expected {what}; the bot ended with exit {self._process.exit_code}"
                )
            return predicate()

        try:
            found = await self.slack.until(looked, timeout_seconds=self._patience_seconds)
        except AssertionError:
            found = None
        if found is None:
            raise UnmetError(f"expected {what} within {self._patience_seconds:.0f} s")
        return found

    def check(self, holds: object, expected: str, seen: str) -> None:
        """Raises `UnmetError` unless it holds."""
        if not holds:
            raise UnmetError(f"expected {expected}, saw {seen}")

    async def _next_request(self) -> None:
        seen = self._seen_requests
        await self.until(lambda: len(self.claude.requests) > seen, "a request to Claude")
        self._seen_requests = len(self.claude.requests)

    def _own_post(self, words: str) -> Message | None:
        return next((each for each in self.own_posts if words in each.text), None)

    async def _card_closed(self, card: Message, verdict: str, by: str) -> None:
        """The card itself shows who decided and has no buttons any more."""
        words = f"*{verdict}* by <@{self.slack.person(by).id}>"

        def closed() -> bool:
            now = self.slack.message(card)
            return now is not None and words in now.text and not button_texts(now.blocks)

        await self.until(closed, f"the card to show “{verdict} by {by}” and no buttons")
