"""From the probabilities of an answer's first token to the probability of each option.

The same rule for every backend that gives log-probabilities, on the tokens' text alone:

- spaces around a token and letter case do not matter: `YES`, ` yes` and `Yes` are one;
- a token that equals an option counts for it;
- a token that only one option begins with (`Y`, ` rout`) counts for that option, unless it is an English word
  of one letter (`A`, `I`), which begins other answers too;
- whatever fits no option, or more than one, counts for none. What is left over is seen in the mass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pmbench.core.errors import RequestFailed

TOP = 50
"""How many of the most probable first tokens are asked for."""

_WORDS = frozenset({"a", "i"})


def option_probabilities(
    tokens: Iterable[tuple[str, float]], options: Sequence[str]
) -> tuple[tuple[float, ...], float]:
    """Sum first-token probabilities by option.

    Args:
        tokens: text and natural logarithm of the probability of the most probable first tokens.
        options: what may be answered, two or more.

    Returns:
        The normalised probability of each option in the order given, and the mass: the probability of all
        options together before normalisation.

    Raises:
        RequestFailed: `ambiguous` where no first token could tell two options apart; `no-mass` where none
            of the most probable first tokens begins an option.
    """
    names = [_plain(option) for option in options]
    _check(names)
    sums = [0.0] * len(names)
    for text, logprob in tokens:
        index = _match(_plain(text), names)
        if index is not None:
            sums[index] += math.exp(logprob)
    mass = math.fsum(sums)
    if mass <= 0.0:
        raise RequestFailed("no-mass", "no option is among the most probable first tokens")
    return tuple(value / mass for value in sums), min(mass, 1.0)


def _plain(text: str) -> str:
    return text.strip().casefold()


def _check(names: Sequence[str]) -> None:
    if len(names) < 2 or not all(names):
        raise RequestFailed("ambiguous", "two options or more are needed, none of them empty")
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            digits = one.isdigit() and other.isdigit()
            if one == other or (digits and (one.startswith(other) or other.startswith(one))):
                raise RequestFailed("ambiguous", "two options begin with the same token")


def _match(token: str, names: Sequence[str]) -> int | None:
    if not token:
        return None
    if token in names:
        return names.index(token)
    if token in _WORDS:
        return None
    begun = [index for index, name in enumerate(names) if name.startswith(token)]
    return begun[0] if len(begun) == 1 else None
