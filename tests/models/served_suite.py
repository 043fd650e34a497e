"""The conformance suite against the loopback server of the vendors' protocols, for each backend that is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from pmbench.testing import BackendSuite

VARIABLE, KEY = "SUITE_KEY", "sk-suite-0123456789abcdef"

SERVED_NOT_DECIDING: Mapping[str, tuple[str, str]] = {
    "key": ("SUITE_KEY", "ANOTHER_KEY"),
    "timeout": ("10", "20"),
}


SERVED_BAD_OPTIONS: Mapping[str, str] = {"base_url": "nowhere", "key": "sk-0123", "timeout": "-1"}


class ServedSuite(BackendSuite):
    """Give `model`; its server is there for each test, and knows what is asked when there is something to choose.

    Attributes:
        model: the specification without a server.
        path: of the server's address.
    """

    model: ClassVar[str]
    path: ClassVar[str] = ""
    deterministic = True
    bad_options: ClassVar = SERVED_BAD_OPTIONS

    @pytest.fixture(autouse=True)
    def _at_a_server(
        self,
        llm_server: Any,
        plain_environment: None,
        monkeypatch: pytest.MonkeyPatch,
        request: pytest.FixtureRequest,
    ) -> None:
        monkeypatch.setenv(VARIABLE, KEY)
        monkeypatch.setenv("ANOTHER_KEY", "sk-another-0123456789")
        under_way = any(word in request.node.name for word in ("cancel", "closing"))
        llm_server.control(
            latency=400 if under_way else 0,
            key=KEY,
            choices={"after exercise urgent": {"Yes": 0.6, "No": 0.3}},
        )
        mark = "&" if "?" in self.model else "?"
        self.spec = f"{self.model}{mark}base_url={llm_server.url}{self.path}&key={VARIABLE}"
