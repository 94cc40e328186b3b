"""Trouble at a click: what can go wrong in a real deployment, made to happen here."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from bot.local.claude import LocalClaude
from bot.local.slack import LocalSlack
from bot.local.slack.workspace import Json
from bot.local.workspace.clock import FileClock
from bot.local.workspace.folder import StateFolder
from bot.local.workspace.refusals import NotHereError, NotNowError
from bot.local.workspace.supervisor import WatchedBot

SLACK_SECONDS = 10.0
CLAUDE_SECONDS = 30.0
KEPT_HAPPENINGS = 50
LOG_LINES = 40


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One button. `run` raises `NotNowError`."""

    name: str
    label: str
    hint: str
    run: Callable[[], Awaitable[None]]
    why_not: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Jump:
    """A step of the workspace's clock."""

    name: str
    span: str
    seconds: float
    hint: str
    told: str


_JUMPS = (
    _Jump(
        name="clock-1m",
        span="1 minute",
        seconds=60,
        hint="Whatever is tried again after a while is due then; faults that last are over.",
        told="A minute has passed.",
    ),
    _Jump(
        name="clock-4h",
        span="4 hours",
        seconds=4 * 3_600,
        hint="Long enough for a reminder of a question or a card that nobody answered.",
        told="Four hours have passed.",
    ),
    _Jump(
        name="clock-3d",
        span="3 days",
        seconds=72 * 3_600,
        hint="Long enough for a question or a card to expire.",
        told="Three days have passed.",
    ),
)


