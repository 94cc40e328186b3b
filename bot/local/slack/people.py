"""Acting as a person, by what that person sees."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bot.local.slack.blocks import elements
from bot.local.slack.events import EventFeed
from bot.local.slack.fields import action_of, entered_value, labelled, offered, picked, unfit
from bot.local.slack.interactions import Interactions, Place, Suggested
from bot.local.slack.manifest import Manifest, Shortcut
from bot.local.slack.render import button_texts
from bot.local.slack.socket_mode import Ack
from bot.local.slack.surfaces import Surfaces
from bot.local.slack.wire import files_value
from bot.local.slack.wording import typed
from bot.local.slack.workspace import App, Channel, Json, Message, User, View, Workspace

CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file to attach to a message, or to choose in a modal."""

    name: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class ClickResult:
    """What became of a click, a choice, a shortcut or a command: `error` is what the person saw
    instead of an acknowledgement (or `cancelled` in the confirmation)."""

    error: str | None = None

    @property
    def acked(self) -> bool:
        return self.error is None


@dataclass(frozen=True, kw_only=True)
class SubmitResult:
    """What became of a modal: `errors` are shown beside the fields, by label; `error` is shown for
    the whole modal."""

    error: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def accepted(self) -> bool:
        return self.error is None and not self.errors


