"""A strict, scripted stand-in for Claude's Messages API, for trying and for tests.

It refuses what the real API refuses, signs and checks thinking, simulates the prompt cache and
its bill, and fails on demand. It isn't Claude and says so when asked anything without a script.
Tool-call ids come from the conversation alone: two conversations that are equal to the letter get
equal ids, so nothing may take such an id as unique by itself.
"""

from bot.local.claude.exchange import Account, Exchange
from bot.local.claude.faults import Faults
from bot.local.claude.script import (
    Call,
    Request,
    ScriptedTurn,
    ScriptError,
    Turn,
    Usage,
    call,
    calls,
    refuse,
    say,
)
from bot.local.claude.server import LocalClaude
from bot.local.claude.usage import TokenUsage

__all__ = [
    "Account",
    "Call",
    "Exchange",
    "Faults",
    "LocalClaude",
    "Request",
    "ScriptError",
    "ScriptedTurn",
    "TokenUsage",
    "Turn",
    "Usage",
    "call",
    "calls",
    "refuse",
    "say",
]
