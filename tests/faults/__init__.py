"""Chaos: whole cases while processes die, stand still, and lose Redis, Slack and Claude."""
