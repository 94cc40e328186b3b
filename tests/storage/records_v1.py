"""What tests/fixtures/records/v1.json holds, as today's records: every field is set."""

from __future__ import annotations

from decimal import Decimal

from agent.approval import Card, CardFact, CardOutcome
from agent.case import (
    Addressed,
    Approval,
    ApprovalReminder,
    Asked,
    Case,
    Content,
    CustomerChosen,
    Decided,
    DecisionLine,
    Deleted,
    Edited,
    Entry,
    Event,
    Fact,
    Feedback,
    FetchedPhoto,
    GaveBack,
    Handoff,
    Image,
    Line,
    Message,
    NotACase,
    Notice,
    Offer,
    Opened,
    Opening,
    Photo,
    Picker,
    Post,
    PrivateLine,
    Question,
    Reaction,
    Reply,
    StatusLine,
    TookOver,
    Unsettled,
    Words,
    WrongCustomer,
)
from agent.run import Pending, Run, Status, Usage

CARD = Card(
    key="run_1:toolu_2",
    version=3,
    digest="v1:5a5a",
    title="Refund ₹12,500 on order 1042",
    amount_paise=1_250_000,
    facts=(CardFact(label="Order", value="1042: kettle"), CardFact(label="Paid", value="₹14,999")),
    explanation="The kettle arrived broken.",
    needs_approvals=2,
    approved_by=("U_LEAD",),
    first_words="My kettle is broken",
    last_words="Yes, photo attached",
    added=("Please hurry",),
    photos=("https://files.example/F1",),
    outcome=CardOutcome(
        verdict="declined", by="U_LEAD", at=1_700_000_400.5, note="Offer a repair", detail="None"
    ),
)

WORDS = Words(
    message_id="T1:C1:1700000001.000200",
    author="U_AGENT",
    text="It's broken 😞",
    photos=(
        Photo(
            file_id="F1",
            url="https://files.example/F1/download",
            name="box.jpg",
            link="https://files.example/F1",
        ),
    ),
)

CASE = Case(
    case_id="T1:C1:1700000000.000100",
    agent="refunds",
    opened_at=1_700_000_000.25,
    schema_version=1,
    author="U_AGENT",
    openers=("U_AGENT", "U_STAFF"),
    customer_id="cus_1",
    customer_name="Asha Rao",
    chosen_by="U_STAFF",
    closed="deleted",
    words=(WORDS,),
    notes=(Words(message_id="T1:C1:1700000002.000300", author="U_STAFF", text="// VIP"),),
    history=(
        Entry(who="customer", text="My kettle is broken"),
        Entry(who="reply", text="Sorry to hear that"),
        Entry(who="record", text="₹100 refunded"),
        Entry(who="staff", text="Called her"),
    ),
    run_ids=("run_0", "run_1"),
    status_post="T1:C1:1700000000.000100/1",
    shown="waiting_approval|working,cus_1,False",
    posts=7,
    feedback=("run_0:U_STAFF",),
    unsettled=(
        Unsettled(
            key="run_0:toolu_9",
            look_at=1_700_000_620.0,
            looks=2,
            post_id="T1:C1:1700000000.000100/2",
            card=CARD,
        ),
    ),
)

PENDING = Pending(
    kind="approval",
    call_id="toolu_2",
    tool="propose_refund",
    input={"order_id": "1042", "amount_rupees": 12500.05, "explanation": None},
    digest="v1:5a5a",
    post_id="T1:C1:1700000000.000100/6",
    since=1_700_000_300.0,
    card=CARD,
    reminded_at=1_700_014_700.0,
    reminder_post="T1:C1:1700000000.000100/7",
)

