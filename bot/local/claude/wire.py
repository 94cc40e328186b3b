"""The shape of a request to `POST /v1/messages`: every field the stand-in takes, and no other.

Shape only; what fields mean together is in rules.py. Errors name their place the way the API
does: `messages.0.content.1.tool_use.id: …`.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from bot.local.claude.blocks import is_list, is_object
from bot.local.claude.refusals import RefusedError


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _as_blocks(content: object) -> object:
    """A string is shorthand for one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content


class CacheControl(_Shape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class _Block(_Shape):
    cache_control: CacheControl | None = None


class TextBlock(_Block):
    type: Literal["text"]
    text: str
    citations: list[dict[str, Any]] | None = None


class Base64Source(_Shape):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class UrlSource(_Shape):
    type: Literal["url"]
    url: str = Field(pattern=r"^https?://")


class ImageBlock(_Block):
    type: Literal["image"]
    source: Annotated[Base64Source | UrlSource, Field(discriminator="type")]


class DocumentBlock(_Block):
    type: Literal["document"]
    source: dict[str, Any]
    title: str | None = None
    context: str | None = None
    citations: dict[str, Any] | None = None


class SearchResultBlock(_Block):
    type: Literal["search_result"]
    source: str
    title: str
    content: list[TextBlock]
    citations: dict[str, Any] | None = None


class ThinkingBlock(_Shape):
    type: Literal["thinking"]
    thinking: str
    signature: str


class ToolUseBlock(_Block):
    type: Literal["tool_use"]
    id: str = Field(pattern=r"^[a-zA-Z0-9_-]+$")
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    input: dict[str, Any]
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None


_ResultContent = Annotated[
    TextBlock | ImageBlock | DocumentBlock | SearchResultBlock, Field(discriminator="type")
]


class ToolResultBlock(_Block):
    type: Literal["tool_result"]
    tool_use_id: str = Field(pattern=r"^[a-zA-Z0-9_-]+$")
    content: Annotated[list[_ResultContent], BeforeValidator(_as_blocks)] = []
    is_error: bool | None = None
    toolset_name: str | None = None


_Content = Annotated[
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ThinkingBlock
    | ToolUseBlock
    | ToolResultBlock,
    Field(discriminator="type"),
]


class Message(_Shape):
    role: Literal["user", "assistant", "system"]
    content: Annotated[list[_Content], BeforeValidator(_as_blocks)]


class Tool(_Block):
    type: Literal["custom"] | None = None
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[Literal["direct"]] | None = None


class ToolChoiceAuto(_Shape):
    type: Literal["auto"]
    disable_parallel_tool_use: bool = False


class ToolChoiceAny(_Shape):
    type: Literal["any"]
    disable_parallel_tool_use: bool = False


class ToolChoiceTool(_Shape):
    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool = False


class ToolChoiceNone(_Shape):
    type: Literal["none"]


class BlockBinding(_Shape):
    prefix_mismatch_behavior: Literal["error", "drop_block"] | None = None


class ThinkingAdaptive(_Shape):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None
    block_binding: BlockBinding | None = None


class ThinkingEnabled(_Shape):
    type: Literal["enabled"]
    budget_tokens: int = Field(ge=1024)
    display: Literal["summarized", "omitted"] | None = None


class ThinkingDisabled(_Shape):
    type: Literal["disabled"]


class OutputConfig(_Shape):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: dict[str, Any] | None = None


class Metadata(_Shape):
    user_id: str | None = None


class Diagnostics(_Shape):
    previous_message_id: str | None = None


class MessagesRequest(_Shape):
    model: str
    # 0 fills the cache without an answer.
    max_tokens: int = Field(ge=0)
    messages: list[Message]
    system: Annotated[list[TextBlock], BeforeValidator(_as_blocks)] = []
    tools: list[Tool] = []
    tool_choice: (
        Annotated[
            ToolChoiceAuto | ToolChoiceAny | ToolChoiceTool | ToolChoiceNone,
            Field(discriminator="type"),
        ]
        | None
    ) = None
    thinking: (
        Annotated[
            ThinkingAdaptive | ThinkingEnabled | ThinkingDisabled, Field(discriminator="type")
        ]
        | None
    ) = None
    cache_control: CacheControl | None = None
    output_config: OutputConfig | None = None
    metadata: Metadata | None = None
    diagnostics: Diagnostics | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    stop_sequences: list[str] | None = None
    stream: bool = False
    temperature: float | None = Field(default=None, ge=0, le=1)
    top_p: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=0)


def parse(raw: bytes) -> dict[str, Any]:
    """The request's JSON object; NaN, infinities and unpaired surrogates are refused."""
    try:
        body: object = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise RefusedError(f"The request body is not valid JSON: {error}") from None
    if not is_object(body):
        raise RefusedError("Input should be a valid dictionary")
    return body


def check_shape(body: dict[str, Any], knows: Callable[[object], bool]) -> None:
    """Refuse a missing, mistyped or unknown field, naming the first one.

    `knows` says whether a message's content is an answer of the stand-in's own: those may hold
    block types and fields that requests otherwise may not.
    """
    try:
        MessagesRequest.model_validate(_without_news(body, knows))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RefusedError(f"{place}: {first['msg']}") from None


def _without_news(body: dict[str, Any], knows: Callable[[object], bool]) -> dict[str, Any]:
    messages = body.get("messages")
    if not is_list(messages):
        return body
    return {**body, "messages": [_known_part(message, knows) for message in messages]}


def _known_part(message: object, knows: Callable[[object], bool]) -> object:
    if not is_object(message) or not knows(message.get("content")):
        return message
    content = [
        {key: value for key, value in block.items() if key in _FIELDS[block["type"]]}
        for block in message["content"]
        if block["type"] in _FIELDS
    ]
    return {**message, "content": content}


_FIELDS = {
    "text": TextBlock.model_fields.keys(),
    "thinking": ThinkingBlock.model_fields.keys(),
    "tool_use": ToolUseBlock.model_fields.keys(),
}
