"""The folder that keeps a local workspace from one start to the next: its files and its lock.

What is in each file is known to the module that writes it; `wipe` knows all their names.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from pathlib import Path

from agent.errors import ConfigurationError


class StateFolder:
    """One folder, for one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock: int | None = None

    # The files

    @property
    def store(self) -> Path:
        """The bot's cases; SQLite keeps files of its own beside it."""
        return self.path / "casethread.db"

    @property
    def shop(self) -> Path:
        """The sample shop, where `bot.records.sample_shop_url` puts it."""
        return self.path / "casethread-shop.db"

    @property
    def slack(self) -> Path:
        return self.path / "slack.json"

    @property
    def uploads(self) -> Path:
        """A folder with the bytes of each file that somebody uploaded."""
        return self.path / "files"

    @property
    def exchanges(self) -> Path:
        """What the stand-in for Claude was asked and answered, one JSON object a line."""
        return self.path / "exchanges.jsonl"

    @property
    def clock(self) -> Path:
        return self.path / "clock.json"

    @property
    def lost_answer(self) -> Path:
        """While it is there, the next payment's answer gets lost."""
        return self.path / "lose-the-next-payments-answer"

    @property
    def secret(self) -> Path:
        """What the stand-in for Claude signs thinking with."""
        return self.path / "thinking-secret"

    # The folder

    def open(self, *, fresh: bool) -> None:
        """Make and lock it; `fresh` empties it first. Raises `ConfigurationError`."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # What is in here belongs to nobody's repository.
            (self.path / ".gitignore").write_text("*\n", encoding="utf-8")
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise ConfigurationError(
                f"Another local workspace is running in {self.path}: use that one, or start this"
                " one in another folder."
            ) from None
        except OSError as error:
            self.close()
            raise ConfigurationError(
                f"The local workspace can't keep its state in {self.path}: {error}"
            ) from error
        if fresh:
            self.wipe()

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def wipe(self) -> None:
        """Remove everything that a workspace keeps here, and nothing else."""
        for database in (self.store, self.shop):
            for suffix in ("", "-wal", "-shm", ".lock"):
                database.with_name(database.name + suffix).unlink(missing_ok=True)
        for file in (
            self.slack,
            self.exchanges,
            self.clock,
            self.lost_answer,
            self.secret,
            self.path / "bot.log",
        ):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.uploads, ignore_errors=True)

    def thinking_secret(self) -> str:
        """The same as at the last start, or a new one."""
        if not self.secret.exists():
            descriptor = os.open(self.secret, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(secrets.token_hex(32))
        return self.secret.read_text(encoding="utf-8")


def replace_file(path: Path, content: bytes) -> None:
    """The whole new content or the old one, should the process be killed meanwhile."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
