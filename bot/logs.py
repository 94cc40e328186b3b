"""The log: where it goes and how a line looks. What is logged is up to whoever logs it."""

from __future__ import annotations

import json
import logging
import re
from typing import Any, Final, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

Level = Literal["debug", "info", "warning", "error"]

CHATTY: Final = (
    "aiohttp",
    "anthropic",
    "asyncio",
    "docket",
    "httpcore2",
    "httpx2",
    "slack_bolt",
    "slack_sdk",
)
"""Third parties whose info lines say nothing about cases; they are left out at `info`."""

# A trace line is a JSON object already; its fields become the line's own.
_TRACE: Final = "casethread.trace"
# Slack's tokens, the ticket in the address of a Slack socket, Anthropic's keys.
_SECRET: Final = re.compile(
    r"(?P<kind>xox[a-z]-|xapp-|sk-ant-|\bticket=)(?!…)[A-Za-z0-9%._-]{4,}", re.ASCII
)


def set_up_logging(level: Level, stream: TextIO) -> None:
    """Log to `stream` from `level` on: lines for people on a terminal, else a JSON object each.

    No line holds a token or key, whoever logged it. Replaces what was set up before.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Redacted(_for_people() if stream.isatty() else _for_machines()))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel("WARNING" if level == "info" else level.upper())


def redacted(text: str) -> str:
    """The text with every token and key cut after its prefix."""
    return _SECRET.sub(r"\g<kind>…", text)


class _Redacted(logging.Formatter):
    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        return redacted(self._inner.format(record))


def _for_people() -> logging.Formatter:
    return logging.Formatter("%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")


def _for_machines() -> logging.Formatter:
    return _JsonLines(
        ("levelname", "name", "message"),
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "error"},
        timestamp="time",
        json_ensure_ascii=False,
    )


class _JsonLines(JsonFormatter):
    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        if log_data["logger"] != _TRACE:
            return log_data
        return {**log_data, "message": "trace", **json.loads(log_data["message"])}
