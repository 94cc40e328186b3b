"""Everything the model and its API may do, as strategies.

Turns are written before it is known whose case it is: `@0` stands for the customer's first order,
`@all` for what was paid for it, and so on; `turn_for` puts them in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from hypothesis import strategies as st

from bot.local.claude import Call, LocalClaude, Turn, Usage

PAID_RUPEES: Mapping[str, Mapping[str, float]] = {
    "cust_asha": {"4471": 2499, "4502": 899, "4480": 2100},
    "cust_vikram": {"9001": 4999, "5120": 3299},
    "cust_meera": {"6203": 149900, "6210": 145.05},
    "cust_lakshmi": {"8100": 5600, "8101": 1000, "8102": 900},
}
SHORT = Usage(output=60)
LONG = Usage(output=3_000)


@dataclass(frozen=True, kw_only=True)
class ApiFault:
    """What the API or the network does to the next request."""

    kind: str

    def prepare(self, claude: LocalClaude) -> None:
        """For those that the server makes."""
        faults = claude.faults
        match self.kind:
            case "not JSON":
                faults.not_json()
            case "a page":
                faults.not_json(content_type="text/html")
            case "cut":
                faults.cut()
            case "history":
                text = "messages.1.content.0: Invalid `signature` in `thinking` block"
                faults.error(400, "invalid_request_error", text)
            case "no credit":
                faults.credit_exhausted()
            case status:
                faults.error(int(status), "api_error", "No.")


Answer = Turn | ApiFault

SPOKEN = Turn(content=["That is all I can say."], usage=SHORT)

_REASONS = ("damaged", "wrong_item", "not_delivered", "changed_mind")
_orders = st.sampled_from(["@0"] * 8 + ["@1"] * 3 + ["@2"] * 2 + [" @0 ", "@other", "none", ""])
_amounts = st.sampled_from(
    ["@all", "@all", "@all", "@half", "@half", "@small", "@small", "@limit", "@over", "@more"]
)
_bad_amounts = st.sampled_from(
    [0, -5, 145.055, "2,499", "NaN", None, True, "1e3", [], 10**20, float("inf")]
)


def _proposal(order_id: str, amount: object, reason: str) -> Call:
    return Call(
        name="propose_refund",
        input={
            "order_id": order_id,
            "amount_rupees": amount,
            "reason": reason,
            "explanation": "It broke.",
        },
    )


proposals = st.builds(_proposal, _orders, _amounts, st.sampled_from(_REASONS))
questions = st.sampled_from(["Which colour?", "A photo?", " "]).map(
    lambda question: Call(name="ask_customer", input={"question": question})
)
looks = st.one_of(
    _orders.map(lambda order: Call(name="get_order", input={"order_id": order})),
    st.sampled_from(["damaged electronics", "zzz", ""]).map(
        lambda query: Call(name="search_policies", input={"query": query})
    ),
)
_other_calls = st.one_of(
    st.builds(_proposal, _orders, _bad_amounts, st.sampled_from([*_REASONS, "greed"])),
    st.sampled_from(
        [
            Call(name="hand_off", input={"reason": "Too hard."}),
            Call(name="propose_refund", input={}),
            Call(name="get_order", input={"order_id": "@0", "customer_id": "cust_daniel"}),
            Call(name="get_order", input={"order_id": 4471}),
            Call(name="approve_refund", input={"order_id": "@0"}),
            Call(name="ask_customer", input={"question": None}),
        ]
    ),
)
a_call = st.one_of(*[proposals] * 6, *[questions] * 2, looks, looks, _other_calls)


def _turn(*content: str | Call | Mapping[str, Any], **more: Any) -> Turn:
    return Turn(content=content, unchecked=True, usage=more.pop("usage", SHORT), **more)


ASKS = _turn(Call(name="ask_customer", input={"question": "Which colour?"}))
PROPOSES = _turn(_proposal("@0", "@all", "damaged"))

_one_call = a_call.map(_turn)
_some_calls = st.lists(
    st.one_of(a_call, st.just("Let me see.")), min_size=2, max_size=4, unique_by=repr
).map(lambda content: _turn(*content, stop_reason="tool_use"))
_replies = st.sampled_from([_turn("Here you are."), _turn("One.", "Two.", usage=LONG)])
_silent = st.sampled_from(
    [
        _turn(),
        _turn(thinking=None),
        _turn(" "),
        _turn("", thinking=None),
        _turn(stop_reason="tool_use"),
        _turn("I will look.", stop_reason="tool_use"),
        _turn(stop_reason="max_tokens", usage=None),
        _turn("A reply that is cu", stop_reason="max_tokens", usage=None),
        _turn("Paused.", stop_reason="pause_turn"),
        _turn(stop_reason="pause_turn"),
        _turn(raw={"usage": None}),
    ]
)
_STOPS = (
    "end_turn",
    "max_tokens",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "stop_sequence",
    "something_new",
)


def _stopped(stop_reason: str, content: list[str | Call]) -> Turn:
    return _turn(*content, stop_reason=stop_reason)


_odd_stops = st.builds(
    _stopped,
    st.sampled_from(_STOPS),
    st.lists(st.one_of(a_call, st.just("Words.")), max_size=2, unique_by=repr),
)
_odd_turns = st.sampled_from(
    [
        _turn(Call(name="get_order", input={"order_id": "@0"}, id="toolu_same")),
        _turn(
            Call(name="propose_refund", input="@all", id="toolu_text"),
            Call(name="get_order", input={"order_id": "@0"}),
        ),
        _turn(
            Call(name="get_order", input={"order_id": "@0"}, id="toolu_twice"),
            _proposal("@1", "@small", "damaged"),
            Call(name="get_order", input={"order_id": "@1"}, id="toolu_twice"),
        ),
        _turn(replace(_proposal("@0", "@small", "damaged"), id="toolu_same")),
        _turn(Call(name="get order", input={"order_id": "@0"})),
        _turn({"type": "server_news", "what": [1, {"a": None}]}, "Well."),
        _turn("Words.", raw={"stop_reason": None}),
    ]
)
_faults = st.sampled_from(
    [
        "no answer in time",
        "no connection",
        "not JSON",
        "a page",
        "cut",
        "history",
        "no credit",
        *("401", "402", "403", "404", "408", "409", "413", "429", "500", "503", "504", "529"),
    ]
).map(lambda kind: ApiFault(kind=kind))

_answers: st.SearchStrategy[Answer] = st.one_of(
    *[_one_call] * 6, *[_some_calls] * 2, _replies, _silent, _odd_stops, _odd_turns, _faults
)


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """What the model does next. A function, so that it has a short name in reports."""
    return draw(_answers)


# Once it is known whose case it is ---------------------------------------------------------------


def turn_for(turn: Turn, customer_id: str) -> Turn:
    content = [
        replace(item, input=_filled(item.input, customer_id)) if isinstance(item, Call) else item
        for item in turn.content
    ]
    return replace(turn, content=content)


def _filled(given: object, customer_id: str) -> object:
    if not isinstance(given, dict):
        return given
    orders = PAID_RUPEES[customer_id]
    fields = dict(cast("dict[str, Any]", given))
    named = str(fields.get("order_id", ""))
    numbers = list(orders)
    order = numbers[0]
    for place in range(3):
        if f"@{place}" in named:
            order = numbers[place % len(numbers)]
            fields["order_id"] = named.replace(f"@{place}", order)
    if named == "@other":
        fields["order_id"] = "9001" if customer_id != "cust_vikram" else "4471"
    paid = orders[order]
    amounts: dict[object, float] = {
        "@all": paid,
        "@half": round(paid / 2, 2),
        "@small": 100,
        "@limit": 1000,
        "@over": 1000.01,
        "@more": paid + 1,
    }
    amount = fields.get("amount_rupees")
    if isinstance(amount, str):
        fields["amount_rupees"] = amounts.get(amount, amount)
    return fields
