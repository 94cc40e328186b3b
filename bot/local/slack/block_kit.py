"""Block Kit as pydantic models: every block and element the local Slack knows, with its limits.

Only what one block or element may look like; what holds for a whole message or view is in
`blocks.py`. Limits: docs.slack.dev, reference/block-kit. A field or a type that isn't here is
refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

Id = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Url = Annotated[str, StringConstraints(min_length=1, max_length=3000)]
ButtonValue = Annotated[str, StringConstraints(max_length=2000)]
AltText = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=75)]


class UpTo:
    """The longest a text object may be where it stands."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, text: PlainText | Mrkdwn) -> PlainText | Mrkdwn:
        if len(text.text) > self.limit:
            raise PydanticCustomError(
                "text_too_long", "must be less than {more} characters", {"more": self.limit + 1}
            )
        return text


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PlainText(Part):
    type: Literal["plain_text"]
    text: Annotated[str, StringConstraints(min_length=1, max_length=3000)]
    emoji: bool = True


class Mrkdwn(Part):
    type: Literal["mrkdwn"]
    text: Annotated[str, StringConstraints(min_length=1, max_length=3000)]
    verbatim: bool = False


AnyText = Annotated[PlainText | Mrkdwn, Field(discriminator="type")]
Placeholder = Annotated[PlainText, AfterValidator(UpTo(150))]
ButtonText = Annotated[PlainText, AfterValidator(UpTo(75))]


class Confirm(Part):
    title: Annotated[PlainText, AfterValidator(UpTo(100))]
    text: Annotated[AnyText, AfterValidator(UpTo(300))]
    confirm: Annotated[PlainText, AfterValidator(UpTo(30))]
    deny: Annotated[PlainText, AfterValidator(UpTo(30))]
    style: Literal["primary", "danger"] | None = None


class Option(Part):
    text: Annotated[AnyText, AfterValidator(UpTo(75))]
    value: Annotated[str, StringConstraints(min_length=1, max_length=150)]
    description: Annotated[AnyText, AfterValidator(UpTo(75))] | None = None
    url: Url | None = None


class OptionGroup(Part):
    label: Annotated[PlainText, AfterValidator(UpTo(75))]
    options: Annotated[list[Option], Field(max_length=100)]


class Interactive(Part):
    """An element that a person can use; `action_id` is made up when the app gives none."""

    action_id: Id | None = None


class Button(Interactive):
    type: Literal["button"]
    text: ButtonText
    url: Url | None = None
    value: ButtonValue | None = None
    style: Literal["primary", "danger"] | None = None
    confirm: Confirm | None = None
    accessibility_label: Label | None = None
    visible_to_user_ids: list[str] | None = None


class IconButton(Interactive):
    type: Literal["icon_button"]
    icon: Literal["trash"]
    text: ButtonText
    value: ButtonValue | None = None
    confirm: Confirm | None = None
    accessibility_label: Label | None = None
    visible_to_user_ids: list[str] | None = None


class FeedbackButton(Part):
    text: ButtonText
    value: ButtonValue
    accessibility_label: Label | None = None


class FeedbackButtons(Interactive):
    type: Literal["feedback_buttons"]
    positive_button: FeedbackButton
    negative_button: FeedbackButton


class Select(Interactive):
    placeholder: Placeholder | None = None
    confirm: Confirm | None = None
    focus_on_load: bool | None = None


class StaticSelect(Select):
    type: Literal["static_select"]
    options: Annotated[list[Option], Field(min_length=1, max_length=100)] | None = None
    option_groups: Annotated[list[OptionGroup], Field(min_length=1, max_length=100)] | None = None
    initial_option: Option | None = None

    @model_validator(mode="after")
    def _one_source(self) -> StaticSelect:
        if (self.options is None) == (self.option_groups is None):
            raise PydanticCustomError(
                "options", "exactly one of options and option_groups is required"
            )
        return self


class ExternalSelect(Select):
    type: Literal["external_select"]
    min_query_length: Annotated[int, Field(ge=0)] | None = None
    initial_option: Option | None = None


class UsersSelect(Select):
    type: Literal["users_select"]
    initial_user: str | None = None


class Overflow(Interactive):
    type: Literal["overflow"]
    options: Annotated[list[Option], Field(min_length=1, max_length=5)]
    confirm: Confirm | None = None


class Choices(Interactive):
    options: Annotated[list[Option], Field(min_length=1, max_length=10)]
    confirm: Confirm | None = None
    focus_on_load: bool | None = None


class Checkboxes(Choices):
    type: Literal["checkboxes"]
    initial_options: list[Option] | None = None


class RadioButtons(Choices):
    type: Literal["radio_buttons"]
    initial_option: Option | None = None


class DatePicker(Select):
    type: Literal["datepicker"]
    initial_date: str | None = None


class DispatchActionConfig(Part):
    trigger_actions_on: list[Literal["on_enter_pressed", "on_character_entered"]]


class TypedInput(Interactive):
    placeholder: Placeholder | None = None
    dispatch_action_config: DispatchActionConfig | None = None
    focus_on_load: bool | None = None


class PlainTextInput(TypedInput):
    type: Literal["plain_text_input"]
    initial_value: Annotated[str, StringConstraints(max_length=3000)] | None = None
    multiline: bool = False
    min_length: Annotated[int, Field(ge=0, le=3000)] | None = None
    max_length: Annotated[int, Field(ge=1, le=3000)] | None = None


class NumberInput(TypedInput):
    type: Literal["number_input"]
    is_decimal_allowed: bool
    initial_value: str | None = None
    min_value: str | None = None
    max_value: str | None = None


