"""How log lines look, and what never stands in one."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from bot.logs import CHATTY, redacted, set_up_logging


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in CHATTY}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)


def test_on_a_pipe_each_line_is_one_json_object_even_with_a_traceback() -> None:
    stream = io.StringIO()
    set_up_logging("info", stream)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("casethread").exception("Möglich: %s", "yes")
    (line,) = stream.getvalue().splitlines()
    told = json.loads(line)
    assert (told["level"], told["logger"], told["message"]) == (
        "ERROR",
        "casethread",
        "Möglich: yes",
    )
    assert "ValueError: two\nlines" in told["error"]
    assert told["time"].endswith("+00:00")


def test_a_trace_entrys_fields_are_the_lines_own() -> None:
    stream = io.StringIO()
    set_up_logging("info", stream)
    logging.getLogger("casethread.trace").info(json.dumps({"run": "run_1", "kind": "step"}))
    told = json.loads(stream.getvalue())
    assert (told["message"], told["run"], told["kind"]) == ("trace", "run_1", "step")


def test_on_a_terminal_lines_are_for_people() -> None:
    stream = Terminal()
    set_up_logging("info", stream)
    logging.getLogger("casethread").info("At work.")
    assert stream.getvalue().rstrip().endswith("INFO    At work.")


@pytest.mark.parametrize(
    ("level", "heard"), [("debug", ["debug", "info", "warning"]), ("info", ["warning"])]
)
def test_third_parties_chat_only_at_debug_level(level: str, heard: list[str]) -> None:
    stream = Terminal()
    set_up_logging("debug" if level == "debug" else "info", stream)
    chatty = logging.getLogger("slack_bolt.app")
    chatty.debug("debug")
    chatty.info("info")
    chatty.warning("warning")
    assert [line.split()[-1] for line in stream.getvalue().splitlines()] == heard


def test_at_error_level_third_parties_warn_no_more() -> None:
    stream = Terminal()
    set_up_logging("error", stream)
    logging.getLogger("aiohttp.access").warning("warning")
    logging.getLogger("casethread").warning("warning")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    "secret",
    [
        "xoxb-1111-2222-abcDEF",
        "xapp-1-A0-1111-abcdef",
        "sk-ant-api03-abc_DEF-1",
        "wss://wss.example/link/?ticket=abc-def%2F1&app_id=1",
    ],
)
def test_no_token_or_key_stands_in_a_line(secret: str) -> None:
    stream = io.StringIO()
    set_up_logging("info", stream)
    try:
        raise ValueError(f"refused: {secret}")
    except ValueError:
        logging.getLogger("other").exception("with %r", {"token": secret})
    line = stream.getvalue()
    assert "abc" not in line
    assert "…" in line


def test_words_that_only_begin_like_a_token_stay() -> None:
    assert redacted("copy the app's xoxb-… token") == "copy the app's xoxb-… token"
