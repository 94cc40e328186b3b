"""Serves a local workspace for the browser tests: `python -m tests.browser.serve FOLDER`.

A process of its own, as for a person at home; its second line tells the address.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rich.console import Console

from bot.imports import uncollected
from bot.settings import load_settings


def main() -> None:
    # Imported here as by the command.
    with uncollected():
        from bot.local.workspace import serve_workspace

    settings = load_settings(env={}, env_file=None)
    serving = serve_workspace(
        settings,
        port=0,
        fresh=True,
        open_browser=False,
        console=Console(),
        folder=Path(sys.argv[1]),
    )
    sys.exit(asyncio.run(serving))


if __name__ == "__main__":
    main()
