"""What strategies and judges are handed: the Model and Embedder protocols and the types of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypedDict

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FinishReason = Literal["stop", "length", "refused", "error"]


class Message(TypedDict):
    """One turn of a conversation.

    `shared`, of the last turn: how many characters at its beginning many requests have in common. What stands
    before that an engine may keep from one request to the next.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    shared: NotRequired[int]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens of one completion, as the engine or server counted them.

    Attributes:
        prompt_tokens: of the prompt.
        completion_tokens: of the answer, thinking included.
        cached_tokens: of the prompt, those that the engine or server had from earlier prompts.
        reasoning_tokens: of the answer, those of thinking, where the server tells.
        written_tokens: of the prompt, those that the server kept for later prompts at a price of their own.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.written_tokens + other.written_tokens,
        )


class Completion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer of one model to one request.

    Attributes:
        text: what is scored; a model's thinking is not in it.
        finish: `stop`, `length` (cut off by the token limit), `refused`, `error`.
        reasoning: the thinking text, kept in the record and never scored.
        usage: tokens.
        latency: seconds from asking to answer.
        cost: US dollars, None where no price is known.
        raw: identifiers as the server named them (model, system fingerprint, request id).
    """

    text: str
    finish: FinishReason = "stop"
    reasoning: str = ""
    usage: Usage = Usage()
    latency: float = 0.0
    cost: float | None = None
    raw: dict[str, str] = {}


class Choice(msgspec.Struct, frozen=True, omit_defaults=True):
    """Normalised probability per option, in the order asked.

    Attributes:
        probabilities: sum to 1; one-hot where the backend has no log-probabilities.
        exact: False where `probabilities` is one-hot for want of log-probabilities.
        mass: probability of all options together before normalisation (1.0 where unknown).
        usage, latency, cost: as in `Completion`.
    """

    probabilities: tuple[float, ...]
    exact: bool = True
    mass: float = 1.0
    usage: Usage = Usage()
    latency: float = 0.0
    cost: float | None = None


class Model(Protocol):
    """A model as strategies and judges see it: local or remote, stored, retried and counted alike."""

    @property
    def name(self) -> str:
        """The name that the user gave it."""
        ...

    @property
    def offers(self) -> frozenset[str]:
        """Which of `chat`, `choose`, `reward`, `embed` it can do."""
        ...

    @property
    def parallel(self) -> int:
        """How many requests are worth having in flight at once; 1: it does one after the other."""
        ...

    @property
    def chooses_in_words(self) -> bool:
        """Whether `choose` asks for an option's name where its probabilities are wanted: they are one-hot then."""
        ...

    @property
    def features(self) -> frozenset[str]:
        """What of a request its backend can heed: `schema`, `seed`, `temperature`, `stop`…"""
        ...

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        stop: Sequence[str] = (),
        schema: Mapping[str, Any] | None = None,
        attempt: int = 0,
    ) -> Completion:
        """Ask for one completion.

        The run's own `--max-tokens` and `--temperature` take the place of the arguments where given.

        Args:
            messages: the conversation.
            max_tokens: most tokens of the answer.
            temperature: 0 is greedy.
            stop: texts that end the answer.
            schema: JSON schema the answer must meet, where the backend can enforce it.
            attempt: 0, or the number of the repair retry: another attempt is another stored completion.

        Raises:
            RequestFailed: after all retries.
        """
        ...

    async def choose(self, messages: Sequence[Message], options: Sequence[str]) -> Choice:
        """Probability of each option as the answer's first token, over case and space variants."""
        ...

    async def reward(self, messages: Sequence[Message]) -> float:
        """Scalar of a reward model for a conversation."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: one row each, shape (n, d)."""
        ...


class Embedder(Protocol):
    """What turns text into vectors."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: L2-normalised rows, shape (n, d); shape (0, d) for no texts."""
        ...
