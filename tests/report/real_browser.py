"""A real Chromium for tests of pages: as fixtures, and what axe-core has against a page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser of the system, closed with its module: while it is open no other loop of asyncio can run."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no chromium here (Debian's package of that name)")
    driver = pytest.importorskip("playwright.sync_api", reason="there is no playwright here")
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file in a window of its own; whatever it asks for or complains of is in `page.heard`."""
    contexts = []

    def window(file: Path, **options: Any) -> Any:
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.heard = []
        page.on("console", lambda message: page.heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: page.heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (page.heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: page.heard.append(f"request: {request.url}"))
        page.goto(file.as_uri())
        assert page.heard.pop(0) == f"request: {file.as_uri()}"
        return page

    yield window
    for context in contexts:
        context.close()


def violations(page: Any) -> list[str]:
    """What axe-core has against the page: rule and the first element."""
    if (package := find_spec("axe_playwright_python")) is None or package.origin is None:
        pytest.skip("there is no axe-core here (the package axe-playwright-python brings it)")
    page.evaluate(Path(package.origin).with_name("axe.min.js").read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"], "axe looked at nothing"
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
