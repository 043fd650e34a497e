"""MedHELM's jury: a benchmark's YAML names judges and a judge prompt, and the criteria stand in that prompt.

The form is that of MedHELM's configurable benchmarks (stanford-crfm/helm, docs/medhelm.md, Apache-2.0). The
prompt is not used: pmbench asks a judge in its own words. Its criteria are read, what it says about each, and
its scale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pmbench import DataError
from pmbench_tasks.notes.checklist import SCALES, Checklist, Item, Scale
from pmbench_tasks.notes.documents import json_value, read_text
from pmbench_tasks.notes.shapes import slug, text_of

_BLOCK = re.compile(r"<rubric_criteria>\s*(\{.*?\})\s*</rubric_criteria>", re.DOTALL)
_RANGES = (
    re.compile(r"\b([0-9])\s*(?:to|through|-|–)\s*([0-9]+)\b"),
    re.compile(r"\b([0-9])\s*=[^;()]*;[^()]*?\b([0-9]+)\s*="),
)


def is_medhelm(value: Any) -> bool:
    """Whether this is the configuration of a benchmark of MedHELM."""
    return isinstance(value, Mapping) and isinstance(value.get("metrics"), list) and "items" not in value


def jury_of(value: Mapping[str, Any], path: Path) -> Checklist:
    """The criteria of the `jury_score` of a benchmark, with its judges' names.

    Args:
        value: what the YAML holds.
        path: of the YAML; the judge prompt is a file in its folder or below.

    Raises:
        DataError: no `jury_score` or several, no judges, a prompt that is not there, or criteria or a scale
            that cannot be made out in it.
    """
    number, metric = _jury_metric(value["metrics"], str(path))
    place = f"{path}, metric {number}"
    prompt_path = _beside(path, text_of(metric, "prompt_file", place), place)
    prompt = read_text(prompt_path)
    names = _criteria(prompt, str(prompt_path))
    scale = _scale(_BLOCK.sub("", prompt), str(prompt_path))
    lines = _BLOCK.sub("", prompt).splitlines()
    return Checklist(
        name=text_of(value, "name", str(path)) or path.stem,
        items=tuple(Item(id=slug(name) or name, question=_said_of(name, names, lines)) for name in names),
        scale=scale,
        judges=_judges(metric, place),
        source=str(path),
    )


def _jury_metric(metrics: Sequence[Any], where: str) -> tuple[int, Mapping[str, Any]]:
    found = [
        (number, metric)
        for number, metric in enumerate(metrics, 1)
        if isinstance(metric, Mapping) and metric.get("name") == "jury_score"
    ]
    if len(found) != 1:
        what = "has no metric called jury_score" if not found else "has several metrics called jury_score"
        raise DataError(what, where=where, remedy="Only the criteria of one jury can be a checklist")
    return found[0]


def _judges(metric: Mapping[str, Any], place: str) -> tuple[str, ...]:
    judges = metric.get("judges")
    if not isinstance(judges, list) or not judges or not all(isinstance(one, Mapping) for one in judges):
        raise DataError("names no judges", where=place, remedy="Write judges: [{name: …, model_name: …}]")
    return tuple(
        text_of(judge, "model_name", f"{place}, judge {number}")
        or text_of(judge, "name", f"{place}, judge {number}")
        for number, judge in enumerate(judges, 1)
    )


def _beside(path: Path, name: str, place: str) -> Path:
    """The file of the judge prompt. A configuration from elsewhere must not name any file of this machine."""
    if not name:
        raise DataError("names no prompt_file", where=place, remedy="Write prompt_file: judge_prompt.txt")
    folder = path.resolve().parent
    try:
        inside = (folder / name).resolve().is_relative_to(folder)
        there = inside and (path.parent / name).is_file()
    except (OSError, ValueError):  # longer than a name can be, or with characters that no name has
        inside, there = True, False
    if not inside:
        raise DataError(
            "leads out of the folder of the YAML",
            where=f"{place}, prompt_file",
            remedy="Put the prompt beside it",
        )
    if not there:
        raise DataError(
            "there is no such file beside the YAML",
            where=f"{place}, prompt_file",
            remedy="Copy the judge prompt too",
        )
    return path.parent / name


def _criteria(prompt: str, where: str) -> list[str]:
    blocks = _BLOCK.findall(prompt)
    if not blocks:
        raise DataError(
            "has no <rubric_criteria>{…}</rubric_criteria>",
            where=where,
            remedy='Write an object with {"score": 0, "explanation": "…"} for each criterion in it',
        )
    value = json_value(blocks[-1], f"{where}, rubric_criteria")
    names = [name for name, one in value.items() if isinstance(one, Mapping) and "score" in one]
    if not names:
        raise DataError(
            "no criterion has a score", where=f"{where}, rubric_criteria", remedy='Write {"score": 0, …}'
        )
    return names


def _scale(prompt: str, where: str) -> Scale:
    """The one range of grades that the prompt speaks of."""
    found = {f"{low}-{high}" for pattern in _RANGES for low, high in pattern.findall(prompt)}
    known = [scale for scale in SCALES if scale in found]
    if len(known) == 1:
        return known[0]
    what = (
        "speaks of both 0 to 5 and 1 to 5"
        if known
        else "does not say that grades go from 1 to 5, or from 0 to 5"
    )
    raise DataError(what, where=where, remedy="Say the scale once: (assign a score from 1 to 5)")


def _said_of(name: str, names: Sequence[str], lines: Sequence[str]) -> str:
    """What the prompt says about a criterion: the line that begins with its name, and the lines below it."""
    others = [slug(other) for other in names if other != name]
    said: list[str] = []
    for line in lines:
        plain = slug(_bare(line))
        if not said and _begins(plain, slug(name)):
            said.append(_bare(line))
        elif said:
            if not plain or any(_begins(plain, other) for other in others):
                break
            said.append(_bare(line))
    return " ".join(" ".join(said).split()) or name


def _begins(line: str, name: str) -> bool:
    return line == name or line.startswith(f"{name}_")


def _bare(line: str) -> str:
    """A line without the signs of a list or of bold type."""
    return re.sub(r"^\s*(?:[-*•]\s+|\d+[.)]\s+|#+\s+)?", "", line).replace("**", "").strip()
