"""Promises of a backend before and around its first answer: light, honest about itself, opened and closed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pmbench.core.errors import RequestFailed, UnknownName, UserError
from pmbench.models.backend import FEATURES, Backend
from pmbench.models.files.cache import cache_folder
from pmbench.models.serving.endpoints import Endpoint
from pmbench.testing.suite import Suite, Value, option_fields, secrets

OFFERS = frozenset({"chat", "choose", "reward", "embed"})

HEAVY = frozenset(
    {
        "aiohttp",
        "anthropic",
        "datasets",
        "google.genai",
        "httpx",
        "httpx2",
        "jinja2",
        "matplotlib",
        "numba",
        "numpy",
        "onnxruntime",
        "openai",
        "pandas",
        "peft",
        "pyarrow",
        "rich",
        "scipy",
        "tokenizers",
        "torch",
        "transformers",
        "vllm",
        "xllamacpp",
    }
)
"""Modules that nobody should wait for before a model is opened."""


class Starting(Suite):
    """Creating, options, identity, opening and closing."""

    def test_creating_is_light(self) -> None:
        """Creating it, and asking what it is, imports nothing heavy, connects nowhere and loads nothing."""
        backend = self.backend()
        heavy = HEAVY | set(backend.requires)
        for step, told in _probed(backend).items():
            assert not heavy & set(told["modules"]), f"{step} imports heavy modules"
            assert told["connections"] == [], f"{step} connects or starts something"
            assert told["files"] == [], f"{step} reads a large file"

    def test_it_says_in_one_line_whether_it_can_run(self) -> None:
        """Why it cannot run here is one line, empty where it can."""
        reason = self.backend().unavailable()
        assert isinstance(reason, str)
        assert "\n" not in reason
        for name, value in secrets().items():
            shows = value in reason
            assert not shows, f"the value of {name} is in it"

    def test_what_it_says_of_itself_holds_together(self) -> None:
        """Name, offers and features are known ones and hold together."""
        backend = self.backend()
        assert re.fullmatch(r"[a-z][a-z0-9-]*", backend.name)
        assert backend.name == backend.spec.backend
        assert backend.offers and backend.offers <= OFFERS
        assert backend.features <= set(FEATURES)
        assert isinstance(backend.parallel, int) and backend.parallel >= 1
        for said in (backend.local, backend.keeps, backend.by_instance):
            assert isinstance(said, bool)
        if "logprobs" in backend.features:
            assert "choose" in backend.offers, "log-probabilities are for choosing"
        if "seed" in backend.features:
            assert "temperature" in backend.features, "a seed decides nothing at temperature 0"

    def test_it_is_local_where_its_requests_stay(self) -> None:
        """It is local where its requests stay: patients' words depend on it."""
        backend = self.backend()
        assert backend.endpoint is None or isinstance(backend.endpoint, Endpoint)
        if backend.endpoint is not None:
            assert backend.local == backend.endpoint.local

    def test_its_account_is_stable_and_no_key(self) -> None:
        """Whose rate limits it counts towards is stable and tells no key."""
        account = self.backend().account()
        assert account and account == self.backend().account()
        for name, value in secrets().items():
            shows = value in account
            assert not shows, f"the value of {name} is in it"

    def test_how_long_an_attempt_may_take_is_a_time(self) -> None:
        """How long an attempt may take is a time, or left open."""
        seconds = self.backend().seconds(self.request())
        assert seconds is None or 0 < seconds < float("inf")

    # Options.

    def test_an_option_that_is_unknown_is_named(self) -> None:
        """An unknown option is an error of the user that names it."""
        with pytest.raises(UnknownName, match="no_such_option"):
            self.backend(no_such_option="1")

    def test_an_option_of_a_wrong_type_is_named(self) -> None:
        """A value that an option cannot have is an error of the user, of one line, that names the option."""
        wrong = {f.encode_name: "none of them" for f in option_fields(self.backend()) if _has_a_type(f)}
        for name, value in {**wrong, **self.bad_options}.items():
            with pytest.raises(UserError) as caught:
                self.backend(**{name: value})
            assert name in str(caught.value), f"the error for {name}={value} does not say which option"
            assert "\n" not in str(caught.value)

    def test_every_option_is_said_to_decide_answers_or_not(self) -> None:
        """Every option is known to decide answers or not to."""
        named = {*self.deciding, *self.not_deciding}
        assert named == {field.encode_name for field in option_fields(self.backend())}

    # Identity.

    def test_its_identity_is_text_and_stable(self) -> None:
        """The identity is text, the same each time, before and after opening."""
        identity = dict(self.backend().identity())
        assert identity
        assert all(isinstance(text, str) for pair in identity.items() for text in pair)
        assert identity == dict(self.backend().identity())

        async def opened(backend: Backend) -> dict[str, str]:
            return dict(backend.identity())

        assert self.run(opened) == identity, "opening it changes it"

    def test_its_identity_changes_with_what_decides_answers(self) -> None:
        """The identity changes with every option that decides answers."""
        if not self.deciding:
            pytest.skip("it has no option that decides answers")
        for name, (one, other) in self.deciding.items():
            assert self._identity(name, one) != self._identity(name, other), (
                f"{name}={one} and {name}={other} would share their stored answers"
            )

    def test_its_identity_does_not_change_with_what_decides_nothing(self) -> None:
        """The identity does not change with the other options."""
        if not self.not_deciding:
            pytest.skip("all its options decide answers")
        for name, (one, other) in self.not_deciding.items():
            assert self._identity(name, one) == self._identity(name, other), (
                f"{name}={one} and {name}={other} would ask anew for paid answers"
            )

    def test_its_identity_holds_no_secret_and_no_place_of_this_machine(self) -> None:
        """The identity holds no key and no path of this machine."""
        told = json.dumps(dict(self.backend().identity()))
        for name, value in secrets().items():
            shows = value in told
            assert not shows, f"the value of {name} is in it"
        for place in (Path.home(), Path.cwd(), cache_folder(), Path(tempfile.gettempdir())):
            assert f"{place}/" not in told, "where a file lies decides no answer"

    def _identity(self, name: str, value: Value) -> dict[str, str]:
        return dict(self.backend(**({name: value} if isinstance(value, str) else value)).identity())

    # Life.

    def test_closing_what_was_never_opened_does_nothing(self) -> None:
        """Closing what was never opened does nothing, twice."""

        async def scene(backend: Backend) -> None:
            await backend.close()
            await backend.close()

        self.run_new(scene)

    def test_opening_twice_is_opening_once(self) -> None:
        """Opening twice is opening once, and closing twice is closing once."""

        async def scene(backend: Backend) -> Any:
            await backend.open()
            await backend.open()
            answer = await self._something(backend)
            await backend.close()
            await backend.close()
            return answer

        assert self.run_new(scene) is not None

    def test_it_can_be_opened_again(self) -> None:
        """After closing it can be opened again."""

        async def scene(backend: Backend) -> Any:
            await backend.open()
            await backend.close()
            await backend.open()
            return await self._something(backend)

        assert self.run_new(scene) is not None

    def test_what_is_not_open_answers_or_says_so(self) -> None:
        """What is not open answers, or fails in a way that asking again does not mend."""

        async def scene(backend: Backend) -> Any:
            before = await self.outcome(self._something(backend))
            await backend.open()
            await backend.close()
            return before, await self.outcome(self._something(backend))

        for outcome in self.run_new(scene):
            if isinstance(outcome, RequestFailed):
                assert not outcome.retryable, "asking again does not open it"

    async def _something(self, backend: Backend) -> Any:
        """An answer of whatever kind it gives."""
        request = self.request(max_tokens=2)
        if "chat" in backend.offers:
            return await backend.chat(request)
        if "reward" in backend.offers:
            return await backend.reward(request)
        if "embed" in backend.offers:
            return await backend.embed(["fever"])
        return await backend.choose(msgspec.structs.replace(request, options=("yes", "no")))


def _has_a_type(field: msgspec.structs.FieldInfo) -> bool:
    """Whether an option is more than a text, so that there are texts that it cannot be."""
    try:
        msgspec.convert("none of them", field.type, strict=False)
    except msgspec.ValidationError:
        return True
    return False


def _probed(backend: Backend) -> dict[str, dict[str, list[str]]]:
    kind, spec = type(backend), backend.spec
    if "<locals>" in kind.__qualname__:
        pytest.skip("a class inside a function cannot be created in another process")
    asked = {
        "path": sys.path,
        "module": kind.__module__,
        "name": kind.__qualname__,
        "spec": msgspec.to_builtins(spec),
    }
    done = subprocess.run(  # noqa: S603 - this Python, and a file of this package
        [sys.executable, str(Path(__file__).with_name("light_probe.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return told
