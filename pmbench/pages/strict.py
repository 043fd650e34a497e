"""A page that asks for nothing: one style sheet and one script, let through by their digests, and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from pmbench.pages.visible import visible

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def text_of(package: str, folder: str, name: str) -> str:
    """A file of a package."""
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def style(own: str) -> str:
    """The style sheet of all pages, and below it a page's own."""
    return f"{text_of(str(__package__), '.', 'page.css')}{own}"


def policy(style: str, script: str) -> str:
    """The content security policy of a page with this style sheet and this script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def environment(package: str, folder: str) -> Environment:
    """Templates of a package in which every text is escaped, whosever it is, and made visible; markup stays."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader(str(__package__), ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
