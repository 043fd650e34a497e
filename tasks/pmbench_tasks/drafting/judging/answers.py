"""Bare answers: `yes` and `no`, and what somebody may or must do, where no word of content tells the two apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_YES = frozenset(("yes", "yeah", "yep", "yup", "absolutely", "certainly", "definitely"))
_NO = frozenset(("no", "nope"))
_AFTER = frozenset((",", ".", ";", ":", "!", "-", "–", "—"))
"""What stands after a `no` that is an answer; `no fever` is none."""
_MODALS = frozenset(("can", "may", "could", "should", "will", "must", "would"))
_BETWEEN = frozenset(
    ("not", "you", "we", "i", "he", "she", "they", "also", "still", "now", "safely", "certainly")
)
"""What may stand between `can` and its verb."""


def answers(tokens: Sequence[str]) -> Mapping[str, int]:
    """What a text answers: 1 for yes, -1 for no, by `answer` and by each `can get`, `should stop`.

    Args:
        tokens: `wording.words` of the text.
    """
    found: dict[str, int] = {}
    if tokens and tokens[0] in _YES:
        found["answer"] = 1
    elif tokens and tokens[0] in _NO and (len(tokens) == 1 or tokens[1] in _AFTER):
        found["answer"] = -1
    for at, token in enumerate(tokens):
        modal, sign = _modal(token)
        if not modal:
            continue
        rest = tokens[at + 1 : at + 5]
        if "not" in rest[:2]:
            sign = -sign
        verb = next((word for word in rest if word not in _BETWEEN), "")
        if verb.isalpha():
            # The first of two that differ: what comes later may be an exception.
            found.setdefault(f"{modal} {verb}", sign)
    return found


def otherwise_answered(sentence: Mapping[str, int], passage: Mapping[str, int]) -> bool:
    """Whether two texts answer the same question, one with yes and one with no."""
    return any(passage.get(name, sign) != sign for name, sign in sentence.items())


def _modal(token: str) -> tuple[str, int]:
    if token in _MODALS:
        return token, 1
    if token in ("cannot", "can't"):
        return "can", -1
    if token == "won't":  # noqa: S105 - a word, no secret
        return "will", -1
    bare = token.removesuffix("n't")
    return (bare, -1) if bare != token and bare in _MODALS else ("", 1)
