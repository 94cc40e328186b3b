"""Checks by programs that were not written for the local Slack and Claude: `make foreign`."""
