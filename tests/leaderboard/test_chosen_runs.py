"""`--runs` with wildcards: which runs a table is made of."""

from pathlib import Path

import pytest
from made_runs import Made, Toy, write

from pmbench.core.errors import StorageError
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.tested import Resampling

FAST = Resampling(resamples=200, permutations=200)


def models(runs: Path) -> list[str]:
    return sorted(row.model for table in leaderboard(Toy, runs, statistics=FAST).tables for row in table.rows)


@pytest.fixture
def there(tmp_path: Path) -> Path:
    for site in ("site-a", "site-b", "other"):
        for number, strategy in enumerate(("zero-shot", "thematic")):
            write(
                tmp_path / site, Made(model=f"{site} {strategy}", strategy=strategy, skill=0.2 + number / 4)
            )
    return tmp_path


def test_wildcards_choose_runs_or_runs_folders(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert models(there / "other") == ["other thematic", "other zero-shot"]
    assert models(there / "other" / "*" / "*" / "thematic-*") == ["other thematic"]
    assert models(there / "site-?") == [
        f"site-{site} {how}" for site in "ab" for how in ("thematic", "zero-shot")
    ]
    assert models(there / "site-*" / Toy.name / "*" / "zero-*") == ["site-a zero-shot", "site-b zero-shot"]
    monkeypatch.chdir(there)
    assert models(Path("other/*/*/zero-*")) == ["other zero-shot"], "a path from here"


def test_what_matches_nothing_is_said(there: Path) -> None:
    with pytest.raises(StorageError, match="no run and no runs folder matches"):
        models(there / "nowhere-*")
    assert models(there / "other" / "*" / "*" / "*") == models(there / "other")


def test_a_folder_that_is_called_like_a_pattern_is_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "runs [old]", Made(model="a"))
    assert models(tmp_path / "runs [old]") == ["a"]
