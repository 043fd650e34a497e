"""For authors of plugins: the promises of the house, as tests. Needs pytest: `pip install "pmbench[testing]"`.

from pmbench.testing import BackendSuite

class TestMine(BackendSuite):
    spec = "mine:small"
"""

from __future__ import annotations

import importlib.util

from pmbench.core.errors import MissingExtra

if importlib.util.find_spec("pytest") is None:
    raise MissingExtra("pmbench.testing", "testing", "pytest")

import pytest

# An assertion that fails then says what it compared, as in a test of one's own.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{part}"
        for part in ("suite", "starting", "chatting", "features", "crowds", "numbers", "hostile")
    )
)

from pmbench.testing.backend_suite import BackendSuite  # noqa: E402

__all__ = ["BackendSuite"]
