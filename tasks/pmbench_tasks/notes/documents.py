"""JSON and YAML files that hold one document, with the place of whatever is broken and never its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmbench import DataError
from pmbench_tasks import json_files
from pmbench_tasks.json_files import read_bytes, utf8_text

if TYPE_CHECKING:
    import yaml

LARGEST = 1_000_000
"""Bytes of the largest file that is read as one document: a checklist is much smaller."""

DEEPEST = 20
"""How deep YAML may be nested."""


def read_text(path: Path, *, shown: str = "") -> str:
    """The text of a regular file in UTF-8, without a byte order mark.

    Args:
        path: the file; shown: how messages call it, by default its path.

    Raises:
        DataError: there is none, it cannot be read, is not UTF-8, or is far larger than a checklist.
    """
    where = shown or str(path)
    data = read_bytes(path, shown=where, most=LARGEST + 1)
    if len(data) > LARGEST:
        most = f"{LARGEST // 1_000_000} MB"
        raise DataError(
            f"is larger than {most}, which no checklist is",
            where=where,
            remedy="Check that it is the right file",
        )
    return utf8_text(data, where)


def json_value(text: str, where: str) -> Any:
    """What a JSON text holds.

    Raises:
        DataError: it is broken (line and column), nested too deeply, has a key twice in an object, or holds
            what JSON does not have.
    """
    value = json_files.json_value(text, where, flat="a list of items")
    try:
        # A "\\ud800" is half of a character: it could not be sent to a model.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise DataError("JSON nested too deeply", where=where, remedy="Write a list of items") from None
    except UnicodeEncodeError:
        raise DataError("half of a surrogate pair (\\ud800…)", where=where, remedy="Write it anew") from None
    return value


def yaml_value(text: str, where: str) -> Any:
    """What a YAML text of one document holds: lists, mappings, texts, numbers, true, false and null.

    Read by PyYAML's safe loader, with less in it: no aliases (a few lines of them can stand for gigabytes),
    no tags, no key twice in a mapping, not nested deeper than 20. `yes`, `no`, `on` and dates are texts, as
    in YAML 1.2.

    Raises:
        DataError: it is broken (line and column), or has one of these.
    """
    import yaml

    from pmbench_tasks.notes.plain_yaml import PlainLoader, Refused

    try:
        # PlainLoader is a SafeLoader.
        return yaml.load(text, Loader=PlainLoader)  # noqa: S506
    except Refused as error:
        raise DataError(str(error), where=_place(error, where), remedy="Write it out in full") from None
    except yaml.YAMLError as error:
        raise DataError("no valid YAML", where=_place(error, where), remedy="Mend the file") from None
    except RecursionError:
        raise DataError("YAML nested too deeply", where=where, remedy="Write a list of items") from None
    except ValueError:
        raise DataError("a number that cannot be read", where=where, remedy="Mend the file") from None


def _place(error: yaml.YAMLError, where: str) -> str:
    mark = getattr(error, "problem_mark", None)
    return where if mark is None else f"{where}, line {mark.line + 1}, column {mark.column + 1}"
