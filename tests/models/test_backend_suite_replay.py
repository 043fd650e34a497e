"""The conformance suite against `replay`."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from pmbench.core.model import Completion
from pmbench.models.backend import Request
from pmbench.testing import BackendSuite

ANSWERS = {f"case {number}": f"Answer {number}: rest, and drink a lot." for number in range(40)}


class TestReplay(BackendSuite):
    deterministic = True
    counts = False
    instances = tuple(ANSWERS)
    deciding: ClassVar = {"column": ("text", "other"), "id": ("id", "number")}

    @pytest.fixture(autouse=True)
    def _recorded(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        file = tmp_path_factory.getbasetemp() / "answers.jsonl"
        rows = [
            {"id": id_, "number": number, "text": text, "other": text.upper()}
            for number, (id_, text) in enumerate(ANSWERS.items())
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.spec = f"replay:{file}"

    def tells(self, request: Request, completion: Completion) -> bool:
        return completion.text == ANSWERS[request.instance]
