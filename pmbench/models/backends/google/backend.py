"""The backend `google`: Gemini, by Google's own library over a session of ours."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pmbench.core.errors import RequestFailed
from pmbench.core.model import Choice, Completion
from pmbench.models.backend import BackendOptions, Price, Request
from pmbench.models.backends.google import wire
from pmbench.models.serving import failures
from pmbench.models.serving.served import Served, ServedOptions
from pmbench.models.spec import ModelSpec

if TYPE_CHECKING:
    import aiohttp
    import numpy as np
    from numpy.typing import NDArray

ROOM = 4096
"""Tokens added to those of the answer where a model thinks as much as it likes."""

MOST_TEXTS = 100
"""Texts of one request for vectors."""

_LARGE = 100_000
"""Characters of a prompt from which its body may have a megabyte."""

_LEVELS = ("minimal", "low", "medium", "high")


class GoogleOptions(ServedOptions, frozen=True):
    """Options of `google:`.

    Attributes:
        thinking: `auto`: as the model does by itself; `off`; `on`: as much as the model likes; a number: a budget
            of so many tokens, for Gemini 2.5; or `minimal`, `low`, `medium`, `high`: a level, for Gemini 3 and
            later. Thinking has tokens of its own, beside those of the answer.
        logprobs: whether choices are made by log-probabilities, which not every model gives.
        api_version: of the server's interface, as in `v1beta`; empty: the one that Google's library takes.
    """

    thinking: str = "auto"
    logprobs: Literal["on", "off"] = "off"
    api_version: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thinking not in ("auto", "off", "on", *_LEVELS) and not self.budget:
            raise ValueError(
                f"`thinking` must be auto, off, on, a number of tokens, or one of {', '.join(_LEVELS)}"
            )

    @property
    def budget(self) -> int:
        """Tokens of thinking; 0 where no number was given."""
        digits = self.thinking.isascii() and self.thinking.isdigit() and len(self.thinking) < 10
        return int(self.thinking) if digits else 0


class Google(Served):
    """A model of Google's Gemini API, or of a server that speaks as it does. One that embeds has it in its name."""

    name: ClassVar[str] = "google"
    options: ClassVar[type[BackendOptions]] = GoogleOptions
    requires: ClassVar[Mapping[str, str]] = {"google.genai": "google", "aiohttp": "google"}
    vendor_url: ClassVar[str] = "https://generativelanguage.googleapis.com"
    key_variables: ClassVar[tuple[str, ...]] = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    api = "generateContent"

    def __init__(self, spec: ModelSpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        if not isinstance(options, GoogleOptions):
            raise TypeError("options of google are GoogleOptions")
        self._options = options
        self._session: aiohttp.ClientSession | None = None
        self._width = 0
        self.manner = self._manner()
        self.price = Price("google" if self.own else self.place, spec.target)
        if "embedding" in spec.target.lower():
            self.offers = frozenset({"embed"})
            return
        by_logprobs = options.logprobs == "on"
        self.offers = frozenset({"chat", "choose"} if by_logprobs else {"chat"})
        features = {"temperature", "seed", "stop", "schema", "thinking"}
        self.features = frozenset(features | {"logprobs"} if by_logprobs else features)

    def decides(self) -> Mapping[str, str]:
        """The options that can change an answer."""
        return {"thinking": self._options.thinking, "api_version": self._options.api_version}

    @property
    def room(self) -> int:
        """Tokens that thinking may take beside those of the answer."""
        return self.manner.room

    async def open(self) -> None:
        """Make the library's client; nothing is connected yet."""
        if self._client is not None:
            return
        from pmbench.models.serving import connection

        await self.reach()
        key = self.secret()
        async with contextlib.AsyncExitStack() as undone:
            self._session = connection.session(self.endpoint, self.parallel)
            undone.push_async_callback(self._session.close)
            # The library also sets up a transport of its own, which is not used, by what it finds there.
            with connection.environment_without("GOOGLE_", "GEMINI_", "SSL", *connection.PROXIES):
                from google import genai
                from google.genai import types

                self._client = genai.Client(
                    vertexai=False,
                    api_key=key,
                    http_options=types.HttpOptions(
                        base_url=self.endpoint.url,
                        api_version=self._options.api_version or None,
                        aiohttp_client=self._session,
                        async_client_args={"allow_redirects": False},
                        retry_options=types.HttpRetryOptions(attempts=1),
                    ),
                )
            undone.pop_all()
        connection.quiet("google_genai")

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        session, self._session = self._session, None
        if client is not None:
            await client.aio.aclose()
            client.close()
        if session is not None:
            await session.close()

    def body(self, request: Request) -> dict[str, Any]:
        """What is asked, as the library takes it: `contents` and `config`.

        Raises:
            RequestFailed: `invalid`.
        """
        return wire.body(request, self.manner)

    def read(self, answer: Mapping[str, Any], headers: Mapping[str, str]) -> Completion:
        """The completion in an answer.

        Raises:
            RequestFailed, ModelUnavailable: it holds none.
        """
        return wire.read(answer, headers, self.manner)

    async def chat(self, request: Request) -> Completion:
        """Answer one request. Whatever Google's filters block is an answer: `refused`."""
        if "chat" not in self.offers:
            return await super().chat(request)
        try:
            return self.read(*await self._generate(request))
        except RequestFailed as error:
            if error.kind != failures.REFUSED:
                raise
        return Completion("", finish="refused")

    async def choose(self, request: Request) -> Choice:
        """Probabilities of the options as the answer's first token."""
        if "choose" not in self.offers:
            return await super().choose(request)
        answer, _ = await self._generate(request)
        return wire.read_choice(answer, request.options, self.manner)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors of texts, shape (n, d)."""
        if "embed" not in self.offers:
            return await super().embed(texts)
        import numpy as np

        found = [
            await self._embed(texts[start : start + MOST_TEXTS]) for start in range(0, len(texts), MOST_TEXTS)
        ]
        vectors = np.concatenate(found) if found else np.zeros((0, self._width), dtype=np.float32)
        self._width = vectors.shape[1]
        return vectors

    def understood(self, error: Exception) -> failures.Failure | None:
        """The failure that an exception of the library stands for."""
        from google.genai import errors

        from pmbench.models.serving import connection

        if isinstance(error, UnicodeDecodeError):
            return RequestFailed("not-json", "the answer is no text", retryable=True)
        if not isinstance(error, errors.APIError):
            return connection.refusal(error) or super().understood(error)
        headers = _lower(getattr(error.response, "headers", None))
        said = error.details if isinstance(error.details, dict) else {}
        return failures.from_status(error.code, headers, said, where=self.where, key=self.key_told)

    async def _generate(self, request: Request) -> tuple[dict[str, Any], Mapping[str, str]]:
        """One answer, as the server sent it, and its headers. The library's own reading loses errors in it."""
        asked = self.body(request)
        fixed = {
            "should_return_http_response": True,
            "automatic_continuation": False,
            "automatic_function_calling": {"disable": True},
        }
        whole = await self._ask("generate_content", asked["contents"], {**asked["config"], **fixed})
        answer = whole.sdk_http_response
        headers = _lower(answer.headers)
        self.listen(headers)
        return failures.decoded((answer.body or "").encode("utf-8", "surrogatepass")), headers

    async def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # One content for each text: a list of plain texts becomes a single vector with some models.
        contents = [{"role": "user", "parts": [{"text": text or " "}]} for text in texts]
        answer = await self._ask("embed_content", contents, None)
        if not answer.embeddings:
            # The library has nothing left of an error that comes in place of vectors.
            raise RequestFailed("error", "no vectors, or an error in place of them", retryable=True)
        try:
            vectors = np.array([one.values for one in answer.embeddings], dtype=np.float32)
        except (TypeError, ValueError):
            vectors = np.zeros((0, 0), dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else vectors
        if vectors.shape[0] != len(texts) or not (np.isfinite(norms).all() and (norms > 0).all()):
            raise RequestFailed("invalid-answer", "not a vector for each text")
        normalised: NDArray[np.float32] = vectors / norms
        return normalised

    async def _ask(self, method: str, contents: list[dict[str, Any]], config: dict[str, Any] | None) -> Any:
        """Send one request by the library, once."""
        if self._client is None:
            raise RequestFailed("closed", "the model is not open")
        if sum(len(part["text"]) for content in contents for part in content["parts"]) > _LARGE:
            # Of bytes, and the library hands over nothing else, aiohttp would rather have had a file.
            warnings.filterwarnings("ignore", "Sending a large body", ResourceWarning)
        failed: BaseException
        try:
            ask = getattr(self._client.aio.models, method)
            return await ask(model=self.spec.target, contents=contents, config=config)
        except Exception as error:  # noqa: BLE001 - whatever is none of the library's own goes on as it is
            failed = self.understood(error) or error
        # Raised here, so that it does not hold the library's exception, which may quote the messages.
        raise failed

    def _manner(self) -> wire.Manner:
        option, model = self._options, self.spec.target
        thinks = {"include_thoughts": True}
        told: dict[str, Mapping[str, Any] | None] = {
            "auto": None,
            "off": {"thinking_budget": 0},
            "on": {"thinking_budget": -1, **thinks},
            **{level: {"thinking_level": level, **thinks} for level in _LEVELS},
        }
        as_it_likes = option.thinking in ("on", *_LEVELS) or (
            option.thinking == "auto" and wire.thinks_by_itself(model)
        )
        return wire.Manner(
            thinking=told.get(option.thinking, {"thinking_budget": option.budget, **thinks}),
            room=ROOM if as_it_likes else option.budget,
            where=self.where,
            key=self.key_told,
        )


def _lower(headers: Any) -> dict[str, str]:
    """Headers by their names in lower case: the library spells them as its transport does."""
    return {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}
