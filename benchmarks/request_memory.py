"""Peak memory of `pmbench run` against a served model: few requests and many.

Run: python benchmarks/request_memory.py [--requests FEW MANY] [--in-flight N] [--folder DIR] [--trace]

The whole command, from its start to its results, in a process of its own, against a loopback server that answers at
once. What is printed is the most memory that it ever had resident (`ru_maxrss`), in MB of 10⁶ bytes: interpreter,
libraries, dataset, requests in flight, records of all answers and scores, statistics. With --trace the larger run is
made once more under `tracemalloc`, and the lines of the program that hold most when it ends are shown; memory that
numpy, SQLite and other libraries in C hold by themselves is not among it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from served import LoopbackLLM, Ran, load, plugged, ran, write

MOST_GROWTH = 100.0
"""MB between the two."""

TRACED = """\
import os, sys, tracemalloc
tracemalloc.start()
from pmbench.running import carrying_out
aggregate = carrying_out.aggregate
def shown(*arguments, **more):
    found = aggregate(*arguments, **more)
    taken = tracemalloc.take_snapshot()
    for line in taken.statistics("lineno")[:25]:
        print(f"TRACE {line.size / 1e6:8.1f} MB {line.count:9,} {line.traceback}")
    now, peak = tracemalloc.get_traced_memory()
    print(f"TRACE {now / 1e6:8.1f} MB at the end, {peak / 1e6:.1f} MB at most")
    return found
carrying_out.aggregate = shown
from pmbench.cli.main import main
sys.argv[0] = "pmbench"
sys.exit(main())
"""


def once(
    server: LoopbackLLM,
    place: Path,
    environment: dict[str, str],
    requests: int,
    in_flight: int,
    begin: list[str],
) -> Ran:
    """One run of so many requests.

    Args:
        server: a server without a plan.
        place: a folder for its files.
        environment: of the command.
        requests: how many.
        in_flight: at most; 0: as many as the server bears.
        begin: how the program is started.
    """
    server.reset()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        write(Path(folder) / "mine.jsonl", requests)
        command = [
            *begin,
            "run",
            "-t",
            "greeting",
            "-d",
            "mine.jsonl",
            "-m",
            f"openai:m?base_url={server.v1}",
        ]
        command += ["--concurrency", str(in_flight)] if in_flight else []
        done = ran([sys.executable, *command], Path(folder), environment)
    if done.status:
        raise SystemExit(f"a run ended with status {done.status}:\n{done.told[-3000:]}")
    asked = server.stats(log=False)["by_status"]
    if asked != {"200": requests}:
        raise SystemExit(f"the server saw something else: {asked}")
    return done


def main() -> None:
    """Print the peaks and what is between them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--requests", type=int, nargs=2, default=[2000, 50_000], metavar=("FEW", "MANY"))
    parser.add_argument("--in-flight", type=int, default=0, help="at most; 0: as many as the server bears")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where runs are")
    parser.add_argument("--trace", action="store_true", help="what holds it")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place, LoopbackLLM() as server:
        print(f"requests | peak MB | command s | CPU ms/request | load\nload {load()} at the beginning")
        peaks, environment = [], plugged(Path(place))
        for requests in given.requests:
            done = once(server, Path(place), environment, requests, given.in_flight, ["-m", "pmbench"])
            peaks.append(done.peak)
            cpu = 1000 * done.cpu / requests
            print(f"{requests} | {done.peak:.0f} | {done.wall:.0f} | {cpu:.2f} | {load()}", flush=True)
        growth = peaks[1] - peaks[0]
        verdict = "kept" if growth < MOST_GROWTH else "MISSED"
        print(f"growth {growth:.0f} MB [less than {MOST_GROWTH:g}: {verdict}]", flush=True)
        if given.trace:
            told = once(
                server, Path(place), environment, given.requests[1], given.in_flight, ["-c", TRACED]
            ).told
            print("\n".join(line.removeprefix("TRACE") for line in told.splitlines() if "TRACE" in line))


if __name__ == "__main__":
    main()
