"""The same five calls on LangGraph: a graph of two nodes, two `interrupt()` pauses, a checkpointer.

An optional extra: `pip install -e '.[bench]'`. Its tools are canned, and it has no other guarantee
than its checkpoints. Its checkpointer for Redis needs the modules RediSearch and RedisJSON, which
a plain Redis doesn't have, so it runs on SQLite alone.
"""

# Typed where the extra is installed, and unknown where it isn't.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingModuleSource=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import importlib.util
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.run import Json

PAUSES = frozenset({"ask_customer", "propose_refund"})
HOW_TO_GET_IT = (
    "LangGraph isn't installed. To measure it beside: "
    "`.venv/bin/pip install -c constraints.txt -e '.[dev,bench]'`"
)


def is_installed() -> bool:
    names = ("langgraph", "langgraph.checkpoint.sqlite", "langchain_anthropic")
    return all(map(importlib.util.find_spec, names))


@dataclass(frozen=True, kw_only=True)
class GraphAgent:
    """Made by `graph_agent`."""

    app: Any

    async def run(self, words: str, answers: Sequence[str], *, run_id: str) -> int:
        """From the customer's words over the answers to its pauses to the end; its model calls."""
        from langchain_core.messages import HumanMessage
        from langgraph.types import Command

        config = {"configurable": {"thread_id": run_id}, "recursion_limit": 200}
        state = await self.app.ainvoke({"messages": [HumanMessage(words)]}, config)
        for answer in answers:
            state = await self.app.ainvoke(Command(resume=answer), config)
        return sum(message.type == "ai" for message in state["messages"])


@asynccontextmanager
async def graph_agent(
    path: Path, base_url: str, frozen: Json, tools: Mapping[str, str]
) -> AsyncGenerator[GraphAgent]:
    """Checkpoints go to the file at `path`."""
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import SystemMessage, ToolMessage
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.types import interrupt

    chat: Any = ChatAnthropic
    model = chat(
        model=frozen["model"],
        api_key="sk-ant-local",
        base_url=base_url,
        max_retries=0,
        max_tokens=frozen["max_tokens"],
        thinking=frozen["thinking"],
    ).bind(tools=frozen["tools"])
    mark = {"type": "ephemeral"}
    system = SystemMessage([{"type": "text", "text": frozen["system"], "cache_control": mark}])

    async def ask(state: Any) -> Any:
        return {"messages": [await model.ainvoke([system, *state["messages"]])]}

    async def act(state: Any) -> Any:
        return {
            "messages": [
                ToolMessage(
                    interrupt(call["args"]) if call["name"] in PAUSES else tools[call["name"]],
                    tool_call_id=call["id"],
                )
                for call in state["messages"][-1].tool_calls
            ]
        }

    def after(state: Any) -> str:
        return "act" if state["messages"][-1].tool_calls else END

    graph: Any = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("act", act)
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", after, ["act", END])
    graph.add_edge("act", "ask")
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield GraphAgent(app=graph.compile(checkpointer=saver))
