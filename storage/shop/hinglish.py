"""Hindi in Latin letters, as customers of an Indian shop write it: the words policies are about.

Policies are written in English. A term found in a query gets its English words put beside it; it
stays itself, since a policy may use it too. Spellings that people mix (oo/u, aa/a) stand side by
side. Only what tells one policy from another belongs here; grammar and politeness don't.
"""

import re

_ENGLISH = {
    "paisa|paise|paisay": "money",
    "wapas|wapis|vapas|vapis": "refund return",
    "wapsi|vapsi": "refund return",
    "lautana|lautane|lauta|lautaya": "return",
    "saaman|saamaan|samaan|saman": "item product",
    "toota|tuta|tooti|tuti|toot|phoota|phuta|phat|phata": "damaged broken",
    "kharab|kharaab": "damaged defective",
    "galat|galath": "wrong",
    "nahi mila|nahin mila|nahi aaya|nahin aaya|nahi pahuncha": "not delivered arrived",
    "kab|kitne din": "how long days",
    "badalna|badlna|badal|badle": "exchange",
    "pasand nahi aaya|pasand nahi|pasand nahin|man badal gaya|mann badal gaya": "change of mind",
    "nakad|naqad|nagad": "cash",
    "khaata|khata|khate": "bank account",
    "aadha|adha|thoda": "partial part",
    "radd|raddh|cancel kiya": "cancelled",
    "tohfa|uphaar": "gift card",
    "vaada|vada|wada|waada": "promise",
    "khula|khola|khol": "opened",
    "photu|tasveer": "photo",
}

_BY_SPELLING = {
    spelling: english
    for spellings, english in _ENGLISH.items()
    for spelling in spellings.split("|")
}

# The longest first: "pasand nahi aaya" is a dislike, not a parcel that never came.
_TERM = re.compile(rf"\b(?:{'|'.join(sorted(_BY_SPELLING, key=len, reverse=True))})\b")


def in_english(query: str) -> str:
    """The query, in lower case, followed by the English words of every term found in it."""
    found = [_BY_SPELLING[term] for term in _TERM.findall(query)]
    return " ".join([query, *found])
