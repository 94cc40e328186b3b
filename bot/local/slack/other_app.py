"""Acting as another app of the workspace, which only posts."""

from __future__ import annotations

from collections.abc import Iterable

from bot.local.slack.api_chat import metadata_of, notify
from bot.local.slack.blocks import check_message_blocks
from bot.local.slack.calls import Args
from bot.local.slack.workspace import App, Json, Message, Workspace


class OtherApp:
    """Another app of the workspace: it posts messages, with metadata where wanted."""

    def __init__(self, app: App, workspace: Workspace) -> None:
        self.app = app
        self._workspace = workspace

    async def post(
        self,
        channel: str,
        text: str,
        *,
        metadata: Json | None = None,
        blocks: Iterable[Json] = (),
        thread: Message | None = None,
        classic: bool = False,
    ) -> Message:
        """Posts as the app; `classic` in the old form (subtype bot_message, no user)."""
        place = self._workspace.channel(channel)
        checked = check_message_blocks(list(blocks), mint=self._workspace.mint_id)
        message = self._workspace.post(
            Message(
                channel=place.id,
                ts=self._workspace.mint_ts(),
                text=text,
                user=None if classic else self.app.bot_user_id,
                bot_id=self.app.bot_id,
                app_id=self.app.id,
                username=self.app.name if classic else None,
                subtype="bot_message" if classic else None,
                blocks=checked,
                metadata=metadata_of(Args({"metadata": metadata})),
                thread_ts=thread.root_ts if thread else None,
            )
        )
        notify(self._workspace, message, [text])
        return message

    async def delete(self, message: Message) -> None:
        self._workspace.delete(message)
