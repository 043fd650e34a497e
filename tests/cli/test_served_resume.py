"""A run against a server that is killed under load asks for nothing again that was stored, and ends the same."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from served_runs import GREETING, Served, measured_apart, numbered, write_rows

pytestmark = pytest.mark.usefixtures("plain_environment")

REQUESTS, IN_FLIGHT = 400, 32
AT_WORK = IN_FLIGHT + IN_FLIGHT // 4
"""Instances that are begun at once: those in flight, and a few more so that the next is ready."""


@pytest.fixture
def served(pmbench, llm_server, tmp_path: Path) -> Served:
    write_rows(tmp_path / "mine.jsonl", numbered(REQUESTS))
    # Some greet and some do not, so that results of other instances would be other results.
    scripts = {f"{n}3 of": GREETING for n in range(10)}
    llm_server.control(latency=20, answers=scripts)
    return Served(pmbench, llm_server, tmp_path)


def calm(served: Served) -> dict:
    """Results of the same run, undisturbed."""
    done = served.run("--runs", "calm")
    assert done.returncode == 0, done.stderr
    return measured_apart(served.results())


def started(served: Served, plugged: Path, *more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [plugged, "-m", "pmbench", *served.arguments("--concurrency", str(IN_FLIGHT), *more)],
        cwd=served.folder,
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def answered(served: Served) -> int:
    """Answers that the server has sent."""
    return int(served.server.stats(log=False)["by_status"].get("200", 0))


def stored(served: Served) -> int:
    """Answers that are safe, as the file itself tells."""
    path = served.folder / "runs" / "completions.sqlite"
    if not path.exists():
        return 0
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM completions").fetchone()[0])
    except sqlite3.OperationalError:  # killed before it had made its table
        return 0
    finally:
        connection.close()


def settled(served: Served) -> None:
    """Wait until the server has noticed that its client is gone."""
    until = time.monotonic() + 30
    while served.server.stats(log=False)["in_flight"] and time.monotonic() < until:
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_five_times_under_load_and_nothing_is_asked_for_twice(
    served: Served, plugged: Path, tmp_path: Path
) -> None:
    undisturbed = calm(served)
    served.server.reset()
    served.server.control(latency=20, answers={f"{n}3 of": GREETING for n in range(10)})
    moments = random.Random(4).sample(range(20, REQUESTS - 60), 5)
    lost = 0
    for moment in sorted(moments):
        process = started(served, plugged)
        while answered(served) < moment + lost and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        settled(served)
        uncommitted = answered(served) - lost - stored(served)
        assert 0 <= uncommitted <= AT_WORK
        lost += uncommitted
    done = served.run("--concurrency", str(IN_FLIGHT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert measured_apart(served.results()) == undisturbed
    stats = served.server.stats()
    assert stats["answered_again"] == lost
    assert stats["distinct"] == REQUESTS
    assert stats["most_in_flight"] <= IN_FLIGHT


def test_ctrl_c_under_load_leaves_what_was_answered(served: Served, plugged: Path) -> None:
    process = started(served, plugged)
    while answered(served) < 120 and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    settled(served)
    lost = answered(served) - stored(served)
    assert 0 <= lost <= AT_WORK
    found = served.results()
    assert found["status"] == "incomplete" and "interrupted" in found["reason"]
    assert found["counts"]["failed"] == 0 and found["counts"]["responded"] <= stored(served)
    done = served.run("--concurrency", str(IN_FLIGHT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.server.stats()["answered_again"] == lost
    undisturbed = measured_apart(served.results())
    assert undisturbed == calm(served)


@pytest.mark.slow
def test_killed_while_the_server_fails_every_fifth_request(served: Served, plugged: Path) -> None:
    undisturbed = calm(served)
    served.server.reset()
    scripts = {f"{n}3 of": GREETING for n in range(10)}
    served.server.control(latency=20, answers=scripts, faults=[{"kind": "500", "probability": 0.2}])
    process = started(served, plugged)
    while answered(served) < REQUESTS // 2 and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    settled(served)
    lost = answered(served) - stored(served)
    done = served.run("--concurrency", str(IN_FLIGHT))
    assert done.returncode == 0, done.stdout + done.stderr
    assert measured_apart(served.results()) == undisturbed
    assert served.server.stats()["answered_again"] == lost <= AT_WORK


@pytest.mark.slow
def test_the_second_of_two_models_at_one_server_goes_on_where_it_was(served: Served, plugged: Path) -> None:
    both = ("-m", served.model(name="other"))
    process = started(served, plugged, *both)
    while answered(served) < REQUESTS + 100 and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL
    settled(served)
    lost = answered(served) - stored(served)
    assert 0 <= lost <= AT_WORK
    done = served.run("--concurrency", str(IN_FLIGHT), *both)
    assert done.returncode == 0, done.stdout + done.stderr
    stats = served.server.stats()
    assert stats["answered_again"] == lost and stats["distinct"] == 2 * REQUESTS
    assert stats["most_in_flight"] <= IN_FLIGHT


def test_ctrl_c_lets_what_was_sent_come_to_its_end(served: Served, plugged: Path) -> None:
    """What a server works on is paid for: it is stored, and the same command does not ask for it again."""
    served.server.control(latency=1500, answers={"of": GREETING})
    process = started(served, plugged)
    while served.server.stats(log=False)["requests"] < 16:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    sent = served.server.stats(log=False)["requests"]
    assert stored(served) == sent
    served.server.control(answers={"of": GREETING})
    done = served.run()
    assert done.returncode == 0, done.stderr
    assert served.server.stats()["answered_again"] == 0
