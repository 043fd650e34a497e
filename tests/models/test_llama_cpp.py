"""The embedded engine: the same answer whatever was asked before, nothing cut silently, always a way out."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_probe import PROMPTS, answers, request, with_model

from pmbench.core.errors import ModelUnavailable, RequestFailed
from pmbench.models.backends.llama_cpp.backend import LlamaCpp, model_file, shards
from pmbench.models.catalogue import backend_for
from pmbench.models.files import cache
from pmbench.models.first_token import option_probabilities

SMALL = "smollm2-135m?context=2048"

needs_model = pytest.mark.model


def probe(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).with_name("llama_probe.py")
    return subprocess.run(
        [sys.executable, str(script), *arguments], text=True, capture_output=True, timeout=300, check=False
    )


@needs_model
def test_an_answer_does_not_depend_on_what_was_asked_before(models: dict[str, list[Path]]) -> None:
    order = list(range(len(PROMPTS)))
    here = asyncio.run(answers(SMALL, order))
    # Another process, another order, another number of threads: the same text and the same bits.
    shuffled = ",".join(str(index) for index in (5, 2, 7, 0, 4, 6, 1, 3))
    there = probe("answers", f"{SMALL}&threads=1", shuffled)
    assert there.returncode == 0
    for line, index in zip(there.stdout.splitlines(), order, strict=True):
        chat, probabilities = here[index]
        assert line == f"{index} {chat.text!r} {probabilities}"
        assert chat.usage.cached_tokens == 0
    assert there.stderr == "", "the engine says nothing to the user's terminal"


@needs_model
def test_several_slots_answer_at_once_and_reuse_beginnings(models: dict[str, list[Path]]) -> None:
    async def work(backend: LlamaCpp) -> None:
        assert backend.parallel == 2
        assert backend.identity()["cache"] == "on"
        chats = await asyncio.gather(*(backend.chat(request(text)) for text in PROMPTS))
        assert all(chat.text for chat in chats)
        again = await backend.chat(request(PROMPTS[-1]))
        assert again.usage.cached_tokens > 0

    with_model(work, "smollm2-135m?slots=2&context=1024")


@needs_model
def test_limits_stops_and_seeds(models: dict[str, list[Path]]) -> None:
    async def work(backend: LlamaCpp) -> None:
        text = "Count from one to ten in words."
        short = await backend.chat(request(text, max_tokens=3))
        assert (short.finish, short.usage.completion_tokens) == ("length", 3)
        long = await backend.chat(request(text, max_tokens=60))
        stop = long.text.split()[2]
        stopped = await backend.chat(request(text, max_tokens=60, stop=(stop,)))
        assert stopped.finish == "stop"
        assert stopped.text == long.text[: long.text.index(stop)]
        assert long.latency > 0
        samples = [
            (await backend.chat(request(text, temperature=1.5, sample=sample))).text
            for sample in (0, 0, 1, 2)
        ]
        assert samples[0] == samples[1]
        assert len(set(samples)) == 3

    with_model(work)


@needs_model
def test_a_schema_is_enforced_and_a_bad_one_refused(models: dict[str, list[Path]]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "urgent": {"type": "boolean"},
            "days": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        "required": ["urgent", "days"],
        "additionalProperties": False,
    }

    async def work(backend: LlamaCpp) -> None:
        answer = await backend.chat(request("Is chest pain urgent?", schema=schema, max_tokens=60))
        found = json.loads(answer.text)
        assert isinstance(found["urgent"], bool)
        assert 0 <= found["days"] <= 9
        with pytest.raises(RequestFailed) as caught:
            await backend.chat(
                request("Is it?", schema={"type": "object", "properties": {"a": {"type": "x"}}})
            )
        assert (caught.value.kind, caught.value.retryable) == ("schema", False)

    with_model(work)


@needs_model
def test_a_prompt_that_does_not_fit_is_refused_not_cut(models: dict[str, list[Path]]) -> None:
    async def work(backend: LlamaCpp) -> None:
        with pytest.raises(RequestFailed) as caught:
            await backend.chat(request("fever " * 3000))
        assert (caught.value.kind, caught.value.retryable) == ("too-long", False)
        assert "a context of 256" in str(caught.value)
        assert "fever" not in str(caught.value)
        # It fits, but the answer runs into the end of the context: said, not hidden.
        # No limit is beyond the context, nor does one wrap around to a small one.
        full = await backend.chat(request("fever " * 200, max_tokens=2**32 + 1, temperature=1.0))
        if full.finish == "length":
            assert full.raw["cut"] == "context"
        assert full.usage.prompt_tokens + full.usage.completion_tokens <= 256
        assert full.usage.completion_tokens > 1
        for nothing in (0, -1, -(2**32)):
            with pytest.raises(RequestFailed, match="invalid"):
                await backend.chat(request("fever", max_tokens=nothing))

    with_model(work, "smollm2-135m?context=256")


@needs_model
def test_choosing_agrees_with_the_engine_asked_directly(models: dict[str, list[Path]]) -> None:
    text = "Answer Yes or No only. Is chest pain after exercise urgent?"

    async def work(backend: LlamaCpp) -> tuple[tuple[float, ...], float]:
        choice = await backend.choose(request(text, options=("YES", "NO")))
        assert choice.exact
        assert choice.usage.completion_tokens == 1
        turned = await backend.choose(request(text, options=("NO", "YES")))
        assert turned.probabilities == choice.probabilities[::-1]
        with pytest.raises(RequestFailed, match="no-mass"):
            await backend.choose(request(text, options=("qqqq", "zzzz")))
        return choice.probabilities, choice.mass

    probabilities, mass = with_model(work)

    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.n_ctx, given.verbosity = str(models["smollm2-135m"][0]), 2048, -1
    said = xllamacpp.Server(given).handle_chat_completions(
        {
            "messages": [{"role": "user", "content": text}],
            "max_tokens": 1,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": 50,
        }
    )
    sums = {"yes": 0.0, "no": 0.0}
    for top in said["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
        word = top["token"].strip().lower()
        for option in sums:
            sums[option] += math.exp(top["logprob"]) if word and option.startswith(word) else 0.0
    assert probabilities[0] == pytest.approx(sums["yes"] / sum(sums.values()), rel=1e-3)
    assert mass == pytest.approx(sum(sums.values()), rel=1e-3)


@needs_model
def test_a_request_nobody_waits_for_is_left(models: dict[str, list[Path]]) -> None:
    async def work(backend: LlamaCpp) -> None:
        task = asyncio.create_task(backend.chat(request("Tell a very long story.", max_tokens=1900)))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # The one slot is free for the next request long before the story's end.
        after = await asyncio.wait_for(backend.chat(request("Hello.", max_tokens=2)), 60)
        assert after.usage.completion_tokens == 2

    with_model(work)


@needs_model
def test_closing_ends_what_runs_and_it_can_be_opened_again(models: dict[str, list[Path]]) -> None:
    async def run() -> str:
        backend = backend_for(SMALL)
        await backend.open()
        task = asyncio.create_task(backend.chat(request("Tell a very long story.", max_tokens=1900)))
        await asyncio.sleep(0.3)
        await backend.close()
        with pytest.raises(RequestFailed, match="closed"):
            await task
        with pytest.raises(RequestFailed, match="closed"):
            await backend.chat(request("Hello."))
        await backend.open()
        try:
            return (await backend.chat(request("Hello.", max_tokens=4))).text
        finally:
            await backend.close()
            await backend.close()

    assert asyncio.run(run())


@needs_model
def test_ctrl_c_ends_a_running_request(models: dict[str, list[Path]]) -> None:
    script = Path(__file__).with_name("llama_probe.py")
    command = [sys.executable, str(script), "endless", "smollm2-135m"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")


@needs_model
def test_a_program_that_ends_without_closing_ends_cleanly(models: dict[str, list[Path]]) -> None:
    done = probe("left-open", "smollm2-135m")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@needs_model
def test_the_engine_shows_nobody_what_it_reads(models: dict[str, list[Path]]) -> None:
    async def work(backend: LlamaCpp) -> None:
        address = backend._server.listening_address
        assert address.startswith("http://127.0.0.1:")
        assert "GOMP_SPINCOUNT" not in os.environ, "the setting of the engine's threads does not stay"
        for path in ("/slots", "/props", "/metrics", "/v1/models/x"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(address + path, timeout=10)
            caught.value.close()
            assert caught.value.code in (401, 404, 501)

    with_model(work)


@needs_model
@pytest.mark.parametrize("size", [0, 40, 5_000_000])
def test_a_broken_file(models: dict[str, list[Path]], tmp_path: Path, size: int) -> None:
    broken = tmp_path / "broken.gguf"
    with models["smollm2-135m"][0].open("rb") as whole:
        broken.write_bytes(whole.read(size))

    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(backend_for(f"llama-cpp:{broken}").open())
    assert "cannot load broken.gguf" in str(caught.value)
    assert "Replace the file" in str(caught.value)


@needs_model
def test_a_fetched_file_that_was_changed(
    models: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path))
    (whole,) = models["smollm2-135m"]
    shutil.copytree(whole.parent, tmp_path / "smollm2-135m")
    changed = tmp_path / "smollm2-135m" / whole.name
    with changed.open("r+b") as stream:
        stream.seek(-10, 2)
        stream.write(b"!")
    with pytest.raises(ModelUnavailable, match="Run: pmbench fetch smollm2-135m"):
        asyncio.run(backend_for("smollm2-135m").open())


@needs_model
def test_identity_names_what_decides_an_answer_and_nothing_else(models: dict[str, list[Path]]) -> None:
    def identity(options: str = "") -> dict[str, str]:
        return dict(backend_for(f"smollm2-135m{options}").identity())

    plain = identity()
    assert plain["engine"] == "xllamacpp"
    assert plain["weights"] == cache.hash_file(models["smollm2-135m"][0])
    assert plain == identity("?threads=1")
    different = ("?slots=2", "?context=1024", "?cache=on", "?thinking=off", "?gpu_layers=0")
    assert len({tuple(identity(options).items()) for options in ("", *different)}) == 6


def test_where_a_target_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    preset = "smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf"
    for name in (preset, "org/repo/x.gguf", "mine.gguf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert model_file(preset) == tmp_path / "cache" / preset, (
        "a preset is not what lies in the current folder"
    )
    assert model_file("org/repo/x.gguf") == tmp_path / "org/repo/x.gguf"
    assert model_file("org/repo/y.gguf") == tmp_path / "cache/org/repo/y.gguf"
    assert model_file("mine.gguf") == tmp_path / "mine.gguf"
    assert model_file("/elsewhere/mine.gguf") == Path("/elsewhere/mine.gguf")


def test_all_files_of_a_split_model_count(tmp_path: Path) -> None:
    names = [f"big-{n:05d}-of-00003.gguf" for n in (1, 2, 3)]
    assert [path.name for path in shards(tmp_path / names[0])] == names
    assert shards(tmp_path / "big.gguf") == [tmp_path / "big.gguf"]
    for name in names[:2]:
        (tmp_path / name).write_bytes(name.encode())
    backend = backend_for(f"llama-cpp:{tmp_path / names[0]}")
    assert "there is no such file" in backend.unavailable()
    (tmp_path / names[2]).write_bytes(b"three")
    assert backend.unavailable() == ""
    before = backend.identity()["weights"]
    (tmp_path / names[2]).write_bytes(b"other")
    assert backend.identity()["weights"] != before


# The worked example: P(Yes) = .40 + .10 + .02, P(No) = .25 + .03; .10 and .05 count for neither.
TOKENS = [(" Yes", 0.40), ("YES", 0.10), ("y", 0.02), ("No", 0.25), (" n", 0.03), ("Well", 0.10), (" ", 0.05)]


def logs(tokens: list[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(text, math.log(probability)) for text, probability in tokens]


def test_first_tokens_are_summed_over_case_space_and_beginnings() -> None:
    probabilities, mass = option_probabilities(logs(TOKENS), ["YES", "NO"])
    assert probabilities == pytest.approx((0.52 / 0.80, 0.28 / 0.80))
    assert mass == pytest.approx(0.80)


@pytest.mark.parametrize(
    ("tokens", "options", "expected"),
    [
        ([("A", 0.6), (" B", 0.2), ("Because", 0.2)], ["A", "B"], (0.75, 0.25)),
        # "I" begins "I think" as well as "Immediate"; " imm" does not.
        ([("I", 0.5), (" imm", 0.2), ("Rout", 0.2)], ["immediate", "routine"], (0.5, 0.5)),
        # "n" begins both; " not" begins one of them, "no" is one.
        ([("n", 0.5), ("no", 0.3), (" not", 0.1)], ["no", "not sure"], (0.75, 0.25)),
        ([("3", 0.8), ("1", 0.2)], ["1", "2", "3"], (0.2, 0.0, 0.8)),
    ],
)
def test_what_counts_for_which_option(
    tokens: list[tuple[str, float]], options: list[str], expected: tuple[float, ...]
) -> None:
    assert option_probabilities(logs(tokens), options)[0] == pytest.approx(expected)


@pytest.mark.parametrize("options", [["1", "10"], ["Yes", "yes "], ["Yes"], ["Yes", " "]])
def test_options_that_a_first_token_cannot_tell_apart(options: list[str]) -> None:
    with pytest.raises(RequestFailed, match="ambiguous"):
        option_probabilities(logs(TOKENS), options)


@given(
    st.lists(
        st.tuples(st.sampled_from(["yes", " Yes", "no", "N", "maybe", "", "Y"]), st.floats(-30, -0.01)),
        min_size=1,
    )
)
def test_probabilities_are_probabilities(tokens: list[tuple[str, float]]) -> None:
    try:
        probabilities, mass = option_probabilities(tokens, ["yes", "no"])
    except RequestFailed as failure:
        assert failure.kind == "no-mass"
        assert all(text.strip() in ("maybe", "") for text, _ in tokens)
        return
    assert sum(probabilities) == pytest.approx(1.0)
    assert all(0.0 <= probability <= 1.0 for probability in probabilities)
    assert 0.0 < mass <= 1.0
