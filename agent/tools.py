"""From a typed async function to a tool: its strict schema, its call, its result.

A tool's first parameter is the `Context`, which can be trusted; the others come from the model and
are validated here before the function runs. Nothing here knows a particular tool.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, Literal, cast, get_type_hints, overload

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from agent.approval import Card
from agent.errors import LeaseLost, ToolError
from agent.run import Json
from agent.text import plain_words

log = logging.getLogger(__name__)

MAX_RESULT_CHARACTERS = 8_000
DIGEST_FORM = "casethread-proposal-1"

UNAVAILABLE = "That system is unavailable right now. Tell the customer a colleague will follow up."


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a tool may trust: whose run this is, and which call."""

    customer_id: str
    customer_name: str
    agent: str
    run_id: str
    call_id: str
    tool: str
    arguments: Json
    """Exactly as the model gave them."""
    now: float
    """Unix seconds."""
    stopped: bool = False
    """A person took the case while it isn't known whether an earlier try of this effect, whose
    worker died, came to anything. What has not begun by now must not begin any more, not even for
    that worker, should it live: put that down under the key. What has begun is carried through."""
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Results of this run's earlier calls, by tool name, oldest first."""

    @property
    def key(self) -> str:
        """Names this call for ever: the idempotency key of its effect."""
        return f"{self.run_id}:{self.call_id}"

    def digest(self, **changed: Any) -> str:
        """Binds a decision to this call: over agent, run, call, tool, customer and arguments.

        `changed` arguments stand in for the model's own.
        """
        return proposal_digest(
            agent=self.agent,
            run_id=self.run_id,
            call_id=self.call_id,
            tool=self.tool,
            customer_id=self.customer_id,
            arguments=self.arguments | changed,
        )


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Returned by a tool that needs a person first: the customer (`question`) or a lead (`card`).

    A question's answer becomes the call's result. After a lead's decision the tool is called again
    with the same context key and finds the decision in its own records.
    """

    question: str | None = None
    card: Card | None = None

    def __post_init__(self) -> None:
        if (self.question is None) == (self.card is None):
            raise ValueError("a pause has either a question or a card")


@dataclass(frozen=True, kw_only=True)
class Later:
    """Returned when the outcome isn't known yet: the call is made again after `seconds`.

    `line` is shown in the thread, once. `receipt` is what the customer is told should a person
    take the case over meanwhile.
    """

    seconds: float
    line: str
    receipt: str


@dataclass(frozen=True, kw_only=True)
class HandOff:
    """Returned to end the run by passing the case to a person. `reason` is for staff."""

    reason: str
    receipt: str | None = None
    """What the customer must be told all the same, from our records."""
    unsettled: bool = False
    """The call's outcome is still unknown: it is looked up until it is known."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result that also leaves words for the customer, should the run end without a reply."""

    content: str | Json
    receipt: str


Kind = Literal["reads", "effect", "person"]
"""`reads` changes nothing and may run beside others; `effect` changes something outside, and may
wait for a lead first; `person` only brings in a person: a question, a handoff."""

ToolReturn = str | Json | list[Any] | Pause | Later | HandOff | Result
ToolFunction = Callable[Concatenate[Context, ...], Awaitable[ToolReturn]]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A function the model may ask for."""

    name: str
    description: str
    kind: Kind
    input_schema: Json
    arguments: type[BaseModel]
    function: ToolFunction

    def definition(self) -> Json:
        """As the Messages API takes it."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
            "strict": True,
        }

    async def __call__(self, context: Context, given: Json) -> ToolReturn:
        """Validate and run. Raises `ToolError` for wrong input."""
        try:
            # As JSON: strict about types, but an enum or a date comes as its text.
            arguments = self.arguments.model_validate_json(json.dumps(given))
        except ValidationError as error:
            raise ToolError(_input_error(self.name, error)) from error
        values = {name: getattr(arguments, name) for name in type(arguments).model_fields}
        return await self.function(context, **values)


