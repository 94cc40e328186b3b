"""What a customer's words mean: the reason, what they want, which order, which language.

By patterns, in English and in the Hindi that is written in Latin letters, with a few words of
other languages so that a case gets on its way. Words only ever choose between the things that the
clerk does anyway: nothing in them is an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Reason = Literal["damaged", "wrong_item", "not_delivered", "changed_mind"]
Language = Literal["english", "hinglish", "other"]


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})", re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATED = _any_of(
    r"\b(?:is|are|was|were)?\s*(?:not|n't|never)\s+(?:at all\s+)?(?:damaged|broken|cracked"
    r"|defective|faulty|torn|wrong)\b",
    r"\bnothing (?:is |was )?(?:wrong|broken|damaged)\b",
)
_CHANGED_MIND = _any_of(
    r"\bchang\w+ (?:my|his|her|our|their) mind",
    r"\bno longer (?:want|need)",
    r"\b(?:don'?t|do not|didn'?t|did not) (?:really )?(?:want|need|like)\b",
    r"\bnot what i (?:expected|imagined)",
    r"\b(?:ordered|bought|chose|picked) (?:\S+ ){0,3}(?:by mistake|twice|the wrong)",
    r"\b(?:doesn'?t|does not|don'?t|didn'?t) (?:fit|suit)\b",
    r"\btoo (?:small|big|large|tight|loose|heavy)\b",
    r"\bpasand (?:nahi|nahin|nai)\w*(?: aaya| aayi| aaye)?",
    r"\bma+nn? badal",
    r"\bnahin? (?:chahiye|chaiye)",
    r"\bgefällt (?:mir )?nicht",
    r"\bya no (?:lo |la )?quiero",
)
_RETURN = _any_of(r"\breturn(?:ing)?\b", r"\blauta", r"\bsend (?:it|them) back\b", r"\bwapas kar")
_NOT_DELIVERED = _any_of(
    r"\bnever (?:arrived|came|reached|received|delivered|showed|got (?:it|here|to|my|the))",
    r"\b(?:not|hasn'?t|haven'?t|wasn'?t|isn'?t|didn'?t|don'?t) (?:yet )?(?:been )?(?:yet )?"
    r"(?:deliver|arriv|receiv|com[ei]|reach|show|got\b|get\b|here\b)\w*",
    r"\bnothing (?:came|arrived|was delivered|has (?:come|arrived)|reached)",
    r"\bwhere(?:'s| is| are) my (?:order|parcel|package|delivery|\w+)\b(?! refund)",
    r"\b(?:parcel|package|delivery|shipment) (?:is|was|went|has gone|got) (?:missing|lost|stolen)",
    r"\b(?:missing|lost|stolen) (?:parcel|package|delivery|shipment)",
    r"\bundelivered\b",
    r"\b(?:lost|stolen) (?:in transit|on the way)",
    r"\bnahin? (?:mil[aie]|aay[aie]|pahunch)\w*",
    r"\bnicht angekommen",
    r"\bno (?:ha )?lleg",
    r"\bpas (?:arriv|reç|livr)",
    r"नहीं (?:मिल|आय|पहुँच)",
)
_WRONG_ITEM = _any_of(
    r"\bwrong (?:item|product|colou?r|size|model|thing|one|version|variant|book|shoe|case)\w*",
    r"\b(?:sent|got|received|delivered|came|arrived|gave) (?:me |us )?(?:a |an |the )?wrong",
    r"\bwrong\b.{1,40}\b(?:came|arrived|delivered|sent|received|in the (?:box|parcel))",
    r"\binstead of\b",
    r"\bdifferent (?:item|product|colou?r|size|model|one)\b",
    r"\bnot what i ordered",
    r"\b(?:someone|somebody) else'?s (?:item|parcel|order)",
    r"\bmissing\b",
    r"\bleft out\b",
    r"\bnot in the (?:box|parcel|package)",
    r"\bgalath?\b",
    r"\bwal[aie] (?:aa|mil|bhej)",
    r"\bfalsch",
    r"\bequivocad",
    r"\bmauvais article",
    r"गलत",
)
_DAMAGED = _any_of(
    r"\bdamag",
    r"\bbrok",
    r"\bcrack",
    r"\b(?:shatter|smash|scratch|torn|tore|ripp|leak|defect|fault|chipp|spill|rust|stain|burnt)",
    r"\bdent(?:s|ed)?\b",
    r"\bbent\b",
    r"\b(?:not|stopped|n'?t|n't be) work",
    r"\b(?:doesn'?t|does not|don'?t|won'?t) (?:work|turn|start|switch|charge|open|close|play)",
    r"\b(?:dead|died|no sound|no power|went silent)\b",
    r"\b(?:toot|tut[aie]|phoot|phut|phat)\w*",
    r"\bkhara+b",
    r"\b(?:chal|kaam) (?:nahi|nahin)",
    r"\bkaputt|\bbeschädigt|\bzerbrochen",
    r"\b(?:rot[oa]|dañad[oa])\b",
    r"\b(?:cassé|endommagé|abîmé)",
    r"टूट|खराब",
)
_HUMAN = _any_of(
    r"\b(?:human|real person|actual person|supervisor|manager|lawyer|attorney)\b",
    r"\b(?:speak|talk|connect me) (?:to|with) (?:a |an |some|your )\w*",
    r"\b(?:file|make|lodge) a complaint",
    r"\b(?:legal|consumer (?:forum|court)|police|sue (?:you|cartwise)|in court)\b",
    r"\binsaan\b",
    r"\bkisi se baat",
)
# A manager's alleged approval is no wish to speak with one.
_ALLEGED = _any_of(r"\b(?:by )?(?:the |your |my )?manager (?:said|approved|has|already|told)\b")
_REPLACEMENT = _any_of(
    r"\breplac",
    r"\bexchang",
    r"\bswap",
    r"\banother (?:size|colou?r|one)\b",
    r"\b(?:a )?(?:new|right|correct) one\b",
    r"\bbadal (?:do|de|ke|kar|dijiye)",
    r"\bbadalna",
    r"\bnay[aie] (?:bhej|de)",
)
_REFUND = _any_of(
    r"\brefund",
    r"\bmoney back",
    r"\breimburs",
    r"\bpais[ae]y?\b",
    r"\bgive (?:me |us )?(?:back )?(?:the |my |our )?(?:money|rupees)",
    r"\bmoney\b",
    r"\bgeld zurück|\breembols|\brembours|\bdinero",
    r"रिफंड|पैसे|वापस",
)
_NO_REFUND = _any_of(
    r"\b(?:don'?t|do not|no|not|instead of)\b(?: want| need)?(?: a| the| my| any)? (?:refund|money)"
)
_NO_REPLACEMENT = _any_of(
    r"\b(?:don'?t|do not|no|not|instead of)\b(?: want| need)?(?: a| the| any)?"
    r" (?:replac\w*|exchange)"
)
_REPAIR = _any_of(r"\brepair", r"\bwarranty", r"\bguarantee", r"\bservice cent", r"\btheek kar")
_CANCEL = _any_of(r"\bcancel", r"\bradd?\b")
_DROPPED = _any_of(
    r"\bnever ?mind\b",
    r"\bforget (?:it|about it)\b",
    r"\bno need\b",
    r"\bleave it\b",
    r"\brehne (?:do|dijiye)",
    r"\b(?:found it|sorted out|it'?s fine now|solved itself)\b",
)
_THANKS = _any_of(r"\bthank", r"\bdhanyava+d", r"\bshukriya", r"\bgracias|\bmerci|\bdanke")
_MONEY_AWAITED = _any_of(
    r"\b(?:where|when|kab|status)\b.{0,40}\b(?:refund|money|pais[ae]|rupees)",
    r"\b(?:refund|money|pais[ae])\b.{0,30}\b(?:not|n'?t|nahi|nahin)\b.{0,20}"
    r"\b(?:arriv|receiv|come|came|mil|aay|credit)",
    r"\b(?:not|n'?t) (?:yet )?(?:received|got|seen)\b.{0,20}\b(?:refund|money)",
)
_QUESTION = _any_of(
    r"\bhow (?:long|many days|do i|does)\b",
    r"\bwhat(?:'s| is| are)? (?:your|the) .{0,40}polic",
    r"\b(?:can|may|could) i (?:return|exchange|get|send)",
    r"\bdo you (?:refund|take|accept|offer)",
    r"\b(?:kitne din|kab tak)\b",
)
_UNUSED = _any_of(
    r"\bun-?(?:used|opened|worn)\b",
    r"\bsealed?\b",
    r"\b(?:not|never|n'?t)(?: yet)?(?: been)? (?:used|opened|worn|touched)",
    r"\boriginal (?:pack|box)",
    r"\btags? (?:are |is )?(?:still )?on\b",
    r"\bbrand new\b",
    r"\b(?:use|khola) nahi|\bnahi (?:khola|kholi)",
)
_USED = _any_of(
    r"\b(?:i|we|have|had|was|been|is) (?:already )?(?:used|opened|wore|worn|washed|tried)\b",
    r"\bopened (?:it|the|them)\b",
    r"\bused (?:it|them) (?:once|a|for|already)",
    r"\bkhol (?:liya|diya|li)|\buse kiya|\bkhula hua",
)
_YES = _any_of(r"^\W*(?:yes|yeah|yep|sure|haan?|ji|correct|it is|they are)\b")
_NO = _any_of(r"^\W*(?:no|nope|nahi|nahin|sorry,? no)\b")
_NO_PHOTO = _any_of(
    r"\b(?:can'?t|cannot|can not|don'?t|unable|no)\b.{0,30}\b(?:photo|picture|camera|pic)",
    r"\bphoto nahi",
)
_PUSHY = _any_of(
    r"\bignore (?:all|any|previous|your|the)\b",
    r"\b(?:already|pre-?)\s?approved\b",
    r"\bapproval (?:is |was )?(?:already )?given\b",
    r"\binstructions? (?:to|for) (?:the|you)\b",
    r"\b(?:system|developer) (?:prompt|message|mode|override)\b",
    r"\bmanager (?:said|approved|has approved|told)\b",
    r"\bdo not ask anyone\b",
)

_NUMBER = re.compile(
    r"(?P<named>(?:order(?:ed|s)?|bestellung|pedido|commande|ऑर्डर)\W{0,3}"
    r"(?:ids?|nos?|nr|numbers?)?\W{0,4})?"
    r"(?<![\w₹.,/+-])(?P<number>(?:[A-Z]{1,4}-?)?\d{3,10})(?![\d,.]*\d)\b(?=(?P<after>.{0,12}))",
    re.IGNORECASE | re.DOTALL,
)
_MONEY_BEFORE = re.compile(
    r"(?:₹|\brs\.?|\binr|\brupees|\b(?:refund|pay|paid|give|cost)(?: me| us)?(?: of)?)\s*$",
    re.IGNORECASE,
)
_PHONE = re.compile(r"\+\d[\d ()-]{8,}\d|\b\d{10,}\b")
_AND = re.compile(r"\d\W*(?:and|&|,|aur|or)?\W*$", re.IGNORECASE)
_MONEY_AFTER = re.compile(r"\s*(?:rs\b|rupe|rupay|inr\b|/-|paise|%|days?\b|din\b)", re.IGNORECASE)
_NOT_IT = re.compile(r"\b(?:not|nahi|instead of)\W+(?:order\W+)?$", re.IGNORECASE)
_NAME = re.compile(
    r"(?:\b(?:I'?m|I am|this is|my name is|mera naam|(?:[Tt]hanks|[Rr]egards|[Cc]heers),?)\s+"
    r"|[.!?\n–—-]\s*)"
    r"([A-Z][a-z]{2,14})(?:\s+[A-Z][a-z]+)?\s*[.!]?\s*(?:$|[.\n])"
)
_NO_NAMES = _words(
    "Cheers Danke Dhanyavaad Gracias Hello Help Hey Hi Hola Kindly Merci Namaste Order Photo"
    " Please Refund Regards Shukriya Sorry Thank Thanks The Urgent Yes"
)
_HINGLISH = _words(
    "hai hain maine mera meri mere nahi nahin kya mujhe aap paise paisa wapas karo kar gaya"
    " gayi tha thi hua ho kripya namaste chahiye mila aaya tuta toota kharab galat bhai wala"
    " kiya dijiye sakte abhi kab"
)
_OTHER = _words(
    "ich und nicht bitte habe meine bestellung ist der das mein hola pedido quiero por favor"
    " gracias el los una mi bonjour je est ma commande merci vous les une s'il olá meu"
    " obrigado não"
)


@dataclass(frozen=True, kw_only=True)
class Wants:
    """What the customer asks for, besides the reason."""

    human: bool
    refund: bool
    replacement: bool
    repair: bool
    cancel: bool


def reason_in(text: str) -> Reason | None:
    """Why the customer wants their money back; None when the words don't say."""
    text = _NEGATED.sub(" ", _plain(text))
    # A dislike can hold the words of another reason: "pasand nahi aaya", "the wrong size for me".
    rest = _CHANGED_MIND.sub(" ", text)
    if _NOT_DELIVERED.search(rest) and not _MONEY_AWAITED.search(rest):
        return "not_delivered"
    if _WRONG_ITEM.search(rest):
        return "wrong_item"
    if _DAMAGED.search(rest):
        return "damaged"
    return "changed_mind" if _CHANGED_MIND.search(text) or _RETURN.search(text) else None


