"""One drain of one case's outbox: each post to its place, each exactly once.

Slack has no idempotency key, so every message carries its post's id as metadata. Whenever a send's
outcome isn't known (no answer came, or a former owner of the case may have sent it), the place is
read back before anything is posted again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agent.case import (
    Approval,
    ApprovalReminder,
    Handoff,
    Line,
    Notice,
    Offer,
    Opened,
    Opening,
    Post,
    PrivateLine,
    Reaction,
)
from agent.errors import LeaseLost
from agent.ports import CaseStore, Lease, OutboxEntry, Posted
from bot.actions import POST_METADATA
from bot.asides import react, tell_privately, whisper
from bot.cards.draw import draw
from bot.cards.line import notice, outcome_line
from bot.cards.message import Audience, Message
from bot.cards.new_case import offer, opened
from bot.doubles import keep_one
from bot.opening import open_case
from bot.sends import CLOCK_DIFFERENCE_SECONDS, Attempt, Memory, Spot, message_id_of, post_of
from bot.slack_calls import (
    CALL_TIMEOUT_SECONDS,
    Identity,
    OwnMessage,
    Refused,
    SlackCalls,
    TryLater,
)
from bot.thread import Thread, permalink

log = logging.getLogger(__name__)

_NOWHERE: Final = Posted(channel="", message_id="")
# Slack takes the message without its blocks.
_TOO_MUCH = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"}
)


class _DeadRoot(Exception):
    """The thread has lost its first message; nothing of the post is in it."""


@dataclass(kw_only=True)
class Delivery:
    """Made for one drain; what must outlive it is in `memory`. `identity` is learnt when needed."""

    calls: SlackCalls
    store: CaseStore
    audience: Audience
    now: Callable[[], float]
    lease: Lease
    on_dead_root: Callable[[str], Awaitable[None]]
    memory: Memory
    identity: Identity | None

    def __post_init__(self) -> None:
        self._thread = Thread.parse(self.lease.case_id)
        self._in_thread = Spot(channel=self._thread.channel, thread_ts=self._thread.ts)
        self._read: dict[Spot, tuple[float, list[OwnMessage]]] = {}

    async def send_all(self, entries: Sequence[OutboxEntry]) -> None:
        """Send them in this order and mark what went out as sent, in one write at the end.

        A process that dies in between leaves what it sent unmarked: as after any death, the next
        owner finds it by reading back. Where only the marking fails, it is in `memory` for this
        process's next try. Raises `TryLater`, `LeaseLost` and the store's.
        """
        out = self.memory.out
        try:
            for entry in entries:
                if entry.post.post_id in out:
                    continue
                out[entry.post.post_id] = await self._send_one(entry)
                self.memory.failures = 0
                self.memory.done.clear()
                self.memory.sweep.clear()
        finally:
            if out:
                await self.store.sent(self.lease, out)
                out.clear()

    async def _send_one(self, entry: OutboxEntry) -> Posted:
        post = entry.post
        match post.content:
            case PrivateLine():
                await tell_privately(self.calls, post.content, case_id=self.lease.case_id)
                return _NOWHERE
            case Notice():
                return await self._tell_staff(entry, post.content.text, post.content.to)
            case Reaction():
                await react(self.calls, self._thread, post.content)
                return _NOWHERE
            case Opening():
                return await self._open(entry, post.content)
            case Opened():
                return await self._tell_asker(entry, post.content)
            case Offer():
                message = offer(post.content)
                return await self._tell_one(entry, post.content.user, post.content.place, message)
            case _ if post.update_of is not None:
                return await self._change(entry, post.update_of)
            case _:
                return await self._post(entry)

    # New posts

    async def _post(self, entry: OutboxEntry) -> Posted:
        for spot in self._spots(entry.post):
            try:
                if spot == self._in_thread and self.memory.dead_root:
                    return await self._post_elsewhere(entry)
                return await self._post_all(entry, spot, await self._drawn(entry.post, spot))
            except _DeadRoot:
                return await self._post_elsewhere(entry)
            except Refused as refused:
                _log_refused(entry.post, refused)
        return _NOWHERE

    def _spots(self, post: Post) -> Sequence[Spot]:
        """The best first. A card that nobody sees would wait for ever: it has a second one."""
        root = self._approvals_root()
        if isinstance(post.content, Approval | ApprovalReminder) and root:
            return (root, self._in_thread)
        return (self._in_thread,)

    def _approvals_root(self) -> Spot | None:
        """None also when that is the case's own channel, whose root is no place for posts."""
        channel = self.audience.approvals_channel
        if not channel or channel == self._thread.channel:
            return None
        return Spot(channel=channel, thread_ts=None)

    async def _drawn(self, post: Post, spot: Spot) -> list[Message]:
        link = None
        if (
            isinstance(post.content, Approval | ApprovalReminder)
            and spot.channel != self._thread.channel
        ):
            url = (await self._who_we_are()).url
            link = permalink(url, self._thread.channel, self._thread.ts)
        return draw(
            post.content,
            case_id=self.lease.case_id,
            audience=self.audience,
            link=link,
            post_id=post.post_id,
        )

    async def _post_all(
        self, entry: OutboxEntry, spot: Spot, messages: Sequence[Message]
    ) -> Posted:
        """The place of the last one, which has the buttons."""
        posted = _NOWHERE
        for number, message in enumerate(messages, start=1):
            posted = await self._post_one(
                entry, message_id_of(entry.post.post_id, number), spot, message
            )
        return posted

    async def _post_one(
        self, entry: OutboxEntry, message_id: str, spot: Spot, message: Message
    ) -> Posted:
        posted = self.memory.done.get(message_id) or await self._found(entry, message_id, spot)
        if posted is None:
            try:
                posted = await self._send(message_id, spot, message)
            except Refused as refused:
                if refused.error not in _TOO_MUCH:
                    raise
                _log_refused(entry.post, refused)
                posted = await self._send(message_id, spot, Message(text=message.text, blocks=()))
        self.memory.done[message_id] = posted
        return posted

    async def _send(self, message_id: str, spot: Spot, message: Message) -> Posted:
        unsure = self.memory.unsure
        began = self.now()
        attempt = unsure[message_id] = Attempt(began=began, ended=began)
        try:
            answer = await self.calls.call(
                "chat.postMessage",
                channel=spot.channel,
                thread_ts=spot.thread_ts,
                **self._shown(message_id, message),
                unfurl_links=False,
                unfurl_media=False,
            )
        except TryLater as later:
            if not later.unsure:
                del unsure[message_id]
            raise
        except (Refused, LeaseLost) as nothing_sent:
            del unsure[message_id]
            if isinstance(nothing_sent, Refused) and nothing_sent.error == "thread_not_found":
                raise _DeadRoot from nothing_sent
            raise
        finally:
            attempt.ended = self.now()
        del unsure[message_id]
        if spot.thread_ts is not None and not answer["message"].get("thread_ts"):
            self.memory.strays.add(str(answer["ts"]))
            raise _DeadRoot
        return Posted(channel=str(answer["channel"]), message_id=str(answer["ts"]))

    def _shown(self, message_id: str, message: Message) -> dict[str, Any]:
        payload = {"post_id": message_id, "case_id": self.lease.case_id}
        return {
            "text": message.text,
            "blocks": list(message.blocks) or None,
            "metadata": {"event_type": POST_METADATA, "event_payload": payload},
        }

    # What was asked for outside a thread

    async def _open(self, entry: OutboxEntry, content: Opening) -> Posted:
        """The new thread's first message; its case knows all before the post counts as sent."""
        root = Spot(channel=self._thread.channel, thread_ts=None)
        try:
            posted = await self._post_all(entry, root, await self._drawn(entry.post, root))
        except Refused as refused:
            _log_refused(entry.post, refused)
            return _NOWHERE
        await open_case(self.store, content.asked, posted, team=self._thread.team)
        return posted

    async def _tell_asker(self, entry: OutboxEntry, content: Opened) -> Posted:
        root = await self._posted(content.opening)
        link = None
        if root is not None and root.message_id:
            link = permalink((await self._who_we_are()).url, root.channel, root.message_id)
        message = opened(content, channel=self._thread.channel, link=link)
        return await self._tell_one(entry, content.user, content.place, message)

    async def _tell_one(
        self, entry: OutboxEntry, user: str, place: str, message: Message
    ) -> Posted:
        """At a place, for this person alone; where that can't be, by direct message."""
        if place and await whisper(self.calls, user, place, message):
            return _NOWHERE
        try:
            (spot,) = await self._direct([user])
            return await self._post_one(entry, entry.post.post_id, spot, message)
        except Refused as refused:
            _log_refused(entry.post, refused)
            return _NOWHERE

    # Was it sent before?

    async def _found(self, entry: OutboxEntry, message_id: str, spot: Spot) -> Posted | None:
        """Where the message is, if an earlier send of it may have arrived and did."""
        memory = self.memory
        unsure = memory.unsure.get(message_id)
        foreign = entry.token < memory.known_from and message_id not in memory.looked
        if unsure is None and not foreign:
            return None
        ended = unsure.ended if unsure is not None else 0.0
        not_before = CALL_TIMEOUT_SECONDS + max(memory.since if foreign else 0.0, ended)
        if self.now() < not_before:
            raise TryLater(f"{message_id} may be on its way", at=not_before)
        if spot == self._in_thread:
            memory.sweep.add(message_id)
        oldest = self._since(entry.post)
        if unsure is not None and not foreign:
            oldest = max(oldest, unsure.began - CLOCK_DIFFERENCE_SECONDS)
        messages = await self._read_back(spot, oldest)
        memory.looked.add(message_id)
        memory.unsure.pop(message_id, None)
        for message in messages:
            if message.post_id == message_id:
                return Posted(channel=spot.channel, message_id=message.ts)
        return None

    def _since(self, post: Post) -> float:
        """The time before which nothing of this post can have been sent, by Slack's clock."""
        if isinstance(post.content, Opening | Opened | Offer):
            return post.content.asked_at - CLOCK_DIFFERENCE_SECONDS
        return float(self._thread.ts)

    async def _read_back(self, spot: Spot, oldest: float) -> list[OwnMessage]:
        """This case's messages there, each once: doubles are deleted."""
        if spot in self._read and self._read[spot][0] <= oldest:
            return self._read[spot][1]
        try:
            found = await self._own_messages(spot, oldest)
        except Refused as refused:
            if spot == self._in_thread and refused.error == "thread_not_found":
                raise _DeadRoot from refused
            raise
        together: dict[str, list[OwnMessage]] = {}
        for message in found:
            together.setdefault(message.post_id, []).append(message)
        kept = [
            await keep_one(self.calls, spot.channel, same, await self._posted(post_of(message_id)))
            if len(same) > 1
            else same[0]
            for message_id, same in together.items()
        ]
        self._read[spot] = (oldest, kept)
        return kept

    async def _posted(self, post_id: str) -> Posted | None:
        here = self.memory.out.get(post_id)
        return here or await self.store.posted(self.lease.case_id, post_id)

    async def _own_messages(self, spot: Spot, oldest: float) -> list[OwnMessage]:
        identity = await self._who_we_are()
        found = await self.calls.own_messages(identity, spot.channel, spot.thread_ts, oldest=oldest)
        return [message for message in found if message.case_id == self.lease.case_id]

    async def _who_we_are(self) -> Identity:
        if self.identity is None:
            self.identity = await self.calls.identity()
        return self.identity

    # A thread without its first message

    async def _post_elsewhere(self, entry: OutboxEntry) -> Posted:
        """Clear up what was posted at the channel's root; staff read elsewhere what they need."""
        memory = self.memory
        memory.dead_root = True
        await self._clear_root()
        if not memory.told_dead_root:
            await self.on_dead_root(self.lease.case_id)
            memory.told_dead_root = True
        match entry.post.content:
            case Handoff() as content:
                unsaid = f"\nNot passed on to the customer: {content.text}" if content.text else ""
                text = f"{content.run_id}: {content.reason}{unsaid}"
                return await self._tell_staff(entry, text, content.openers)
            case Line() as content:
                record = await self.store.case(self.lease.case_id)
                openers = record.case.openers if record and record.case else ()
                return await self._tell_staff(entry, content.text, openers)
            case _:
                return _NOWHERE

    async def _clear_root(self) -> None:
        memory, channel = self.memory, self._thread.channel
        if memory.sweep:
            at_root = Spot(channel=channel, thread_ts=None)
            for message in await self._own_messages(at_root, float(self._thread.ts)):
                if message.post_id in memory.sweep and message.thread_ts is None:
                    memory.strays.add(message.ts)
            memory.sweep.clear()
        for ts in sorted(memory.strays):
            await self.calls.delete(channel, ts)
            memory.strays.discard(ts)

    async def _tell_staff(self, entry: OutboxEntry, text: str, openers: Sequence[str]) -> Posted:
        """In the approvals channel; without one, in the openers' direct messages."""
        root = self._approvals_root()
        shared = notice(
            text, channel=self._thread.channel, to=self.audience.on_duty(openers) if root else ()
        )
        posted = _NOWHERE
        try:
            for number, spot in enumerate([root] if root else await self._direct(openers), start=1):
                message_id = message_id_of(entry.post.post_id, number)
                posted = await self._post_one(entry, message_id, spot, shared)
        except Refused as refused:
            _log_refused(entry.post, refused)
        return posted

    async def _direct(self, people: Sequence[str]) -> Sequence[Spot]:
        if not people:
            log.error("nobody to tell about case %s", self.lease.case_id)
        answers = [await self.calls.call("conversations.open", users=person) for person in people]
        return [Spot(channel=str(answer["channel"]["id"]), thread_ts=None) for answer in answers]

    # Changes, reactions, private lines

    async def _change(self, entry: OutboxEntry, update_of: str) -> Posted:
        """Repeatable, so no reading back. A target that left no message is nothing to change."""
        target = await self._posted(update_of)
        if target is None or not target.message_id:
            return _NOWHERE
        at_target = Spot(channel=target.channel, thread_ts=None)
        message = (await self._drawn(entry.post, at_target))[-1]
        try:
            await self.calls.call(
                "chat.update",
                channel=target.channel,
                ts=target.message_id,
                **self._shown(update_of, message),
            )
        except Refused as refused:
            log.warning("Slack won't change %s: %s", update_of, refused.error)
            if isinstance(entry.post.content, Approval):
                return await self._post_instead(entry, entry.post.content, target)
            return _NOWHERE
        return target

    async def _post_instead(self, entry: OutboxEntry, content: Approval, target: Posted) -> Posted:
        """A short line with the outcome; a card that is still open is posted anew."""
        in_thread = target.channel == self._thread.channel
        spot = self._in_thread if in_thread else Spot(channel=target.channel, thread_ts=None)
        try:
            if content.card.outcome:
                messages = [outcome_line(content.card.title, content.card.outcome)]
            else:
                messages = await self._drawn(entry.post, spot)
            return await self._post_all(entry, spot, messages)
        except _DeadRoot:
            return await self._post_elsewhere(entry)
        except Refused as refused:
            _log_refused(entry.post, refused)
            return _NOWHERE


def _log_refused(post: Post, refused: Refused) -> None:
    log.error("Slack refuses post %s (%s): %s", post.post_id, post.content.kind, refused.error)
