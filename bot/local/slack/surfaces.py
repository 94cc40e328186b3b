"""Modals, Home tabs, trigger ids and response URLs: what an interaction lets an app do next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.local.slack.blocks import RefusedError, check_view, takes_files
from bot.local.slack.wire import initial_values
from bot.local.slack.workspace import App, Json, Message, User, View, Workspace

TRIGGER_SECONDS = 3.0
RESPONSE_URL_SECONDS = 30 * 60.0
RESPONSE_URL_USES = 5
MAX_STACK = 3


@dataclass(kw_only=True)
class _Trigger:
    user_id: str
    app_id: str
    issued_at: float
    used: bool = False


@dataclass(kw_only=True)
class ResponseUrl:
    """Where an app may answer an interaction: `message` is the one that the person used."""

    user_id: str
    app_id: str
    channel_id: str
    message: Message | None
    issued_at: float
    uses: int = 0


class Surfaces:
    """Keeps the open views (in the workspace), and which rights to open or answer were given."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._triggers: dict[str, _Trigger] = {}
        self._response_urls: dict[str, ResponseUrl] = {}

    # Rights

    def issue_trigger(self, user: User, app: App) -> str:
        trigger_id = self._workspace.mint_id("") + f".{self._workspace.team.id}.{user.id}"
        self._triggers[trigger_id] = _Trigger(
            user_id=user.id, app_id=app.id, issued_at=self._workspace.now()
        )
        return trigger_id

    def use_trigger(self, trigger_id: str, app: App) -> str:
        """The user id it stands for; once, by the same app, within 3 seconds."""
        trigger = self._triggers.get(trigger_id)
        if trigger is None or trigger.app_id != app.id:
            raise RefusedError("invalid_trigger_id")
        if trigger.used:
            raise RefusedError("exchanged_trigger_id")
        if self._workspace.now() - trigger.issued_at > TRIGGER_SECONDS:
            raise RefusedError("expired_trigger_id")
        trigger.used = True
        return trigger.user_id

    def issue_response_url(
        self, user: User, app: App, channel_id: str, message: Message | None = None
    ) -> str:
        key = self._workspace.mint_id("R")
        self._response_urls[key] = ResponseUrl(
            user_id=user.id,
            app_id=app.id,
            channel_id=channel_id,
            message=message,
            issued_at=self._workspace.now(),
        )
        return f"{self._workspace.base_url}/response/{key}"

    def use_response_url(self, key: str) -> ResponseUrl:
        url = self._response_urls.get(key)
        if url is None:
            raise RefusedError("invalid_url")
        if self._workspace.now() - url.issued_at > RESPONSE_URL_SECONDS:
            raise RefusedError("expired_url")
        if url.uses >= RESPONSE_URL_USES:
            raise RefusedError("used_url")
        url.uses += 1
        return url

    # Views

    def open_view(self, user_id: str, app: App, definition: Any) -> View:
        """A new modal; one that the person had open is gone."""
        checked = self._checked(definition, "modal", app)
        self._check_external_id(checked)
        self.close_all(user_id)
        return self._add(user_id, app, checked, previous=None)

    def push_view(self, user_id: str, app: App, definition: Any) -> View:
        """A modal on top of the open one, three at most."""
        checked = self._checked(definition, "modal", app)
        stack = self._workspace.stacks.get(user_id, [])
        if not stack:
            raise RefusedError("invalid_arguments", "[ERROR] there is no open view to push upon")
        if len(stack) >= MAX_STACK:
            raise RefusedError("push_limit_reached")
        self._check_external_id(checked)
        return self._add(user_id, app, checked, previous=self._workspace.views[stack[-1]])

    def update_view(
        self,
        app: App,
        definition: Any,
        *,
        view_id: str | None,
        external_id: str | None,
        expected_hash: str | None,
    ) -> View:
        """A new content for a view; what was typed stays where the block and action ids do."""
        view = self._found(app, view_id, external_id)
        if expected_hash and expected_hash != view.hash:
            raise RefusedError("hash_conflict")
        return self.replace_view(view, definition)

    def replace_view(self, view: View, definition: Any) -> View:
        app = self._workspace.apps[view.app_id]
        checked = self._checked(definition, str(view.definition["type"]), app)
        values = initial_values(checked)
        for block_id, actions in values.items():
            for action_id in actions:
                kept = view.values.get(block_id, {}).get(action_id)
                if kept and kept["type"] == actions[action_id]["type"]:
                    actions[action_id] = kept
        return self._keep(
            replace(view, definition=checked, values=values, hash=self._workspace.mint_id("h"))
        )

    def publish_home(
        self, user_id: str, app: App, definition: Any, expected_hash: str | None
    ) -> View:
        """The person's Home tab of the app."""
        if user_id not in self._workspace.users:
            raise RefusedError("user_not_found")
        checked = self._checked(definition, "home", app)
        old = self._workspace.views.get(self._workspace.homes.get(user_id, ""))
        if expected_hash and old and expected_hash != old.hash:
            raise RefusedError("hash_conflict")
        view_id = old.id if old else self._workspace.mint_id("V")
        self._workspace.homes[user_id] = view_id
        return self._keep(
            View(
                id=view_id,
                user_id=user_id,
                app_id=app.id,
                definition=checked,
                hash=self._workspace.mint_id("h"),
                root_view_id=view_id,
                values=initial_values(checked),
            )
        )

    def set_value(self, view: View, block_id: str, action_id: str, value: Json) -> View:
        """What a person entered into an open view."""
        values = {block: dict(actions) for block, actions in view.values.items()}
        values.setdefault(block_id, {})[action_id] = value
        return self._keep(replace(view, values=values))

    def top(self, user_id: str) -> View | None:
        """The modal that the person sees."""
        stack = self._workspace.stacks.get(user_id)
        return self._workspace.views[stack[-1]] if stack else None

    def close_top(self, user_id: str) -> None:
        view_id = self._workspace.stacks[user_id].pop()
        del self._workspace.views[view_id]
        self._workspace.bell.ring()

    def close_all(self, user_id: str) -> None:
        for view_id in self._workspace.stacks.pop(user_id, []):
            del self._workspace.views[view_id]
        self._workspace.bell.ring()

    # Inside

    def _checked(self, definition: Any, kind: str, app: App) -> Json:
        checked = check_view(definition, mint=self._workspace.mint_id)
        if checked["type"] != kind:
            raise RefusedError(
                "invalid_arguments", f"[ERROR] must be a {kind} view [json-pointer:/view/type]"
            )
        if takes_files(checked) and "files:read" not in app.scopes:
            # docs.slack.dev, file-input-element, asks for the scope; that this is the code with
            # which Slack refuses is assumed.
            raise RefusedError("missing_scope", needed="files:read")
        return checked

    def _check_external_id(self, definition: Json) -> None:
        external_id = definition["external_id"]
        taken = (view.definition["external_id"] for view in self._workspace.views.values())
        if external_id and external_id in taken:
            raise RefusedError("duplicate_external_id")

    def _found(self, app: App, view_id: str | None, external_id: str | None) -> View:
        for view in self._workspace.views.values():
            by_name = external_id and view.definition["external_id"] == external_id
            if view.app_id == app.id and (view.id == view_id or by_name):
                return view
        raise RefusedError("not_found")

    def _add(self, user_id: str, app: App, definition: Json, previous: View | None) -> View:
        view_id = self._workspace.mint_id("V")
        self._workspace.stacks.setdefault(user_id, []).append(view_id)
        return self._keep(
            View(
                id=view_id,
                user_id=user_id,
                app_id=app.id,
                definition=definition,
                hash=self._workspace.mint_id("h"),
                root_view_id=previous.root_view_id if previous else view_id,
                previous_view_id=previous.id if previous else None,
                values=initial_values(definition),
            )
        )

    def _keep(self, view: View) -> View:
        self._workspace.views[view.id] = view
        self._workspace.bell.ring()
        return view