class EmailInput(TypedInput):
    type: Literal["email_text_input"]
    initial_value: str | None = None


class UrlInput(TypedInput):
    type: Literal["url_text_input"]
    initial_value: str | None = None


class FileInput(Interactive):
    """`filetypes` are extensions; without them any file may be chosen."""

    type: Literal["file_input"]
    filetypes: list[str] | None = None
    max_files: Annotated[int, Field(ge=1, le=10)] | None = None


class SlackFile(Part):
    id: str | None = None
    url: str | None = None


class Picture(Part):
    type: Literal["image"]
    alt_text: AltText
    image_url: Url | None = None
    slack_file: SlackFile | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Picture:
        if (self.image_url is None) == (self.slack_file is None):
            raise PydanticCustomError(
                "image", "exactly one of image_url and slack_file is required"
            )
        return self


class Block(Part):
    block_id: Id | None = None


class Section(Block):
    type: Literal["section"]
    text: AnyText | None = None
    fields: (
        Annotated[
            list[Annotated[AnyText, AfterValidator(UpTo(2000))]],
            Field(min_length=1, max_length=10),
        ]
        | None
    ) = None
    accessory: (
        Annotated[
            Button
            | StaticSelect
            | ExternalSelect
            | UsersSelect
            | Overflow
            | Checkboxes
            | RadioButtons
            | DatePicker
            | Picture,
            Field(discriminator="type"),
        ]
        | None
    ) = None
    expand: bool | None = None

    @model_validator(mode="after")
    def _has_words(self) -> Section:
        if self.text is None and self.fields is None:
            raise PydanticCustomError("section", "one of text and fields is required")
        return self


class Header(Block):
    type: Literal["header"]
    text: Annotated[PlainText, AfterValidator(UpTo(150))]


class Divider(Block):
    type: Literal["divider"]


class ImageBlock(Picture, Block):
    title: Annotated[PlainText, AfterValidator(UpTo(2000))] | None = None


class Context(Block):
    type: Literal["context"]
    elements: Annotated[
        list[Annotated[PlainText | Mrkdwn | Picture, Field(discriminator="type")]],
        Field(min_length=1, max_length=10),
    ]


class Actions(Block):
    type: Literal["actions"]
    elements: Annotated[
        list[
            Annotated[
                Button
                | StaticSelect
                | ExternalSelect
                | UsersSelect
                | Overflow
                | Checkboxes
                | RadioButtons
                | DatePicker,
                Field(discriminator="type"),
            ]
        ],
        Field(min_length=1, max_length=25),
    ]


class ContextActions(Block):
    type: Literal["context_actions"]
    elements: Annotated[
        list[Annotated[FeedbackButtons | IconButton, Field(discriminator="type")]],
        Field(min_length=1, max_length=5),
    ]


class Input(Block):
    type: Literal["input"]
    label: Annotated[PlainText, AfterValidator(UpTo(2000))]
    element: Annotated[
        PlainTextInput
        | NumberInput
        | EmailInput
        | UrlInput
        | FileInput
        | StaticSelect
        | ExternalSelect
        | UsersSelect
        | Checkboxes
        | RadioButtons
        | DatePicker,
        Field(discriminator="type"),
    ]
    hint: Annotated[PlainText, AfterValidator(UpTo(2000))] | None = None
    optional: bool = False
    dispatch_action: bool = False

    @model_validator(mode="after")
    def _files_go_with_the_modal(self) -> Input:
        if self.dispatch_action and isinstance(self.element, FileInput):
            raise PydanticCustomError(
                "dispatch_action", "dispatch_action can't be used with a file_input"
            )
        return self


class Markdown(Block):
    type: Literal["markdown"]
    text: Annotated[str, StringConstraints(min_length=1, max_length=12000)]


class RichText(Block):
    """Its inner elements are taken as they are: people write these, apps rarely do."""

    type: Literal["rich_text"]
    elements: list[dict[str, Any]]


AnyBlock = Annotated[
    Section
    | Header
    | Divider
    | ImageBlock
    | Context
    | Actions
    | ContextActions
    | Input
    | Markdown
    | RichText,
    Field(discriminator="type"),
]


class MessageBlocks(Part):
    blocks: Annotated[list[AnyBlock], Field(max_length=50)]


class ModalView(Part):
    type: Literal["modal"]
    title: Annotated[PlainText, AfterValidator(UpTo(24))]
    blocks: Annotated[list[AnyBlock], Field(min_length=1, max_length=100)]
    submit: Annotated[PlainText, AfterValidator(UpTo(24))] | None = None
    close: Annotated[PlainText, AfterValidator(UpTo(24))] | None = None
    private_metadata: Annotated[str, StringConstraints(max_length=3000)] = ""
    callback_id: Annotated[str, StringConstraints(max_length=255)] = ""
    external_id: Annotated[str, StringConstraints(max_length=255)] = ""
    clear_on_close: bool = False
    notify_on_close: bool = False
    submit_disabled: bool = False


class HomeView(Part):
    type: Literal["home"]
    blocks: Annotated[list[AnyBlock], Field(max_length=100)]
    private_metadata: Annotated[str, StringConstraints(max_length=3000)] = ""
    callback_id: Annotated[str, StringConstraints(max_length=255)] = ""
    external_id: Annotated[str, StringConstraints(max_length=255)] = ""


class OptionsAnswer(Part):
    """What an app answers to a block_suggestion."""

    options: Annotated[list[Option], Field(max_length=100)] | None = None
    option_groups: Annotated[list[OptionGroup], Field(max_length=100)] | None = None
