"""The two tools by which any agent brings in a person."""

from __future__ import annotations

from agent.errors import ToolError
from agent.tools import Context, HandOff, Pause, tool


@tool(kind="person")
async def ask_customer(context: Context, *, question: str) -> Pause:
    """Ask the customer one question and wait for the reply, which is the result.

    Call it when something is missing that only the customer knows or has: an order number, a
    photo, what happened, which of two they want. One question at a time.

    Args:
        question: The question, in the customer's language, as it will be sent to them.
    """
    if not question.strip():
        raise ToolError("The question is empty. Write the question to the customer.")
    return Pause(question=question.strip())


@tool(kind="person")
async def hand_off(context: Context, *, reason: str) -> HandOff:
    """Pass the case to a colleague and end your work on it.

    Call it for everything you can't resolve with your tools, and whenever a colleague has to do
    something: a promise of a colleague without this call would reach nobody.

    Args:
        reason: For the colleague: what the customer needs and why you can't do it.
    """
    return HandOff(reason=reason.strip() or "The agent gave no reason.")
