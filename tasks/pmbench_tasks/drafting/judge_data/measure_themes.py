"""Measures the embedded theme judge on sentences that were held back, beside four baselines.

Run: `python -m pmbench_tasks.drafting.judge_data.measure_themes` (needs the embedded embedder).

Measures are those of the paper's Table 8: F1 per theme, and their micro average, which with one theme per sentence
is the accuracy. `theme_test.jsonl`, if it is there, is measured in the same way.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from pmbench import Embedder, open_embedder
from pmbench_tasks.drafting.judge_data.train_themes import LabelledSentence, read_sentences
from pmbench_tasks.drafting.judging.embedded_theme_judge import EmbeddedThemeJudge
from pmbench_tasks.drafting.judging.theme_features import plain, words
from pmbench_tasks.drafting.themes import THEMES

TEST = "judge_data/theme_test.jsonl"
RESAMPLES = 10_000

DESCRIPTIONS: Mapping[str, str] = {
    "empathy": "The clinician thanks, comforts, praises or apologises and shows that the feelings are understood.",
    "symptom_questions": "The clinician asks about the patient's symptoms, when they began and how bad they are.",
    "medication_questions": "The clinician asks which medicines are taken, in what dose, and about side effects.",
    "assessment": "The clinician explains what a test result or symptom means and what the likely cause is.",
    "planning": "The clinician recommends a treatment, a test or something to do at home.",
    "logistics": "How to book a visit, opening hours, forms, insurance, refills and the pharmacy.",
    "coordination": "Someone of the care team will call, makes a referral or talks with another doctor.",
    "contingency": "If symptoms get worse or do not improve, call us or go to the emergency room.",
    "other": "A greeting, a signature, a heading or a remark about the draft itself.",
}
"""One sentence about each theme, for the baseline that takes the nearest of them."""


def most_frequent(rows: Sequence[LabelledSentence], asked: Sequence[str]) -> list[str]:
    """The theme that most training sentences have, for every sentence."""
    return [Counter(row.theme for row in rows).most_common(1)[0][0]] * len(asked)


async def nearest_description(embedder: Embedder, asked: Sequence[str]) -> list[str]:
    """The theme whose description is nearest by cosine."""
    vectors = await embedder.embed([*map(plain, asked), *DESCRIPTIONS.values()])
    names = list(DESCRIPTIONS)
    return [names[place] for place in (vectors[: len(asked)] @ vectors[len(asked) :].T).argmax(axis=1)]


async def nearest_mean(
    embedder: Embedder, rows: Sequence[LabelledSentence], asked: Sequence[str]
) -> list[str]:
    """The theme whose training sentences' mean embedding is nearest by cosine (Rocchio's classifier)."""
    import numpy as np

    vectors = await embedder.embed([plain(text) for text in [*asked, *(row.sentence for row in rows)]])
    known = vectors[len(asked) :]
    names = [row.theme for row in rows]
    means = np.stack([known[[name == theme for name in names]].mean(axis=0) for theme in THEMES])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    themes = list(THEMES)
    return [themes[place] for place in (vectors[: len(asked)] @ means.T).argmax(axis=1)]


def naive_bayes(rows: Sequence[LabelledSentence], asked: Sequence[str]) -> list[str]:
    """Multinomial naive Bayes over the different words of a sentence, add-one smoothing, all themes alike likely.

    Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 13.2.
    """
    counted = {theme: Counter[str]() for theme in THEMES}
    for row in rows:
        counted[row.theme].update(words(row.sentence))
    known = set().union(*counted.values())
    total = {theme: sum(count.values()) + len(known) for theme, count in counted.items()}

    def score(theme: str, held: set[str]) -> float:
        return sum(math.log((counted[theme][word] + 1) / total[theme]) for word in sorted(held & known))

    return [max(THEMES, key=lambda theme: score(theme, words(sentence))) for sentence in asked]


async def answers(embedder: Embedder, asked: Sequence[str]) -> dict[str, list[str]]:
    """What the judge and the baselines answer."""
    rows = read_sentences("tune")
    labels = await EmbeddedThemeJudge(embedder).label(asked)
    return {
        "embedded judge": [one for (one,) in labels],
        "nearest mean embedding": await nearest_mean(embedder, rows, asked),
        "naive Bayes over words": naive_bayes(rows, asked),
        "nearest description by cosine": await nearest_description(embedder, asked),
        "most frequent theme": most_frequent(rows, asked),
    }


def f1_by_theme(given: Sequence[str], true: Sequence[str]) -> dict[str, float]:
    """F1 of each theme; NaN of one that neither has."""
    found = {}
    for theme in THEMES:
        both = sum(a == b == theme for a, b in zip(given, true, strict=True))
        either = given.count(theme) + true.count(theme)
        found[theme] = 2 * both / either if either else math.nan
    return found


def accuracy(given: Sequence[str], true: Sequence[str]) -> float:
    """Share of sentences with the labelled theme: the micro F1, as each has one."""
    return sum(a == b for a, b in zip(given, true, strict=True)) / len(true)


def difference(
    first: Sequence[str], second: Sequence[str], true: Sequence[str], *, seed: int = 0
) -> tuple[float, float, float]:
    """Difference of two accuracies and its 95% interval: paired percentile bootstrap over sentences.

    Returns:
        The difference, and the 2.5th and 97.5th percentile of 10,000 resamples.
    """
    import numpy as np

    triples = zip(first, second, true, strict=True)
    gains = np.asarray([(a == wanted) - (b == wanted) for a, b, wanted in triples], dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = gains[generator.integers(len(gains), size=(RESAMPLES, len(gains)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(gains.mean()), float(low), float(high)


def wilson(right: int, of: int) -> tuple[float, float]:
    """95% interval of a share, by Wilson's score (1927)."""
    z = 1.959964
    middle = (right + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(right * (of - right) / of + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def tables(title: str, given: Mapping[str, list[str]], true: Sequence[str]) -> list[str]:
    """Markdown: F1 per theme, averages and differences of each method, and what the judge confuses."""
    names = list(given)
    by_theme = {name: f1_by_theme(labels, true) for name, labels in given.items()}
    lines = [
        f"{title} ({len(true)} sentences)",
        "",
        f"| F1 | sentences | {' | '.join(names)} |",
        "|---|---|" + "---|" * len(names),
    ]
    for theme, shown in THEMES.items():
        cells = " | ".join(_shown(by_theme[name][theme]) for name in names)
        lines.append(f"| {shown} | {true.count(theme)} | {cells} |")
    macro = {name: _mean([value for value in by_theme[name].values() if value == value]) for name in names}
    shares = [accuracy(given[name], true) for name in names]
    intervals = [wilson(round(share * len(true)), len(true)) for share in shares]
    lines.append(f"| **micro (= accuracy)** | | {' | '.join(map(_shown, shares))} |")
    lines.append(f"| its 95% interval | | {' | '.join(f'{a:.2f} to {b:.2f}' for a, b in intervals)} |")
    lines.append(f"| macro | | {' | '.join(_shown(macro[name]) for name in names)} |")
    judge, *baselines = names
    lines += ["", f"| accuracy, {judge} minus … | difference | 95% interval |", "|---|---|---|"]
    for name in baselines:
        value, low, high = difference(given[judge], given[name], true)
        lines.append(f"| {name} | {value:+.2f} | {low:+.2f} to {high:+.2f} |")
    confused = Counter((b, a) for a, b in zip(given[judge], true, strict=True) if a != b)
    shown_pairs = [f"{THEMES[a]} taken for {THEMES[b]} ({n})" for (a, b), n in confused.most_common()]
    return [*lines, "", f"What the {judge} confuses: {'; '.join(shown_pairs) or 'nothing'}.", ""]


async def measure(embedder: Embedder, title: str, rows: Sequence[LabelledSentence]) -> list[str]:
    """The tables of one set of labelled sentences."""
    given = await answers(embedder, [row.sentence for row in rows])
    return tables(title, given, [row.theme for row in rows])


async def _report(embedder: Embedder) -> str:
    lines = await measure(embedder, "Held back", read_sentences("held-back"))
    lines += await measure(embedder, "Test, written without sight of the judge", read_sentences("test", TEST))
    return "\n".join(lines)


def report() -> str:
    """The judge and its baselines on the fold that was held back, and on `theme_test.jsonl`."""
    return asyncio.run(_report(open_embedder()))


async def sentences_a_second(embedder: Embedder, count: int = 1_500) -> float:
    """Rate of `label` on sentences that the embedder has not seen; the model is loaded before."""
    rows = read_sentences("tune")
    # A number in each, so that no vector is known already.
    fresh = [f"{rows[at % len(rows)].sentence} {at}" for at in range(count)]
    judge = EmbeddedThemeJudge(embedder)
    await judge.label(["A first sentence loads the model."])
    began = time.perf_counter()
    await judge.label(fresh)
    return count / (time.perf_counter() - began)


def main() -> None:
    """Print the report, and the speed on this machine."""
    sys.stdout.write(report())
    rate = asyncio.run(sentences_a_second(open_embedder()))
    sys.stdout.write(f"\n{rate:.0f} different sentences a second, embedding included\n")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _shown(value: float) -> str:
    return "–" if value != value else f"{value:.2f}"


if __name__ == "__main__":
    main()
