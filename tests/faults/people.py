"""The people of one case: they act on what they see, and do again what Slack said went wrong."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from bot.local.slack import Message, Person, View
from bot.local.slack.render import button_texts
from bot.thread import Thread
from tests.faults.world import World, customer_of

Found = TypeVar("Found")

CASES, APPROVALS = "support-cases", "approvals"
LOOK_SECONDS = 0.2
PATIENCE_SECONDS = 120.0
MODAL_SECONDS = 4.0
AGAIN_SECONDS = 45.0
"""After which a person presses a button again though the press seemed to go well."""


class Stuck(Exception):
    """Nothing happened for too long; the words say what was waited for."""


@dataclass(kw_only=True)
class Desk:
    """What all people of a round share: one pair of hands each, for modals and menus."""

    world: World
    patience_seconds: float = PATIENCE_SECONDS
    hands: dict[str, asyncio.Lock] = field(default_factory=dict[str, asyncio.Lock])
    did_again: int = 0
    """Presses that had to be repeated, since the person saw an error."""
    unanswered: int = 0
    """Presses that were acknowledged and not answered for `AGAIN_SECONDS`."""

    def hands_of(self, person: Person) -> asyncio.Lock:
        return self.hands.setdefault(person.id, asyncio.Lock())


class People:
    """Of the case with this number. `chance` decides who of them does it."""

    def __init__(self, desk: Desk, number: int, chance: random.Random | None = None) -> None:
        slack = desk.world.slack
        chance = chance or random.Random(number)
        self.desk = desk
        self.number = number
        self.slack = slack
        self.agent = slack.person(chance.choice(["Ravi", "Meena"]))
        self.leads = [slack.person(name) for name in chance.sample(["Priya", "Omar"], 2)]
        self.written: list[Message] = []
        """What they wrote in the thread, its first message included."""
        self.pressed: list[str] = []
        """Acknowledged decisions, by person."""
        self._root: Message | None = None

    @property
    def token(self) -> str:
        """In all words about this case; the scripts of the local Claude go by it."""
        return f"case-{self.number:04d}"

    @property
    def root(self) -> Message:
        assert self._root is not None
        return self._root

    @property
    def case_id(self) -> str:
        team = self.slack.workspace.team.id
        return Thread(team=team, channel=self.root.channel, ts=self.root.ts).case_id

    # Acting

    async def write_first(self, words: str) -> None:
        """Begin the thread."""
        self._root = await self.agent.post(CASES, f"{words} ({self.token})")
        self.written.append(self._root)

    async def open(self, words: str) -> None:
        """Begin the thread with the customer's words and choose whose they are."""
        await self.write_first(words)
        _, name = customer_of(self.number)

        async def choose(picker: Message) -> bool:
            try:
                return (await self.agent.choose(picker, name, option=name)).acked
            except LookupError:
                return False

        await self._press(
            self.agent,
            look=lambda: self.post_with("Whose case is this?"),
            press=choose,
            over=lambda: self.post_with("Case of") is not None,
            what="the case to begin",
        )

    async def reply(self, words: str) -> Message:
        """By the support agent, in the thread."""
        message = await self.agent.reply(self.root, words)
        self.written.append(message)
        return message

    async def decide(
        self,
        lead: Person,
        button: str,
        fields: Mapping[str, str] | None = None,
        *,
        over: Callable[[], bool] | None = None,
    ) -> None:
        """Press a button on the open card, and send in the modal that it opens, if `fields`.

        `over` tells that it needs no press any more; by itself, that no card is open.
        """
        seen: list[Message] = []

        def card() -> Message | None:
            found = self.open_card(button)
            seen.extend([found] if found else [])
            return found

        async def press(found: Message) -> bool:
            before = self._told(lead)
            done = await (
                self._submit(lead, found, button, fields)
                if fields is not None
                else self._click(lead, found, button)
            )
            # One that is refused with a private line decides nothing, and isn't kept.
            if done and self._told(lead) == before:
                self.pressed.append(lead.id)
            return done

        await self._press(
            lead,
            look=card,
            press=press,
            over=over or (lambda: bool(seen) and self.open_card(button) is None),
            what=f"the card to take {button!r}",
        )

    # Seeing

    async def until(self, look: Callable[[], Found | None], what: str) -> Found:
        """Raises `Stuck` when patience is over."""
        ends = self._patience_ends()
        while True:
            found = look()
            if found:
                return found
            if _now() > ends:
                raise self._stuck(what)
            await asyncio.sleep(LOOK_SECONDS)

    async def sees(self, words: str) -> Message:
        """A post of the bot's in the thread with these words."""
        return await self.until(lambda: self.post_with(words), f"{words!r} in the thread")

    async def status(self, reaction: str) -> None:
        await self.until(
            lambda: self.slack.reactions(self.root) == [reaction], f"the reaction {reaction}"
        )

    def posts(self) -> list[Message]:
        """The bot's posts in the thread, oldest first."""
        return [each for each in self.slack.thread(self.root) if each.app_id]

    def post_with(self, words: str) -> Message | None:
        return next((each for each in self.posts() if words in each.text), None)

    def cards(self) -> list[Message]:
        """This case's messages in the approvals channel."""
        return [
            each
            for each in self.slack.messages(APPROVALS)
            if each.metadata and each.metadata["event_payload"].get("case_id") == self.case_id
        ]

    def open_card(self, button: str = "Approve") -> Message | None:
        return next((each for each in self.cards() if button in button_texts(each.blocks)), None)

    def _patience_ends(self) -> float:
        return _now() + self.desk.patience_seconds

    def _stuck(self, what: str) -> Stuck:
        pictures = [self.slack.render(each) for each in self.cards()] if self._root else []
        if self._root:
            pictures.insert(0, self.slack.render(self._root))
        waited = f"{self.token}: waited {self.desk.patience_seconds:.0f} s for {what}"
        return Stuck("\n".join([waited, *pictures]))

    def _told(self, person: Person) -> int:
        """How often the bot wanted to tell them something privately."""
        return sum(
            each.method == "chat.postEphemeral" and each.args.get("user") == person.id
            for each in self.slack.calls
        )

    # Pressing

    async def _press(
        self,
        person: Person,
        *,
        look: Callable[[], Message | None],
        press: Callable[[Message], Awaitable[bool]],
        over: Callable[[], bool],
        what: str,
    ) -> None:
        """Press what is seen until it is over: again after an error, or when it looks new."""
        ends = self._patience_ends()
        while True:
            await self.until(lambda: over() or look() is not None, what)
            if over():
                return
            if _now() > ends:
                raise self._stuck(what)
            told = len(person.private)
            async with self.desk.hands_of(person):
                found = look()
                if over() or found is None:
                    continue
                acked = await press(found)
            if not acked:
                self.desk.did_again += 1
                await asyncio.sleep(0.5)
                continue
            await self._answered(person, found, told, look, over)

    async def _answered(
        self,
        person: Person,
        before: Message,
        told: int,
        look: Callable[[], Message | None],
        over: Callable[[], bool],
    ) -> None:
        """The press shows: in what was pressed, in a private line, or not at all for long."""
        ends = _now() + AGAIN_SECONDS
        while _now() < ends:
            now = look()
            if over() or now is None or now.blocks != before.blocks:
                return
            if len(person.private) > told:
                return
            await asyncio.sleep(LOOK_SECONDS)
        self.desk.unanswered += 1

    async def _click(self, lead: Person, card: Message, button: str) -> bool:
        try:
            return (await lead.click(card, button)).acked
        except LookupError:  # it changed in this moment
            return False

    async def _submit(
        self, lead: Person, card: Message, button: str, fields: Mapping[str, str]
    ) -> bool:
        await self._click(lead, card, button)
        modal = await self._modal(lead)
        if modal is None:
            return False
        sent = await lead.fill_and_submit(fields)
        if not sent.accepted and lead.modal is not None:
            await lead.close_modal()
        return sent.accepted

    async def _modal(self, lead: Person) -> View | None:
        """This case's form, when it opens; one of another case is closed."""
        ends = _now() + MODAL_SECONDS
        while _now() < ends:
            modal = lead.modal
            if modal is not None:
                private = json.loads(modal.definition.get("private_metadata") or "{}")
                if private.get("case_id") == self.case_id:
                    return modal
                await lead.close_modal()
            await asyncio.sleep(LOOK_SECONDS)
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()
