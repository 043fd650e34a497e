"""A server that notes what is sent to it, byte for byte, and answers as it is told."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Probe:
    """What was sent, and what is answered.

    Attributes:
        url: of the server.
        requests: head and body of each request.
        answer: the body of every answer: bytes, or what is written as JSON.
        status: of every answer.
        headers: of every answer, besides its length.
        packed: whether answers are compressed.
    """

    url: str = ""
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    answer: Any = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    packed: bool = False

    @property
    def head(self) -> str:
        """The head of the last request."""
        return self.requests[-1][0]

    def header(self, name: str) -> str | None:
        """A header of the last request."""
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None

    @property
    def body(self) -> Any:
        """The body of the last request, decoded."""
        return json.loads(self.requests[-1][1])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.split("\r\n")
                        if line.lower().startswith("content-length")
                    ),
                    0,
                )
                self.requests.append((head, await reader.readexactly(length)))
                writer.write(self._response())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _response(self) -> bytes:
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        headers = dict(self.headers)
        if self.packed:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        headers["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"HTTP/1.1 {self.status} Said\r\n{lines}\r\n".encode() + body


@asynccontextmanager
async def probing(*, tls: ssl.SSLContext | None = None, **given: Any) -> AsyncIterator[Probe]:
    """A probe on a free port of loopback."""
    probe = Probe(**given)
    server = await asyncio.start_server(probe.serve, "127.0.0.1", 0, ssl=tls)
    probe.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield probe
    finally:
        server.close()
        await asyncio.sleep(0)
