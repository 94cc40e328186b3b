"""Slack, the commands, and the place where everything is put together."""
