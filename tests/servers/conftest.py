"""Nothing in the environment leads the clients of these tests elsewhere."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _plain(plain_environment: None) -> None:
    pass
