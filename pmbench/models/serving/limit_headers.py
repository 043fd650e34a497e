"""What a server's headers say of its rate limits and of when to come back."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pmbench.models.backend import Limits

_OPENAI = ("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}")
_ANTHROPIC = ("anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset")
_FORMS = (_OPENAI, _ANTHROPIC)

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|d|h|m|s)")
_UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def limits(headers: Mapping[str, str]) -> Limits | None:
    """What is left of the limits, in OpenAI's or Anthropic's headers; None where neither stands there.

    Args:
        headers: of an answer or a refusal; their names in lower case, or in a mapping that ignores case.
    """
    for form in _FORMS:
        requests, requests_reset = _read(headers, form, "requests")
        tokens, tokens_reset = _read(headers, form, "tokens")
        if tokens is None:
            tokens, tokens_reset = _read(headers, form, "input-tokens")
        if requests is not None or tokens is not None:
            return Limits(requests, requests_reset, tokens, tokens_reset)
    return None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, else `Retry-After` in seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None:
        return None
    seconds = _number(text)
    return _until_http_date(text) if seconds is None else seconds


def span(text: str) -> float | None:
    """Seconds of a span: `1s`, `6m0s`, `20ms`, `1h30m`, or a plain number. None if it is none of these."""
    text = text.strip()
    found = _SPAN.findall(text)
    if found and "".join(number + unit for number, unit in found) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in found)
    return _number(text)


def _read(headers: Mapping[str, str], form: tuple[str, str], what: str) -> tuple[float | None, float]:
    remaining = _number(headers.get(form[0].format(what)))
    if remaining is None:
        return None, 0.0
    text = headers.get(form[1].format(what), "")
    seconds = span(text)
    return remaining, (_until_rfc3339(text) if seconds is None else seconds)


def _number(text: str | None) -> float | None:
    """A finite number, not below 0; None for anything else."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(value, 0.0) if math.isfinite(value) else None


def _until_http_date(text: str) -> float | None:
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError, OSError):
        return None


def _until_rfc3339(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        return max((moment.replace(tzinfo=moment.tzinfo or UTC)).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError, OSError):
        return 0.0
