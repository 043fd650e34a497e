"""The main job on the real embedded models, in second processes: killed, repeated, judged, offline."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("models")]

N = 6
RUN = ["run", "-t", "syppm-editf1", "-d", "demo", "-m", "smollm2-135m", "-n", str(N), "--max-tokens", "24"]


def pmbench(folder: Path, *arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "pmbench", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def stored(folder: Path) -> dict[str, bytes]:
    store = folder / "runs" / "completions.sqlite"
    if not store.exists():
        return {}
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        try:
            found = dict(connection.execute("SELECT key, value FROM completions"))
        except sqlite3.OperationalError:  # killed before the table was made
            found = {}
    connection.close()
    return found


def results(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(folder.glob("runs/**/results.json")).read_text())
    del found["finished_at"]
    for usage in found["usage"].values():
        for measured in ("seconds", "latency_median", "latency_p95"):
            del usage[measured]
    return found


def responses(folder: Path) -> list[tuple[str, str]]:
    lines = next(folder.glob("runs/**/responses.jsonl")).read_text().splitlines()
    return [(record["id"], record["text"]) for record in map(json.loads, lines)]


def test_killed_three_times_it_ends_as_if_undisturbed(tmp_path: Path) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    calm.mkdir()
    stormy.mkdir()
    done = pmbench(calm, *RUN)
    assert done.returncode == 0, done.stderr

    chance = random.Random(5)
    for kill in range(3):
        enough = min(N - 1, len(stored(stormy)) + kill)
        process = subprocess.Popen(
            [sys.executable, "-m", "pmbench", *RUN],
            cwd=stormy,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while len(stored(stormy)) < enough and process.poll() is None:
            time.sleep(0.02)
        time.sleep(chance.random())
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) in (-signal.SIGKILL, 0)

    kept = stored(stormy)
    done = pmbench(stormy, *RUN)
    assert done.returncode == 0, done.stderr
    # What was in flight when it was killed is asked again; what was stored is not, and stays as it was.
    asked = int(done.stdout.split("requests made now: ")[1].split(";")[0])
    assert asked == N - len(kept)
    assert kept.items() <= stored(stormy).items()
    assert len(stored(stormy)) == N
    assert responses(stormy) == responses(calm)
    assert results(stormy) == results(calm)


def test_a_real_model_as_judge_scores_or_says_that_it_could_not(tmp_path: Path) -> None:
    rows = [
        {
            "id": "1",
            "message": "My knee hurts.",
            "response": "Rest the knee. Call us on Monday.",
            "draft": "Please rest your knee. See you soon.",
        },
        {"id": "2", "message": "I ran out of pills.", "response": "I sent a refill.", "draft": ""},
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["run", "-t", "syppm-editf1", "-m", "replay:@draft", "-d", "mine.jsonl"]
    done = pmbench(tmp_path, *command, "--judge", "content=smollm2-135m", "--max-missing", "1")
    assert done.returncode == 0, done.stderr
    found = results(tmp_path)
    assert found["judges"] == {"content": "smollm2-135m", "theme": "embedded"}
    assert found["counts"]["scored"] + found["counts"]["missing"] == 2
    assert found["counts"]["scored"] >= 1  # the empty draft needs no judge
    assert found["usage"]["judges"]["calls"] in (2, 3, 4)  # two sentences, each at most once repaired
    embedded = pmbench(tmp_path, *command)
    assert embedded.returncode == 0
    assert len(list(tmp_path.glob("runs/*/*/*/scores/*/results.json"))) == 2
    assert len(list(tmp_path.glob("runs/*/*/*/responses.jsonl"))) == 1


def test_everything_works_with_the_network_cut(tmp_path: Path) -> None:
    # Nothing but this machine itself: the loopback device is there, as it is on every machine without a network.
    up = (
        "import fcntl, os, socket, struct, sys\n"
        "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 0x41))\n"  # SIOCSIFFLAGS: up, running
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    cut = ("unshare", "--net", "--map-root-user", sys.executable, "-c", up)
    if not shutil.which("unshare") or subprocess.run([*cut, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let a process leave the network")
    done = pmbench(tmp_path, *RUN[:-4], "-n", "2", "--max-tokens", "8", before=cut)
    assert done.returncode == 0, done.stderr
    board = pmbench(tmp_path, "leaderboard", "-t", "syppm-editf1", "-o", "board.md", before=cut)
    assert board.returncode == 0, board.stderr
    assert "smollm2-135m" in (tmp_path / "board.md").read_text()


def test_the_same_command_again_loads_no_model(tmp_path: Path) -> None:
    assert pmbench(tmp_path, *RUN).returncode == 0
    code = (
        "import sys; from pmbench.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        "sys.exit(status or ('loaded' if {'xllamacpp', 'onnxruntime'} & set(sys.modules) else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code, *RUN], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


ONCQA = Path(os.environ.get("PMBENCH_SHARED", Path(__file__).parents[3] / "shared")) / "data" / "oncqa"


@pytest.mark.skipif(not ONCQA.exists(), reason="OncQA's files are not here; they are not part of the project")
def test_oncqa_with_gpt4s_drafts(tmp_path: Path) -> None:
    done = pmbench(tmp_path, "run", "-t", "oncqa-editf1", "-m", "replay:@draft", "-d", str(ONCQA))
    assert done.returncode == 0, done.stderr
    found = results(tmp_path)
    assert found["status"] == "complete" and found["counts"]["scored"] == 156
    assert found["statistics"]["clusters"] == 100
    assert 0.1 < found["metrics"]["content_f1"]["value"] < 0.4