class Person:
    """One member at the keyboard. `errors` collects everything that Slack told them went wrong."""

    def __init__(
        self,
        user: User,
        *,
        workspace: Workspace,
        surfaces: Surfaces,
        interactions: Interactions,
        feed: EventFeed,
        manifest: Manifest,
        app: App,
        unfurl_links: Callable[[], bool],
    ) -> None:
        self._user_id = user.id
        self._workspace = workspace
        self._surfaces = surfaces
        self._interactions = interactions
        self._feed = feed
        self._manifest = manifest
        self._app = app
        self._unfurl_links = unfurl_links
        self._values: dict[tuple[str, str], dict[str, dict[str, Json]]] = {}
        self.errors: list[str] = []

    @property
    def user(self) -> User:
        return self._workspace.users[self._user_id]

    @property
    def id(self) -> str:
        return self._user_id

    # Messages

    async def post(
        self,
        channel: str | Channel,
        text: str,
        *,
        files: Sequence[Upload] = (),
        thread: Message | None = None,
        broadcast: bool = False,
    ) -> Message:
        """Types a message; `channel` by name or id. Needs to be a member (else PermissionError)."""
        place = channel if isinstance(channel, Channel) else self._workspace.channel(channel)
        self._be_in(place.id)
        words = typed(text, self._workspace)
        stored = tuple(
            self._workspace.upload(each.name, each.content, self.id).id for each in files
        )
        is_broadcast = thread is not None and broadcast
        subtype = "thread_broadcast" if is_broadcast else "file_share" if stored else None
        message = self._workspace.post(
            Message(
                channel=place.id,
                ts=self._workspace.mint_ts(),
                text=words.text,
                user=self.id,
                blocks=words.blocks,
                files=stored,
                subtype=subtype,
                thread_ts=thread.root_ts if thread else None,
                broadcast=is_broadcast,
                client_msg_id=str(uuid.uuid4()),
            )
        )
        if words.has_link and self._unfurl_links():
            message = self._workspace.change(replace(message, unfurled=True))
        return message

    async def reply(self, message: Message, text: str, files: Sequence[Upload] = ()) -> Message:
        """Answers in the message's thread."""
        channel = self._workspace.channels[message.channel]
        return await self.post(channel, text, files=files, thread=message)

    async def direct_message(self, text: str) -> Message:
        """Writes to the app."""
        channel = self._workspace.direct_channel(self.id, self._app.bot_user_id)
        return await self.post(channel, text)

    async def edit(self, message: Message, text: str) -> Message:
        current = self._own(message)
        words = typed(text, self._workspace)
        return self._workspace.change(
            replace(
                current,
                text=words.text,
                blocks=words.blocks,
                edited_by=self.id,
                edited_ts=self._workspace.mint_ts(),
            )
        )

    async def delete(self, message: Message) -> None:
        self._workspace.delete(self._own(message))

    async def react(self, message: Message, name: str) -> None:
        self._workspace.react(self._current(message), name, self.id)

    async def join(self, channel: str) -> None:
        self._workspace.join(self._workspace.channel(channel), self.id)

    async def invite_app(self, channel: str) -> None:
        """Brings the app's bot into a channel."""
        place = self._workspace.channel(channel)
        self._workspace.join(place, self._app.bot_user_id, inviter_id=self.id)

    # What the person sees

    @property
    def modal(self) -> View | None:
        """The modal that is open, the topmost one."""
        return self._surfaces.top(self.id)

    @property
    def home(self) -> View | None:
        """The app's Home tab as it was last published for this person."""
        return self._workspace.views.get(self._workspace.homes.get(self.id, ""))

    @property
    def private(self) -> list[Message]:
        """Messages that only this person sees, oldest first."""
        return [message for message in self._workspace.private if message.ephemeral_to == self.id]

    # Clicks and choices

    async def click(
        self, place: Place, text: str, *, confirm: bool = True, as_seen: bool = False
    ) -> ClickResult:
        """Presses the button with that visible text; LookupError names those there are. `confirm`
        is the answer to the button's confirmation, where it has one. With `as_seen` it is the
        button of the version given here, as when the app's change hasn't reached the screen yet."""
        now = self._now(place)
        block, element, extra = self._button(place if as_seen else now, text)
        if "confirm" in element and not confirm:
            return ClickResult(error=CANCELLED)
        return await self._act(place, action_of(block, element) | extra)

    async def suggest(self, place: Place, text: str = "", *, label: str | None = None) -> list[str]:
        """The texts of the options offered for what is typed into a searching select."""
        _, suggested = await self._suggested(self._now(place), text, label)
        return [str(option["text"]["text"]) for option in suggested.options]

    async def choose(
        self, place: Place, text: str = "", *, option: str | None = None, label: str | None = None
    ) -> ClickResult:
        """Types into a select (or opens a menu) and picks an option: the one whose text starts
        with `option`, else the first offered. `label` (of its input, or its placeholder) tells
        one of several selects. In a modal's input it only fills the field."""
        now = self._now(place)
        block, element = self._select(now, label)
        if element["type"] == "external_select":
            _, suggested = await self._suggested(now, text, label)
            if suggested.error:
                return self._result(Ack(error=suggested.error))
            options: list[Json] = list(suggested.options)
        else:
            options = offered(element, text)
        chosen = picked(options, option)
        if chosen is None:
            shown = ", ".join(str(item["text"]["text"]) for item in options) or "nothing"
            raise LookupError(f"no option {option or text!r}; offered: {shown}")
        value: Json = {"type": element["type"], "selected_option": chosen}
        if element["type"] != "overflow":
            self._set_value(place, block, element, value)
        if block["type"] == "input" and not block["dispatch_action"]:
            return ClickResult()
        return await self._act(place, action_of(block, element) | value)

    # Modals

    async def fill(self, values: Mapping[str, str | Sequence[Upload]]) -> View:
        """Fills fields of the open modal by their labels; selects (but searching ones) by their
        option's text, fields for files by uploads."""
        view = self._open_modal()
        for label, given in values.items():
            block = labelled(view, label)
            element: Json = block["element"]
            value = self._entered(element, given)
            view = self._surfaces.set_value(view, block["block_id"], element["action_id"], value)
        return view

    async def fill_and_submit(
        self, values: Mapping[str, str | Sequence[Upload]] | None = None
    ) -> SubmitResult:
        """Fills fields by their labels and sends the modal in. Slack's own checks (a required
        field that is empty, too long a text, a file that the field doesn't take) show errors
        without asking the app."""
        view = await self.fill(values or {})
        if "submit" not in view.definition:
            raise LookupError(f"the modal {view.title!r} has no submit button")
        labels = {b["block_id"]: b["label"]["text"] for b in view.blocks if b["type"] == "input"}
        wrong = {labels[block]: words for block, words in unfit(view).items()}
        if wrong:
            return SubmitResult(errors=wrong)
        ack, errors = await self._interactions.submit(self.user, view)
        if ack.error:
            self.errors.append(ack.error)
        return SubmitResult(
            error=ack.error, errors={labels[block]: words for block, words in errors.items()}
        )

    async def close_modal(self) -> None:
        ack = await self._interactions.close(self.user, self._open_modal())
        if ack:
            self._result(ack)

    # Shortcuts, commands, Home

    async def message_shortcut(self, message: Message, name: str) -> ClickResult:
        shortcut = self._shortcut("message", name)
        ack = await self._interactions.shortcut(self.user, shortcut, self._current(message))
        return self._result(ack)

    async def global_shortcut(self, name: str) -> ClickResult:
        shortcut = self._shortcut("global", name)
        return self._result(await self._interactions.shortcut(self.user, shortcut, None))

    async def slash(
        self, command: str, text: str = "", *, channel: str = "support-cases"
    ) -> ClickResult:
        if command not in self._manifest.commands:
            known = ", ".join(sorted(self._manifest.commands)) or "none"
            raise LookupError(f"{command} is not a command here; known: {known}")
        place = self._workspace.channel(channel)
        self._be_in(place.id)
        return self._result(await self._interactions.slash(self.user, place, command, text))

    async def open_home(self) -> None:
        if not self._manifest.has_home:
            raise LookupError("the app has no Home tab")
        self._feed.home_opened(self.id)

    # Inside

    def _entered(self, element: Json, given: str | Sequence[Upload]) -> Json:
        if isinstance(given, str):
            return entered_value(element, given)
        if element["type"] != "file_input":
            raise LookupError(f"a {element['type']} takes no files")
        files = [
            self._workspace.upload(each.name, each.content, self.id, is_public=False)
            for each in given
        ]
        return files_value(self._workspace, files)

    def _be_in(self, channel_id: str) -> None:
        channel = self._workspace.channels[channel_id]
        if self.id not in channel.members:
            raise PermissionError(f"{self.user.real_name} is not in #{channel.name}")

    def _current(self, message: Message) -> Message:
        if message.ephemeral_to:
            for kept in self.private:
                if kept.ts == message.ts:
                    return kept
        self._be_in(message.channel)
        current = self._workspace.message(message.channel, message.ts)
        if current is None or current.is_tombstone:
            raise LookupError("that message is gone")
        return current

    def _own(self, message: Message) -> Message:
        current = self._current(message)
        if current.user != self.id:
            raise PermissionError("people edit and delete only their own messages")
        return current

    def _now(self, place: Place) -> Place:
        if isinstance(place, View):
            if place.id not in self._workspace.views:
                raise LookupError(f"the view {place.title!r} is closed")
            return self._workspace.views[place.id]
        current = self._current(place)
        if current.app_id != self._app.id:
            raise LookupError("that message isn't the app's: what is pressed there goes elsewhere")
        return current

    def _open_modal(self) -> View:
        view = self.modal
        if view is None:
            raise LookupError(f"{self.user.real_name} has no modal open")
        return view

    def _button(self, place: Place, text: str) -> tuple[Json, Json, Json]:
        """The block, the element and what the press adds to the action."""
        for block, element in elements(place.blocks):
            allowed = element.get("visible_to_user_ids")
            if allowed is not None and self.id not in allowed:
                continue
            if element["type"] == "feedback_buttons":
                for side in ("positive_button", "negative_button"):
                    if element[side]["text"]["text"] == text:
                        return block, element, {"value": element[side]["value"]}
            elif "text" in element and element["text"]["text"] == text:
                extra = {"text": element["text"]}
                if "value" in element:
                    extra["value"] = element["value"]
                return block, element, extra
        known = ", ".join(button_texts(place.blocks)) or "none"
        raise LookupError(f"no button {text!r} here; buttons: {known}")

    def _select(self, place: Place, label: str | None) -> tuple[Json, Json]:
        names: list[str] = []
        for block, element in elements(place.blocks):
            kind: str = element["type"]
            if not kind.endswith("_select") and kind not in ("overflow", "radio_buttons"):
                continue
            own = [block["label"]["text"]] if "label" in block else []
            own += [element["placeholder"]["text"]] if "placeholder" in element else []
            if label is None or label in own:
                return block, element
            names.extend(own)
        raise LookupError(f"no select {label or ''!r} here; selects: {', '.join(names) or 'none'}")

    async def _suggested(
        self, place: Place, text: str, label: str | None
    ) -> tuple[Json, Suggested]:
        block, element = self._select(place, label)
        # Slack asks the app only from the third character on, unless the element says otherwise.
        least = element.get("min_query_length", 3)
        if len(text) < least:
            raise LookupError(f"this select searches from {least} characters on")
        named = element | {"block_id": block["block_id"]}
        suggested = await self._interactions.suggestions(self.user, place, named, text)
        if suggested.error:
            self.errors.append(suggested.error)
        return element, suggested

    def _set_value(self, place: Place, block: Json, element: Json, value: Json) -> None:
        if isinstance(place, View):
            view = self._workspace.views[place.id]
            self._surfaces.set_value(view, block["block_id"], element["action_id"], value)
            return
        values = self._values.setdefault((place.channel, place.ts), {})
        values.setdefault(block["block_id"], {})[element["action_id"]] = value

    async def _act(self, place: Place, action: Json) -> ClickResult:
        now = self._now(place)
        key = ("", now.id) if isinstance(now, View) else (now.channel, now.ts)
        values = self._values.get(key, {})
        return self._result(await self._interactions.block_action(self.user, now, action, values))

    def _result(self, ack: Ack) -> ClickResult:
        if ack.error and (not self.errors or self.errors[-1] is not ack.error):
            self.errors.append(ack.error)
        return ClickResult(error=ack.error)

    def _shortcut(self, kind: str, name: str) -> Shortcut:
        for shortcut in self._manifest.shortcuts:
            if (shortcut.type, shortcut.name) == (kind, name):
                return shortcut
        known = ", ".join(item.name for item in self._manifest.shortcuts) or "none"
        raise LookupError(f"no {kind} shortcut {name!r}; known: {known}")
