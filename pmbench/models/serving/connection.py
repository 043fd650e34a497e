"""The transport of all served backends: it connects only to where the plan said, and nowhere else.

It follows no redirects, reads no variables of the environment that lead elsewhere (proxies, netrc), sends to
one origin only, and makes its connections to no address that was not seen when the endpoint was looked up.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import aiohttp
import httpx2
from yarl import URL

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.serving.endpoints import Endpoint, origin

CONNECT_SECONDS = 30.0
"""How long making a connection may take; the answer itself has the deadline of its request."""

_LARGE = 1 << 20
"""Bytes of a body from which aiohttp wants it as a file."""

PROXIES = tuple(
    name
    for words in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for name in (words, words.lower())
)

_SEALING = threading.Lock()

LONGEST_ANSWER, LONGEST_FILE = 64 << 20, 4 << 30
"""Bytes of the answer to a request, and of a file that is fetched (the answers of a batch job), unpacked."""


class AddressRefused(OSError):
    """A name that stands for another address now than when it was looked up."""


def session(endpoint: Endpoint, connections: int) -> aiohttp.ClientSession:
    """A session that reaches one endpoint only. Made, used and closed in one running event loop.

    Args:
        endpoint: where it may connect to.
        connections: most connections at once.
    """
    connector = aiohttp.TCPConnector(
        limit=max(1, connections),
        socket_factory=lambda info: _socket(endpoint, info),
        # The resolver that looked the endpoint up, whatever other ones are installed.
        resolver=aiohttp.ThreadedResolver(),
        ssl=_tls() if endpoint.origin.startswith("https:") else True,
    )
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        middlewares=(_Only(endpoint),),
        response_class=_Bounded,
    )


def client(endpoint: Endpoint, connections: int) -> httpx2.AsyncClient:
    """A client for OpenAI's and Anthropic's libraries (`http_client=`) over such a session.

    Args:
        endpoint: where it may connect to.
        connections: most connections at once.
    """
    return _ThinClient(session(endpoint, connections))


@contextlib.contextmanager
def environment_without(*prefixes: str) -> Iterator[None]:
    """The environment without the variables that begin so, while a vendor's library is imported or set up.

    The libraries take servers, headers, keys and log levels from variables, some of which cannot be overruled
    by arguments. Their values are put back.
    """
    with _SEALING:
        hidden = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(prefixes)}
        try:
            yield
        finally:
            os.environ.update(hidden)


def quiet(*names: str) -> None:
    """Keep libraries' loggers from saying more than INFO: below it some write down whole requests.

    Call it when they are imported. It holds whatever level is set later, there or further up.
    """
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in names]
    for name in {*names, *known}:
        logger = logging.getLogger(name)
        logger.addFilter(_no_less_than_info)
        if logger.getEffectiveLevel() < logging.INFO:
            logger.setLevel(logging.INFO)


def _no_less_than_info(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.INFO


def refusal(error: BaseException) -> ModelUnavailable | None:
    """The refusal of an address that an exception of aiohttp is about, if it is about one."""
    if isinstance(getattr(error, "os_error", error), AddressRefused):
        return ModelUnavailable(
            "its name stands for another address now than when the run was planned; nothing was sent",
            remedy="Run the same command again: the address is then checked anew",
        )
    return None


class _Bounded(aiohttp.ClientResponse):
    """An answer that is not read further than any answer goes: a server at fault must not fill the memory."""

    async def read(self) -> bytes:
        """The body.

        Raises:
            RequestFailed: `too-large`.
        """
        if self._body is None:
            most = LONGEST_FILE if self.method == "GET" else LONGEST_ANSWER
            pieces: list[bytes] = []
            size = 0
            try:
                while piece := await self.content.readany():
                    pieces.append(piece)
                    size += len(piece)
                    if size > most:
                        raise RequestFailed("too-large", f"an answer of more than {most >> 20} MB")
            except BaseException:
                self.close()
                raise
            self._body = b"".join(pieces)
        return await super().read()


class _Only:
    """Refuses requests to another origin, before anything is connected.

    Args:
        endpoint: whose origin it lets through.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._origin = endpoint.origin

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if origin(str(request.url)) != self._origin:
            raise ModelUnavailable("a request to another server than the one that was checked was held back")
        return await handler(request)


def _tls() -> ssl.SSLContext:
    """What the system trusts, or the file in SSL_CERT_FILE. SSLKEYLOGFILE would have others read along."""
    with environment_without("SSLKEYLOGFILE"):
        return ssl.create_default_context()


def _socket(endpoint: Endpoint, info: Any) -> socket.socket:
    family, kind, protocol, _, address = info
    if not endpoint.allows(str(address[0])):
        raise AddressRefused("not an address that was seen when the endpoint was looked up")
    return socket.socket(family=family, type=kind, proto=protocol)


class _ThinClient(httpx2.AsyncClient):
    """Hands requests to aiohttp by the shortest way.

    All that the libraries ask of a client is `build_request` and `send`. What `send` of the usual one adds
    (redirects, cookies, hooks, proxies, logging) is what takes its time, and some of it is not wanted here.

    Args:
        session: closed with this client.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        # The transport is never used; one without TLS spares reading the certificates a second time.
        super().__init__(
            trust_env=False,
            transport=httpx2.MockTransport(lambda _request: httpx2.Response(500)),
            # What aiohttp can always undo.
            headers={"Accept-Encoding": "gzip, deflate"},
        )
        self._session = session

    async def send(self, request: httpx2.Request, **_how: Any) -> httpx2.Response:
        """Send one request. The answer is always read whole, whether or not a stream was asked for.

        Raises:
            ModelUnavailable: the endpoint's name stands for another address now.
        """
        content = await request.aread()
        try:
            async with self._session.request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=request.headers.multi_items(),
                data=(io.BytesIO(content) if len(content) >= _LARGE else content) or None,
                allow_redirects=False,
                timeout=_timeout(request.extensions.get("timeout") or {}),
            ) as response:
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            refused = refusal(error)
            raise refused or _translated(error, request) from (None if refused else error)
        # aiohttp has undone any compression: the header that names it would have it done twice.
        headers = [(k, v) for k, v in response.headers.items() if k.lower() != "content-encoding"]
        return httpx2.Response(
            response.status,
            headers=headers,
            content=body,
            request=request,
            extensions={"http_version": b"HTTP/1.1"},
        )

    async def aclose(self) -> None:
        """Close the session."""
        await self._session.close()
        await super().aclose()

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        await self.aclose()


def _timeout(limits: dict[str, float | None]) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None,
        connect=limits.get("pool"),
        sock_connect=limits.get("connect") or CONNECT_SECONDS,
        sock_read=limits.get("read"),
    )


def _translated(error: Exception, request: httpx2.Request) -> httpx2.RequestError:
    """The error of httpx2 that the libraries know what to do with."""
    words = type(error).__name__
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return httpx2.ConnectTimeout(words, request=request)
    if isinstance(error, TimeoutError):
        return httpx2.ReadTimeout(words, request=request)
    if isinstance(error, aiohttp.ClientConnectorError):
        return httpx2.ConnectError(words, request=request)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return httpx2.RemoteProtocolError(words, request=request)
    return httpx2.ReadError(words, request=request)
