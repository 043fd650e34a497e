"""From what a server or a vendor's library says went wrong to the error that pmbench knows.

A server's own text is read to understand it and never shown: it may quote the prompt, or a part of the key.
What is shown is the kind, the status and the words of codes.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pmbench.core.errors import ModelUnavailable, RequestFailed, UserError
from pmbench.core.model import Usage
from pmbench.models.serving.limit_headers import retry_after, span

REFUSED = "refused"
"""Kind of a prompt that the server's filter blocked: an answer of its own, not a failure."""

Failure = RequestFailed | UserError

_BLOCKED = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
_QUOTA = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credits_exhausted",
        "insufficient_credits",
    }
)
_KEY = frozenset({"invalid_api_key", "authentication_error", "account_deactivated", "API_KEY_INVALID"})
_ABSENT = frozenset({"model_not_found", "DeploymentNotFound"})
_LONG = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length"}
)
_TOO_MANY = frozenset({"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"})
_OVERLOADED = frozenset({"overloaded_error", "UNAVAILABLE"})
_HOPELESS = frozenset({"invalid_request_error", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "BadRequestError"})

_LONG_TEXT = re.compile(
    r"context (length|window|size)|prompt is too long|longer than the model|input token count"
    r"|too many (input |prompt )?tokens",
    re.IGNORECASE,
)
_BLOCKED_TEXT = re.compile(r"output blocked by content filtering policy", re.IGNORECASE)
"""All that Anthropic says of an answer that its filter held back, under status 400."""
_QUOTA_TEXT = re.compile(r"credit balance is too low", re.IGNORECASE)

_WORDS = re.compile(r"[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+|(?:[A-Z][a-z]+){2,}")
_SHOWN = 48
"""Codes are words joined as code joins them, and not longer than this: nothing else of a server's is shown."""

_FIELDS = frozenset(
    {
        "model",
        "messages",
        "input",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "seed",
        "stop",
        "logprobs",
        "top_logprobs",
        "response_format",
        "reasoning_effort",
        "reasoning",
        "store",
        "chat_template_kwargs",
        "thinking",
        "text",
    }
)
"""Of our own requests; a server that names one as the culprit is quoted."""


class Said(msgspec.Struct, frozen=True):
    """What the body of a refusal says.

    Attributes:
        codes: the words by which it tells faults apart.
        text: its message, to be read and never shown.
        status: a status that stands in the body.
        field: the field of the request that it finds fault with, if it is one of ours.
        wait: seconds that it asks to wait.
        for_today: whether it is the quota of a day that is used up.
    """

    codes: tuple[str, ...] = ()
    text: str = ""
    status: int | None = None
    field: str = ""
    wait: float | None = None
    for_today: bool = False

    def has(self, words: frozenset[str]) -> bool:
        """Whether one of the codes is one of these."""
        return not words.isdisjoint(self.codes)

    def shown(self) -> str:
        """Codes and field as a message may show them."""
        words = [code for code in self.codes if len(code) <= _SHOWN and _WORDS.fullmatch(code)]
        return ", ".join([*dict.fromkeys(words), *([f"field {self.field}"] if self.field else [])])


def from_status(
    status: int,
    headers: Mapping[str, str],
    body: bytes | Mapping[str, Any],
    *,
    where: str = "",
    key: str = "",
) -> Failure:
    """The error for an answer whose status is not 200.

    Args:
        status: of the answer.
        headers: of the answer; their names in lower case, or in a mapping that ignores case.
        body: as it came, or decoded.
        where: the model, as an error names it.
        key: where the key comes from, in words, for the remedy.

    Returns:
        A `RequestFailed` with its kind (`refused` for a prompt that was blocked), or a `ModelUnavailable`
        where no further request has a chance.
    """
    said = understood(body)
    words = ", ".join(filter(None, (f"status {status}", said.shown())))
    hopeless = _hopeless(status, said, words, where, key)
    if hopeless is not None:
        return hopeless
    wait = retry_after(headers)
    wait = said.wait if wait is None else wait
    if said.has(_BLOCKED) or (status == 400 and _BLOCKED_TEXT.fullmatch(said.text.strip(" ."))):
        return RequestFailed(REFUSED, f"the server's filter blocked the prompt, {words}")
    if _is_too_long(status, said):
        return RequestFailed("too-long", f"more than the model's context holds, {words}")
    if status == 429 or said.has(_TOO_MANY):
        return RequestFailed("rate-limit", words, retryable=True, retry_after=wait)
    if status in (503, 529) or said.has(_OVERLOADED):
        return RequestFailed("overloaded", words, retryable=True, retry_after=wait)
    if status >= 500 or status in (408, 409, 425):
        return RequestFailed("server", words, retryable=True, retry_after=wait)
    if status < 300:
        return RequestFailed("not-json", words, retryable=True)
    return RequestFailed("invalid", words)


def from_object(
    body: Mapping[str, Any], *, usage: Usage | None = None, where: str = "", key: str = ""
) -> Failure:
    """The error for an error object that came under status 200.

    It may pass, unless its codes say that it never will. One that says that the server is overloaded, or that too
    many requests came, is what it would be under the status of that.
    """
    said = understood(body)
    same = from_status(said.status or 500, {}, body, where=where, key=key)
    if isinstance(same, UserError):
        return same
    if same.kind in (REFUSED, "too-long", "overloaded", "rate-limit"):
        same.usage = usage
        return same
    words = ", ".join(filter(None, ("an error in place of an answer", said.shown())))
    retryable = same.retryable and not said.has(_HOPELESS)
    return RequestFailed("error", words, retryable=retryable, retry_after=same.retry_after, usage=usage)


