"""What an answer costs: US dollars of its tokens, by the user's own prices or by a kept price list.

The list is that of the library `genai-prices` as it was installed; it is never brought up to date over a network.
A price that neither knows is unknown (None), which is not nothing. The library is imported when a price is first
asked for.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import importlib.util
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pmbench.core.model import Usage
from pmbench.models.backend import Price
from pmbench.models.settings import FILE, VARIABLE, OwnPrice, settings

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

LIBRARY, MODULE = "genai-prices", "genai_prices"
EXTRA = "prices"
"""The extra of pmbench that brings the list."""

MILLION = 1_000_000
BATCH = 0.5
"""What a job of a batch API costs of the usual price, where the list does not know better."""

_QUARTER = 15 * 60
"""Seconds for which a price of the list holds: some begin on a day, some have hours."""

_SPOKEN = ("openai", "anthropic", "google")
"""Backends that can be told another server than the vendor's."""

_BEYOND_TOKENS = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")
"""Prices of the list that tokens of prompt and answer do not decide: a model that has one has no price here."""


class Rate(msgspec.Struct, frozen=True):
    """US dollars per million tokens.

    Attributes:
        base: of requests with short prompts, which is all of them where there are no steps.
        steps: with prompts of more tokens than the first number all tokens cost the second; in rising order.
    """

    base: float
    steps: tuple[tuple[int, float], ...] = ()

    def at(self, prompt_tokens: int) -> float:
        """The price for a request with a prompt of that many tokens."""
        found = self.base
        for start, price in self.steps:
            if prompt_tokens > start:
                found = price
        return found


class PerMillion(msgspec.Struct, frozen=True):
    """The prices of a model.

    Attributes:
        input: of the prompt's tokens.
        output: of the answer's, thinking included; None where the list has none (embedders).
        cached, written: of prompt tokens that the server had, or keeps for later prompts.
        source: where the prices are from, in words.
    """

    input: Rate
    output: Rate | None
    cached: Rate
    written: Rate
    source: str


def dollars(price: Price, usage: Usage, *, batch: bool = False) -> float | None:
    """US dollars of the tokens of one request.

    Steps by the length of the prompt are those of one request, so usage of several is not to be added up before.

    Args:
        price: what the model's price is looked up by.
        usage: of one request.
        batch: whether it was a job of a batch API.

    Returns:
        None where no price is known, or where the server's counts contradict each other.
    """
    try:
        found = per_million(price, batch=batch)
    except Exception:  # noqa: BLE001 - whatever is wrong with a file or a list, the answer is paid for and is kept
        return None
    if found is None:
        return None
    prompt, answer = usage.prompt_tokens, usage.completion_tokens
    plain = prompt - usage.cached_tokens - usage.written_tokens
    if min(plain, answer, usage.cached_tokens, usage.written_tokens) < 0:
        return None
    if answer and found.output is None:
        return None
    sums = (
        (plain, found.input),
        (usage.cached_tokens, found.cached),
        (usage.written_tokens, found.written),
        (answer, found.output),
    )
    return sum(count * rate.at(prompt) for count, rate in sums if rate is not None) / MILLION


