"""What a person does on the page, done in the local Slack.

Unlike `Person`, who acts by visible words, the page acts by the ids of blocks and elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.local.slack import LocalSlack, Message, Person, Upload, View
from bot.local.slack.blocks import elements
from bot.local.slack.fields import action_of, offered, unfit, unfit_files
from bot.local.slack.interactions import Place
from bot.local.slack.manifest import Shortcut
from bot.local.slack.wire import file_json, files_value
from bot.local.slack.workspace import File, Json, as_list, as_object
from bot.local.workspace import requests
from bot.local.workspace.reading import Reader
from bot.local.workspace.refusals import NotHereError, NotYoursError

_PICKED_NAMES = {
    "static_select": "selected_option",
    "external_select": "selected_option",
    "radio_buttons": "selected_option",
    "overflow": "selected_option",
    "checkboxes": "selected_options",
    "users_select": "selected_user",
    "datepicker": "selected_date",
}
_BUTTONS = ("button", "icon_button", "feedback_buttons")


class Hands:
    """Does acts. Answers have `ok`, and `error` in words when it is false."""

    def __init__(self, slack: LocalSlack, reader: Reader) -> None:
        self._slack = slack
        self._workspace = slack.workspace
        self._reader = reader
        # What was picked in messages, which go along with each later action there.
        self._picked: dict[tuple[str, str, str], dict[str, dict[str, Json]]] = {}

    async def do(self, act: requests.Act) -> Json:
        """Raises `ValueError` for an act that no page of ours would send."""
        try:
            return await self._do(act)
        except (NotHereError, NotYoursError, PermissionError) as refusal:
            return self._told(str(refusal))
        except LookupError as refusal:
            if isinstance(refusal, KeyError | IndexError):
                raise
            # How `Person` refuses.
            return self._told(str(refusal))

    async def _do(self, act: requests.Act) -> Json:
        person = self._person(act.by)
        match act:
            case requests.Post():
                return self._shown(await self._post(person, act), person)
            case requests.Edit():
                message = await person.edit(self._message(person, act.channel, act.ts), act.text)
                return self._shown(message, person)
            case requests.Delete():
                await person.delete(self._message(person, act.channel, act.ts))
                return {"ok": True}
            case requests.React():
                await self._react(person, act)
                return {"ok": True}
            case requests.Click():
                return await self._click(person, act)
            case requests.Options():
                return await self._options(person, act)
            case requests.Choose():
                return await self._choose(person, act)
            case requests.Attach():
                return self._attach(person, act)
            case requests.Submit():
                return await self._submit(person, act)
            case requests.Close():
                self._open_modal(person, act.view_id)
                await person.close_modal()
                return {"ok": True}
            case requests.MessageShortcut():
                shortcut = self._shortcut("message", act.callback_id)
                message = self._message(person, act.channel, act.ts)
                result = await person.message_shortcut(message, shortcut.name)
                return self._told(result.error)
            case requests.GlobalShortcut():
                shortcut = self._shortcut("global", act.callback_id)
                return self._told((await person.global_shortcut(shortcut.name)).error)
            case requests.Slash():
                result = await person.slash(act.command, act.text, channel=act.channel)
                return self._told(result.error)
            case requests.OpenHome():
                await person.open_home()
                return {"ok": True}
            case requests.MarkRead():
                self._reader.mark_read(person.id, act.channel, act.ts, act.thread_ts)
                return {"ok": True}

    # Messages

    async def _post(self, person: Person, act: requests.Post) -> Message:
        if not act.text.strip() and not act.files:
            raise NotHereError("Write something or attach a file first.")
        thread = None
        if act.thread_ts is not None:
            thread = self._workspace.message(act.channel, act.thread_ts)
            if thread is None:
                raise NotHereError("that thread is gone")
        channel = self._workspace.channel(act.channel)
        files = [Upload(name=each.name, content=each.content_base64) for each in act.files]
        return await person.post(
            channel, act.text, files=files, thread=thread, broadcast=act.broadcast
        )

    async def _react(self, person: Person, act: requests.React) -> None:
        message = self._message(person, act.channel, act.ts)
        has_reacted = person.id in dict(message.reactions).get(act.name, ())
        if act.kind == "react" and not has_reacted:
            await person.react(message, act.name)
        elif act.kind == "unreact" and has_reacted:
            self._workspace.unreact(message, act.name, person.id)

    # Blocks

    async def _click(self, person: Person, act: requests.Click) -> Json:
        place = self._place(person, act.place)
        seen = act.element or {}
        found = self._find(place, act.block_id, act.action_id)
        # What was on the screen counts, as in Slack: a button that changed or went a moment ago
        # sends what the person pressed.
        element = seen if found is None else found[1] | seen
        if element.get("type") not in _BUTTONS:
            raise NotHereError("That button is no longer there.")
        allowed = element.get("visible_to_user_ids")
        if allowed is not None and person.id not in allowed:
            raise NotYoursError("That button is not for you.")
        action: Json = {
            name: element[name] for name in ("type", "value", "text") if name in element
        }
        if element["type"] == "feedback_buttons":
            action.pop("text", None)
        return await self._act(
            person, place, action | {"block_id": act.block_id, "action_id": act.action_id}
        )

    async def _options(self, person: Person, act: requests.Options) -> Json:
        place = self._place(person, act.place)
        block, element = self._present(place, act.block_id, act.action_id)
        if element["type"] != "external_select":
            return {"ok": True, "options": offered(element, act.query)}
        if len(act.query) < element.get("min_query_length", 3):
            return {"ok": True, "options": []}
        named = element | {"block_id": block["block_id"]}
        suggested = await self._slack.interactions.suggestions(person.user, place, named, act.query)
        if suggested.error:
            person.errors.append(suggested.error)
        return self._told(suggested.error) | {"options": list(suggested.options)}

    async def _choose(self, person: Person, act: requests.Choose) -> Json:
        place = self._place(person, act.place)
        block, element = self._present(place, act.block_id, act.action_id)
        value = _picked_value(element, act)
        if element["type"] != "overflow":
            self._set(person, place, block["block_id"], element["action_id"], value)
        if block["type"] == "input" and not block.get("dispatch_action"):
            return {"ok": True}
        return await self._act(person, place, action_of(block, element) | value)

    def _attach(self, person: Person, act: requests.Attach) -> Json:
        """Keeps files for a field, if it takes them; the page holds on to what was answered."""
        view = self._open_modal(person, act.view_id)
        _, element = self._present(view, act.block_id, act.action_id)
        if element["type"] != "file_input":
            raise ValueError(f"a {element['type']} takes no files")
        sizes = [{"name": each.name, "size": len(each.content_base64)} for each in act.files]
        if (words := unfit_files(element, sizes)) is not None:
            return self._told(words)
        files = [
            self._workspace.upload(each.name, each.content_base64, person.id, is_public=False)
            for each in act.files
        ]
        return {"ok": True, "files": [file_json(self._workspace, each) for each in files]}

    async def _submit(self, person: Person, act: requests.Submit) -> Json:
        view = self._open_modal(person, act.view_id)
        for block_id, actions in act.values.items():
            for action_id, given in actions.items():
                _, element = self._present(view, block_id, action_id)
                if element["type"] == "file_input":
                    value = files_value(self._workspace, self._files(person, given))
                else:
                    value = _state_value(element, given)
                view = self._slack.surfaces.set_value(view, block_id, action_id, value)
        wrong = unfit(view)
        if wrong:
            return {"ok": False, "error": "Some fields need another look.", "errors": wrong}
        ack, errors = await self._slack.interactions.submit(person.user, view)
        if ack.error:
            person.errors.append(ack.error)
        elif errors:
            return {"ok": False, "error": "Some fields need another look.", "errors": errors}
        return self._told(ack.error) | {"errors": errors}

    async def _act(self, person: Person, place: Place, action: Json) -> Json:
        # The newest version: what was picked in a view is part of it.
        place = self._newest(place)
        picked = self._picked.get(_key(person, place), {})
        ack = await self._slack.interactions.block_action(person.user, place, action, picked)
        if ack.error:
            person.errors.append(ack.error)
        return self._told(ack.error)

    # Finding

    def _person(self, user_id: str) -> Person:
        if user_id not in self._workspace.users or self._workspace.users[user_id].is_bot:
            raise NotHereError("There is no such person here.")
        return self._slack.person(user_id)

    def _message(self, person: Person, channel: str, ts: str) -> Message:
        for private in person.private:
            if (private.channel, private.ts) == (channel, ts):
                return private
        message = self._workspace.message(channel, ts)
        if message is None or message.is_tombstone:
            raise NotHereError("That message is gone.")
        place = self._workspace.channels[channel]
        if person.id not in place.members:
            raise NotYoursError(f"{person.user.real_name} is not in #{place.name}.")
        return message

    def _place(self, person: Person, place: requests.Place) -> Place:
        if place.view_id is not None:
            view = self._workspace.views.get(place.view_id)
            if view is None or view.user_id != person.id:
                raise NotHereError("That window is closed.")
            return view
        message = self._message(person, place.channel or "", place.ts or "")
        if message.app_id != self._slack.app.id:
            raise NotHereError("That message isn't the app's: what is pressed there does nothing.")
        return message

    def _newest(self, place: Place) -> Place:
        if isinstance(place, View):
            return self._workspace.views.get(place.id, place)
        return self._workspace.message(place.channel, place.ts) or place

    def _open_modal(self, person: Person, view_id: str) -> View:
        view = person.modal
        if view is None or view.id != view_id:
            raise NotHereError("That window is closed.")
        return view

    def _find(self, place: Place, block_id: str, action_id: str) -> tuple[Json, Json] | None:
        for block, element in elements(place.blocks):
            if (block["block_id"], element["action_id"]) == (block_id, action_id):
                return block, element
        return None

    def _present(self, place: Place, block_id: str, action_id: str) -> tuple[Json, Json]:
        found = self._find(place, block_id, action_id)
        if found is None:
            raise NotHereError("That field is no longer there.")
        return found

    def _files(self, person: Person, given: str | Json) -> list[File]:
        """The person's own files that a state value names."""
        found: list[File] = []
        for each in as_list((as_object(given) or {}).get("files")) or ():
            file = self._workspace.files.get(str((as_object(each) or {}).get("id")))
            if file is None or file.user_id != person.id:
                raise NotHereError("That file is no longer there: choose it again.")
            found.append(file)
        return found

    def _shortcut(self, kind: str, callback_id: str) -> Shortcut:
        for shortcut in self._slack.manifest.shortcuts:
            if (shortcut.type, shortcut.callback_id) == (kind, callback_id):
                return shortcut
        raise NotHereError("There is no such shortcut.")

    def _set(
        self, person: Person, place: Place, block_id: str, action_id: str, value: Json
    ) -> None:
        if isinstance(place, View):
            self._slack.surfaces.set_value(place, block_id, action_id, value)
            return
        values = self._picked.setdefault(_key(person, place), {})
        values.setdefault(block_id, {})[action_id] = value

    # Answers

    def _shown(self, message: Message, person: Person) -> Json:
        return {"ok": True, "message": self._reader.message_json(message, person.id)}

    def _told(self, error: str | None) -> Json:
        return {"ok": True} if error is None else {"ok": False, "error": error}


def _key(person: Person, place: Place) -> tuple[str, str, str]:
    if isinstance(place, View):
        return person.id, "", place.id
    return person.id, place.channel, place.ts


def _picked_value(element: Json, act: requests.Choose) -> Json:
    """The state value, as Slack would send it; `ValueError` when another thing was picked."""
    kind: str = element["type"]
    if kind.endswith("_input"):
        return {"type": kind, "value": act.value or None}
    given: dict[str, str | Json | Sequence[Json] | None] = {
        "selected_option": act.option,
        "selected_options": act.options,
        "selected_user": act.user,
        "selected_date": act.date,
    }
    name = _PICKED_NAMES.get(kind)
    if name is None or given[name] is None:
        raise ValueError(f"nothing for a {kind} was given")
    return {"type": kind, name: given[name]}


def _state_value(element: Json, given: str | Json) -> Json:
    """What a field holds; `ValueError` when it is of another kind."""
    kind: str = element["type"]
    if isinstance(given, str):
        if not kind.endswith("_input"):
            raise ValueError(f"a {kind} is not filled with a text")
        return {"type": kind, "value": given or None}
    if given.get("type") != kind:
        raise ValueError(f"a {kind} was expected")
    return given