class Troubles:
    """What was made to go wrong, and what still lasts, by the workspace's clock: a jump of it may
    end that. `changed` is called at each change."""

    def __init__(
        self,
        *,
        slack: LocalSlack,
        claude: LocalClaude | None,
        clock: FileClock,
        folder: StateFolder,
        changed: Callable[[], None],
    ) -> None:
        self._slack = slack
        self._claude = claude
        self._clock = clock
        self._folder = folder
        self._changed = changed
        self._slack_until = 0.0
        self._claude_until = 0.0
        self._happened: deque[Json] = deque(maxlen=KEPT_HAPPENINGS)
        self.bot: WatchedBot | None = None
        """Set once the process is made, whose happenings are told here."""

    # Doing

    def tell(self, text: str) -> None:
        self._happened.append({"at": self._clock(), "text": text})
        self._changed()

    async def make(self, name: str) -> None:
        """Raises `NotHereError` for an unknown kind and `NotNowError`."""
        kind = next((each for each in self.kinds() if each.name == name), None)
        if kind is None:
            raise NotHereError(f"There is no trouble {name!r}.")
        if kind.why_not is not None:
            raise NotNowError(kind.why_not)
        await kind.run()
        self._changed()

    def kinds(self) -> list[Kind]:
        up = self._bot.state != "down"
        down = None if up else "The bot is down already."
        return [
            Kind(
                name="restart",
                label="Restart the bot",
                hint="As a deploy does: it finishes what is under way, stops, and starts anew.",
                run=self._bot.restart,
            ),
            Kind(
                name="kill",
                label="Kill the bot",
                hint="kill -9, with no chance to save anything. It stays down until you start it.",
                run=self._bot.kill,
                why_not=down,
            ),
            Kind(
                name="start",
                label="Start the bot",
                hint="What happened while it was down is delivered to it now.",
                run=self._bot.start,
                why_not="The bot is up already." if up else None,
            ),
            Kind(
                name="deliver-twice",
                label="Deliver the last event twice",
                hint="Slack sends the newest event again, as if its acknowledgement had got lost.",
                run=self._deliver_twice,
            ),
            Kind(
                name="slack-limited",
                label="Slack answers 429 for 10 s",
                hint="Every call of the bot is turned away with Retry-After.",
                run=self._limit_slack,
            ),
            Kind(
                name="claude-overloaded",
                label="Claude is overloaded for 30 s",
                hint="Every model call is answered with 529.",
                run=self._overload_claude,
                why_not=None if self._claude else "The real Claude is in use here.",
            ),
            Kind(
                name="payment-unknown",
                label="The next payment times out after paying",
                hint="The money moves, and the answer that says so gets lost.",
                run=self._lose_answer,
            ),
            *(
                Kind(
                    name=jump.name,
                    label=f"Jump {jump.span} ahead",
                    hint=jump.hint,
                    run=partial(self._jump, jump),
                )
                for jump in _JUMPS
            ),
            Kind(
                name="calm",
                label="End all of it",
                hint="Faults end at once; the clock stays where it is.",
                run=self._calm,
            ),
        ]

    # Looking

    def faults(self) -> list[Json]:
        """What lasts at the moment."""
        found: list[Json] = []
        for kind, label, until in (
            ("slack-limited", "Slack answers 429", self._slack_until),
            ("claude-overloaded", "Claude is overloaded", self._claude_until),
        ):
            if (left := until - self._clock()) > 0:
                found.append(_fault(kind, label, seconds_left=left))
        if self._folder.lost_answer.exists():
            words = "The next payment times out after paying"
            found.append(_fault("payment-unknown", words, uses_left=1))
        return found

    def as_json(self) -> Json:
        bot, sockets = self._bot, self._slack.sockets
        return {
            "bot": {
                "up": bot.state == "up",
                "connected": sockets.connected > 0,
                "pid": bot.pid if bot.state != "down" else None,
                "exit_code": bot.exit_code,
                "state": bot.state,
                "starts": bot.starts,
                "kills": bot.kills,
                "up_seconds": bot.up_seconds,
            },
            "clock": {"offset_seconds": self._clock.offset_seconds, "now": self._clock()},
            "faults": self.faults(),
            "waiting": {
                "events_unacknowledged": sockets.unacknowledged,
                "events_lost": len(sockets.undelivered),
            },
            "happened": list(self._happened),
            "kinds": [
                {
                    "kind": each.name,
                    "label": each.label,
                    "hint": each.hint,
                    "available": each.why_not is None,
                    "why_not": each.why_not,
                }
                for each in self.kinds()
            ],
            "log_tail": bot.log_tail(LOG_LINES).splitlines(),
        }

    # The kinds

    @property
    def _bot(self) -> WatchedBot:
        if self.bot is None:
            raise LookupError("the bot's process is not made yet")
        return self.bot

    async def _deliver_twice(self) -> None:
        try:
            self._slack.faults.redeliver_last()
        except LookupError:
            raise NotNowError("Nothing happened yet that could be delivered again.") from None
        self.tell("Slack delivers its newest event once more.")

    async def _limit_slack(self) -> None:
        self._slack.faults.rate_limited(SLACK_SECONDS)
        self._slack_until = self._clock() + SLACK_SECONDS
        self.tell("Slack answers 429 for 10 seconds.")

    async def _overload_claude(self) -> None:
        if self._claude is not None:
            self._claude.faults.overloaded(seconds=CLAUDE_SECONDS)
        self._claude_until = self._clock() + CLAUDE_SECONDS
        self.tell("Claude is overloaded for 30 seconds.")

    async def _lose_answer(self) -> None:
        self._folder.lost_answer.touch()
        self.tell("The next payment will be made, and its answer will get lost.")

    async def _jump(self, jump: _Jump) -> None:
        self._clock.jump(jump.seconds)
        self.tell(jump.told)

    async def _calm(self) -> None:
        self._slack.faults.clear()
        if self._claude is not None:
            self._claude.faults.clear()
        self._folder.lost_answer.unlink(missing_ok=True)
        self._slack_until = self._claude_until = 0.0
        self.tell("All faults ended.")


def _fault(
    kind: str, label: str, *, seconds_left: float | None = None, uses_left: int | None = None
) -> Json:
    return {
        "kind": kind,
        "label": label,
        "seconds_left": None if seconds_left is None else round(seconds_left, 1),
        "uses_left": uses_left,
    }
