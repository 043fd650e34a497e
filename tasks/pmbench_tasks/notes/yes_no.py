"""Whether a question can be answered by yes or no: by its first words, in English."""

from __future__ import annotations

import re

_VERBS = (
    "is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must"
    "|isn't|aren't|wasn't|weren't|don't|doesn't|didn't|hasn't|haven't|hadn't|can't|cannot|couldn't|won't|wouldn't|shouldn't"
)
_ASKS = re.compile(rf"^(?:{_VERBS})\b", re.IGNORECASE)
_ASKS_LATER = re.compile(rf"[,:;–—]\s*(?:then\s+|and\s+|also\s+)?(?:{_VERBS})\b", re.IGNORECASE)
"""`Wherever the section names a side, is it …`: a question after a clause or a heading."""

_OPEN = re.compile(
    r"^(?:and\s+)?(?:(?:to|in|at|on|by|for|with|from|of|about)\s+)?"
    r"(?:what|which|who|whom|whose|how|why|when|where)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"^(?:please\s+)?(?:list|describe|explain|summari[sz]e|rate|grade|score|count|name|identify|state|discuss|compare"
    r"|rank|write|give|tell|specify|evaluate|assess)\b(?!\s+(?:is|are|was|were)\b)",
    re.IGNORECASE,
)
_GRADES = re.compile(
    r"\bon a scale\b|\bout of (?:5|five|10|ten|100)\b|\b(?:rate|score|grade)[^.?]*\bfrom\s+[01]\s+to\s+\d+\b",
    re.IGNORECASE,
)
_MORE = re.compile(r"\?.*\?|,?\s+and\s+(?:if so|if not|how|why|what|which)\b", re.IGNORECASE | re.DOTALL)
_NA = re.compile(r"(?<![\w/])N\s?/\s?A(?![\w/])|\bn\.a\.|\bnot applicable\b|\binapplicable\b", re.IGNORECASE)
_NA_WORD = re.compile(r"\bNA\b")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|(?<!\w)'[^']*'(?!\w)")
"""What a question quotes is not what it asks for: does the section leave out fields that say "N/A"?"""


def not_yes_no(question: str) -> str:
    """Why a question cannot be answered by yes or no; `""` where it can, or nothing speaks against it."""
    plain = _plain(question)
    if _GRADES.search(plain):
        return "it asks for a grade"
    if _asks(plain):
        return ""
    if _OPEN.match(plain):
        return "it is an open question"
    return "it asks for a text" if _ORDERS.match(plain) else ""


def is_statement(question: str) -> bool:
    """Whether it neither begins as a question nor ends as one."""
    plain = _plain(question)
    return not _asks(plain) and not plain.rstrip(")\"' ").endswith("?")


def asks_more(question: str) -> bool:
    """Whether a second question stands behind the first."""
    return _MORE.search(_QUOTED.sub("''", question)) is not None


def asks_for_na(question: str) -> bool:
    """Whether it offers "not applicable" as an answer, which no question here has."""
    plain = _QUOTED.sub("''", question)
    return _NA.search(plain) is not None or _NA_WORD.search(plain) is not None


def _asks(plain: str) -> bool:
    return _ASKS.match(plain) is not None or _ASKS_LATER.search(plain) is not None


def _plain(question: str) -> str:
    """Without a number, a sign of a list or quotation marks in front."""
    return re.sub(r"^[\W_]*(?:Q?\d+[.):]\s*)?[\W_]*", "", question.replace("’", "'")).strip()
