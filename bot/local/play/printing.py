"""What a person sees while cases are played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from agent.refunds.money import rupees
from agent.run import Json, Run
from bot.local.claude import Account
from bot.local.play.process import BotProcess
from bot.local.play.stage import Stage
from bot.local.play.story import Refund, Story
from bot.tables import STATUS_STYLES, trace_table

THEME = Theme({"good": "bold green", "bad": "bold red", "happening": "cyan"})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one story went. No failures: as it should."""

    story: Story
    failures: tuple[str, ...]
    seconds: float
    runs: Sequence[tuple[Run, Sequence[Json]]]
    account: Account
    """The model calls by the stand-in's own count."""
    refunds: Sequence[Refund]
    """Rows in the shop."""
    kills: int

    @property
    def estimates_usd(self) -> list[Decimal]:
        """What our records put down for each call whose answer was lost."""
        entries = [entry for _, trace in self.runs for entry in trace if entry["kind"] == "attempt"]
        return [Decimal(entry["estimated_cost_usd"]) for entry in entries]

    @property
    def ok(self) -> bool:
        return not self.failures


class Printer:
    """`console` may be a terminal or a pipe; what people wrote is printed literally."""

    def __init__(self, console: Console) -> None:
        self._console = console
        console.push_theme(THEME)

    def heading(self, story: Story, number: int, total: int) -> None:
        title = Text.assemble((f"{story.name}", "bold"), f"  {story.summary}  ({number}/{total})")
        self._console.print()
        self._console.print(Rule(title, align="left", style="dim"))

    def happening(self, markup: str) -> None:
        """One line while it happens."""
        self._console.print(f"  [happening]›[/] {markup}", soft_wrap=True)

    def ending(self, outcome: Outcome, stage: Stage, process: BotProcess) -> None:
        """The thread, the card, the trace; what went wrong, with the end of the bot's log."""
        if picture := stage.picture():
            self._literal(picture)
        if card := stage.card_message:
            self._literal(stage.slack.render(card))
        names = {user.id: user.real_name for user in stage.slack.workspace.users.values()}
        for run, entries in outcome.runs:
            table = trace_table(run, entries, names=names, brief=True)
            self._console.print()
            self._console.print(Padding(table, (0, 0, 0, 2)))
        self._console.print(Text.assemble("\n  ", _verdict(outcome)), soft_wrap=True)
        for failure in outcome.failures:
            self._console.print(f"  [bad]✗[/] {escape(failure)}", soft_wrap=True)
        if not outcome.ok:
            self._literal(f"The end of the bot's log:\n{process.log_tail()}")

    def summary(self, outcomes: Sequence[Outcome]) -> None:
        """One row a case, and the sums."""
        table = Table(box=None, header_style="bold", footer_style="bold", pad_edge=False)
        accounts = [outcome.account for outcome in outcomes]
        table.add_column("")
        table.add_column("case", "all", no_wrap=True)
        table.add_column("ended as", no_wrap=True)
        for name, total in (
            ("calls", str(sum(account.calls for account in accounts))),
            ("cost", f"${sum(account.cost_usd for account in accounts):.4f}"),
            ("without cache", f"${sum(account.uncached_cost_usd for account in accounts):.4f}"),
            ("kills", str(sum(outcome.kills for outcome in outcomes))),
            ("seconds", f"{sum(outcome.seconds for outcome in outcomes):.1f}"),
        ):
            table.add_column(name, total, justify="right", no_wrap=True)
        table.show_footer = len(outcomes) > 1
        for outcome, account in zip(outcomes, accounts, strict=True):
            table.add_row(
                _mark(outcome.ok),
                outcome.story.name,
                _ended(outcome.runs),
                str(account.calls),
                f"${account.cost_usd:.4f}",
                f"${account.uncached_cost_usd:.4f}",
                str(outcome.kills or ""),
                f"{outcome.seconds:.1f}",
            )
        self._console.print()
        self._console.print(Rule(style="dim"))
        self._console.print(table)
        failed = [outcome.story.name for outcome in outcomes if not outcome.ok]
        if failed:
            self._console.print(f"\n[bad]Not as it should be: {', '.join(failed)}[/]")

    def bad_stop(self, exit_code: int) -> None:
        self._console.print(f"[bad]✗ the bot did not stop cleanly: exit {exit_code}[/]")

    def interrupted(self) -> None:
        self._console.print("\nInterrupted; the bot is stopped.")

    def _literal(self, text: str) -> None:
        self._console.print()
        indented = "\n".join(f"  {line}".rstrip() for line in text.splitlines())
        self._console.print(Text(indented), soft_wrap=True)


def _mark(ok: bool) -> Text:
    return Text("✓", style="good") if ok else Text("✗", style="bad")


def _verdict(outcome: Outcome) -> Text:
    """How the case ended, in one line."""
    account, estimates = outcome.account, outcome.estimates_usd
    facts = [
        _ended(outcome.runs).plain,
        f"{account.calls} model calls",
        f"${account.cost_usd:.4f} (${account.uncached_cost_usd:.4f} without the cache)",
        f"~${sum(estimates):.4f} for {len(estimates)} lost calls" if estimates else "",
        *(
            f"order {refund.order_id}: {refund.status} {rupees(refund.amount_paise)}"
            for refund in outcome.refunds
        ),
        f"killed {outcome.kills} times" if outcome.kills else "",
        f"{outcome.seconds:.1f} s",
    ]
    return Text.assemble(_mark(outcome.ok), " ", " · ".join(filter(None, facts)))


def _ended(runs: Sequence[tuple[Run, Sequence[Json]]]) -> Text:
    parts = [Text(run.status, style=STATUS_STYLES[run.status]) for run, _ in runs]
    return Text(", ").join(parts) if parts else Text("no run", style="bad")
