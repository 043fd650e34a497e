"""Perturbations by a model: the assessment and plan rewritten with a fault of a known kind (Table 3 of the paper).

`inaccuracy`, `hallucination`, `unhelpful` and `incomplete_step` make a note worse. `paraphrase` keeps what it says.
The paper counts it among the harms; a paraphrase ought not to lose points, so it serves as a control, too: that
reading is ours. The model may not have done as it was told: what it changed stands in the record, sentence by
sentence, and an answer that cannot be what was asked for is a failure, not a note.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pmbench import Completion, Model, Prompt, RequestFailed, UnknownName, split_sentences
from pmbench_tasks.notes.note_sentences import parts_of
from pmbench_tasks.notes.note_strategies import as_data, unfenced
from pmbench_tasks.notes.perturb import NOT_THERE
from pmbench_tasks.notes.perturbed import Change, Perturbed, perturbed
from pmbench_tasks.notes.sections import Headers, body_of, is_empty

SECTION = "assessment_and_plan"
"""The only division that is rewritten."""

BY_MODEL = ("inaccuracy", "hallucination", "unhelpful", "incomplete_step", "paraphrase")
"""The perturbations by a model, in the order of Table 3."""

CONTROLS = ("paraphrase",)
"""Those that ought not to lose points, as we read them."""

ATTEMPTS = 3
"""How often a model is asked when its answer cannot be what was asked for."""

TOKENS_PER_WORD, MORE_TOKENS = 3, 128
"""Most tokens of a rewritten division: so many for each of its words now, and so many more."""

TEMPERATURE = 0.7
"""Of further attempts; the first is greedy."""

_PROMPT = Prompt("pmbench_tasks.notes:prompts/note_rewrite.txt")


def describe() -> Mapping[str, Any]:
    """What decides the requests: the prompt's digest and the limits."""
    return {
        "prompt": _PROMPT.digest,
        "tokens_per_word": TOKENS_PER_WORD,
        "more_tokens": MORE_TOKENS,
        "attempts": ATTEMPTS,
        "temperature": TEMPERATURE,
    }


async def perturb_by_model(
    kind: str,
    note: str | Mapping[str, str],
    model: Model,
    *,
    headers: Headers = "aci-bench",
) -> Perturbed:
    """Have a model rewrite the assessment and plan of a note.

    Args:
        kind: one of `BY_MODEL`.
        note: a note, or its divisions.
        model: is asked, once, and again where its answer cannot be what was asked for.
        headers: the published list of headers.

    Returns:
        The note with the rewritten division. A change for every sentence or run of sentences that is another now.
        Where the note has no assessment and plan, nothing is asked and nothing is changed.

    Raises:
        UnknownName: no such kind or list of headers.
        RequestFailed: the model could not answer; or its last answer was cut off (`cut-off`), empty (`empty`), a
            refusal (`refused`), the text that it was given (`unchanged`), or, of `incomplete_step`, no shorter than
            that (`nothing-removed`).
    """
    if kind not in BY_MODEL:
        raise UnknownName("perturbation by a model", kind, BY_MODEL)
    texts = {part.section: part.text for part in parts_of(note, headers=headers)}
    if is_empty(texts.get(SECTION, ""), headers=headers):
        return perturbed(kind, note, texts, (), {SECTION: NOT_THERE})
    whole = texts[SECTION]
    before = body_of(whole, headers=headers)
    rewritten = await _ask(kind, before.strip(), model, headers)
    at = len(whole) - len(before)
    lead, trail = len(before) - len(before.lstrip()), len(before.rstrip())
    texts[SECTION] = whole[:at] + before[:lead] + rewritten + before[trail:]
    return perturbed(kind, note, texts, _changes(kind, before, rewritten), {})


async def _ask(kind: str, text: str, model: Model, headers: Headers) -> str:
    messages = _PROMPT.messages(kind=kind, text=as_data(text))
    limit = MORE_TOKENS + TOKENS_PER_WORD * len(text.split())
    wrong = ""
    for attempt in range(ATTEMPTS):
        answer = await model.chat(
            messages, max_tokens=limit, temperature=TEMPERATURE if attempt else 0.0, attempt=attempt
        )
        rewritten = body_of(unfenced(answer.text), headers=headers).strip()
        wrong = _wrong(kind, text, rewritten, answer)
        if not wrong:
            return rewritten
    raise RequestFailed(wrong, f"no {kind} of the assessment and plan in {ATTEMPTS} attempts")


def _wrong(kind: str, text: str, rewritten: str, answer: Completion) -> str:
    """Why an answer cannot be what was asked for, as a failure's kind; `""`: it can."""
    if answer.finish == "refused":
        return "refused"
    if answer.finish == "length":
        return "cut-off"
    if not any(letter.isalnum() for letter in rewritten):
        return "empty"
    if _letters(rewritten) == _letters(text):
        return "unchanged"
    if kind == "incomplete_step" and len(rewritten.split()) >= len(text.split()):
        return "nothing-removed"
    return ""


def _changes(kind: str, before: str, after: str) -> list[Change]:
    """What is another way, by the sentences that stay as they are; marks and spaces apart."""
    old, new = split_sentences(before), split_sentences(after)
    matcher = difflib.SequenceMatcher(
        None, [_letters(one) for one in old], [_letters(one) for one in new], autojunk=False
    )
    changes = [
        Change(
            kind,
            SECTION,
            first + 1 if last > first else first,
            "rewritten"
            if last > first and new_last > new_first
            else "deleted"
            if last > first
            else "inserted",
            "\n".join(old[first:last]),
            written="\n".join(new[new_first:new_last]),
        )
        for tag, first, last, new_first, new_last in matcher.get_opcodes()
        if tag != "equal"
    ]
    # The same sentences cut in another way: the division as a whole is another.
    return changes or [Change(kind, SECTION, 0, "rewritten", before.strip(), written=after)]


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
