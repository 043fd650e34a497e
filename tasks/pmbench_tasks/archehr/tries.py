"""Asking until the form is right: each try is told what was wrong with the one before.

The paper (section Evaluation framework, Fig. 3) puts each prompt up to five times and takes the last response,
whatever is still wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pmbench import Model, Prompt
from pmbench_tasks.archehr.note_text import as_data
from pmbench_tasks.archehr.problems import Check, Problem

FEEDBACK = Prompt("pmbench_tasks.archehr:prompts/feedback.txt")


@dataclass(frozen=True, slots=True)
class Try:
    """One answer to a prompt.

    Attributes:
        step: which prompt it was.
        number: from 1.
        problems: codes of what is wrong with it.
        text: as the model wrote it, white space at both ends aside.
    """

    step: str
    number: int
    problems: tuple[str, ...]
    text: str

    def record(self) -> dict[str, Any]:
        """As it stands in a response's data."""
        return {
            "step": self.step,
            "try": self.number,
            "problems": list(self.problems),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """A prompt with what its answers are held to.

    Attributes:
        name: in the records.
        prompt: is given `feedback`, empty at the first try, and the values it is asked with.
        max_tokens: of an answer.
        most_words: given to prompt and feedback.
    """

    name: str
    prompt: Prompt
    max_tokens: int
    most_words: int = 0

    def describe(self) -> Mapping[str, Any]:
        """Digests of the prompt and of the feedback, and the limits."""
        return {
            "step": self.name,
            "prompt": self.prompt.digest,
            "feedback": FEEDBACK.digest,
            "max_tokens": self.max_tokens,
            "most_words": self.most_words,
        }

    async def ask(
        self, values: Mapping[str, Any], check: Check, model: Model, *, tries: int, most_tokens: int = 0
    ) -> list[Try]:
        """Ask until nothing is wrong, `tries` times at most; the last answer is the one that counts.

        A model that gives the same answer in spite of the feedback is asked the same again, which the completion
        store answers: further tries then cost nothing.

        Args:
            values: of the prompt.
            check: finds what is wrong.
            model: is asked.
            tries: at least 1.
            most_tokens: of an answer, in place of the step's own; 0: the step's own.

        Raises:
            RequestFailed: the model could not answer one of the tries.
        """
        made: list[Try] = []
        feedback = ""
        while True:
            messages = self.prompt.messages(**values, most_words=self.most_words, feedback=feedback)
            answer = await model.chat(messages, max_tokens=most_tokens or self.max_tokens, temperature=0.0)
            problems = check(answer)
            text = answer.text.strip()
            made.append(Try(self.name, len(made) + 1, tuple(problem.code for problem in problems), text))
            if not problems or len(made) >= tries:
                return made
            feedback = self._feedback(text, problems)

    def _feedback(self, text: str, problems: Sequence[Problem]) -> str:
        return FEEDBACK.render(previous=as_data(text), problems=problems, most_words=self.most_words)


def data_of(tries: Sequence[Try], problems: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """A response's data: every try, and the codes of what is still wrong with the answer.

    Args:
        tries: of all steps.
        problems: what is still wrong; None: with the last try of each step.
        more: further keys.
    """
    if problems is None:
        last = {one.step: one for one in tries}
        problems = list(dict.fromkeys(code for one in last.values() for code in one.problems))
    return {"tries": [one.record() for one in tries], "problems": list(problems), **more}
