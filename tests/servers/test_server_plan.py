"""Plans, which fault meets whom, latencies, and the limiter: without a server and without waiting."""

import math

import pytest
from loopback_llm.chooser import Chooser, seconds_of
from loopback_llm.limiter import Bucket, Limiter, Watch
from loopback_llm.plan import Fault, Latency, Plan, PlanError, RateLimit, read_plan
from loopback_llm.structured import instance_of
from loopback_llm.vendors import _span, masked
from loopback_llm.words import WORDS, tokens_of


def digests(count):
    return [i.to_bytes(12, "big") for i in range(count)]


def chosen(faults, *, times=1, count=2000, seed=0, **plan):
    chooser = Chooser(read_plan_of(faults=faults, seed=seed, **plan))
    return [[_name(chooser.choose("/v1/x", d, "text")) for d in digests(count)] for _ in range(times)]


def read_plan_of(**plan):
    import json

    return read_plan(json.dumps(plan).encode())


def _name(fault):
    return fault.name if fault else ""


@pytest.mark.parametrize(
    "plan",
    [
        {"fault": []},
        {"faults": [{"kind": "429", "probabilty": 0.1}]},
        {"faults": [{"kind": "explode"}]},
        {"faults": [{"kind": "status"}]},
        {"faults": [{"kind": "redirect"}]},
        {"faults": [{"kind": 500, "probability": 1.5}]},
        {"latency": {"kind": "normal"}},
        {"latency": -1},
        {"rate_limit": {"per_second": 0}},
    ],
)
def test_what_is_misspelt_or_out_of_range_is_an_error(plan):
    with pytest.raises(PlanError):
        read_plan_of(**plan)


def test_an_empty_plan_is_the_default():
    assert read_plan(b"") == read_plan(b"{}") == Plan()


def test_probabilities_share_one_draw_and_do_not_depend_on_order():
    faults = [
        {"kind": 500, "probability": 0.1},
        {"kind": 429, "probability": 0.1},
        {"kind": "hung", "probability": 0.01},
    ]
    (names,) = chosen(faults)
    assert names.count("500") == pytest.approx(200, abs=45)
    assert names.count("429") == pytest.approx(200, abs=45)
    assert names.count("hung") == pytest.approx(20, abs=15)
    chooser = Chooser(read_plan_of(faults=faults))
    backwards = [_name(chooser.choose("/v1/x", d, "text")) for d in reversed(digests(2000))]
    assert backwards[::-1] == names
    assert chosen(faults, seed=1) != [names]


def test_a_probability_is_drawn_anew_for_each_attempt_and_a_share_is_for_ever():
    passing = chosen([{"kind": 500, "probability": 0.1}], times=3)
    assert not any(all(attempt[i] for attempt in passing) for i in range(100))
    lasting = chosen([{"kind": 500, "share": 0.05}, {"kind": 503, "share": 0.05}], times=3)
    assert lasting[0] == lasting[1] == lasting[2]
    assert lasting[0].count("500") == pytest.approx(100, abs=35) == lasting[0].count("503")


def test_numbers_attempts_texts_and_paths():
    assert chosen([{"kind": 500, "ordinals": [2, 4]}], count=5) == [["", "500", "", "500", ""]]
    assert chosen([{"kind": 500, "after": 3}], count=5) == [["", "", "", "500", "500"]]
    assert chosen([{"kind": 500, "attempts": [1, 2]}], count=2, times=3) == [
        ["500"] * 2,
        ["500"] * 2,
        [""] * 2,
    ]
    assert chosen([{"kind": 500, "contains": "tex"}], count=1) == [["500"]]
    assert chosen([{"kind": 500, "contains": "other"}], count=1) == [[""]]
    assert chosen([{"kind": 500, "path": "/v1/"}], count=1) == [["500"]]
    assert chosen([{"kind": 500, "path": "/v2/"}], count=1) == [[""]]
    assert chosen([{"kind": 500, "batch": True}], count=1) == [[""]]
    assert chosen([{"kind": "429", "path": "/v2/"}, {"kind": "reset"}], count=1) == [["reset"]]