def wants_in(text: str) -> Wants:
    text = _plain(text)
    return Wants(
        human=bool(_HUMAN.search(_ALLEGED.sub(" ", text))),
        refund=bool(_REFUND.search(_NO_REFUND.sub(" ", text))),
        replacement=bool(
            _REPLACEMENT.search(_NO_REPLACEMENT.sub(" ", _CHANGED_MIND.sub(" ", text)))
        ),
        repair=bool(_REPAIR.search(text)),
        cancel=bool(_CANCEL.search(text)),
    )


def asks_for_money_awaited(text: str) -> bool:
    """The customer waits for a refund that they think was made."""
    return bool(_MONEY_AWAITED.search(_plain(text)))


def is_dropped(text: str) -> bool:
    return bool(_DROPPED.search(_plain(text)))


def is_thanks(text: str) -> bool:
    """Nothing but thanks, or a short yes to what was said."""
    return bool(_THANKS.search(text) or re.fullmatch(r"\W*(?:ok\w*|great|perfect)\W*", text, re.I))


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(_plain(text)))


def lacks_photo(text: str) -> bool:
    return bool(_NO_PHOTO.search(_plain(text)))


def is_pushy(text: str) -> bool:
    """Claims an approval, or gives orders to the agent."""
    return bool(_PUSHY.search(_plain(text)))


