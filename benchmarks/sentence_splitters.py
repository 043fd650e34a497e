"""Compares sentence splitters on clinical replies split by hand: `python benchmarks/sentence_splitters.py`.

Each library is shown alone, and under the rules that `pmbench.text` puts around whichever it uses (line
ends and list markers, a missing space after a full stop, dosing abbreviations). Gold: `data/sentences.jsonl`,
written for this comparison; `¦` marks where a sentence ends. The rules were written with these passages in
view, so the rows compare libraries and are no estimate for other text. Boundaries are compared by the first
letter or digit of the sentence that begins there: white space, emoji and closing quotes decide nothing. A
library that is not installed is left out of the table and named below it.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from pmbench.text.sentences import SPLITTER, sentence_spans, split_with

GOLD = Path(__file__).parent / "data" / "sentences.jsonl"
Splitter = Callable[[str], list[tuple[int, int]]]


def _located(text: str, sentences: list[str]) -> list[tuple[int, int]]:
    """Spans of sentences that a library returned as text; one that changed the text is skipped."""
    spans, at = [], 0
    for sentence in sentences:
        start = text.find(sentence.strip(), at)
        if start >= 0 and sentence.strip():
            at = start + len(sentence.strip())
            spans.append((start, at))
    return spans


def blingfire() -> Splitter:
    """A finite-state splitter in C++."""
    module = importlib.import_module("blingfire")
    return lambda text: _located(text, module.text_to_sentences(text).split("\n"))


def pysbd() -> Splitter:
    """Rules in regular expressions."""
    segmenter = importlib.import_module("pysbd").Segmenter(language="en", clean=False)
    return lambda text: _located(text, segmenter.segment(text))


def sentencex() -> Splitter:
    """Rules in Rust, with a list of abbreviations per language."""
    module = importlib.import_module("sentencex")
    return lambda text: _located(text, module.segment("en", text))


def syntok() -> Splitter:
    """A tokenizer with segmentation rules."""
    module = importlib.import_module("syntok.segmenter")

    def split(text: str) -> list[tuple[int, int]]:
        found = [s for paragraph in module.process(text) for s in paragraph if s]
        return [(s[0].offset, s[-1].offset + len(s[-1].value)) for s in found]

    return split


LIBRARIES = {"blingfire": blingfire, "pysbd": pysbd, "sentencex": sentencex, "syntok": syntok}


def starts(text: str, spans: list[tuple[int, int]]) -> set[int]:
    """Index of the first letter or digit of each sentence that has one, without the first sentence."""
    firsts = (next((i for i in range(a, b) if text[i].isalnum()), None) for a, b in spans)
    return set(sorted(i for i in firsts if i is not None)[1:])


def gold() -> list[tuple[str, str, set[int]]]:
    """(kind, text, boundaries) of each passage."""
    passages = []
    for line in GOLD.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        parts, spans, at = row["marked"].split("¦"), [], 0
        for part in parts:
            spans.append((at, at + len(part)))
            at += len(part)
        text = "".join(parts)
        passages.append((row["kind"], text, starts(text, spans)))
    return passages


def measure(split: Splitter) -> tuple[float, float, float, dict[str, int]]:
    """Boundary F1, share of passages exactly right, thousand words per second, wrong passages by kind."""
    hit = wrong = missed = exact = 0
    by_kind: dict[str, int] = {}
    passages = gold()
    for kind, text, true in passages:
        found = starts(text, split(text))
        hit, wrong, missed = hit + len(found & true), wrong + len(found - true), missed + len(true - found)
        exact += found == true
        if found != true:
            by_kind[kind] = by_kind.get(kind, 0) + 1
    replies = [text for _, text, _ in passages] * 20
    began = time.perf_counter()
    for text in replies:
        split(text)
    rate = sum(len(text.split()) for text in replies) / (time.perf_counter() - began)
    return 2 * hit / (2 * hit + wrong + missed), exact / len(passages), rate / 1000, by_kind


def main() -> None:
    """Print the table."""
    print(f"default: {SPLITTER}; {len(gold())} passages\n")
    print(
        "| library | version | rules | boundary F1 | exact passages | 1000 words/s | wrong passages by kind |"
    )
    print("|---|---|---|---|---|---|---|")
    absent = []
    for name, build in LIBRARIES.items():
        try:
            engine = build()
        except ImportError:
            absent.append(name)
            continue
        for rules, split in (("alone", engine), ("ours", lambda text, e=engine: split_with(e, text))):
            f1, exact, rate, wrong = measure(split)
            kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(wrong.items()))
            print(f"| {name} | {version(name)} | {rules} | {f1:.3f} | {exact:.3f} | {rate:.0f} | {kinds} |")
    f1, exact, rate, _ = measure(sentence_spans)
    print(f"\nsplit_sentences as shipped: F1 {f1:.3f}, exact {exact:.3f}, {rate:.0f} thousand words/s")
    if absent:
        print(f"not installed: {', '.join(absent)}")


if __name__ == "__main__":
    main()
