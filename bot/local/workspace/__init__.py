"""The local workspace behind the browser page: a local Slack and Claude, the bot in a process of
its own, and a server that shows, keeps and troubles them.

`serving` is the way in; `web` has the routes; `world` puts the parts together.
"""

from bot.local.workspace.serving import serve_workspace

__all__ = ["serve_workspace"]
