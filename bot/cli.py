"""The `casethread` command. What a command does is elsewhere; here are its words and exit codes.

0: fine; 1: something asked for isn't there or didn't go as it should; 2: a setting or an argument
is wrong, said in one line on stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import sys
from collections.abc import Generator

import click
import uvloop
from rich.console import Console

from agent.errors import ConfigurationError, StoreError
from agent.run import Status
from bot.imports import uncollected
from bot.logs import redacted, set_up_logging
from bot.settings import Settings, load_settings

log = logging.getLogger("casethread")

WHAT_NEXT = """\
What to do next
  casethread play seed     play one case again; `casethread play --help` names them all
  casethread start         try it yourself, in a local workspace in the browser
  a real workspace         set SLACK_BOT_TOKEN, SLACK_APP_TOKEN, ANTHROPIC_API_KEY,
                           CASETHREAD_CASE_CHANNELS and CASETHREAD_APPROVERS, in the environment
                           or in a .env file, then: casethread start (README.md tells each step)"""
NO_RUNS = (
    "No runs yet. Post a message in a case channel and choose the customer in its thread;"
    " `casethread play` shows how that goes."
)
NO_RUNS_WITH_STATUS = "No run is {status}. `casethread runs` lists them all."


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="casethread", message="%(prog)s %(version)s")
def main() -> None:
    """Customer support in Slack threads, worked on by an AI agent that pauses for people."""


@main.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Of the page; else CASETHREAD_PORT.")
@click.option("--no-browser", is_flag=True, help="Don't open the page, only say where it is.")
@click.option("--fresh", is_flag=True, help="Begin the local workspace anew.")
def start(port: int | None, no_browser: bool, fresh: bool) -> None:
    """Run the bot and its workers; without Slack tokens, open the local workspace.

    The options are the local workspace's. SIGTERM or Ctrl-C lets what is under way come to its
    next stop, then ends with exit 0.
    """
    with _telling_the_operator():
        settings = load_settings()
        if settings.slack_configured:
            set_up_logging(settings.log, sys.stderr)
            uvloop.run(_serve(settings))
            return
        code = _open_workspace(settings, port=port, fresh=fresh, open_browser=not no_browser)
    sys.exit(code)


@main.command()
def worker() -> None:
    """Run workers only, as many as are wanted, beside one `casethread start`.

    They share its Redis store, its shop's database and its settings. SIGTERM or Ctrl-C gives what
    is under way to another worker, then ends with exit 0.
    """
    with _telling_the_operator():
        settings = load_settings()
        if not settings.slack_configured:
            raise ConfigurationError(
                "casethread worker needs SLACK_BOT_TOKEN and SLACK_APP_TOKEN, those of casethread "
                "start; the local workspace has no workers of its own"
            )
        if settings.store_url.startswith("sqlite:"):
            raise ConfigurationError(
                "CASETHREAD_STORE_URL: a SQLite file serves one process; for more workers set "
                "redis://HOST:PORT/DB here and for casethread start"
            )
        set_up_logging(settings.log, sys.stderr)
        uvloop.run(_serve(settings, listen=False))


@main.command()
@click.argument("cases", nargs=-1, metavar="[CASE]...")
def play(cases: tuple[str, ...]) -> None:
    """Play scripted cases in a local workspace, and print each thread and its trace.

    No account is needed. Exit 0 only when every case ended as it should. Without names, all are
    played: seed, small, decline, stranger, too-large, handoff.
    """
    sys.exit(_play(cases))


@main.command()
@click.option(
    "--status", type=click.Choice([each.value for each in Status]), help="Only runs with it."
)
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def runs(status: str | None, as_json: bool) -> None:
    """List runs, newest first."""
    with _telling_the_operator():
        asyncio.run(_runs(load_settings(), Status(status) if status else None, as_json=as_json))


@main.command()
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table.")
def trace(run_id: str, as_json: bool) -> None:
    """Show one run step by step: calls, tokens, cost, and what people decided in between."""
    with _telling_the_operator():
        found = asyncio.run(_trace(load_settings(), run_id, as_json=as_json))
    if not found:
        click.echo(f"There is no run {run_id!r} here. `casethread runs` lists them.", err=True)
        sys.exit(1)


@contextlib.contextmanager
def _telling_the_operator() -> Generator[None]:
    try:
        yield
    except (ConfigurationError, StoreError) as error:
        click.echo(redacted(" ".join(str(error).split())), err=True)
        sys.exit(2 if isinstance(error, ConfigurationError) else 1)


async def _serve(settings: Settings, *, listen: bool = True) -> None:
    # Imported here: the other commands needn't wait for Slack's and Anthropic's packages.
    with uncollected():
        from bot.app import running_bot

    this_task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        if this_task is not None:
            loop.add_signal_handler(number, this_task.cancel)
    # The first signal ends a start that hangs, or drains; a second one cuts the draining short,
    # which loses nothing: the store has it all.
    with contextlib.suppress(asyncio.CancelledError):
        async with running_bot(settings, listen=listen) as bot:
            log.info("Connected to Slack and at work." if listen else "At work.")
            for line in settings.warnings:
                log.warning(line)
            # Not awaited itself: that would hand a cancellation on to it.
            await asyncio.wait({bot.looking})
    log.info("Stopped.")


def _open_workspace(
    settings: Settings, *, port: int | None, fresh: bool, open_browser: bool
) -> int:
    with uncollected():
        from bot.local.workspace import serve_workspace

    return asyncio.run(
        serve_workspace(
            settings,
            port=settings.port if port is None else port,
            fresh=fresh,
            open_browser=open_browser,
            console=_console(),
        )
    )


def _play(cases: tuple[str, ...]) -> int:
    with uncollected():
        from bot.local.play import play_cases
        from bot.local.stories import STORIES

    known = {story.name: story for story in STORIES}
    unknown = [name for name in cases if name not in known]
    if unknown:
        raise click.UsageError(f"There is no case {unknown[0]!r}. The cases: {', '.join(known)}.")
    chosen = [known[name] for name in dict.fromkeys(cases)] or list(STORIES)
    code = play_cases(chosen, _console(piped_width=110))
    if code == 0:
        click.echo(f"\n{WHAT_NEXT}")
    return code


async def _runs(settings: Settings, status: Status | None, *, as_json: bool) -> None:
    from bot.records import read_records
    from bot.tables import run_json, run_table

    store = read_records(settings)
    try:
        lines = [line async for line in store.runs(status=status)]
    finally:
        await store.close()
    if as_json:
        click.echo(_json([run_json(line) for line in lines]))
    elif lines:
        _console().print(run_table(lines))
    else:
        click.echo(NO_RUNS_WITH_STATUS.format(status=status) if status else NO_RUNS)


async def _trace(settings: Settings, run_id: str, *, as_json: bool) -> bool:
    """False when there is no such run."""
    from bot.records import read_records
    from bot.tables import run_heading, trace_json, trace_table

    store = read_records(settings)
    try:
        line = await store.run(run_id)
        entries = await store.trace(run_id)
    finally:
        await store.close()
    if line is None:
        return False
    if as_json:
        click.echo(_json(trace_json(entries)))
    else:
        console = _console()
        console.print(run_heading(line), soft_wrap=True)
        console.print(trace_table(line.run, entries))
    return True


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _console(*, piped_width: int = 200) -> Console:
    """On a pipe wide enough that nothing is cut or wrapped that could stand in a line."""
    width = None if sys.stdout.isatty() else piped_width
    return Console(file=sys.stdout, width=width, highlight=False)


if __name__ == "__main__":
    main()
