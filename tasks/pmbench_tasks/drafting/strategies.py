"""How a model is asked for a draft: `zero-shot`, and `thematic`, which explains what replies are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmbench import Model, Options, Prompt, Response, StrategyContext

MAX_TOKENS = 320
"""Most tokens of a draft; clinicians' replies have 50 to 70 words in the mean (Table 2 of the paper)."""


class PromptedDraft:
    """Asks once, with one prompt file that is given the message and the chart."""

    needs = frozenset({"chat"})

    def __init__(self, prompt: Prompt, *, max_tokens: int = MAX_TOKENS) -> None:
        self.prompt, self.max_tokens = prompt, max_tokens

    def describe(self) -> Mapping[str, Any]:
        """Digest of the prompt and the token limit."""
        return {"prompt": self.prompt.digest, "max_tokens": self.max_tokens}

    def estimate(self, inputs: Mapping[str, Any], options: Options) -> tuple[int, int]:
        """One request."""
        return 1, 1

    async def __call__(self, inputs: Mapping[str, Any], model: Model, context: StrategyContext) -> Response:
        """The model's draft, as it wrote it.

        Raises:
            RequestFailed: the model could not answer.
        """
        messages = self.prompt.messages(message=inputs["message"], chart=inputs.get("chart", ""))
        completion = await model.chat(messages, max_tokens=self.max_tokens, temperature=0.0)
        return Response(text=completion.text.strip())


STRATEGIES = {
    "zero-shot": PromptedDraft(Prompt("pmbench_tasks.drafting:prompts/zero_shot.txt")),
    "thematic": PromptedDraft(Prompt("pmbench_tasks.drafting:prompts/thematic.txt")),
}
