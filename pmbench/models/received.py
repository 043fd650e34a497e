"""From what a backend returned to an answer that can be stored and read back the same.

What is stored stays for good. So it is tried before: an answer that does not come back equal fails its own
request, `invalid-answer`, and nothing of it is stored.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, TypeVar

import msgspec

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion, Usage

A = TypeVar("A", Completion, Choice, float)
S = TypeVar("S", Completion, Choice)

INVALID = "invalid-answer"

_MOST = 2**53
"""Of tokens, seconds or dollars: beyond, not every program reads JSON's numbers exactly."""

_WRITING = (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError)
READING = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What reading bytes that are no answer raises."""


def whole_text(text: str) -> str:
    """The text with half surrogate pairs, which no file can hold, as U+FFFD; two halves become their sign."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def received(answer: object, shape: type[S]) -> S:
    """What a backend returned, as an answer: text made storable, numbers of its libraries made plain ones.

    A completion whose text is None passes: that is a failure of its own, with what it cost.

    Raises:
        RequestFailed: `invalid-answer`: another type, a field of another type, an unknown finish reason,
            a number that is not finite, a count, time or cost below zero or beyond 2**53.
    """
    if not isinstance(answer, shape):
        raise _invalid()
    fields = {name: _mended(getattr(answer, name)) for name in shape.__struct_fields__}
    if fields.get("text", "") is None:
        return msgspec.structs.replace(_again(shape(**{**fields, "text": ""}), shape), text=None)
    return _again(shape(**fields), shape)


def encoded(answer: A, shape: type[A]) -> bytes:
    """An answer as it is stored.

    Raises:
        RequestFailed: `invalid-answer`: it would not come back equal.
    """
    try:
        written = msgspec.json.encode(answer, enc_hook=_plain)
        read = msgspec.json.decode(written, type=shape)
    except _WRITING:
        raise _invalid() from None
    if read != answer or not _plausible(read):
        raise _invalid()
    return written


def decoded(stored: bytes, shape: type[A]) -> A | None:
    """A stored answer; None if the bytes are none."""
    try:
        return msgspec.json.decode(stored, type=shape)
    except READING:
        return None


def paid(answer: object) -> tuple[Usage, float | None]:
    """Usage and cost of what is no valid answer, as far as they are valid themselves."""
    blank = Completion("")
    usage, cost = getattr(answer, "usage", blank.usage), getattr(answer, "cost", None)
    return (
        _valid(msgspec.structs.replace(blank, usage=usage), blank).usage,
        _valid(msgspec.structs.replace(blank, cost=cost), blank).cost,
    )


def _valid(answer: Completion, otherwise: Completion) -> Completion:
    try:
        return _again(answer, Completion)
    except RequestFailed:
        return otherwise


def _again(answer: S, shape: type[S]) -> S:
    """The answer as it will come back from the store."""
    return msgspec.json.decode(encoded(answer, shape), type=shape)


def _plausible(answer: Completion | Choice | float) -> bool:
    if isinstance(answer, float):
        return math.isfinite(answer)
    counts: tuple[int, ...] = msgspec.structs.astuple(answer.usage)
    return all(0 <= number <= _MOST for number in (*counts, answer.latency, answer.cost or 0.0))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list | tuple):
        return tuple(_mended(item) for item in value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _plain(value: Any) -> Any:
    """Numbers of numpy, and subclasses of numbers and text, as JSON writes them."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError


def _invalid() -> RequestFailed:
    # Not which value: it may be text of the answer.
    return RequestFailed(INVALID, "what the backend returned cannot be stored and read back")
