"""What backends have in common that talk to a server through a vendor's own library."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from pmbench.core.digest import digest
from pmbench.core.errors import ConfigError, ModelUnavailable, RequestFailed, UserError
from pmbench.models.backend import Backend, BackendOptions, Request
from pmbench.models.paths import shortened
from pmbench.models.serving import failures, keys, limit_headers
from pmbench.models.serving.endpoints import Endpoint, look_up, origin
from pmbench.models.settings import settings
from pmbench.models.spec import ModelSpec

T = TypeVar("T")

NO_KEY = "none"
"""What a server that is not the vendor's, and for which no key was named, is sent as its key."""

KNOCKING_SECONDS = 5.0

LEAST_SECONDS, TOKENS_A_SECOND = 30.0, 20.0
"""An attempt may take so long, and as long again as the slowest model takes for the tokens of its answer."""


class ServedOptions(BackendOptions, frozen=True):
    """Options of every backend that talks to a server.

    Attributes:
        base_url: the server; empty: the vendor's own.
        key: the name of the environment variable, or of the entry `pmbench` of the keyring, that holds the key;
            empty: the vendor's usual variables for the vendor's own server, none for another one.
        timeout: seconds that one attempt may take; 0: 30 and a second for every 20 tokens of the answer.
    """

    base_url: str = ""
    key: str = ""
    timeout: float = 0.0

    def __post_init__(self) -> None:
        # Not as a ValueError, which would be shown beside the whole of what was typed: it may hold a secret.
        check_url(self.base_url, "base_url")
        if self.key and not keys.is_name(self.key):
            raise ConfigError(
                "takes the name of an environment variable, in capitals, and never the key itself",
                where="option `key`",
                remedy="Write ?key=MY_KEY and put the key into the variable MY_KEY, or into the keyring",
            )
        if not (math.isfinite(self.timeout) and self.timeout >= 0):
            raise ValueError("`timeout` must be 0 or more seconds")


def check_url(url: str, option: str) -> None:
    """Check an option that names a server; an empty one passes.

    Raises:
        ConfigError: it is no URL of a server, or one with a user, a password, a query or a fragment.
    """
    parts = urlsplit(url) if origin(url) else None
    if url and (parts is None or parts.query or parts.fragment):
        raise ConfigError(
            "is no server's address",
            where=f"option `{option}`",
            remedy="Write http://host:port/path, without user, password, ? and #",
        )