def is_unused(text: str, answer: str = "") -> bool | None:
    """Whether the item is unused; `answer` is the reply to that very question. None: not said."""
    for told in (_plain(answer), _plain(text)):
        if _UNUSED.search(told):
            return True
        if _USED.search(told):
            return False
        if told and told == _plain(answer) and (_YES.search(told) or _NO.search(told)):
            return _YES.search(told) is not None
    return None


def order_numbers(text: str) -> list[str]:
    """Order numbers in the order of mention; amounts, dates and phone numbers aren't any.

    Where some are called orders ("order 4471 and 4502"), other numbers aren't any either.
    """
    found = list(_order_numbers(_PHONE.sub(" ", text)))
    named = [number for number, is_named in found if is_named]
    return list(dict.fromkeys(named or [number for number, _ in found]))


def _order_numbers(text: str) -> Iterator[tuple[str, bool]]:
    """Each number that can be one, and whether it is called an order."""
    after_named = False
    for found in _NUMBER.finditer(text):
        number, before = found["number"], text[: found.start("number")]
        is_money = _MONEY_BEFORE.search(before) or _MONEY_AFTER.match(found["after"])
        if _NOT_IT.search(before) or is_money:
            after_named = False
            continue
        is_named = found["named"] is not None or (after_named and bool(_AND.search(before)))
        after_named = is_named
        year = re.fullmatch(r"20[23]\d", number)
        if is_named or (number.isdecimal() and 4 <= len(number) <= 6 and not year):
            yield number, is_named


