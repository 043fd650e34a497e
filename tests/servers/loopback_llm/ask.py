"""A request to a model and its reply, in words that are the same for all protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import blake2b
from typing import Any


class Finish(Enum):
    """Why an answer ended; each protocol has its own word for it."""

    STOP = "stop"
    STOP_SEQUENCE = "stop_sequence"
    LENGTH = "length"
    FILTERED = "filtered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request asks for.

    Args:
        model: the model's name as the client gave it.
        turns: (role, text) of every message, system prompts first.
        stream: whether the answer is wanted piece by piece.
        usage_in_stream: whether a stream ends with the usage (OpenAI's `include_usage`).
        samples: how many answers are wanted.
        max_tokens: most tokens of one answer, reasoning included; None for no limit.
        stop: texts at which an answer ends.
        top: how many log-probabilities per token; None for none, 0 for the chosen token's alone.
        schema: the JSON schema that the answer has to follow.
        reasoning: how many tokens of reasoning the model spends before it answers.
        show_reasoning: whether the answer carries the reasoning's text.
        seed: the sampling seed, if one was given.
        marked: how many leading turns are marked to be cached (Anthropic's `cache_control`); 0 for none.
    """

    model: str
    turns: tuple[tuple[str, str], ...]
    stream: bool = False
    usage_in_stream: bool = False
    samples: int = 1
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    top: int | None = None
    schema: Mapping[str, Any] | None = None
    reasoning: int = 0
    show_reasoning: bool = False
    seed: int | None = None
    marked: int = 0

    @property
    def last_user(self) -> str:
        """The text of the last message of the user, or an empty text."""
        return next((text for role, text in reversed(self.turns) if role == "user"), "")

    def digest(self, sample: int = 0) -> bytes:
        """What an answer is derived from: messages, seed and sample number, and nothing else."""
        h = blake2b(digest_size=32)
        for role, text in self.turns:
            h.update(f"{role}\0{text}\0".encode(errors="surrogatepass"))
        h.update(f"{self.seed}|{sample}".encode())
        return h.digest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one reply.

    Args:
        prompt: tokens of the prompt, those read from and written to a cache included.
        cached: tokens of the prompt that were read from a cache.
        written: tokens of the prompt that were written to a cache.
        completion: tokens of all answers, reasoning included.
        reasoning: tokens of reasoning.
    """

    prompt: int
    completion: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    Args:
        text: what it says; None where a protocol is made to send null.
        finish: why it ended.
        tokens: the text in tokens; joined, they are the text.
        tops: for each token the likeliest (token, log-probability) at its place, the chosen one first;
            None when they were not asked for.
        reasoning: the text of the reasoning, when it is to be shown.
        refusal: what a refusal says.
        stopped_by: the stop text that ended it.
    """

    text: str | None
    finish: Finish = Finish.STOP
    tokens: tuple[str, ...] = ()
    tops: tuple[tuple[tuple[str, float], ...], ...] | None = None
    reasoning: str = ""
    refusal: str | None = None
    stopped_by: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """All answers to one request.

    Args:
        ask: what was asked.
        model: the model's name as the reply gives it.
        answers: one per sample.
        usage: the tokens of all of them.
        identifier: hexadecimal, the same for the same request; protocols make their ids from it.
        reasoning_field: under which name a chat message carries its reasoning (servers differ), or none.
        prompt_blocked: whether the prompt itself was blocked, so that there is no answer.
    """

    ask: Ask
    model: str
    answers: tuple[Answer, ...]
    usage: Usage
    identifier: str
    reasoning_field: str | None = None
    prompt_blocked: bool = False
