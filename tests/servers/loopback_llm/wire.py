"""What passes between the parts of the server: a call that came in, and what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

Json = dict[str, Any]

# Several times faster than the standard library's: the server must not be what a benchmark measures.
encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def sse(data: object, *, event: str = "") -> bytes:
    """One server-sent event that carries a JSON document."""
    head = f"event: {event}\n".encode() if event else b""
    return head + b"data: " + encode(data) + b"\n\n"


class Refused(Exception):
    """The request is refused with a status; the vendor says it in its own form.

    Args:
        status: the HTTP status.
        message: what the error object says.
        retry_after: seconds until it is worth asking again.
        code: the vendor's machine-readable code, where it is not the usual one of this status.
    """

    def __init__(
        self, status: int, message: str, *, retry_after: float | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.code = status, message, retry_after, code


@dataclass(slots=True)
class Call:
    """One request as it came in.

    Args:
        method: the HTTP method.
        path: the path without the query.
        query: the query's parameters.
        headers: the request's headers, case-insensitive.
        raw: the body.
        params: what the route's pattern took out of the path.
        digest: names the request: equal for requests of equal path and equal body.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    raw: bytes
    params: Mapping[str, str] = field(default_factory=dict)
    digest: bytes = b""

    def json(self) -> Json:
        """The body as a JSON object.

        Raises:
            Refused: with 400, when it is not one.
        """
        try:
            value = _decode(self.raw)
        except msgspec.DecodeError:
            raise Refused(400, "We could not parse the JSON body of your request.") from None
        if not isinstance(value, dict):
            raise Refused(400, "The body of the request is not a JSON object.")
        return value


@dataclass(slots=True)
class Payload:
    """What goes out, if nothing goes wrong on the wire.

    Args:
        body: the whole body, when it is sent at once.
        status: the HTTP status.
        content_type: the media type.
        headers: further headers.
        frames: the server-sent events of a streamed answer, in place of a body.
        error_frame: how this protocol says, within a stream, that it failed.
    """

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    frames: list[bytes] | None = None
    error_frame: bytes = b""