def numbers_in_answer(text: str) -> list[str]:
    """Order numbers in the reply to the question for one, where any number is meant as one."""
    return order_numbers(text) or re.findall(r"(?:\b[A-Z]{1,4}-?)?\b\d{3,10}\b", text)


def names_item(text: str, name: str) -> bool:
    """Whether the words speak of this item, by its last word: the "plant" of a "Desk plant"."""
    head = name.lower().split()[-1].removesuffix("s")
    return re.search(rf"\b{re.escape(head)}s?\b", text.lower()) is not None


def first_name_in(text: str) -> str | None:
    """The name under the customer's words."""
    names = [found for found in _NAME.findall(text) if found not in _NO_NAMES]
    return names[-1] if names else None


def language_of(text: str) -> Language:
    letters = [each for each in text if each.isalpha()]
    foreign = sum(each > "ɏ" for each in letters)
    words = re.findall(r"[^\W\d_]+", text.lower())
    if letters and foreign > len(letters) / 3:
        return "other"
    if sum(word in _HINGLISH for word in words) >= 2:
        return "hinglish"
    return "other" if sum(word in _OTHER for word in words) >= 2 else "english"


def sentences_about(text: str, number: str, others: list[str]) -> str:
    """Of a text about several orders, the sentences about one; the whole when it can't be told."""
    parts = re.split(r"(?<=[.!?;])\s+|\n+|,?\s+(?:and|aur|but) (?=\w[^.]*\d{4})", text)
    own = [part for part in parts if number in part and not any(x in part for x in others)]
    return " ".join(own) or text


def _plain(text: str) -> str:
    return text.replace("’", "'")
