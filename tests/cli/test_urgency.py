"""An inbox put in order by the real embedded model, in second processes: killed, grown, compared, kept at home."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from test_real_model import pmbench, stored

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("models")]

TASK = ["-t", "inbox-triage", "-d", "inbox.jsonl"]
RUN = ["run", *TASK, "-m", "smollm2-135m"]
TEXTS = (
    (1, "My chest is tight and my arm is numb."),
    (6, "Thank you for the kind visit."),
    (3, "My cough is worse, with a fever since Monday."),
    (5, "Can I have my pills for three months?"),
    (2, "My calf is swollen and hot after the flight."),
    (4, "My knee still hurts on the stairs."),
    (1, "Half of my face droops since an hour."),
    (6, "I have a new phone number."),
    (3, "It burns when I pass water."),
    (5, "Do I need a shot before I travel?"),
    (2, "I see flashes and a curtain in one eye."),
    (4, "The rash on my hand comes back."),
)


def write_inbox(folder: Path, count: int = 6) -> None:
    folder.mkdir(exist_ok=True)
    rows = [
        {"id": f"m{n}", "inbox": "monday", "message": text, "level": level}
        for n, (level, text) in enumerate(TEXTS[:count])
    ]
    (folder / "inbox.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def arrays(folder: Path) -> Any:
    line = next(folder.glob("runs/inbox-triage/smollm2-135m/pairwise-*/scores/*/scores.jsonl")).read_text()
    record = json.loads(line)
    return record["arrays"], record["stats"]


def requests_made(done: subprocess.CompletedProcess[str]) -> int:
    return int(done.stdout.split("requests made now: ")[1].split(";")[0])


def test_killed_half_way_it_ends_as_if_undisturbed_to_the_last_bit(tmp_path: Path) -> None:
    """Beginnings that prompts share are read once; where the run was cut must not show in any number."""
    calm, stormy = tmp_path / "calm", tmp_path / "stormy"
    write_inbox(calm)
    write_inbox(stormy)
    done = pmbench(calm, *RUN)
    assert done.returncode == 0 and requests_made(done) == 30, done.stderr
    process = subprocess.Popen(
        [sys.executable, "-m", "pmbench", *RUN],
        cwd=stormy,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(stored(stormy)) < 13 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    kept = len(stored(stormy))
    assert 13 <= kept < 30
    again = pmbench(stormy, *RUN)
    assert again.returncode == 0 and requests_made(again) == 30 - kept, again.stderr
    assert stored(stormy).keys() == stored(calm).keys()
    assert arrays(stormy) == arrays(calm)


def test_a_message_that_arrives_costs_its_own_comparisons_and_sorts_share_them(tmp_path: Path) -> None:
    write_inbox(tmp_path, 3)
    assert requests_made(pmbench(tmp_path, *RUN)) == 6
    write_inbox(tmp_path, 4)
    assert requests_made(pmbench(tmp_path, *RUN)) == 6
    merged = pmbench(tmp_path, *RUN, "-s", "merge")
    assert merged.returncode == 0 and requests_made(merged) == 0
    one = pmbench(tmp_path, *RUN, "-o", "orders=one")
    assert one.returncode == 0 and requests_made(one) == 0


def test_all_strategies_stand_side_by_side_and_the_order_can_be_read(tmp_path: Path) -> None:
    write_inbox(tmp_path, 10)
    strategies = [
        part for name in ("multiclass", "listwise", "active", "length", "random") for part in ("-s", name)
    ]
    done = pmbench(tmp_path, *RUN, *strategies, "-o", "budget=8")
    assert done.returncode == 0, done.stdout + done.stderr
    planned = pmbench(tmp_path, *RUN, "--dry-run").stdout
    assert "\nrequests  90 to the model, 0 to judges\n" in planned, "10 messages: 90 calls, exactly"
    board = pmbench(tmp_path, "leaderboard", "-t", "inbox-triage", "-o", "board.md")
    assert board.returncode == 0, board.stderr
    page = (tmp_path / "board.md").read_text()
    rows = [line for line in page.split("### ")[0].splitlines() if line.startswith("| ") and "`" in line]
    assert {row.split("`")[3] for row in rows} == {"multiclass", "listwise", "active", "length", "random"}
    assert all(row.count("[") >= 1 for row in rows), "each with its interval"
    assert "messages drawn again and put in order anew" in page
    assert not any(text in page + board.stdout + done.stdout + done.stderr for _, text in TEXTS)
    run = next(tmp_path.glob("runs/inbox-triage/none/length-*"))
    shown = pmbench(tmp_path, "show", str(run), "--instance", "monday")
    assert shown.returncode == 0 and "Inbox monday: 10 messages" in shown.stdout
    assert TEXTS[0][1] in shown.stdout, "here is where its text may be seen"


def test_an_inbox_of_ones_own_goes_to_no_server(tmp_path: Path) -> None:
    write_inbox(tmp_path)
    for more in (("-m", "gpt-4o"), ("-m", "openai:x?base_url=http://192.0.2.1:8000/v1", "-s", "listwise")):
        done = pmbench(tmp_path, "run", *TASK, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert "the data are phi and would be sent to" in done.stderr and done.stderr.count("\n") == 1