def from_exception(error: BaseException, *, where: str = "", key: str = "") -> Failure | None:
    """The error for an exception of a vendor's library or of the transport; None where it is none of theirs."""
    import aiohttp
    import httpx2

    chain = list(_chain(error))
    for one in chain:
        known = _known(one, where, key)
        if known is not None:
            return known

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(one, kinds) for one in chain)

    name = type(chain[-1]).__name__
    connecting = among(httpx2.ConnectTimeout, aiohttp.ConnectionTimeoutError)
    if not connecting and among(httpx2.TimeoutException, TimeoutError):
        return RequestFailed("timeout", name, retryable=True)
    if connecting or among(httpx2.TransportError, aiohttp.ClientError, ConnectionError, ssl.SSLError):
        return RequestFailed("connection", name, retryable=True)
    return None


def decoded(content: bytes) -> dict[str, Any]:
    """The JSON object that an answer under status 200 has to be.

    Raises:
        RequestFailed: `not-json`: a web page, half an object, another value.
    """
    try:
        value = msgspec.json.decode(content)
    except RecursionError:
        value = None
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _leniently(content)
    if not isinstance(value, dict):
        raise RequestFailed("not-json", "the answer is no JSON object", retryable=True)
    return value


def understood(body: bytes | Mapping[str, Any]) -> Said:
    """What the body of a refusal says, in whichever of the vendors' and servers' forms it is written."""
    whole = _leniently(body) if isinstance(body, bytes) else body
    if isinstance(whole, list) and whole:
        whole = whole[0]
    if not isinstance(whole, Mapping):
        return Said(text=body[:4000].decode("utf-8", "replace") if isinstance(body, bytes) else "")
    error = whole.get("error", whole)
    if not isinstance(error, Mapping):
        return Said(text=str(error))
    inner = error.get("innererror") or error.get("inner_error")
    details = [part for part in _list(error.get("details")) if isinstance(part, Mapping)]
    named = [error.get("code"), error.get("type"), error.get("status")]
    named += [inner.get("code")] if isinstance(inner, Mapping) else []
    named += [part.get("reason") for part in details]
    field = error.get("param")
    return Said(
        codes=tuple(code for code in named if isinstance(code, str)),
        text=str(error.get("message") or whole.get("detail") or ""),
        status=next((number for code in named if (number := _status(code))), None),
        field=field if isinstance(field, str) and field in _FIELDS else "",
        wait=next((span(str(part["retryDelay"])) for part in details if "retryDelay" in part), None),
        for_today=any("PerDay" in str(part.get("violations")) for part in details),
    )


def _known(one: BaseException, where: str, key: str) -> Failure | None:
    """The error for an exception that says by itself what went wrong."""
    import httpx2

    if isinstance(one, UserError | RequestFailed):
        return _at(one, where)
    answer = getattr(one, "response", None)
    if isinstance(answer, httpx2.Response):
        return from_status(answer.status_code, answer.headers, answer.content, where=where, key=key)
    if isinstance(one, ssl.SSLCertVerificationError):
        return ModelUnavailable(
            "the server's certificate is not trusted here",
            where=where,
            remedy="Name the file of your organisation's certificates in SSL_CERT_FILE",
        )
    if isinstance(one, json.JSONDecodeError):
        return RequestFailed("not-json", "the answer is no JSON", retryable=True)
    if isinstance(one, UnicodeEncodeError):
        return RequestFailed("invalid", "half a surrogate pair in the request, which no text can hold")
    if isinstance(one, ValueError) and "JSON compliant" in str(one):
        return RequestFailed("invalid", "a number in the request that is none")
    return None


def _hopeless(status: int, said: Said, words: str, where: str, key: str) -> ModelUnavailable | None:
    if 300 <= status < 400:
        return ModelUnavailable(
            f"the server leads elsewhere ({words}), and redirects are not followed",
            where=where,
            remedy="Give the server's own address: ?base_url=",
        )
    if said.has(_QUOTA) or status == 402 or said.for_today or _QUOTA_TEXT.search(said.text):
        return ModelUnavailable(
            f"the account's quota is used up ({words})",
            where=where,
            remedy="All answers so far are stored: run the same command again when there is more",
        )
    if said.has(_KEY) or status in (401, 403):
        remedy = f"Check {key}" if key else "Name the variable that holds its key: ?key=NAME"
        return ModelUnavailable(f"the server refuses the key ({words})", where=where, remedy=remedy)
    if said.has(_ABSENT) or status in (404, 405, 410):
        return ModelUnavailable(
            f"the server has no such model, or no such path ({words})",
            where=where,
            remedy="Check the model's name, and that ?base_url= is whole (most end with /v1)",
        )
    if "FAILED_PRECONDITION" in said.codes and status == 400:
        return ModelUnavailable(f"the account may not use this model here ({words})", where=where)
    return None


def _is_too_long(status: int, said: Said) -> bool:
    if status == 413 or said.has(_LONG):
        return True
    return 400 <= status < 500 and status != 429 and bool(_LONG_TEXT.search(said.text))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, what it came from, and what an exception of aiohttp stands for."""
    seen: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in seen:
        seen.append(one)
        yield one
        carried = getattr(one, "os_error", None)
        if isinstance(carried, BaseException):
            yield carried
        one = one.__cause__


def _at(error: Failure, where: str) -> Failure:
    """The error with its place, if it has none."""
    if isinstance(error, ModelUnavailable) and not error.where:
        return ModelUnavailable(error.what, where=where, remedy=error.remedy)
    return error


def _leniently(content: bytes) -> Any:
    """JSON as Python reads it (half surrogate pairs, `NaN`); None if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _status(code: object) -> int | None:
    """A status written as a number or as digits."""
    found = re.fullmatch(r"[45]\d\d", str(code), re.ASCII)
    return int(found[0]) if found else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