@pytest.mark.parametrize(
    ("latency", "median"),
    [
        (Latency(kind="fixed", ms=50), 50),
        (Latency(kind="uniform", low_ms=10, high_ms=30), 20),
        (Latency(kind="exponential", ms=100), 100 * math.log(2)),
        (Latency(kind="lognormal", ms=80, sigma=0.7), 80),
        (25, 25),
    ],
)
def test_latencies_have_the_median_that_they_should(latency, median):
    drawn = sorted(seconds_of(latency, 0, d) * 1000 for d in digests(2001))
    assert drawn[1000] == pytest.approx(median, rel=0.15) and drawn[0] >= 0


def test_a_bucket_lets_the_burst_through_and_then_so_much_per_second():
    bucket, passed = Bucket(10, 5), 0
    for tick in range(1, 2001):  # two seconds by the millisecond
        bucket.fill(tick / 1000)
        if not bucket.seconds_until(1):
            bucket.level -= 1
            passed += 1
    assert passed == pytest.approx(25, abs=1)


def test_a_watch_tells_a_burst_from_a_lasting_excess():
    burst = Watch(10)
    for _ in range(50):
        burst.see(5.0, 1)
    assert burst.told(100.0) == {
        "allowed_in_a_second": 10,
        "most_in_a_second": 50,
        "longest_above": 1.0,
        "above_for_over_a_second": False,
    }
    lasting = Watch(10)
    for i in range(60):
        lasting.see(5.0 + i / 20, 1)  # twenty a second for three seconds
    told = lasting.told(100.0)
    assert told["above_for_over_a_second"] and told["longest_above"] == pytest.approx(2.95, abs=0.02)
    within = Watch(10)
    for i in range(60):
        within.see(5.0 + i / 9, 1)
    assert within.told(100.0)["longest_above"] == 0


def test_a_limiter_refuses_and_says_when_to_come_back():
    limiter = Limiter(RateLimit(per_second=2, burst=2))
    standings = [limiter.admit(1.0, 10) for _ in range(3)]
    assert [s.wait for s in standings] == [0, 0, 0.5] and limiter.refused == 1
    assert standings[1].remaining == 0 and standings[1].reset == pytest.approx(1.0)
    assert limiter.admit(1.5, 10).wait == 0
    tokens = Limiter(RateLimit(per_second=1000, burst=1000, tokens_per_second=100, tokens_burst=100))
    assert [round(tokens.admit(1.0, 80).wait, 3) for _ in range(2)] == [0, 0.6]
    watching = Limiter(RateLimit(per_second=1, enforced=False))
    assert (
        not any(watching.admit(1.0, 0).wait for _ in range(9))
        and watching.told(2.0)["requests"]["most_in_a_second"] == 9
    )


def test_small_things():
    assert len(set(WORDS)) == 64
    for text in ("", " a", "a  b\n", "\n\n", "один два"):
        assert "".join(tokens_of(text)) == text
    assert [_span(s) for s in (0.02, 1, 360)] == ["20ms", "1s", "6m0s"]
    assert masked("sk-0123456789abcdef") == "sk-0123********cdef" and masked("short") == "*****"
    assert Fault(kind="status", status=429).name == "429" and Fault(kind="hung").name == "hung"


def test_a_schema_is_followed_through_references_enums_and_alternatives():
    schema = {
        "$defs": {"Kind": {"enum": ["low", "high"]}},
        "type": "object",
        "properties": {
            "kind": {"$ref": "#/$defs/Kind"},
            "maybe": {"anyOf": [{"type": "integer", "minimum": 3, "maximum": 3}, {"type": "null"}]},
            "list": {"type": "array", "items": {"type": "BOOLEAN"}, "minItems": 2},
            "fixed": {"const": 7},
            "nothing": {"type": "null"},
            "number": {"type": ["number", "null"]},
        },
    }
    value = instance_of(schema, bytes(range(32)))
    assert value["kind"] in ("low", "high") and value["maybe"] == 3 and value["fixed"] == 7
    assert len(value["list"]) == 2 and value["nothing"] is None and isinstance(value["number"], float)
    assert value == instance_of(schema, bytes(range(32))) != instance_of(schema, bytes(range(1, 33)))
