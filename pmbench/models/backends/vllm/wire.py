"""What pmbench and the process that holds vLLM's engine say to one another: frames of msgpack over two pipes."""

from __future__ import annotations

import os
from typing import Literal, TypeVar

import msgspec

from pmbench.core.model import Message

M = TypeVar("M")

_LENGTH = 8
"""Bytes in front of each frame that say how long it is."""

_PIECE = 1 << 20


class Load(msgspec.Struct, frozen=True, tag=True):
    """The first thing the engine's process is told.

    Attributes:
        model, commit: folder of the model, and of which commit of the hub it is a copy.
        adapter, rank: folder of a LoRA adapter and its rank; empty and 0: none.
        template: the chat template.
        reward: whether it is a classifier of one logit.
        context: tokens of a prompt and its answer together.
        dtype, tensor_parallel, eager, prefix: see the backend's options.
        memory: share of each graphics processor's memory; 0: the engine's own choice.
        scratch: folder for the engine's sockets, removed at the end.
    """

    model: str
    template: str
    scratch: str = ""
    commit: str = ""
    adapter: str = ""
    rank: int = 0
    reward: bool = False
    context: int = 8192
    dtype: str = "auto"
    tensor_parallel: int = 1
    memory: float = 0.0
    eager: bool = False
    prefix: bool = True


class Ask(msgspec.Struct, frozen=True, tag=True):
    """One request.

    Attributes:
        kind: what is asked for.
        messages, max_tokens, temperature, seed, stop: as in `Request`.
        thinking: what the chat template is told; None: nothing.
        schema: JSON schema in JSON; empty: none.
        number: given when it is sent; its answer bears the same.
    """

    kind: Literal["chat", "choose", "reward"]
    messages: tuple[Message, ...]
    max_tokens: int = 1
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    thinking: bool | None = None
    schema: str = ""
    number: int = 0


class Leave(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits for this request's answer any more."""

    number: int


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The engine is loaded."""


class Unfit(msgspec.Struct, frozen=True, tag=True):
    """The engine cannot be loaded, or has broken down: for every request, not for one. `why` may be empty."""

    why: str = ""


class Answer(msgspec.Struct, frozen=True, tag=True):
    """The answer to a request.

    Attributes:
        text, finish: of the answer, as the engine says it.
        first: text and log-probability of the most probable first tokens.
        reward: the logit of a reward model.
        prompt, written, cached: tokens of the prompt, of the answer, and those of the prompt it had already.
        seconds: from its arrival in the engine's process.
    """

    number: int
    text: str = ""
    finish: str = ""
    first: tuple[tuple[str, float], ...] = ()
    reward: float = 0.0
    prompt: int = 0
    written: int = 0
    cached: int = 0
    seconds: float = 0.0


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """A request that has no answer: see `RequestFailed`."""

    number: int
    kind: str
    detail: str
    retryable: bool = False


ToEngine = Load | Ask | Leave
FromEngine = Ready | Unfit | Answer | Refusal


def frame(message: ToEngine | FromEngine) -> bytes:
    """A message as it goes through the pipe.

    Raises:
        UnicodeEncodeError: a text in it is none that a pipe can carry (half a surrogate pair).
    """
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(_LENGTH) + body


def write(pipe: int, framed: bytes) -> None:
    """Write one message, whole.

    Raises:
        OSError: nobody reads the pipe any more.
    """
    rest = memoryview(framed)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def read(pipe: int, shape: type[M]) -> M | None:
    """Read one message; None at the end of the pipe.

    Raises:
        msgspec.MsgspecError: it is none of these.
    """
    length = _exactly(pipe, _LENGTH)
    body = _exactly(pipe, int.from_bytes(length)) if length else b""
    return msgspec.msgpack.decode(body, type=shape) if body else None


def _exactly(pipe: int, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        piece = os.read(pipe, min(_PIECE, size - len(pieces)))
        if not piece:
            return b""
        pieces += piece
    return bytes(pieces)
