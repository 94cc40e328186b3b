"""A clock that can be put forward: the local Slack, the local Claude and the bot go by it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from bot.local.workspace.folder import replace_file


class FileClock:
    """The real clock plus an offset in a file, which any process that knows the file may change.

    Looks at the file at every call (which costs a `stat`), so that all processes jump together.
    """

    def __init__(self, path: Path, *, real: Callable[[], float] = time.time) -> None:
        self._path = path
        self._real = real
        self._seen: tuple[int, int] | None = None
        self._offset_seconds = 0.0

    def __call__(self) -> float:
        """Unix seconds."""
        return self._real() + self.offset_seconds

    @property
    def offset_seconds(self) -> float:
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            return 0.0
        # The file is always replaced, never rewritten: a new one is another inode.
        seen = (stat.st_mtime_ns, stat.st_ino)
        if seen != self._seen:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            self._offset_seconds = float(kept["offset_seconds"])
            self._seen = seen
        return self._offset_seconds

    def jump(self, seconds: float) -> None:
        """Put all clocks on this file forward."""
        content = {"offset_seconds": self.offset_seconds + seconds}
        replace_file(self._path, json.dumps(content).encode())
