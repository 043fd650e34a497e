"""Runs of the task `greeting` against the loopback server, as the tests of served models give them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GREETING = "Dear patient, rest and drink."
"""Scores 1; every other answer of the server scores 0."""


def write_rows(path: Path, messages: list[str]) -> None:
    """A dataset of these messages, numbered from 0."""
    rows = (json.dumps({"id": str(n), "message": text}) + "\n" for n, text in enumerate(messages))
    path.write_text("".join(rows))


def numbered(count: int) -> list[str]:
    """So many messages, none of which holds another."""
    return [f"message {n:05d} of a patient" for n in range(count)]


@dataclass(frozen=True)
class Served:
    """Runs pmbench against a server, with `out.json` for the results.

    Attributes:
        command: the fixture `pmbench`.
        server: the fixture `llm_server`.
        folder: where the command runs.
    """

    command: Callable[..., subprocess.CompletedProcess[str]]
    server: Any
    folder: Path

    def model(self, options: str = "", name: str = "m") -> str:
        """The specification of a model of the server."""
        return f"openai:{name}?base_url={self.server.v1}{options}"

    def arguments(self, *more: str, model: str = "") -> list[str]:
        """Those of `pmbench`."""
        asked = ["run", "-t", "greeting", "-d", "mine.jsonl", "-m", model or self.model()]
        return [*asked, "--json", "out.json", *more]

    def run(self, *more: str, model: str = "") -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return self.command(*self.arguments(*more, model=model))

    def results(self) -> dict[str, Any]:
        """The last results."""
        found: dict[str, Any] = json.loads((self.folder / "out.json").read_text())
        return found

    def scores(self) -> list[dict[str, Any]]:
        """The lines of all scores."""
        files = sorted((self.folder / "runs").rglob("scores.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def responses(self) -> dict[str, dict[str, Any]]:
        """The last line of each response, by the id of its instance."""
        files = sorted((self.folder / "runs").rglob("responses.jsonl"))
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return {line["id"]: line for line in lines}


def measured_apart(results: dict[str, Any]) -> dict[str, Any]:
    """Results without what is measured anew by every run: times."""
    kept = {name: value for name, value in results.items() if name != "finished_at"}
    times = ("seconds", "latency_median", "latency_p95")
    kept["usage"] = {
        part: {name: value for name, value in usage.items() if name not in times}
        for part, usage in results["usage"].items()
    }
    return kept
