"""Prices: sums by hand, the library's own sums, own prices, and what is not known."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import genai_prices
import pytest
from genai_prices.data_snapshot import get_snapshot
from hypothesis import given
from hypothesis import strategies as st

from pmbench.core.errors import ConfigError
from pmbench.core.model import Usage
from pmbench.models.backend import Price
from pmbench.models.cost.prices import dollars, list_date, per_million, why_unknown

GPT_4O = Price("openai", "gpt-4o")
SONNET = Price("anthropic", "claude-sonnet-4-5-20250929")
GEMINI = Price("google", "gemini-2.5-pro")
EMBEDDING = Price("openai", "text-embedding-3-large")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes `pmbench.toml` with such a text."""

    def write(text: str) -> None:
        (tmp_path / "pmbench.toml").write_text(text)
        monkeypatch.setenv("PMBENCH_CONFIG", str(tmp_path / "pmbench.toml"))

    return write


@pytest.mark.parametrize(
    ("price", "usage", "expected"),
    [
        # $2.50 of prompts, $1.25 of cached ones, $10 of answers.
        (GPT_4O, Usage(1000, 100), (1000 * 2.5 + 100 * 10) / 1e6),
        (GPT_4O, Usage(1000, 100, cached_tokens=400), (600 * 2.5 + 400 * 1.25 + 100 * 10) / 1e6),
        (GPT_4O, Usage(1000, 100, reasoning_tokens=90), (1000 * 2.5 + 100 * 10) / 1e6),
        # $3, cached $0.30, written $3.75, answers $15.
        (
            SONNET,
            Usage(5000, 200, cached_tokens=1000, written_tokens=3000),
            (1000 * 3 + 1000 * 0.3 + 3000 * 3.75 + 200 * 15) / 1e6,
        ),
        # $1.25 and $10 up to 200,000 tokens of prompt, $2.50 and $15 of all tokens beyond.
        (GEMINI, Usage(200_000, 1000), (200_000 * 1.25 + 1000 * 10) / 1e6),
        (GEMINI, Usage(200_001, 1000), (200_001 * 2.5 + 1000 * 15) / 1e6),
        (EMBEDDING, Usage(1000), 1000 * 0.13 / 1e6),
        (GPT_4O, Usage(), 0.0),
    ],
)
def test_sums_by_hand(price: Price, usage: Usage, expected: float) -> None:
    assert dollars(price, usage) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("price", "usage", "expected"),
    [
        # The list: half of prompts and answers, cached prompts at their usual price.
        (GPT_4O, Usage(1000, 100, cached_tokens=400), (600 * 1.25 + 400 * 1.25 + 100 * 5) / 1e6),
        (
            SONNET,
            Usage(5000, 200, cached_tokens=1000, written_tokens=3000),
            (1000 * 3 + 1000 * 0.3 + 3000 * 3.75 + 200 * 15) / 2e6,
        ),
        # The list says nothing of batches of it: half.
        (EMBEDDING, Usage(1000), 1000 * 0.13 / 2e6),
    ],
)
def test_jobs_of_a_batch_api_cost_half(price: Price, usage: Usage, expected: float) -> None:
    assert dollars(price, usage, batch=True) == pytest.approx(expected, rel=1e-12)


MODELS = [
    *("gpt-4o", "gpt-4.1-mini", "o3-mini", "claude-sonnet-4-5", "claude-3-5-haiku-latest", "gemini-2.5-pro"),
    *("gemini-2.5-flash", "gpt-5", "claude-opus-4-1"),
]