@overload
def tool(function: ToolFunction, /, *, kind: Kind = "reads") -> Tool: ...
@overload
def tool(*, kind: Kind = "reads") -> Callable[[ToolFunction], Tool]: ...
def tool(
    function: ToolFunction | None = None, /, *, kind: Kind = "reads"
) -> Tool | Callable[[ToolFunction], Tool]:
    """Make a tool of an async function `(context, *, typed parameters) -> result`.

    The docstring's text is the description, its `Args:` describe the parameters (Google style).
    Raises `TypeError` for a function that can't be a tool.
    """
    if function is None:

        def decorate(wrapped: ToolFunction) -> Tool:
            return tool(wrapped, kind=kind)

        return decorate
    name = getattr(function, "__name__", type(function).__name__)
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"tool {name} must be an async function")
    doc = docstring_parser.parse(inspect.getdoc(function) or "")
    if not doc.description:
        raise TypeError(f"tool {name} needs a docstring: the model chooses by it")
    told = {param.arg_name: param.description or "" for param in doc.params}
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name not in hints:
            raise TypeError(f"tool {name}: parameter {parameter.name} needs a type")
        default = ... if parameter.default is parameter.empty else parameter.default
        about = told.get(parameter.name) or None
        fields[parameter.name] = (hints[parameter.name], Field(default, description=about))
    arguments = create_model(
        f"{name}_arguments", __config__=ConfigDict(extra="forbid", strict=True), **fields
    )
    return Tool(
        name=name,
        description=doc.description,
        kind=kind,
        input_schema=_strict(arguments.model_json_schema()),
        arguments=arguments,
        function=function,
    )


def _strict(schema: Any) -> Any:
    """The schema as strict tools want it: all properties required, no others, no ornaments."""
    if isinstance(schema, list):
        return [_strict(part) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("Json", schema)
    properties = known.get("properties")
    strict: Json = {
        key: _strict(value)
        for key, value in known.items()
        if key not in ("title", "default", "properties")
    }
    if properties is not None:
        strict["properties"] = {name: _strict(part) for name, part in properties.items()}
    if known.get("type") == "object":
        strict["properties"] = strict.get("properties", {})
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict


def _input_error(name: str, error: ValidationError) -> str:
    parts: list[str] = []
    for one in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in one["loc"])
        message = one["msg"].removeprefix("Value error, ")
        parts.append(f"{where}: {message}" if where else message)
    return f"Wrong input for {name}. {'; '.join(parts)} Call it again with the input corrected."


def proposal_digest(
    *, agent: str, run_id: str, call_id: str, tool: str, customer_id: str, arguments: Json
) -> str:
    """Binds a decision to what was shown: any difference in any part gives another digest."""
    told = [DIGEST_FORM, agent, run_id, call_id, tool, customer_id, arguments]
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Called:
    """What became of one call. With `text` it has its result; else a person or time is needed."""

    text: str | None = None
    is_error: bool = False
    receipt: str | None = None
    pause: Pause | None = None
    later: Later | None = None
    hand_off: HandOff | None = None
    crashed: bool = False


async def call_tool(tools: Mapping[str, Tool], name: str, context: Context, given: Json) -> Called:
    """Run one call and turn whatever happens into something the loop can use.

    Raises `LeaseLost` alone: somebody else has the case, and nothing of this call counts. This is
    the one place where everything a tool may raise is caught: our faults go to the log,
    and the model gets safe words.
    """
    wanted = tools.get(name)
    if wanted is None:
        known = ", ".join(sorted(tools))
        return Called(text=f"There is no tool {name!r}. Use one of: {known}.", is_error=True)
    try:
        return _called(await wanted(context, given))
    except ToolError as error:
        return Called(text=_result_text(str(error)), is_error=True)
    except LeaseLost:
        raise
    except Exception:
        log.exception("tool %s failed in run %s, call %s", name, context.run_id, context.call_id)
        return Called(text=UNAVAILABLE, is_error=True, crashed=True)


def _called(returned: ToolReturn) -> Called:
    match returned:
        case Pause():
            return Called(pause=returned)
        case Later():
            return Called(later=returned)
        case HandOff():
            return Called(
                text="The case was passed to a colleague.",
                hand_off=returned,
                receipt=returned.receipt,
            )
        case Result():
            return Called(text=_result_text(returned.content), receipt=returned.receipt)
        case _:
            return Called(text=_result_text(returned))


def _result_text(content: str | Json | list[Any]) -> str:
    """As the model reads it: whoever wrote what a tool found can't write our mark either."""
    text = plain_words(
        content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    )
    if not text:
        return "There is no result."
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    mark = f"\n[cut: {len(text)} characters in all]"
    return text[: MAX_RESULT_CHARACTERS - len(mark)] + mark
