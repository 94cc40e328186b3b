"""The refund agent, put together from its prompt, tools and approvals."""

from __future__ import annotations

from importlib.resources import files

from agent.definition import Agent
from agent.persons import ask_customer, hand_off
from agent.refunds.approvals import RefundApprovals
from agent.refunds.ports import Ledger, Orders, Payments, Policies, Rules
from agent.refunds.tools import RefundTools
from agent.tools import tool


def refund_agent(
    *,
    model: str,
    orders: Orders,
    policies: Policies,
    ledger: Ledger,
    payments: Payments,
    rules: Rules,
) -> Agent:
    """The agent that resolves refund and return requests of one shop's customers."""
    refunds = RefundTools(
        orders=orders, policies=policies, ledger=ledger, payments=payments, rules=rules
    )
    return Agent(
        name="refunds",
        prompt=files("agent.refunds").joinpath("prompt.md").read_text(encoding="utf-8").strip(),
        model=model,
        tools=(
            tool(refunds.get_order),
            tool(refunds.search_policies),
            ask_customer,
            tool(refunds.propose_refund, kind="effect"),
            hand_off,
        ),
        approvals=RefundApprovals(ledger=ledger, payments=payments, rules=rules),
    )