def per_million(price: Price, *, batch: bool = False) -> PerMillion | None:
    """The prices of a model per million tokens, now; None where they are not known.

    Those of `[prices]` in `pmbench.toml` take the place of the list's. Jobs of a batch API cost what the list
    says of them, half where it says nothing, and half of own prices.

    Raises:
        ConfigError: `pmbench.toml` cannot be understood.
    """
    prices = _own_prices(Path.cwd(), os.environ.get(VARIABLE), int(time.monotonic()))
    for key in _keys(price):
        own = prices.get(key)
        if own is not None:
            return _own(own, BATCH if batch else 1.0)
    return _of_list(price, batch, int(time.time() // _QUARTER))


def why_unknown(price: Price) -> str:
    """Why a model has no price, with the remedy, in one line; empty if it has one."""
    if per_million(price) is not None:
        return ""
    own = f'give it in {FILE}: [prices."{_keys(price)[0]}"]'
    if not installed():
        return f'the price list is not installed. Run: pip install "pmbench[{EXTRA}]", or {own}'
    return f"{_list_name()} has no price per token of {price.model}; {own}"


def list_date() -> str:
    """The name and version of the price list, and how new its prices are; empty where it is not installed.

    The list carries no date of its own: the day is that of the newest price in it that is in force.
    """
    return _dated(datetime.datetime.now(datetime.UTC).date()) if installed() else ""


def installed() -> bool:
    """Whether the price list is there. Imports nothing."""
    return importlib.util.find_spec(MODULE) is not None


def _keys(price: Price) -> list[str]:
    """Under which names a price of one's own is looked for: those of specifications, `backend:model`."""
    backends = _SPOKEN if "://" in price.provider else (price.provider,)
    return [f"{backend}:{price.model}" for backend in backends]


@functools.lru_cache(maxsize=4)
def _own_prices(_here: Path, _named: str | None, _second: int) -> dict[str, OwnPrice]:
    """The user's own prices, looked for once a second: every answer asks, and looking for a file takes its time."""
    return settings().prices


@functools.lru_cache(maxsize=64)
def _own(own: OwnPrice, share: float) -> PerMillion:
    def rate(value: float | None) -> Rate:
        return Rate(share * (own.input if value is None else value))

    return PerMillion(rate(own.input), rate(own.output), rate(own.cached), rate(own.written), FILE)


@functools.lru_cache(maxsize=256)
def _of_list(price: Price, batch: bool, _quarter: int) -> PerMillion | None:
    """The list's prices, worked out once a quarter of an hour: the library takes 80 µs for each request."""
    model = _model(price)
    if model is None:
        return None
    now = datetime.datetime.now(datetime.UTC)
    usual = model.get_prices(now)
    found = model.get_prices(now, {"processing": "batch"}) if batch else usual
    share = BATCH if batch and found == usual else 1.0
    return _in_floats(found, share)


def _model(price: Price) -> ModelInfo | None:
    if not installed():
        return None
    from genai_prices.data_snapshot import get_snapshot

    server = "://" in price.provider
    named = None if server else price.provider
    # The library's patterns know no port.
    url = re.sub(r":443(?=/|$)", "", price.provider) if server else None
    try:
        return get_snapshot().find_provider_model(price.model, None, named, url)[1]
    except LookupError:
        return None


def _in_floats(found: ModelPrice, share: float) -> PerMillion | None:
    there = {name: value for name, value in vars(found).items() if value is not None}
    if "input_mtok" not in there or any(name in there for name in _BEYOND_TOKENS):
        return None
    plain = _rate(there["input_mtok"], share)

    def rate(name: str) -> Rate:
        return _rate(there[name], share) if name in there else plain

    output = _rate(there["output_mtok"], share) if "output_mtok" in there else None
    return PerMillion(plain, output, rate("cache_read_mtok"), rate("cache_write_mtok"), _list_name())


def _rate(value: Any, share: float) -> Rate:
    """A price of the list: a number, or one with steps."""
    steps = tuple((tier.start, share * float(tier.price)) for tier in getattr(value, "tiers", ()))
    return Rate(share * float(getattr(value, "base", value)), steps)


@functools.cache
def _list_name() -> str:
    return f"{LIBRARY} {importlib.metadata.version(LIBRARY)}"


@functools.lru_cache(maxsize=1)
def _dated(today: datetime.date) -> str:
    from genai_prices.data_snapshot import get_snapshot

    days = []
    for provider in get_snapshot().providers:
        for model in provider.models:
            priced = model.prices if isinstance(model.prices, list) else []
            for one in (*priced, *(model.price_variants or ())):
                day = getattr(one.constraint, "start_date", None)
                if day is not None and day <= today:
                    days.append(day)
    return f"{_list_name()}, prices up to {max(days)}" if days else _list_name()
