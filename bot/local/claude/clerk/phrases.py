"""What the clerk says to customers and leads: short, warm, exact.

English, with the Hindi that is written in Latin letters for customers who write it; where that is
missing, and for other languages, English. A question is told by its words when it comes back in
the next request: see `ASKED_BY`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date as date_type
from decimal import Decimal
from typing import Literal

from bot.local.claude.clerk.words import Language

STAND_IN = "(A local stand-in answers here: a clerk that goes by rules, not Claude.)"
ONLY_REFUNDS = (
    "This is the local stand-in for Claude, not Claude itself. Without a script it only plays the"
    " refund clerk, and this conversation has other tools than his. Give it a script for this one,"
    " or set a real API key."
)
IN_ENGLISH = "I'm sorry that I can only write to you in English here."

Question = Literal[
    "order", "other_order", "reason", "photo", "item", "choice", "unused", "payout", "anything"
]

# Words that no other question has, in any language it is asked in.
ASKED_BY: dict[Question, re.Pattern[str]] = {
    "other_order": re.compile(r"can't find an order|order nahi mila"),
    "order": re.compile(r"(?:tell me|bata sakte hain).*order number|order number.*bata"),
    "reason": re.compile(r"what went wrong|kya dikkat"),
    "photo": re.compile(r"\bphoto\b"),
    "item": re.compile(r"[Ww]hich of them|unme se kaun"),
    "choice": re.compile(r"money back\?|paise wapas\?"),
    "unused": re.compile(r"still unused|use nahi kiya"),
    "payout": re.compile(r"bank account or UPI|bank account ya UPI"),
    "anything": re.compile(r"[Ww]hat can I do for you|kya madad"),
}


@dataclass(frozen=True, kw_only=True)
class _Phrase:
    english: str
    hinglish: str


_QUESTIONS: dict[Question, _Phrase] = {
    "order": _Phrase(
        english="I'd like to look into this straight away. Could you tell me the order number? It"
        " is in your confirmation e-mail.",
        hinglish="Main ise turant dekhna chahta hoon. Kya aap order number bata sakte hain? Wo"
        " aapke confirmation e-mail mein hai.",
    ),
    "other_order": _Phrase(
        english="I can't find an order {order} of yours. Could you check the number in your"
        " confirmation e-mail?",
        hinglish="Aapka {order} number ka order nahi mila. Kya aap confirmation e-mail mein number"
        " dekh sakte hain?",
    ),
    "reason": _Phrase(
        english="I have your order {order} ({items}) in front of me. Could you tell me what went"
        " wrong? Did it come damaged, was it the wrong item, did it never come, or have"
        " you changed your mind?",
        hinglish="Aapka order {order} ({items}) mere saamne hai. Kya dikkat hui: item toota hua"
        " aaya, galat item aaya, parcel mila hi nahi, ya aapka mann badal gaya?",
    ),
    "photo": _Phrase(
        english="I'm so sorry about the {items}! Could you send us a photo that shows {shown}?"
        " Then I can go on right away.",
        hinglish="Mujhe {items} ke liye bahut afsos hai! Kya aap ek photo bhej sakte hain jisme"
        " {shown} dikhe? Phir main turant aage badhunga.",
    ),
    "item": _Phrase(
        english="Your order {order} has {items}. Which of them is it about?",
        hinglish="Aapke order {order} mein {items} hain. Unme se kaun sa hai?",
    ),
    "choice": _Phrase(
        english="I'm sorry about the {items}! Would you rather have {other}, or your money back?",
        hinglish="Main {items} ke liye maafi chahta hoon! Aap kya chahenge: dusra item ya paise"
        " wapas?",
    ),
    "unused": _Phrase(
        english="Is the {items} still unused and in its original packing{sealed}?",
        hinglish="Kya aapne {items} ko use nahi kiya hai, aur original packing hai{sealed}?",
    ),
    "payout": _Phrase(
        english="You paid order {order} in cash, so the refund goes to your bank account or UPI"
        " id. Which of the two would you like? Please don't write any account details"
        " here.",
        hinglish="Order {order} cash on delivery tha, isliye refund bank account ya UPI mein"
        " jayega. Aap kaun sa chahenge? Kripya account details yahan mat likhiye.",
    ),
    "anything": _Phrase(
        english="What can I do for you?",
        hinglish="Main aapki kya madad kar sakta hoon?",
    ),
}
_SEALED = (", with the box unopened", ", aur box khola nahi hai")


def question(kind: Question, language: Language, **values: str) -> str:
    phrase = _QUESTIONS[kind]
    text = phrase.hinglish if language == "hinglish" else phrase.english
    return text.format(**values)


def sealed(language: Language, *, electronics: bool) -> str:
    """What the question whether it is unused adds for electronics."""
    if not electronics:
        return ""
    return _SEALED[1] if language == "hinglish" else _SEALED[0]


def shown_by_photo(reason: str, language: Language) -> str:
    """What a photo has to show."""
    if language == "hinglish":
        return "jo aaya wo ya uska label" if reason == "wrong_item" else "nuksaan"
    return "what came, or its label" if reason == "wrong_item" else "the damage"


def issued(
    amount: Decimal, items: str, reference: str, arrives: str, language: Language, *, way: str
) -> str:
    if language == "hinglish":
        return (
            f"Aapka {rupees(amount)} ka refund ({items}) ho gaya hai, reference {reference}."
            f" {arrives} mein {way} mein aa jayega."
        )
    return (
        f"Your refund of {rupees(amount)} for the {items} is issued (reference {reference}) and"
        f" reaches {'you' if not way else f'your {way}'} in {arrives}."
    )


def keep_unused(items: str, language: Language) -> str:
    if language == "hinglish":
        return f"Jab tak hamara courier na le jaye, {items} ko use mat kijiyega."
    return f"Please keep the {items} unused until our carrier has it."


def too_late(order: str, days: str, limit: str, what: str, language: Language) -> str:
    """`what` is what the limit is for, in English: "to change your mind"."""
    if language == "hinglish":
        return (
            f"Aapka order {order} {days} pehle aaya tha, aur hamari policy {limit} tak ki hai,"
            " isliye main refund nahi kar sakta. Iske liye maafi chahta hoon."
        )
    return (
        f"Your order {order} was delivered {days} ago, and our policy gives {limit} {what}, so I"
        " can't refund it. I'm sorry that I have no better answer."
    )


def not_returnable(items: str, language: Language) -> str:
    if language == "hinglish":
        return (
            f"Personal care products ({items}) wapas nahi liye jaate, isliye main refund nahi kar"
            " sakta. Iske liye maafi chahta hoon."
        )
    return (
        f"Personal care products like the {items} can't be returned, so I can't refund it. I'm"
        " sorry that I have no better answer."
    )


def used(items: str, language: Language) -> str:
    if language == "hinglish":
        return (
            f"Hum sirf bina use kiya hua item original packing mein wapas lete hain, isliye {items}"
            " ka refund nahi ho sakta. Iske liye maafi chahta hoon."
        )
    return (
        "We can only take back what is unused and in its original packing, so I can't refund the"
        f" {items} this time. I'm sorry about that."
    )


def letter(name: str | None, language: Language, *parts: str) -> str:
    """A whole reply: greeting, what there is to say, one line of good wishes."""
    body = " ".join(part for part in parts if part)
    close = "Dhanyavaad!" if language == "hinglish" else "All the best, and thank you for writing!"
    return f"{greeting(name, language)},\n\n{body}\n\n{close}"


def greeting(name: str | None, language: Language) -> str:
    hello = "Namaste" if language == "hinglish" else "Hi"
    return f"{hello} {name}" if name else hello


def sorry(reason: str | None, items: str, language: Language) -> str:
    if language == "hinglish":
        return "" if reason == "changed_mind" else f"Hum {items} ke liye maafi chahte hain."
    match reason:
        case "damaged":
            return f"I'm sorry that the {items} came to you like that."
        case "wrong_item":
            return "I'm sorry that we got your order wrong."
        case "not_delivered":
            return "I'm sorry about the wait for your parcel."
        case "changed_mind":
            return "Thank you for telling us."
        case _:
            return ""


def day(date: date_type) -> str:
    """A day as people say it: "30 November"."""
    return f"{date.day} {date:%B}"


def rupees(amount: Decimal) -> str:
    """Rupees the Indian way, with two decimals: ₹1,49,900.00."""
    whole, _, rest = f"{amount:.2f}".partition(".")
    head, tail = whole[:-3], whole[-3:]
    pairs = re.findall(r"\d{1,2}(?=(?:\d\d)*$)", head) if head else []
    return f"₹{','.join([*pairs, tail])}.{rest}"


def joined(names: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
