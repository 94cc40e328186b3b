"""The harness around Claude's Messages API, and the names for people who write an agent."""

from __future__ import annotations

from agent.definition import Agent
from agent.errors import ToolError
from agent.persons import ask_customer, hand_off
from agent.tools import Context, HandOff, Later, Pause, Result, Tool, tool

__all__ = [
    "Agent",
    "Context",
    "HandOff",
    "Later",
    "Pause",
    "Result",
    "Tool",
    "ToolError",
    "ask_customer",
    "hand_off",
    "tool",
]
