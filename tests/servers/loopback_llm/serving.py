"""Listens on a port, and counts connections and bytes before HTTP is understood."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from aiohttp import web

from .ledger import Ledger
from .server import LARGEST_BODY, LoopbackServer


class CountingConnection(web.RequestHandler):
    """A connection that counts what comes in, so that "nothing was sent" can be said of bytes and not of requests."""

    __slots__ = ("_counted_in", "_pending", "_server")

    def __init__(self, manager: web.Server, server: LoopbackServer, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._server = server
        self._pending = 0
        self._counted_in: Ledger | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counts the connection."""
        self._counted_in = self._server.state.ledger
        self._counted_in.connections += 1
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Counts the bytes."""
        self._pending += len(data)
        self._server.state.ledger.received += len(data)
        super().data_received(data)

    def take(self) -> int:
        """The bytes since the last request on this connection."""
        taken, self._pending = self._pending, 0
        return taken

    def forget_control(self, ledger: Ledger) -> None:
        """What just came was a command: it does not count."""
        ledger.received -= self.take()
        if self._counted_in is ledger:
            ledger.connections -= 1
        self._counted_in = None


class CountingServer(web.Server):
    """Makes `CountingConnection`s, and requests that may be large."""

    def __init__(self, server: LoopbackServer) -> None:
        super().__init__(
            server.handle,
            request_factory=self._large,
            handler_cancellation=True,
            access_log=None,
            tcp_keepalive=False,
        )
        self._loopback = server

    def __call__(self) -> web.RequestHandler:
        """A new connection."""
        return CountingConnection(self, self._loopback, loop=self._loop, **self._kwargs)

    def _large(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._loop, client_max_size=LARGEST_BODY
        )


async def serve(host: str, port: int, ready: Callable[[int], None], *, until_eof: bool) -> None:
    """Serves for ever, or until standard input ends.

    Args:
        host: the address to listen on.
        port: the port; 0 for any free one.
        ready: is told the port once connections are accepted.
        until_eof: whether to stop when standard input ends.
    """
    loop = asyncio.get_running_loop()
    web_server = CountingServer(LoopbackServer())
    listening = await loop.create_server(web_server, host, port, backlog=4096)
    ready(listening.sockets[0].getsockname()[1])
    try:
        if until_eof:
            await loop.run_in_executor(None, sys.stdin.buffer.read)
        else:
            await asyncio.Event().wait()
    finally:
        listening.close()
        await web_server.shutdown(timeout=0)