RUN = Run(
    run_id="run_1",
    case_id="T1:C1:1700000000.000100",
    customer_id="cus_1",
    agent="refunds",
    model="claude-opus-5-5",
    frozen="sha256:f00d",
    status=Status.WAITING_APPROVAL,
    opened_at=1_700_000_100.125,
    schema_version=1,
    waiting_since=1_700_000_300.0,
    ended_at=1_700_000_500.0,
    steps=3,
    usage=Usage(uncached=100, cache_read=2000, cache_write_5m=300, cache_write_1h=40, output=500),
    cost_usd=Decimal("0.012345678"),
    working_seconds=12.75,
    message_count=6,
    results=({"type": "tool_result", "tool_use_id": "toolu_1", "content": "1042: ₹14,999"},),
    pending=PENDING,
    decided=Pending(
        kind="customer",
        call_id="toolu_0",
        tool="ask_customer",
        input={"question": "Which order?"},
        digest="v1:0000",
        post_id="T1:C1:1700000000.000100/3",
        since=1_700_000_150.0,
    ),
    started="toolu_2",
    stop_reason="tool_use",
    heard=(WORDS,),
    nudges=1,
    cuts=1,
    last_cost_usd=Decimal("0.0065"),
    estimated_step=2,
    failures=2,
    failing_since=1_700_000_200.0,
    told_trouble=True,
    retry_at=1_700_000_215.0,
    later_since=1_700_000_250.0,
    later_receipt="Your refund of ₹100 is approved and is being confirmed.",
    photos=(
        FetchedPhoto(file_id="F1", image=Image(digest="sha256:beef", media_type="image/jpeg")),
        FetchedPhoto(file_id="F2", image=None),
    ),
    photo_tries=2,
    repaired=True,
    crashed=True,
    proposed=True,
    receipts=("₹100 was issued, reference rf_1",),
    first_words="My kettle is broken",
    last_words="Yes, photo attached",
    photo_links=("https://files.example/F1",),
    reply="Your refund is on its way.",
    reason="step limit",
)

ASKED = Asked(
    customer_id="cus_1",
    by="U_STAFF",
    text="My kettle is broken",
    photos=(Photo(file_id="F1", url="https://files.example/F1", name="kettle.jpg"),),
    source="https://slack.example/archives/C9/p1700000000000100",
    place="C9:",
)

FACTS: tuple[Fact, ...] = (
    Message(
        message_id="T1:C1:1700000001.000200",
        author="U_AGENT",
        text="It's broken 😞",
        photos=(Photo(file_id="F1", url="https://files.example/F1", name="kettle.jpg"),),
        first=True,
    ),
    Edited(message_id="T1:C1:1700000001.000200", text="It's cracked"),
    Deleted(message_id="T1:C1:1700000001.000200", first=True),
    CustomerChosen(customer_id="cus_1", by="U_STAFF", place="C1"),
    WrongCustomer(by="U_STAFF", place="C1"),
    NotACase(by="U_STAFF", place="C1"),
    Decided(
        key="run_1:toolu_2",
        version=3,
        digest="v1:5a5a",
        verdict="approve",
        by="U_LEAD",
        place="C2",
        note="Half is enough",
        amount_paise=600_000,
    ),
    TookOver(by="U_STAFF", place="C1"),
    GaveBack(by="U_STAFF", place="C1"),
    Feedback(run_id="run_0", good=False, by="U_STAFF", place="C1"),
    ASKED,
    Addressed(by="U_STAFF", place="C9:1700000000.000100", refusal="Guests can't do this."),
)

EVENTS = tuple(
    Event(event_id=f"event-{n}", ts=f"170000000{n}.000200", fact=fact)
    for n, fact in enumerate(FACTS)
)

CONTENTS: tuple[Content, ...] = (
    Picker(words="My kettle is broken"),
    StatusLine(
        customer_id="cus_1",
        customer_name="Asha Rao",
        status="working",
        by="U_STAFF",
        can_mend_customer=True,
        can_take_over=True,
    ),
    Question(text="Which order?", to=("U_AGENT",)),
    Approval(card=CARD, openers=("U_AGENT", "U_STAFF"), run_id="run_1"),
    ApprovalReminder(title="Refund ₹12,500"),
    DecisionLine(verdict="approved", title="Refund ₹12,500", by="U_LEAD", detail="Paid ₹6,000"),
    Reply(text="Your refund is on its way.", run_id="run_1"),
    Handoff(text="A colleague will reply", reason="limit", run_id="run_1", openers=("U_AGENT",)),
    Line(text="Still working on it", to=("U_AGENT",)),
    Notice(text="The thread was deleted", to=("U_AGENT",)),
    PrivateLine(user="U_X", place="C1", text="{person} decided already", person="U_LEAD"),
    Reaction(status="waiting_approval", previous="running"),
    Opening(asked=ASKED, asked_at=1_700_000_000.5),
    Opened(
        opening="T1:C1:asked-V1/1",
        user="U_STAFF",
        place="C9:",
        text="My kettle is broken",
        asked_at=1_700_000_000.5,
    ),
    Offer(
        user="U_STAFF",
        place="C9:1700000000.000100",
        asked_at=1_700_000_000.5,
        refusal="Guests can't do this.",
    ),
)

POSTS = tuple(
    Post(post_id=f"T1:C1:1700000000.000100/{n}", content=content, update_of=f"older-{n}")
    for n, content in enumerate(CONTENTS)
)
