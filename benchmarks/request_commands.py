"""Whole commands against a served model: `pmbench run` from start to results, beside lm-eval and Inspect.

Run: python benchmarks/request_commands.py [--requests N] [--rounds N] [--latency MS] [--in-flight N] [--whole N]
     [--folder DIR]
     PMBENCH_LMEVAL and PMBENCH_INSPECT name the `python` of environments that have lm-eval (with its extra `api`)
     and inspect-ai; a harness whose environment is not there is left out, and that is said.

First, in every round one after the other: each harness asks the same questions of the same loopback server, which
answers after a fixed time, with the same number in flight, and scores the answers by comparing texts. The request
phase is what the server saw: from the first request to the last answer. Then pmbench alone with its defaults and many
more requests, where the start counts for less: the whole command against its own request phase.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from served import LoopbackLLM, Ran, load, middle, phase, plain, plugged, ran, write

MOST_WHOLE = 1.3
"""Most seconds of the whole command, of those of its request phase."""

TOKENS = "50"
Harness = Callable[[LoopbackLLM, Path, int], Ran]

LMEVAL_TASK = """\
task: greeting_questions
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: generate_until
doc_to_text: "{{message}}"
doc_to_target: "Dear patient"
generation_kwargs: {until: [], max_gen_toks: 50, do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def greeting_questions():
    data = json_dataset("mine.jsonl", FieldSpec(input="message", target="target", id="id"))
    return Task(dataset=data, solver=generate(), scorer=match())
"""


def pmbench(environment: Mapping[str, str]) -> Harness:
    """`pmbench run -t greeting`; with 0 in flight as many as the server bears."""

    def run(server: LoopbackLLM, folder: Path, in_flight: int) -> Ran:
        command = ["-m", "pmbench", "run", "-t", "greeting", "-d", "mine.jsonl", "--quiet"]
        command += ["-m", f"openai:m?base_url={server.v1}"]
        command += ["--concurrency", str(in_flight)] if in_flight else []
        return ran([sys.executable, *command], folder, environment)

    return run


def lm_eval(python: str) -> Harness:
    """lm-eval's `local-chat-completions`, a task of one question each."""

    def run(server: LoopbackLLM, folder: Path, in_flight: int) -> Ran:
        (folder / "greeting.yaml").write_text(LMEVAL_TASK.replace("FILE", str(folder / "mine.jsonl")))
        about = f"model=m,base_url={server.v1}/chat/completions,num_concurrent={in_flight},max_retries=3"
        about += ",tokenized_requests=False,tokenizer_backend=None"
        command = ["-m", "lm_eval", "run", "--model", "local-chat-completions", "--model_args", about]
        command += ["--tasks", "greeting_questions", "--include_path", str(folder), "--apply_chat_template"]
        command += ["--output_path", str(folder / "out"), "--log_samples"]
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
        return ran([python, *command], folder, {**plain(), **offline, "OPENAI_API_KEY": "none"})

    return run


def inspect(python: str) -> Harness:
    """Inspect's `openai` provider, a task of one question each."""

    def run(server: LoopbackLLM, folder: Path, in_flight: int) -> Ran:
        rows = [json.loads(line) for line in (folder / "mine.jsonl").read_text().splitlines()]
        lines = (json.dumps({**row, "target": "Dear patient"}) + "\n" for row in rows)
        (folder / "mine.jsonl").write_text("".join(lines))
        (folder / "greeting.py").write_text(INSPECT_TASK)
        command = ["-m", "inspect_ai", "eval", "greeting.py", "--model", "openai/m", "--max-tokens", TOKENS]
        command += ["-M", "responses_api=false", "--max-connections", str(in_flight)]
        command += ["--max-samples", str(in_flight), "--temperature", "0"]
        command += ["--display", "none", "--log-dir", "logs"]
        keys = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.v1, "HOME": str(folder)}
        return ran([python, *command], folder, {**plain(), **keys})

    return run


def harnesses(environment: Mapping[str, str]) -> dict[str, Harness]:
    """Those whose environments are there; says which are not."""
    found = {"pmbench": pmbench(environment)}
    others = {
        "PMBENCH_LMEVAL": ("lm_eval", lm_eval),
        "PMBENCH_INSPECT": ("inspect_ai", inspect),
    }
    for variable, (module, make) in others.items():
        python = os.environ.get(variable, "")
        version = f"import importlib.metadata as m; print(m.version({module.replace('_', '-')!r}))"
        asked = python and subprocess.run(
            [python, "-c", version], capture_output=True, text=True, check=False
        )
        if not asked or asked.returncode:
            print(f"{module} is left out: {variable} names no python that has it")
            continue
        found[f"{module} {asked.stdout.strip()}"] = make(python)
    return found


def once(
    server: LoopbackLLM, harness: Harness, place: Path, requests: int, in_flight: int
) -> dict[str, float]:
    """What one whole command took."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        write(Path(folder) / "mine.jsonl", requests)
        done = harness(server, Path(folder), in_flight)
    if done.status:
        raise SystemExit(f"a command ended with status {done.status}:\n{done.told[-3000:]}")
    answered, seconds = phase(server)
    if answered != requests:
        raise SystemExit(f"{answered} requests were answered, not {requests}:\n{done.told[-3000:]}")
    return {
        "rate": requests / seconds,
        "phase": seconds,
        "wall": done.wall,
        "whole": done.wall / seconds,
        "cpu": 1000 * done.cpu / requests,
        "peak": done.peak,
    }


def row(name: str, runs: list[dict[str, float]]) -> None:
    """One line of a table."""
    digits = {"rate": 0, "phase": 1, "wall": 1, "whole": 2, "cpu": 2, "peak": 0}
    cells = [middle([run[key] for run in runs], places) for key, places in digits.items()]
    print(" | ".join([name, *cells]), flush=True)


HEAD = "harness | requests/s in the phase | phase s | command s | command/phase | CPU ms/request | peak MB"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--latency", type=float, default=50, help="of the server, in ms")
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument(
        "--whole", type=int, default=10_000, help="requests of the second table; 0: leave it out"
    )
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where runs are")
    given = parser.parse_args()
    print(f"{given.latency:g} ms, {given.rounds} rounds; median (lowest to highest)")
    with tempfile.TemporaryDirectory(dir=given.folder) as place, LoopbackLLM() as server:
        environment = plugged(Path(place))
        if given.requests:
            found = harnesses(environment)
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in found}
            print(f"\n{given.requests} requests, {given.in_flight} in flight, load {load()}\n{HEAD}")
            for _ in range(given.rounds):
                for name, harness in found.items():
                    server.reset()
                    server.control(latency=given.latency)
                    one = once(server, harness, Path(place), given.requests, given.in_flight)
                    runs[name].append(one)
            for name in found:
                row(name, runs[name])
        if given.whole:
            print(f"\n{given.whole} requests, as many in flight as the server bears, load {load()}\n{HEAD}")
            whole = []
            for _ in range(given.rounds):
                server.reset()
                server.control(latency=given.latency)
                whole.append(once(server, pmbench(environment), Path(place), given.whole, 0))
            row("pmbench", whole)
            ratio = statistics.median(run["whole"] for run in whole)
            print(f"[at most {MOST_WHOLE:g}: {'kept' if ratio <= MOST_WHOLE else 'MISSED'}]")
    print(f"\nload {load()} at the end")


if __name__ == "__main__":
    main()
