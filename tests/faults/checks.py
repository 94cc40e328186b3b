"""What must be true of every case once the chaos is over."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from agent.case import Decided, Message
from agent.ports import CaseStore, Mail, RunLine
from agent.run import FINAL, Status
from bot.cards.case import REACTIONS
from bot.local.slack import Message as SlackMessage
from bot.local.slack.seed import SUPPORT_CASES
from storage.shop.database import payouts
from tests.faults.people import People
from tests.faults.plots import Plot
from tests.faults.world import World, order_of

MOST_POSTS = 1_000

# What Slack may refuse without harm: a reaction or a deletion that was done before, a form whose
# three seconds were over when the process that was to open it went on.
HARMLESS = frozenset(
    {
        ("reactions.add", "already_reacted"),
        ("reactions.remove", "no_reaction"),
        ("chat.delete", "message_not_found"),
        ("views.open", "expired_trigger_id"),
        ("views.open", "exchanged_trigger_id"),
    }
)


@dataclass(frozen=True, kw_only=True)
class CaseNow:
    """A case as the store has it."""

    people: People
    plot: Plot
    runs: Sequence[RunLine]
    mail: Mail

    @property
    def is_quiet(self) -> bool:
        """Nothing is under way: every run is at its end, all is read and all is posted."""
        return (
            bool(self.runs)
            and all(line.run.status in FINAL for line in self.runs)
            and all(applied for _, applied in self.mail.events)
            and all(posted is not None for _, posted in self.mail.posts)
        )


async def cases_now(store: CaseStore, cases: Sequence[tuple[People, Plot]]) -> Sequence[CaseNow]:
    lines = [line async for line in store.runs()]
    return [
        CaseNow(
            people=people,
            plot=plot,
            runs=[line for line in reversed(lines) if line.case.case_id == people.case_id],
            mail=await store.mail(people.case_id, limit=MOST_POSTS),
        )
        for people, plot in cases
    ]


async def faults_of(world: World, cases: Sequence[CaseNow]) -> list[str]:
    """Everything that is not as it must be, in words; empty when all is well."""
    paid = {row["idempotency_key"]: row["amount_paise"] for row in await _payouts(world)}
    found: list[str] = []
    for case in cases:
        wrong = [
            *_run_faults(case),
            *_inbox_faults(case),
            *_thread_faults(world, case),
            *await _money_faults(world, case, paid),
        ]
        found += [f"{case.people.token} ({case.plot.name}): {each}" for each in wrong]
    found += [f"paid without a refund: {key}" for key in paid]
    return found + _service_faults(world) + log_faults(world)


def _run_faults(case: CaseNow) -> list[str]:
    statuses = [line.run.status for line in case.runs]
    least, most = case.plot.runs
    found = [f"a run is {status}" for status in statuses if status is not case.plot.end]
    if not least <= len(statuses) <= most:
        found.append(f"{len(statuses)} runs")
    if not case.is_quiet:
        found.append("it is not at rest")
    return found


def _inbox_faults(case: CaseNow) -> list[str]:
    """What was acknowledged is in the store."""
    facts = [stored.event.fact for stored, _ in case.mail.events]
    heard = {fact.message_id for fact in facts if isinstance(fact, Message)}
    clicks = Counter(fact.by for fact in facts if isinstance(fact, Decided))
    lost = Counter(case.people.pressed) - clicks
    return [f"lost: {each.text}" for each in case.people.written if each.ts not in heard] + [
        f"{times} decisions of {who} are lost" for who, times in lost.items()
    ]


# Slack ------------------------------------------------------------------------------------------


def _thread_faults(world: World, case: CaseNow) -> list[str]:
    people, plot = case.people, case.plot
    shown = people.posts()
    ids = [_post_id(each) for each in shown]
    found = [f"{times} times in the thread: {each}" for each, times in _doubles(ids)]
    cards = [_post_id(each) for each in people.cards()]
    found += [f"{times} times in #approvals: {each}" for each, times in _doubles(cards)]
    wanted = [
        entry.post.post_id
        for entry, posted in case.mail.posts
        if posted is not None
        and entry.post.update_of is None
        and posted.message_id
        and posted.channel == SUPPORT_CASES
    ]
    if ids != wanted:
        found.append(f"the thread has the posts {ids} and not {wanted}")
    counts = {
        "Reply to pass to the customer": sum(line.run.status is Status.DONE for line in case.runs),
        "Question for the customer": plot.questions,
    }
    for words, count in counts.items():
        seen = sum(words in each.text for each in shown)
        if seen != count:
            found.append(f"{seen} times and not {count}: {words!r}")
    decided = sum(entry.post.content.kind == "decision_line" for entry, _ in case.mail.posts)
    if decided != plot.decisions:
        found.append(f"{decided} decisions in the thread and not {plot.decisions}")
    reaction = REACTIONS[case.plot.end.value]
    if people.slack.reactions(people.root) != [reaction]:
        found.append(f"the reactions {people.slack.reactions(people.root)}")
    if people.open_card() is not None:
        found.append("a card is still open")
    return found


def _doubles(ids: Sequence[str]) -> list[tuple[str, int]]:
    return [(each, times) for each, times in Counter(ids).items() if times > 1]


def _post_id(message: SlackMessage) -> str:
    return str((message.metadata or {}).get("event_payload", {}).get("post_id", "?"))


def _service_faults(world: World) -> list[str]:
    slack, claude = world.slack, world.claude
    at_root = [
        each for each in slack.messages("support-cases") if each.app_id and not each.is_reply
    ]
    found = [f"posted at the channel's root: {each.text}" for each in at_root]
    found += [
        f"Slack refused {method}: {error} ({times} times)"
        for (method, error), times in Counter(
            (each.method, each.error) for each in slack.refused
        ).items()
        if (method, error) not in HARMLESS
    ]
    found += [f"Claude refused: {each.error}" for each in claude.refused]
    found += [f"no script for: {each.first_text[:200]}" for each in claude.unscripted]
    found += [f"script: {each}" for each in claude.script_errors]
    return found


def healed(world: World) -> int:
    """How many messages the bot deleted because they were there twice."""
    return sum(each.method == "chat.delete" and each.ok for each in world.slack.calls)


# Money ------------------------------------------------------------------------------------------


async def _payouts(world: World) -> Sequence[dict[str, object]]:
    def read(connection: Connection) -> Sequence[dict[str, object]]:
        return [dict(row) for row in connection.execute(select(payouts)).mappings()]

    return await world.shop.database.read(read)


async def _money_faults(world: World, case: CaseNow, paid: dict[object, object]) -> list[str]:
    """Takes what it finds in order out of `paid`."""
    rows = await world.shop.ledger.history(order_of(case.people.number))
    found: list[str] = []
    refunds = tuple((row.status.value, row.amount_paise) for row in rows)
    if refunds != case.plot.refunds:
        found.append(f"the refunds {refunds} and not {case.plot.refunds}")
    found += [
        f"refund {row.key} is paid on paper only"
        for row in rows
        if row.status == "paid" and paid.pop(row.key, None) != row.amount_paise
    ]
    return found


# Logs -------------------------------------------------------------------------------------------

# Errors that the chaos explains: the engine's own when Redis is cut off, and the Slack client's own
# about a socket that was closed; a store or a Slack that is away, said in one line by a process
# that is only starting; a listener that stood still or waited for the store for three seconds.
OTHERS = ("docket.", "slack_sdk.", "casethread.bolt")
STORE_AWAY = "agent.errors.StoreAway: "
STARTS_IN_VAIN = (
    "Redis at ",
    "CASETHREAD_STORE_URL: can't reach Redis at ",
    "SLACK_API_URL: Slack can't be reached",
    # One that stands still in the middle of a write holds the shop's SQLite file for as long.
    "CASETHREAD_SHOP_URL: The shop's database can't be opened: database is locked",
)
LISTENER, TOO_LATE = "A listener failed on ", "TimeoutError"


def log_lines(world: World) -> list[tuple[str, dict[str, str]]]:
    """The processes' log lines, by process. One that is no JSON is an error in itself."""
    found: list[tuple[str, dict[str, str]]] = []
    for child in world.children:
        for line in child.log.splitlines():
            try:
                found.append((child.name, json.loads(line)))
            except ValueError:
                found.append((child.name, {"level": "ERROR", "message": line}))
    return found


def log_faults(world: World) -> list[str]:
    """Errors in the logs that nothing that was done explains."""
    found: Counter[tuple[str, str]] = Counter()
    for name, line in log_lines(world):
        error = line.get("error", "").strip().rpartition("\n")[2]
        explained = (
            line.get("logger", "").startswith(OTHERS)
            or error.startswith(STORE_AWAY)
            or (line["message"].startswith(LISTENER) and error == TOO_LATE)
            or ("logger" not in line and line["message"].startswith(STARTS_IN_VAIN))
        )
        if line["level"] in ("ERROR", "CRITICAL") and not explained:
            found[name, f"{line['message'][:200]} {error}"] += 1
    return [f"{times} times in the log of {name}: {what}" for (name, what), times in found.items()]
