"""Contents of posts, as a real case would have them."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from agent.approval import Card, CardFact, CardOutcome
from agent.case import (
    Approval,
    ApprovalReminder,
    Asked,
    DecisionLine,
    Handoff,
    Line,
    Offer,
    Opened,
    Opening,
    Photo,
    Picker,
    PrivateLine,
    Question,
    Reply,
    StatusLine,
)
from agent.run import Run, Status
from bot.cards.message import Audience
from bot.cards.overview import Figures, OpenedCase, OpenRequest, Overview

CASE_ID = "T0CARTWISE:C0SUPPORT1:1790000000.000100"
RUN_ID = "run_01HZX"
RAVI, PRIYA, OMAR = "U0RAVI0001", "U0PRIYA001", "U0OMAR0001"
LINK = "https://cartwise.slack.com/archives/C0SUPPORT1/p1790000000000100"

LEADS_ELSEWHERE = Audience(
    approvals_channel="C0APPROVAL", handoff_mention="S0LEADS001", approvers=("S0LEADS001",)
)
NOBODY = Audience(approvals_channel=None, handoff_mention=None, approvers=())

PICKER = Picker(words="Order 4471 arrived broken, I want my money back. asha.rao@example.com")
STATUS_LINE = StatusLine(
    customer_id="cust_asha",
    customer_name="Asha Rao",
    status="working",
    by=RAVI,
    can_mend_customer=True,
    can_take_over=True,
)
QUESTION = Question(text="Could you send a photo of the damage?", to=(RAVI,))
CARD = Card(
    key="run_01HZX:toolu_01",
    version=1,
    digest="9f" * 32,
    title="Refund ₹2,499.00 on order 4471",
    amount_paise=249900,
    facts=(
        CardFact(label="Amount", value="₹2,499.00"),
        CardFact(label="Order", value="4471: Bluetooth speaker"),
        CardFact(label="Customer", value="Asha Rao (cust_asha)"),
        CardFact(label="Reason", value="damaged"),
        CardFact(label="Paid, refunded, refundable", value="₹2,499.00, ₹0.00, ₹2,499.00"),
    ),
    explanation="The photo shows a cracked speaker, delivered 3 days ago.",
    first_words="Order 4471 arrived broken, I want my money back.",
    last_words="Here is the photo.",
    photos=("https://files.example.com/one.jpg",),
)
APPROVAL = Approval(card=CARD, openers=(RAVI,), run_id=RUN_ID)
APPROVED = CardOutcome(
    verdict="approved", by=PRIYA, at=1790000600.0, note="Fine.", detail="₹2,499.00 is being paid."
)
REPLY = Reply(
    text="Hi Asha,\n\nyour refund of ₹2,499.00 was issued. It arrives in 3–5 days.", run_id=RUN_ID
)
HANDOFF = Handoff(
    text="I've passed your request to a colleague, who will reply within a few hours.",
    reason="The step limit was reached.",
    run_id=RUN_ID,
    openers=(RAVI,),
)
DECISION_LINE = DecisionLine(
    verdict="approved", title=CARD.title, by=PRIYA, detail="₹2,499.00 is being paid."
)
APPROVAL_REMINDER = ApprovalReminder(title="Refund ₹2,499.00 to Asha Rao")
LINE = Line(text="Still waiting for the customer.", to=(RAVI,))
PRIVATE_LINE = PrivateLine(
    user=OMAR,
    place="C0APPROVAL:",
    text="This was already approved by {person}.",
    person=PRIYA,
)
OPENING = Opening(
    asked=Asked(
        customer_id="cust_asha",
        by=RAVI,
        text="Order 4471 arrived <broken> & I want *my money* back. @channel",
        photos=(
            Photo(file_id="F1", url="", name="box.png", link="https://cartwise.slack.com/files/F1"),
            Photo(
                file_id="F2", url="", name="a|b.webp", link="https://cartwise.slack.com/files/F2"
            ),
        ),
    ),
    asked_at=1790000000.0,
)
OPENED = Opened(
    opening=f"{CASE_ID}/1",
    user=RAVI,
    place="C0SUPPORT1:",
    text="Order 4471 arrived <broken> & I want my money back.",
    asked_at=1790000000.0,
)
OFFER = Offer(user=RAVI, place="C0RANDOM01:1790000000.000100", asked_at=1790000000.0)
OVERVIEW = Overview(
    lead="approver",
    requests=[
        OpenRequest(title=CARD.title, link=LINK, since=1790000000.0),
        OpenRequest(
            title="Refund ₹899.00 on order 4472",
            link=LINK,
            since=1790000300.0,
            note="yours, so another lead decides",
        ),
    ],
    requests_left_out=3,
    cases=[
        OpenedCase(customer_name="Asha Rao", status=Status.DONE, link=LINK, at=1790000900.0),
        OpenedCase(
            customer_name="Vikram <Shah>", status=Status.RUNNING, link=LINK, at=1790000600.0
        ),
    ],
    figures=Figures(
        opened=12,
        done=7,
        handed_off=2,
        waiting=3,
        refunded_paise=14990000,
        cost_usd=Decimal("0.6421"),
    ),
    at=1790001000.0,
)
EMPTY_OVERVIEW = Overview(
    lead="stranger",
    requests=[],
    requests_left_out=0,
    cases=[],
    figures=Figures(
        opened=0, done=0, handed_off=0, waiting=0, refunded_paise=0, cost_usd=Decimal(0)
    ),
    at=1790001000.0,
)
RUN = Run(
    run_id=RUN_ID,
    case_id=CASE_ID,
    customer_id="cust_asha",
    agent="refunds",
    model="claude-opus-5-5",
    frozen="f" * 64,
    status=Status.DONE,
    opened_at=1790000000.0,
    steps=2,
    cost_usd=Decimal("0.0160"),
)
ENTRIES: list[dict[str, Any]] = [
    {"kind": "start", "at": 1790000000.0, "customer_id": "cust_asha", "run_number": 1},
    {
        "kind": "step",
        "at": 1790000002.0,
        "step": 1,
        "stop_reason": "tool_use",
        "calls": [{"id": "toolu_01", "tool": "get_order", "input": {"order_id": "4471"}}],
        "input_tokens": 1000,
        "cache_read_tokens": 0,
        "cache_write_tokens": 900,
        "output_tokens": 180,
        "cost_usd": "0.0076",
        "total_cost_usd": "0.0076",
        "seconds": 2.1,
        "request_id": "req_01",
    },
    {"kind": "result", "at": 1790000003.0, "call_id": "toolu_01", "is_error": True},
    {"kind": "end", "at": 1790000004.0, "status": "done"},
]


def carded(content: Approval = APPROVAL, **changes: Any) -> Approval:
    """The sample card with other values."""
    return replace(content, card=replace(content.card, **changes))
