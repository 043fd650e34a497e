"""What the calls of a run took: tokens, money, and how long a response took."""

from __future__ import annotations

import statistics

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmbench.cli.terminal import usage_lines
from pmbench.core.model import Usage
from pmbench.running.aggregating import percentile, usage_of
from pmbench.running.records import ResponseRecord, ScoreRecord
from pmbench.running.results import Results, UsageTotal

TOKENS = Usage(100, 20, cached_tokens=30, reasoning_tokens=5, written_tokens=40)


def response(seconds: float, cost: float | None = 0.5, **fields: object) -> ResponseRecord:
    return ResponseRecord(
        **{"id": "a", "calls": 2, "usage": TOKENS, "seconds": seconds, "cost": cost, **fields}  # type: ignore[arg-type]
    )


@given(
    st.lists(st.floats(0.001, 1e6), min_size=1, max_size=60).map(sorted),
    st.sampled_from([0, 1, 25, 50, 95, 99, 100]),
)
def test_percentiles_are_those_of_numpy(values: list[float], share: float) -> None:
    assert percentile(values, share) == pytest.approx(float(np.percentile(values, share)), abs=1e-4)
    if share == 50:
        assert percentile(values, share) == pytest.approx(statistics.median(values), abs=1e-4)


def test_without_values_there_is_no_percentile() -> None:
    assert percentile([], 50) is None


def test_tokens_and_money_add_up() -> None:
    total = usage_of([response(1.0), response(2.0, 0.25), response(4.0)])
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (6, 300, 60)
    assert (total.cached_tokens, total.reasoning_tokens, total.written_tokens) == (90, 15, 120)
    assert (total.cost, total.unpriced, total.seconds) == (1.25, 0, 7.0)
    assert (total.latency_median, total.latency_p95) == (2.0, 3.8)


def test_recorded_and_failed_responses_have_no_time() -> None:
    recorded = response(0.0, None, usage=Usage())
    failed = response(9.0, None, status="failed", usage=Usage())
    assert usage_of([recorded]).latency_median is None
    assert usage_of([recorded, failed, response(3.0)]).latency_p95 == 3.0


def test_what_failed_before_a_token_was_counted_has_no_unknown_price() -> None:
    lost = response(0.0, None, status="failed", usage=Usage())
    paid = response(0.0, None, status="failed")
    assert usage_of([response(1.0), lost]).unpriced == 0
    assert usage_of([response(1.0), paid]).unpriced == 2
    assert usage_of([response(1.0, None)]).unpriced == 2


def test_times_of_scores_are_those_of_their_judges() -> None:
    scores = [ScoreRecord(id=str(n), calls=1, usage=TOKENS, seconds=float(n)) for n in range(5)]
    assert usage_of(scores).latency_median == 2.5  # the score without a call of a judge has no time


def test_results_of_before_are_read() -> None:
    total = msgspec.json.decode(b'{"calls": 3, "seconds": 1.5, "cost": 0.0, "unpriced": 3}', type=UsageTotal)
    assert total.latency_median is None and total.written_tokens == 0
    assert msgspec.structs.fields(Results)


@pytest.mark.parametrize(
    ("total", "words"),
    [
        (
            usage_of([response(1.0), response(3.0)]),
            "4.0 s, median 2.00 s and 95th percentile 2.90 s of a response, $1.0000",
        ),
        (usage_of([response(1.0), response(1.0, None)]), "$0.5000 and 2 calls of unknown price"),
    ],
)
def test_the_lines_say_what_is_known(total: UsageTotal, words: str) -> None:
    (line,) = usage_lines({"model": total, "judges": UsageTotal(calls=4)})
    assert line.startswith("model: 4 calls, 200 prompt and 40 completion tokens, ")
    assert line.endswith(words)


def test_no_price_at_all_is_not_said() -> None:
    (line,) = usage_lines({"model": usage_of([response(1.0, None)])})
    assert "$" not in line and "price" not in line
