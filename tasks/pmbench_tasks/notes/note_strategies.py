"""How a model is asked for the note of a visit: `full-note` at once, and `by-section`, a prompt for each division.

A transcript is never shortened. Where a prompt is longer than the model's context, its backend refuses it
(`too-long`), and the visit is counted as failed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from pmbench import Completion, Model, Options, Prompt, Response, Strategy, StrategyContext
from pmbench_tasks.notes.sections import (
    SECTIONS,
    STANDARD_HEADERS,
    body_of,
    headers_of,
    join_sections,
    standard_section,
)

FULL_TOKENS = 1536
"""Most tokens of a note; the longest of 60 in ACI-bench has 829 words, and half of them have 410 at most."""

SECTION_TOKENS = {
    "subjective": 896,
    "objective_exam": 384,
    "objective_results": 256,
    "assessment_and_plan": 768,
}
"""Most tokens of a division."""

NOTHING = "NONE"
"""What a model is asked to answer where the visit has nothing for a division."""

_TAG = re.compile(r"<(?=\s*/?\s*(?:transcript|section)\b)", re.IGNORECASE)
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?```", re.DOTALL)


class FullNote:
    """Asks once for the whole note."""

    needs = frozenset({"chat"})

    def __init__(self, prompt: Prompt, *, max_tokens: int = FULL_TOKENS) -> None:
        self.prompt, self.max_tokens = prompt, max_tokens

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt, its headers, and the token limit."""
        return {"prompt": self.prompt.digest, "headers": STANDARD_HEADERS, "max_tokens": self.max_tokens}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request."""
        return 1, 1

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The note as the model wrote it; data `cut_off`: `["note"]` where the token limit ended it.

        Raises:
            RequestFailed: the model could not answer, or the transcript is too long for it.
        """
        messages = self.prompt.messages(transcript=as_data(inputs["transcript"]), headers=STANDARD_HEADERS)
        answer = await model.chat(messages, max_tokens=self.max_tokens, temperature=0.0)
        return Response(unfenced(answer.text), {"cut_off": ["note"] if answer.finish == "length" else []})


class BySection:
    """Asks for each wanted division with the same transcript, and joins the answers under standard headers.

    Args:
        prompt: for one division.
        sections: the divisions that are wanted, in their usual order.
        max_tokens: most tokens of each.
    """

    needs = frozenset({"chat"})

    def __init__(
        self,
        prompt: Prompt,
        *,
        sections: Sequence[str] = SECTIONS,
        max_tokens: Mapping[str, int] = SECTION_TOKENS,
    ) -> None:
        self.prompt, self.sections, self.max_tokens = prompt, tuple(sections), max_tokens

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt, the divisions asked for, headers, the word for nothing, and the token limits."""
        return {
            "prompt": self.prompt.digest,
            "sections": self.sections,
            "headers": STANDARD_HEADERS,
            "nothing": NOTHING,
            "max_tokens": dict(self.max_tokens),
        }

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request for each wanted division."""
        return len(self.sections), len(self.sections)

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The joined note. A note without one of its divisions would be another note, so one failure fails all.

        Returns:
            Text: the divisions under standard headers, those that are empty left out. Data: `sections`, the text of
            each wanted division with its header, `""` where the model found nothing for it; `cut_off`, the
            divisions that the token limit ended.

        Raises:
            RequestFailed: the model could not answer, or the transcript is too long for it.
        """
        wanted = self.sections
        transcript = as_data(inputs["transcript"])
        answers = await _together(
            [
                model.chat(
                    self.prompt.messages(transcript=transcript, section=name, nothing=NOTHING),
                    max_tokens=self.max_tokens[name],
                    temperature=0.0,
                )
                for name in wanted
            ]
        )
        bodies = {name: _body(name, one.text) for name, one in zip(wanted, answers, strict=True)}
        return Response(
            join_sections(bodies),
            {
                "sections": {name: standard_section(name, body) for name, body in bodies.items()},
                "cut_off": [
                    name for name, one in zip(wanted, answers, strict=True) if one.finish == "length"
                ],
            },
        )


def strategies_for(sections: Sequence[str]) -> Mapping[str, Strategy]:
    """The strategies by name, where these divisions are judged: only by-section writes another note for them."""
    return {
        "full-note": FullNote(Prompt("pmbench_tasks.notes:prompts/note_full.txt")),
        "by-section": BySection(Prompt("pmbench_tasks.notes:prompts/note_section.txt"), sections=sections),
    }


STRATEGIES = strategies_for(SECTIONS)


def as_data(text: str) -> str:
    """A text for a prompt: where it names a tag of a prompt, its `<` becomes `‹`; nothing else changes."""
    return _TAG.sub("‹", text.strip())


def unfenced(text: str) -> str:
    """An answer without white space at its ends, and without the code fence where all of it stands in one."""
    found = _FENCE.fullmatch(text.strip())
    return (found[1] if found else text).strip()


def _body(section: str, answer: str) -> str:
    """The text of a division, without a heading of its own that the model wrote in spite of the prompt."""
    text = unfenced(answer)
    first = next(headers_of(text), None)
    if first is not None and first.start == 0 and first.section == section:
        line_end = text.find("\n")
        alone = line_end >= 0 and not text[first.end : line_end].strip(" :\t\r")
        if alone or text[first.end - 1] == ":":
            text = body_of(text).lstrip(" :\t\r\n")
    return "" if text.strip(" .*\"'`").upper() in ("", NOTHING) else text


async def _together(asked: Sequence[Awaitable[Completion]]) -> list[Completion]:
    """The answers, in order, asked side by side; when one fails, the others are called off."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
