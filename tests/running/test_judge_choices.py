"""What `--judge role=NAME?option=value` means, and several of them."""

from __future__ import annotations

import pytest

from pmbench.core.errors import ConfigError, UnknownName, UserError
from pmbench.running.judges import choose_judge, judges_of
from pmbench_tasks.drafting.task import SyPPM


def choice(role: str, given: str | None = None) -> tuple[str, str, dict[str, bool]]:
    found = choose_judge(SyPPM, role, given)
    return found.model, found.shown, {f: getattr(found.settings, f) for f in found.settings.__struct_fields__}


def test_without_a_judge_the_roles_own_method() -> None:
    assert choice("theme") == ("embedded", "embedded", {"multi": False, "together": False})


def test_an_option_of_the_role_is_the_roles_and_the_others_are_the_models() -> None:
    assert choice("theme", "embedded?multi=true")[:2] == ("embedded", "embedded?multi=true")
    model, shown, settings = choice("theme", "llama-cpp:m.gguf?context=4096&multi=true&slots=2")
    assert model == "llama-cpp:m.gguf?context=4096&slots=2"
    assert shown == "llama-cpp:m.gguf?context=4096&slots=2&multi=true"
    assert settings == {"multi": True, "together": False}


def test_a_default_that_is_said_changes_no_name() -> None:
    assert choice("theme", "smollm2-135m?multi=false")[:2] == ("smollm2-135m", "smollm2-135m")
    assert choice("content", "smollm2-135m")[:2] == ("smollm2-135m", "smollm2-135m")


@pytest.mark.parametrize(
    ("role", "given", "error", "words"),
    [
        (
            "themes",
            "embedded",
            UnknownName,
            "no judge role of syppm-editf1 called 'themes'. Did you mean theme?",
        ),
        ("theme", "embeded", UnknownName, "Did you mean embedded"),
        ("theme", "embedded?mult=true", UnknownName, "Did you mean multi?"),
        ("theme", "embedded?multi=perhaps", ConfigError, "option multi of judge theme"),
        ("theme", "smollm2-135m?multi=2", ConfigError, "option multi of judge theme"),
        ("theme", "", UserError, "empty"),
    ],
)
def test_what_cannot_be_understood_is_said(role: str, given: str, error: type[UserError], words: str) -> None:
    with pytest.raises(error) as raised:
        choose_judge(SyPPM, role, given)
    assert words in str(raised.value)


def test_each_judge_of_a_role_with_each_of_the_others() -> None:
    given = [("content", "a"), ("theme", "c"), ("content", "b")]
    assert judges_of(given) == [{"content": "a", "theme": "c"}, {"content": "b", "theme": "c"}]
    assert judges_of([]) == [{}]
    with pytest.raises(ConfigError, match="content=a is given twice"):
        judges_of([("content", "a"), ("content", "a")])