class Served(Backend):
    """A model of a server, local or remote. Its answers come over a connection that goes nowhere else.

    Subclasses open `_client`, a client of their vendor's library over `connection.client`, or post otherwise.

    Attributes:
        vendor_url: the vendor's own server.
        key_variables: where the key of the vendor's own server is looked for.
        api: which of the server's interfaces is spoken, where there are several.
        form: raised when the same request would be put to the server in another way.
    """

    options: ClassVar[type[BackendOptions]] = ServedOptions
    vendor_url: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]]
    form: ClassVar[str] = "1"
    api: str = ""
    parallel = 256

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, ServedOptions):
            raise TypeError(f"options of {self.name} are ServedOptions")
        self._served = options
        self._client: Any = None

    @property
    def url(self) -> str:
        """The server's address."""
        return self._served.base_url or self.vendor_url

    @property
    def own(self) -> bool:
        """Whether the server is the vendor's own."""
        return origin(self.url) == origin(self.vendor_url)

    @functools.cached_property
    def endpoint(self) -> Endpoint:  # type: ignore[override]
        """Where requests go. The name of the vendor's own server is not looked up: it is remote."""
        trusted = settings().policy.trusted_endpoints
        named = origin(self.url)
        if self.own and named not in {origin(text) for text in trusted}:
            return Endpoint(self.place, named, "remote")
        return look_up(self.url, trusted)

    @property
    def local(self) -> bool:  # type: ignore[override]
        """Whether its words stay on this machine, or at an endpoint that is trusted."""
        return self.endpoint.local

    def account(self) -> str:
        """A digest of server and key: requests that share both share their rate limits."""
        return digest({"origin": origin(self.url), "key": keys.find_key(self._key_names())})

    @property
    def room(self) -> int:
        """Tokens that thinking may take beside those of the answer."""
        return 0

    def answer_tokens(self, request: Request) -> int:
        """Most tokens that an answer can have, its thinking included."""
        return request.max_tokens + self.room

    def seconds(self, request: Request) -> float:
        """Seconds that one attempt may take, its thinking included."""
        return self._served.timeout or LEAST_SECONDS + self.answer_tokens(request) / TOKENS_A_SECOND

    def secret(self) -> str:
        """The key. A server that is not the vendor's is never sent the vendor's key unless it was named.

        Raises:
            ModelUnavailable: there is none, or what there is cannot be one.
        """
        names = self._key_names()
        if not names:
            return NO_KEY
        key = keys.find_key(names)
        if not key:
            raise ModelUnavailable(
                f"there is no key in {' or '.join(names)}",
                where=self.where,
                remedy=f"Set the variable, or put the key into the keyring: keyring set {keys.SERVICE} {names[0]}",
            )
        if not keys.is_sendable(key):
            raise ModelUnavailable(
                f"what is in {' or '.join(names)} holds characters that no key has", where=self.where
            )
        return key

    def unavailable(self) -> str:
        """Missing library, missing key, or settings at fault, with the remedy."""
        missing = self.missing_extra()
        if missing is not None:
            return str(missing)
        try:
            self.secret()
            settings()
        except UserError as error:
            return str(error)
        return ""

    def identity(self) -> Mapping[str, str]:
        """Server, interface, model, and the options that can change an answer.

        Neither the library's version nor key nor time limit: another one must not void answers paid for.
        """
        return {
            "engine": self.name,
            "api": self.api,
            "endpoint": self.place,
            "model": self.spec.target,
            "form": self.form,
            **self.decides(),
        }

    def decides(self) -> Mapping[str, str]:
        """The options that can change an answer."""
        return {}

    async def reach(self) -> None:
        """Find out whether anything listens at an endpoint of one's own, before requests wait for it in vain.

        Raises:
            ModelUnavailable: nothing does.
        """
        port = urlsplit(self.endpoint.origin).port
        for address in sorted(self.endpoint.addresses):
            try:
                async with asyncio.timeout(KNOCKING_SECONDS):
                    _, writer = await asyncio.open_connection(address, port)
            except ConnectionRefusedError:
                continue
            except (OSError, TimeoutError):
                return  # what is wrong there may pass
            writer.close()
            return
        if self.endpoint.addresses:
            raise ModelUnavailable(
                f"nothing listens at {self.endpoint.origin}",
                where=self.where,
                remedy="Start the server, or give its own address: ?base_url=",
            )

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, str]]:
        """Send one request by the vendor's library, once.

        Args:
            path: below the server's address.
            body: of the request.

        Returns:
            The answer's object and its headers.

        Raises:
            RequestFailed, ModelUnavailable: there is no such answer.
        """
        if self._client is None:
            raise RequestFailed("closed", "the model is not open")
        import httpx2

        async def post() -> tuple[dict[str, Any], Mapping[str, str]]:
            answer = await self._client.post(path, body=body, cast_to=httpx2.Response)
            self.listen(answer.headers)
            return failures.decoded(answer.content), answer.headers

        return await self.asked(post())

    @property
    def client(self) -> Any:
        """The vendor's own client, of an open backend.

        Raises:
            RequestFailed: it is not open.
        """
        if self._client is None:
            raise RequestFailed("closed", "the model is not open")
        return self._client

    async def asked(self, asking: Awaitable[T]) -> T:
        """What a call of the vendor's library returns.

        Raises:
            RequestFailed, ModelUnavailable: for what the library or the transport raised.
        """
        failed: BaseException
        try:
            return await asking
        except Exception as error:  # noqa: BLE001 - whatever is none of the library's own goes on as it is
            failed = self.understood(error) or error
        # Raised here, so that it does not hold the library's exception, which holds the key and the messages.
        raise failed

    def understood(self, error: Exception) -> failures.Failure | None:
        """The failure that an exception of a library stands for; its headers are listened to."""
        self.listen(getattr(getattr(error, "response", None), "headers", None) or {})
        return failures.from_exception(error, where=self.where, key=self.key_told)

    def listen(self, headers: Mapping[str, str]) -> None:
        """Hand on what headers say of rate limits."""
        said = limit_headers.limits(headers)
        if said is not None:
            self.hear(said)

    @property
    def where(self) -> str:
        """The model, as an error names it."""
        return f"model {shortened(self.spec.given)}"

    def _key_names(self) -> tuple[str, ...]:
        if self._served.key:
            return (self._served.key,)
        return self._usual_keys() if self.own else ()

    def _usual_keys(self) -> tuple[str, ...]:
        return self.key_variables

    @property
    def key_told(self) -> str:
        """Where the key comes from, in words; empty where it has none."""
        names = self._key_names()
        return f"the key in {' or '.join(names)}" if names else ""

    @property
    def place(self) -> str:
        """Origin and path of the server, in one spelling."""
        return f"{origin(self.url)}{urlsplit(self.url).path.rstrip('/')}"
