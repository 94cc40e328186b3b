"""The whole conversation: which order it is about, which step comes next, the reply at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from bot.local.claude.clerk.conversation import Conversation, Order
from bot.local.claude.clerk.judging import judge
from bot.local.claude.clerk.phrases import (
    IN_ENGLISH,
    ONLY_REFUNDS,
    greeting,
    joined,
    letter,
    question,
    sorry,
)
from bot.local.claude.clerk.steps import (
    Ask,
    Case,
    Do,
    Pass,
    Settled,
    Step,
    answers,
    asked,
    first_search,
    issued,
    named,
)
from bot.local.claude.clerk.words import (
    Language,
    first_name_in,
    is_dropped,
    is_question,
    is_thanks,
    language_of,
    names_item,
    numbers_in_answer,
    order_numbers,
    reason_in,
    sentences_about,
    wants_in,
)

_NEEDED = frozenset({"get_order", "search_policies", "propose_refund"})
# The harness allows twelve model calls; a person gets the case before that.
_MOST_CALLS = 14
_MOST_ORDERS = 4


def next_steps(conversation: Conversation, today: date) -> Sequence[Step]:
    """One step, or several look-ups at once where the request allows it."""
    if not conversation.tools >= _NEEDED or conversation.no_calls:
        return [Settled(text=ONLY_REFUNDS, why="These aren't the refund clerk's tools.")]
    return _Desk(conversation, today).steps()


class _Desk:
    def __init__(self, conversation: Conversation, today: date) -> None:
        self._c = conversation
        self._today = today
        self._earlier = "\n".join(conversation.earlier)
        self._words = "\n".join(each.text for each in conversation.said)
        everything = f"{self._earlier}\n{self._words}"
        self._name = first_name_in(everything)
        self._language: Language = language_of(self._words.strip() or self._earlier)

    def steps(self) -> Sequence[Step]:
        c = self._c
        if c.trouble is not None:
            return [Pass(why=f"A system didn't work: {c.trouble} Customer: {self._quoted()}")]
        if len(c.made) >= _MOST_CALLS:
            return [Pass(why=f"This takes too many steps by the rules: {self._quoted()}")]
        steps = self._at_once() or self._about_orders()
        if c.calls("ask_customer"):
            return steps
        hello = " ".join([f"{greeting(self._name, self._language)}!", *self._in_english])
        return [
            replace(each, text=f"{hello} {each.text}") if isinstance(each, Ask) else each
            for each in steps
        ]

    def _at_once(self) -> Sequence[Step]:
        """What needs no order: a wish for a person, thanks, a request taken back."""
        c, last = self._c, self._c.said[-1].text if self._c.said else ""
        paid = any(issued(made) for made in c.calls("propose_refund"))
        new_request = reason_in(last) is not None
        if is_dropped(last) and not paid and not new_request:
            text = "All right, then nothing was refunded and nothing else is open."
            return [self._reply("Taken back by the customer.", text)]
        if wants_in(self._words).human:
            if unknown := [x for x in order_numbers(self._words) if x not in c.orders()]:
                return self._look_up(unknown)
            return [Pass(why=f"{self._known()}The customer wants a person: {self._quoted()}")]
        if (
            is_thanks(last)
            and c.earlier
            and not c.made
            and not (new_request or order_numbers(last))
        ):
            return [self._reply("Thanks, nothing else.", "You're welcome! I'm glad I could help.")]
        if not self._words.strip() and not self._earlier and not any(x.photos for x in c.said):
            if asked(c, "anything"):
                return [Pass(why="The customer has written nothing that says what they need.")]
            text = question("anything", self._language)
            return [Ask(text=text, why="There are no words of the customer yet.")]
        return []

    def _about_orders(self) -> Sequence[Step]:
        numbers = self._numbers()
        if not numbers:
            return [self._without_order()]
        orders = self._c.orders()
        if unknown := [number for number in numbers if number not in orders]:
            return self._look_up(unknown)
        found = {number: order for number in numbers if (order := orders[number]) is not None}
        if not found:
            return [self._not_theirs(numbers)]
        steps = [judge(self._case(order, list(found))) for order in found.values()]
        # Whatever goes to a person ends the run, so everything else comes before.
        for kind in (Do, Ask, Pass):
            if step := next((each for each in steps if isinstance(each, kind)), None):
                return [self._given_back_before(step) if isinstance(step, Pass) else step]
        return [self._reply_about(found, [each for each in steps if isinstance(each, Settled)])]

    def _numbers(self) -> list[str]:
        """The orders that the words are about, oldest mention first; a corrected one drops out."""
        c = self._c
        replies = "\n".join(answers(c, kind) for kind in ("order", "other_order"))
        corrected = [*numbers_in_answer(replies)] if replies.strip() else []
        numbers = list(dict.fromkeys([*order_numbers(self._words), *corrected]))
        if asked(c, "other_order") and corrected:
            orders = c.orders()
            numbers = [each for each in numbers if orders.get(each, True) is not None] or corrected
        return (numbers or order_numbers(self._earlier)[-1:])[-_MOST_ORDERS:]

    def _without_order(self) -> Step:
        c = self._c
        if is_question(self._words) and reason_in(self._words) in (None, "changed_mind"):
            return self._answer_from_policies()
        if len(asked(c, "order")) > 1:
            return Pass(why=f"No order number even after asking twice. Words: {self._quoted()}")
        text = question("order", self._language)
        return Ask(text=text, why="The words hold no order number.")

    def _answer_from_policies(self) -> Step:
        query = " ".join(self._words.split())[:200]
        searches = self._c.calls("search_policies")
        if not searches:
            why = "A question about the shop's rules."
            return Do(name="search_policies", input={"query": query}, why=why)
        passages = self._c.passages()
        if not passages:
            return Pass(why=f"No policy answers this question: {self._quoted()}")
        best = passages[0]
        text = " ".join(best.text.replace("\n- ", " ").replace("- ", "").split())
        return self._reply(f"Policy {best.policy_id} answers it.", f"This is our policy: {text}")

    def _look_up(self, numbers: list[str]) -> Sequence[Step]:
        looks = [
            Do(name="get_order", input={"order_id": number}, why=f"Order {number} comes first.")
            for number in numbers
        ]
        if self._c.one_call_a_turn:
            return looks[:1]
        reason = reason_in(self._words)
        if reason is None or self._c.calls("search_policies"):
            return looks
        return [*looks, first_search(reason)]

    def _not_theirs(self, numbers: list[str]) -> Step:
        number = numbers[-1]
        if not asked(self._c, "other_order"):
            text = question("other_order", self._language, order=number)
            return Ask(text=text, why=f"No order {number} of this customer.")
        return self._reply(
            f"Asked, and still no order {number} of this customer.",
            f"I still can't find an order {number} of yours. If it was ordered by somebody else,"
            " only they can ask us about it, so please let them write to us. If it is one of your"
            " own, just send its number as it stands in your confirmation e-mail.",
        )

    def _case(self, order: Order, numbers: list[str]) -> Case:
        others = [number for number in numbers if number != order.order_id]
        words = self._words
        return Case(
            conversation=self._c,
            order=order,
            words=sentences_about(words, order.order_id, others) if others else words,
            all_words=words,
            earlier_words=self._earlier,
            today=self._today,
            language=self._language,
            name=self._name,
        )

    def _given_back_before(self, step: Pass) -> Step:
        """A case that a colleague has worked on isn't passed on for the same thing again."""
        c = self._c
        if not c.given_back or not c.staff or c.calls("propose_refund"):
            return step
        return self._reply(
            "A colleague has dealt with it.",
            f"My colleagues have looked into this, and this is what they noted: “{c.staff[-1]}”"
            " If anything is still open, just write to us.",
        )

    def _reply_about(self, found: dict[str, Order], settled: list[Settled]) -> Step:
        """The reply when nothing is left to do for any of the orders."""
        kinds = [reason_in(self._words), reason_in(self._earlier)]
        all_items = [item for order in found.values() for item in order.items]
        own = [item for item in all_items if names_item(self._words, item.name)]
        items = named(own or all_items)
        opening = sorry(next(filter(None, kinds), None), items, self._language)
        missing = [each for each in self._numbers() if each not in found]
        parts = [each.text for each in settled]
        if missing:
            parts.append(f"I can't find an order {joined(missing)} of yours, though.")
        return self._reply(" ".join(each.why for each in settled), opening, *parts)

    def _reply(self, why: str, *parts: str) -> Settled:
        said = [*self._in_english, *parts]
        return Settled(text=letter(self._name, self._language, *said), why=why)

    @property
    def _in_english(self) -> list[str]:
        """An apology to whom another language was their first choice, once."""
        first = not self._c.calls("ask_customer")
        return [IN_ENGLISH] if self._language == "other" and first else []

    def _known(self) -> str:
        """The orders that were found, for staff."""
        orders = [order for order in self._c.orders().values() if order is not None]
        return "".join(f"Order {x.order_id} ({named(list(x.items))}). " for x in orders)

    def _quoted(self) -> str:
        words = " ".join((self._words.strip() or self._earlier).split())
        return f"“{words[:300]}{'…' if len(words) > 300 else ''}”"
