"""What the page may ask to be done, as it comes in: one model a kind of act."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, TypeAdapter

Json = dict[str, Any]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Given(_Body):
    """A file to attach."""

    name: Annotated[str, Field(min_length=1, max_length=255)]
    content_base64: Base64Bytes


class Place(_Body):
    """A message (`channel` and `ts`) or a view."""

    channel: str | None = None
    ts: str | None = None
    view_id: str | None = None


class _Act(_Body):
    by: Annotated[str, Field(alias="as")]


class Post(_Act):
    kind: Literal["post"]
    channel: str
    text: str = ""
    files: tuple[Given, ...] = ()
    thread_ts: str | None = None
    broadcast: bool = False


class Edit(_Act):
    kind: Literal["edit"]
    channel: str
    ts: str
    text: str


class Delete(_Act):
    kind: Literal["delete"]
    channel: str
    ts: str


class React(_Act):
    kind: Literal["react", "unreact"]
    channel: str
    ts: str
    name: Annotated[str, Field(pattern=r"^[a-z0-9_+'-]{1,100}$")]


class Click(_Act):
    """`element` is the button as the person saw it."""

    kind: Literal["click"]
    place: Place
    block_id: str
    action_id: str
    element: Json | None = None


class Options(_Act):
    kind: Literal["options"]
    place: Place
    block_id: str
    action_id: str
    query: str = ""


class Choose(_Act):
    """Exactly one of the fields after `action_id` says what was picked."""

    kind: Literal["choose"]
    place: Place
    block_id: str
    action_id: str
    option: Json | None = None
    options: list[Json] | None = None
    user: str | None = None
    date: str | None = None
    value: str | None = None


class Attach(_Act):
    """Files for a field of an open modal, which go in with it."""

    kind: Literal["attach"]
    view_id: str
    block_id: str
    action_id: str
    files: Annotated[tuple[Given, ...], Field(min_length=1)]


class Submit(_Act):
    """`values`: block id → action id → what was typed, or a whole state value. Files in one are
    known by their `id`."""

    kind: Literal["submit"]
    view_id: str
    values: dict[str, dict[str, str | Json]] = Field(
        default_factory=dict[str, dict[str, "str | Json"]]
    )


class Close(_Act):
    kind: Literal["close"]
    view_id: str


class MessageShortcut(_Act):
    kind: Literal["message_shortcut"]
    channel: str
    ts: str
    callback_id: str


class GlobalShortcut(_Act):
    kind: Literal["global_shortcut"]
    callback_id: str


class Slash(_Act):
    kind: Literal["slash"]
    channel: str
    command: str
    text: str = ""


class OpenHome(_Act):
    kind: Literal["open_home"]


class MarkRead(_Act):
    kind: Literal["mark_read"]
    channel: str
    ts: str
    thread_ts: str | None = None


Act = Annotated[
    Post
    | Edit
    | Delete
    | React
    | Click
    | Options
    | Choose
    | Attach
    | Submit
    | Close
    | MessageShortcut
    | GlobalShortcut
    | Slash
    | OpenHome
    | MarkRead,
    Field(discriminator="kind"),
]


def read_act(content: bytes) -> Act:
    """Raises pydantic's `ValidationError`."""
    adapter: TypeAdapter[Act] = TypeAdapter(Act)
    return adapter.validate_json(content)
