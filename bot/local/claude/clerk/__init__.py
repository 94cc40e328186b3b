"""A refund clerk by rules, for conversations without a script.

Whoever writes a customer's words of their own in the local workspace gets a believable case: the
order is looked up, what is missing is asked for, the policies are searched, the right amount is
proposed, and what the rules don't cover goes to a person. It is no model: it says so in each
turn's thinking (shown to requests that ask for summaries) and in the message's `stand_in`.

Every turn follows from the request and the day alone.
"""

from __future__ import annotations

from datetime import date

from bot.local.claude.blocks import Block
from bot.local.claude.clerk.conversation import conversation_of
from bot.local.claude.clerk.desk import next_steps
from bot.local.claude.clerk.phrases import STAND_IN
from bot.local.claude.clerk.steps import Ask, Do, Pass
from bot.local.claude.script import Call, Turn

__all__ = ["clerk_turn"]


def clerk_turn(body: Block, *, today: date) -> Turn:
    """The clerk's answer to a request that broke no rule of the API."""
    conversation = conversation_of(body)
    content: list[str | Call] = []
    reasons: list[str] = []
    for step in next_steps(conversation, today):
        reasons.append(step.why)
        can_ask = "ask_customer" in conversation.tools and not conversation.no_calls
        can_pass = "hand_off" in conversation.tools and not conversation.no_calls
        match step:
            case Do():
                content.append(Call(name=step.name, input=step.input))
            case Ask() if can_ask:
                content.append(Call(name="ask_customer", input={"question": step.text}))
            case Pass() if can_pass:
                content.append(Call(name="hand_off", input={"reason": step.why}))
            case Pass():
                content.append("I can't settle this by my rules; a person has to look at it.")
            case _:
                content.append(step.text)
    return Turn(
        content=content,
        thinking=f"{STAND_IN} {' '.join(reasons)}",
        raw={"stand_in": "local clerk"},
    )