@given(
    model=st.sampled_from(MODELS),
    prompt=st.integers(0, 400_000),
    answer=st.integers(0, 100_000),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    batch=st.booleans(),
)
def test_the_sums_are_those_of_the_library(
    model: str, prompt: int, answer: int, shares: tuple[float, float], batch: bool
) -> None:
    provider = {"g": "openai", "o": "openai", "c": "anthropic"}[model[0]]
    provider = "google" if model.startswith("gemini") else provider
    cached = int(prompt * min(shares))
    written = int((prompt - cached) * max(shares)) if provider == "anthropic" else 0
    usage = genai_prices.Usage(
        input_tokens=prompt,
        output_tokens=answer,
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
    context = {"processing": "batch"} if batch else None
    theirs = genai_prices.calc_price(usage, model, provider_id=provider, price_context=context)
    usual = genai_prices.calc_price(usage, model, provider_id=provider)
    ours = dollars(Price(provider, model), Usage(prompt, answer, cached, 0, written), batch=batch)
    half = batch and theirs.model_price == usual.model_price
    assert ours == pytest.approx(float(theirs.total_price) * (0.5 if half else 1.0), rel=1e-9, abs=1e-15)


def test_own_prices_go_before_the_list(own: Callable[[str], None]) -> None:
    own('[prices."openai:gpt-4o"]\ninput = 1.0\noutput = 2.0\ncached = 0.5\n')
    usage = Usage(1000, 100, cached_tokens=400, written_tokens=100)
    assert dollars(GPT_4O, usage) == pytest.approx((500 * 1 + 400 * 0.5 + 100 * 1 + 100 * 2) / 1e6)
    assert dollars(GPT_4O, usage, batch=True) == pytest.approx((500 + 200 + 100 + 200) / 2e6)
    found = per_million(GPT_4O)
    assert found is not None and found.source == "pmbench.toml"
    assert dollars(SONNET, Usage(1000)) == pytest.approx(0.003)


def test_own_prices_make_a_model_known_that_the_list_does_not_know(own: Callable[[str], None]) -> None:
    mine = Price("openai", "a-model-of-the-hospital")
    assert dollars(mine, Usage(1000, 10)) is None
    assert '[prices."openai:a-model-of-the-hospital"]' in why_unknown(mine)
    own('[prices."openai:a-model-of-the-hospital"]\ninput = 0\noutput = 0\n')
    assert dollars(mine, Usage(1000, 10)) == 0.0
    assert why_unknown(mine) == ""


@pytest.mark.parametrize(
    "price", [Price("nobody", "gpt-4o"), Price("openai", "nothing-known"), Price("", "")]
)
def test_what_nobody_knows_has_no_price(price: Price) -> None:
    assert dollars(price, Usage(10, 10)) is None
    assert per_million(price) is None
    assert "has no price per token" in why_unknown(price)


LLAMA = "meta-llama/llama-3.3-70b-instruct"


@pytest.mark.parametrize("url", ["https://openrouter.ai/api/v1", "https://openrouter.ai:443/api/v1"])
def test_a_server_is_priced_as_the_list_knows_it_by_its_address(url: str) -> None:
    theirs = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=1000, output_tokens=100), LLAMA, provider_id="openrouter"
    )
    assert dollars(Price(url, LLAMA), Usage(1000, 100)) == pytest.approx(float(theirs.total_price))


def test_a_server_that_the_list_does_not_know_has_the_users_own_prices(own: Callable[[str], None]) -> None:
    mine = Price("http://llm.hospital.example:8000/v1", "gpt-4o")
    assert dollars(mine, Usage(1000)) is None
    assert '[prices."openai:gpt-4o"]' in why_unknown(mine)
    own('[prices."openai:gpt-4o"]\ninput = 0.1\noutput = 0.2\n')
    assert dollars(mine, Usage(1000, 1000)) == pytest.approx(0.0003)


def test_an_answer_of_a_model_without_a_price_of_answers_is_not_free() -> None:
    assert dollars(EMBEDDING, Usage(10, 1)) is None


def test_models_that_are_free_or_paid_by_the_hour_have_no_price_of_tokens() -> None:
    assert dollars(Price("google", "gemma-3-27b-it"), Usage(10, 10)) is None
    assert dollars(Price("openai", "whisper-1"), Usage(10, 10)) is None


@pytest.mark.parametrize(
    "usage",
    [
        Usage(10, 1, cached_tokens=11),
        Usage(10, 1, cached_tokens=6, written_tokens=5),
        Usage(-1, 1),
        Usage(1, -1),
    ],
)
def test_counts_that_contradict_each_other_have_no_price(usage: Usage) -> None:
    assert dollars(GPT_4O, usage) is None


def test_a_file_that_is_broken_in_the_middle_of_a_run_takes_no_paid_answer(
    own: Callable[[str], None],
) -> None:
    own("[prices")
    assert dollars(GPT_4O, Usage(10, 10)) is None
    with pytest.raises(ConfigError):
        per_million(GPT_4O)


def test_the_date_of_the_list_is_that_of_a_price_in_it() -> None:
    name, _, day = list_date().partition(", prices up to ")
    assert name == f"genai-prices {genai_prices.__version__}"
    newest = datetime.date.fromisoformat(day)
    assert datetime.date(2025, 1, 1) < newest <= datetime.datetime.now(datetime.UTC).date()
    assert f"{newest!r}".replace("datetime.date", "") in "".join(
        repr(one.constraint).replace("datetime.date", "")
        for provider in get_snapshot().providers
        for model in provider.models
        for one in [*(model.prices if isinstance(model.prices, list) else []), *(model.price_variants or ())]
    )


WITHOUT = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "genai_prices" else real(name, *more)
from pmbench.core.model import Usage
from pmbench.models.backend import Price
from pmbench.models.cost.prices import dollars, list_date, why_unknown
price = Price("openai", "gpt-4o")
print(dollars(price, Usage(10, 10)), repr(list_date()), why_unknown(price))
print("genai_prices" in sys.modules)
"""


def test_without_the_list_a_price_is_unknown_and_the_reason_is_said() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    told, imported = done.stdout.splitlines()
    assert told.startswith("None '' the price list is not installed")
    assert 'pip install "pmbench[prices]"' in told
    assert imported == "False"


def test_the_list_is_imported_when_a_price_is_asked_for_and_not_before() -> None:
    code = (
        "import sys, pmbench.models.cost.prices, pmbench.models.survey; print('genai_prices' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
