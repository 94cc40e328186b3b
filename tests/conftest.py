"""What every test shares: nothing of the developer's own environment reaches one."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from bot.imports import uncollected

SETTINGS = ("ANTHROPIC_", "CASETHREAD_", "RAZORPAY_", "SLACK_", "STRIPE_")
PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")

LONG = {
    *("browser", "faults", "scenarios"),
    *("test_machine", "test_play", "test_workspace_bot", "test_workspace_stories"),
}
"""Folders and modules whose tests take seconds each."""


def pytest_configure() -> None:
    # An example's duration says more about the machine's other work than about the code; a test
    # that hangs is ended by pytest-timeout.
    settings.register_profile("casethread", parent=settings(), deadline=None)
    settings.load_profile("casethread")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started with a script's `&`: the processes that tests start would be deaf to it as well.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    # Where the tests' modules are imported, and with them all that they test.
    with uncollected():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first, so that no process is left with one while the others have ended."""
    items.sort(key=lambda item: LONG.isdisjoint((item.path.parent.name, item.path.stem)))


@pytest.fixture(scope="session", autouse=True)
def bare_environment() -> Iterator[None]:
    """Takes tokens, settings and proxies out, before any fixture starts a server or a process.

    A real token could reach a real workspace, and a proxy would hide the local servers.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(SETTINGS) or name.upper() in PROXIES:
                patch.delenv(name)
        yield
