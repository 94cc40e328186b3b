"""What the stand-in says: turns, the terse helpers to write them, and the choice of the next one.

A turn is chosen by the number of assistant messages in the request and by nothing else, so a
repeated request, a restarted bot and parallel conversations all get the answers they should.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bot.local.claude.blocks import Block, blocks_of, setting, tools_of
from bot.local.claude.schemas import input_problem

NO_SCRIPT = (
    "This is the local stand-in for Claude, not Claude itself, and it has no script for this "
    "conversation."
)
SCRIPT_ENDED = (
    "This is the local stand-in for Claude, not Claude itself, and its script for this "
    "conversation has ended."
)


class ScriptError(Exception):
    """A script that asks for what the real model couldn't do; the script's author must mend it."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Fixed tokens of one turn; what is None is estimated. `output` includes `thinking`."""

    input: int | None = None
    output: int | None = None
    thinking: int | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call. A fixed `id` and an `input` that is no object serve to break the rules."""

    name: str
    input: object
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One answer of the model.

    `content`: texts, calls, and blocks of any kind as JSON, in order. `stop_reason`: by default
    `tool_use` when there is a call, else `end_turn`. `thinking`: the text of a thinking block put
    first (shown only to a request that asks for summaries), None for no block. `raw`: fields laid
    over the finished message. `unchecked`: calls need not fit the request's tools.
    """

    content: Sequence[str | Call | Mapping[str, Any]] = ()
    stop_reason: str | None = None
    usage: Usage | None = None
    thinking: str | None = ""
    raw: Mapping[str, Any] | None = None
    unchecked: bool = False

    @property
    def calls(self) -> list[Call]:
        return [item for item in self.content if isinstance(item, Call)]

    def using(self, *, input: int | None = None, output: int | None = None) -> Turn:
        """The same turn with its tokens fixed."""
        return replace(self, usage=Usage(input=input, output=output))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a turn that is a function gets to see: the request it answers."""

    body: Block
    turn: int = field(default=0)
    """Which turn of the script is asked for, from 0."""

    @property
    def first_text(self) -> str:
        """The text of the first user message."""
        return _text(self.body["messages"][0]["content"])

    @property
    def last_text(self) -> str:
        """The text of the last message, without its tool results."""
        return _text(self.body["messages"][-1]["content"])

    @property
    def results(self) -> list[str]:
        """The texts of the tool results in the last message, in their order."""
        return [
            _text(block.get("content"))
            for block in blocks_of(self.body["messages"][-1]["content"])
            if block["type"] == "tool_result"
        ]


ScriptedTurn = Turn | Callable[[Request], Turn]


@dataclass(frozen=True, kw_only=True)
class Script:
    """The turns of the conversations whose first user message contains `match`."""

    match: str
    turns: tuple[ScriptedTurn, ...]


class Scripts:
    def __init__(self) -> None:
        self._scripts: list[Script] = []

    def add(self, match: str, turns: Sequence[ScriptedTurn]) -> None:
        self._scripts.append(Script(match=match, turns=tuple(turns)))

    def remove(self, match: str) -> None:
        self._scripts = [script for script in self._scripts if script.match != match]

    def choose(self, body: Block) -> tuple[Turn, str | None]:
        """The turn that answers the request, and its script's `match` (None: not scripted, the
        turn is then a polite word that says so)."""
        answered = sum(message["role"] == "assistant" for message in body["messages"])
        request = Request(body=body, turn=answered)
        script = next(
            (found for found in reversed(self._scripts) if found.match in request.first_text), None
        )
        if script is None:
            return say(NO_SCRIPT), None
        if answered >= len(script.turns):
            return say(SCRIPT_ENDED), None
        chosen = script.turns[answered]
        return (chosen if isinstance(chosen, Turn) else chosen(request)), script.match


def say(*texts: str) -> Turn:
    """A turn that says something and ends."""
    return Turn(content=texts)


def call(name: str, /, **input: object) -> Turn:
    """A turn that calls one tool."""
    return Turn(content=[Call(name=name, input=input)])


def calls(*turns: Turn) -> Turn:
    """One turn with the content of several, in order: parallel calls, or words before a call."""
    return Turn(content=[item for turn in turns for item in turn.content])


def refuse(category: str | None = None) -> Turn:
    """A turn in which a safety classifier stopped the model; `category` as in `stop_details`."""
    details = {"type": "refusal", "category": category, "explanation": None}
    return Turn(stop_reason="refusal", raw={"stop_details": details})


def check_turn(turn: Turn, body: Block) -> None:
    """Raise ScriptError when a turn has what the real API couldn't have sent."""
    for block in turn.content:
        if isinstance(block, Mapping) and not isinstance(block.get("type"), str):
            raise ScriptError(f"a block needs a type: {dict(block)!r}")
    output = turn.usage.output if turn.usage else None
    if output is not None and output > body["max_tokens"] > 0:
        raise ScriptError(f"a turn of {output} tokens doesn't fit max_tokens {body['max_tokens']}")
    if not turn.unchecked:
        _check_calls(turn, body)


def _check_calls(turn: Turn, body: Block) -> None:
    tools = {tool["name"]: tool for tool in tools_of(body)}
    choice = setting(body, "tool_choice")
    if turn.calls and choice.get("type") == "none":
        raise ScriptError("the request's tool_choice is none, the turn calls a tool")
    if len(turn.calls) > 1 and choice.get("disable_parallel_tool_use"):
        raise ScriptError("the request disables parallel calls, the turn has several")
    for item in turn.calls:
        if item.name not in tools:
            raise ScriptError(f"the request has no tool {item.name}; it has {sorted(tools)}")
        # A turn that was cut off may hold half an input.
        problem = input_problem(tools[item.name]["input_schema"], item.input)
        if problem is not None and turn.stop_reason != "max_tokens":
            raise ScriptError(f"{item.name}: input doesn't match its schema: {problem}")


def _text(content: str | list[Block] | None) -> str:
    return "\n".join(block["text"] for block in blocks_of(content) if block["type"] == "text")
