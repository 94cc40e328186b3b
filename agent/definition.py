"""What an agent is: a prompt, tools, a model; and the frozen form in which a run keeps them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from agent.approval import Approvals
from agent.run import Json
from agent.tools import Tool

MAX_TOKENS = 4_096


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A definition. `approvals` carries out leads' decisions, for agents whose tools ask them."""

    name: str
    prompt: str
    """The system prompt. No dates and no changing facts: it is frozen into every run."""
    tools: tuple[Tool, ...]
    model: str
    approvals: Approvals | None = None

    @cached_property
    def tool_table(self) -> Mapping[str, Tool]:
        return {each.name: each for each in self.tools}

    @cached_property
    def frozen(self) -> Json:
        """Everything of a request but its messages: the same bytes for all runs of the agent."""
        return {
            "model": self.model,
            "system": self.prompt,
            "tools": [each.definition() for each in self.tools],
            "thinking": {"type": "adaptive"},
            "max_tokens": MAX_TOKENS,
        }

    @cached_property
    def digest(self) -> str:
        text = json.dumps(self.frozen, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()
