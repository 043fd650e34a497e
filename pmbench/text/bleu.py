"""BLEU of one text against one reference."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast


def bleu(prediction: str, reference: str) -> float:
    """BLEU of one text, as a share in [0, 1].

    Sentence level, up to four words in a row, no smoothing: 0 where no four words in a row are shared, and for an
    empty prediction. Letter case counts. The same number as the metric `bleu` of the library `evaluate` with its
    defaults, which the official scorer of ArchEHR-QA calls; that one fails on an empty prediction.

    Source: Papineni et al. 2002, through sacrebleu (`smooth_method='none'`, tokeniser 13a).
    """
    texts = [words_13a(prediction)], [[words_13a(reference)]]
    return cast("float", _metric().corpus_score(*texts).score) / 100


def words_13a(text: str) -> str:
    """A text as WMT's tokeniser 13a (sacrebleu) cuts it: words and marks with one space between them.

    A hyphen at the end of a line joins the two words; another line end is a space.
    """
    return cast("str", _tokeniser()(text))


@lru_cache(maxsize=1)
def _tokeniser() -> Any:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    maker: Any = Tokenizer13a  # its methods have no types
    return maker()


@lru_cache(maxsize=1)
def _metric() -> Any:
    # Texts are cut before they come here: with a tokeniser of its own sacrebleu drops white space at a text's end
    # first, and `evaluate` does not, so that a hyphen before the last line end would stay here and go there.
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="none", smooth_method="none", force=True)
