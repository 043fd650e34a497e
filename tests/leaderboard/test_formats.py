"""Markdown, CSV, JSON and LaTeX of one board: the same systems in the same order, and no name breaks them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import SENTINEL, Made, Page, Themed, Toy, themed, write

from pmbench.core.errors import ConfigError
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.columns import FIXED, columns, parse
from pmbench.leaderboard.csv_page import guarded, render_csv
from pmbench.leaderboard.formats import FORMATS, files, formats_of
from pmbench.leaderboard.json_page import SCHEMA, render_json
from pmbench.leaderboard.latex import number, render_latex, tex
from pmbench.leaderboard.markdown import render_markdown
from pmbench.leaderboard.reported import Reported, ReportedRow
from pmbench.leaderboard.table import Leaderboard
from pmbench.leaderboard.tested import Resampling

FAST = Resampling(resamples=300, permutations=300)
HOSTILE = r"\input{/etc/passwd} 100% of $x_1^2$ & #1 ~{}"
PAPER = Reported(
    [ReportedRow("GPT_x & co", "0-shot", "Table 4", {"f1": "0.50", "other": "1"})], source="A paper"
)


def board(runs: Path, *made: Made, task: type[Toy] = Toy) -> Leaderboard:
    for one in made:
        write(runs, one, task)
    return leaderboard(task, runs, statistics=FAST)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_every_number_in_full_precision(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b", skill=0.7, failed=frozenset({1})))
    lines = rows(render_csv(found, Reported()))
    for line, row in zip(lines, found.tables[0].rows, strict=True):
        for name, measure in row.measures.items():
            assert float(line[name]) == measure.value
            assert float(line[f"{name}_low"]) == measure.low and float(line[f"{name}_high"]) == measure.high
        assert (line["system"], line["strategy"]) == (row.model, row.strategy)
        assert line["fingerprint"] == "f" * 64 and line["run"] == row.run
    assert [line["failed"] for line in lines] == ["1", "0"]
    second = found.tables[0].rows[1].against
    assert second is not None
    assert float(lines[1]["difference"]) == second.difference
    assert float(lines[1]["p"]) == second.p and float(lines[1]["p_holm"]) == second.p_adjusted
    assert lines[0]["p"] == lines[0]["difference"] == ""


def test_the_best_is_first_whatever_columns_are_chosen(tmp_path: Path) -> None:
    found = board(tmp_path, Made(skill=0.3), Made(model="b", skill=0.9), Made(model="c", skill=0.6))
    names = parse("words, p,scored", [head.name for head in found.metrics])
    lines = rows(render_csv(found, Reported(), names))
    assert [line["system"] for line in lines] == ["b", "c", "smollm2-135m"]
    assert list(lines[0]) == [
        *["kind", "task", "table", "row", "system", "strategy", "settings"],
        *["words", "words_low", "words_high", "p", "p_holm", "scored", "samples"],
        *["status", "data", "fingerprint", "task_version", "instances", "pmbench"],
    ]
    page = Page(render_markdown(found, Toy, names))
    assert page.tables[0][0] == ["#", "System", "Strategy", "Words to delete (words) ↓", "p (Holm)", "Scored"]
    assert [line[1] for line in page.tables[0][1:]] == ["b", "c", "smollm2-135m"]
    assert len(page.tables) == 1


def test_a_column_that_is_none_tells_the_nearest_and_few_others() -> None:
    own = ["f1", "words", *(f"theme_f1_{place}" for place in range(40))]
    beside = (
        "Beside metrics: difference, p, letters, rank, best, scored, lost, judges, cost, judges-cost, seconds,"
        " seconds-p95, run. All names head the columns of --format csv"
    )
    with pytest.raises(ConfigError) as caught:
        parse("f1,nonsense", own)
    assert str(caught.value) == (
        "--columns: there is no column called 'nonsense'. Of metrics there are f1, words, theme_f1_0, theme_f1_1,"
        f" theme_f1_2, theme_f1_3, theme_f1_4, theme_f1_5, and 34 more. {beside}"
    )
    for wrong, meant in (("word", "words"), ("diference", "difference"), ("leters", "letters")):
        with pytest.raises(ConfigError) as caught:
            parse(wrong, own)
        assert str(caught.value).endswith(f"Did you mean {meant}? {beside}")
    with pytest.raises(ConfigError, match="no column is named"):
        parse(" , ", ["f1"])


def test_a_metric_called_as_a_fixed_column_is_not_lost() -> None:
    assert parse("metric:p,p,p", ["p"]) == ["metric:p", "p"]


def test_every_column_has_a_cell_and_a_value_for_every_system(tmp_path: Path) -> None:
    found = board(tmp_path, Made(more=themed(12, 3)), Made(model="b", more=themed(3, 6)), task=Themed)
    chosen = columns(found)
    assert {column.name for column in chosen} == {head.name for head in found.metrics} | set(FIXED)
    for row in found.tables[0].rows:
        for column in chosen:
            assert column.cell(row)[0] != ""
            assert column.values(row)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "=cmd|' /C calc'!A0"]


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_of_text_is_a_formula(tmp_path: Path, name: str) -> None:
    found = board(tmp_path, Made(model=name), Made(model="b", skill=0.7))
    line = next(line for line in rows(render_csv(found, Reported())) if line["system"] != "b")
    assert line["system"] == "'" + name.translate({ord(one): " " for one in "\t\r\n"})


def test_negative_numbers_are_numbers_in_csv(tmp_path: Path) -> None:
    found = board(tmp_path, Made(skill=0.3), Made(model="b", skill=0.9))
    [difference] = [line["difference"] for line in rows(render_csv(found, Reported())) if line["difference"]]
    assert float(difference) < 0


@given(st.text())
def test_a_cell_is_one_line_begins_no_formula_and_is_else_as_it_was(text: str) -> None:
    cell = guarded(text)
    assert isinstance(cell, str)
    assert len(cell.splitlines()) <= 1
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))
    assert cell in (text, f"'{text}") or not text.isprintable()


def test_reported_rows_stand_below_and_have_no_p(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b", skill=0.7))
    lines = rows(render_csv(found, PAPER))
    assert [line["kind"] for line in lines] == ["measured", "measured", "reported"]
    assert lines[2]["f1"] == "0.50" and lines[2]["data"] == "A paper"
    assert not any(lines[2][name] for name in ("p", "p_holm", "difference", "table", "row", "f1_low"))
    text = render_latex(found, PAPER)
    below = text.split(r"\midrule")[2]
    assert r"GPT\_x \& co (Table 4) & 0{-}shot & 0.50 &" in below
    assert "not comparable, never tested" in below
    assert json.loads(render_json(found, PAPER))["reported"]["row"][0]["values"]["f1"] == "0.50"


def test_json_says_its_form_and_loses_no_digit(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b", skill=0.7))
    read = json.loads(render_json(found, Reported()))
    assert read["schema"] == SCHEMA == 1
    assert read["made_by"].startswith("pmbench ")
    [table] = read["tables"]
    for line, row in zip(table["rows"], found.tables[0].rows, strict=True):
        assert line["measures"]["f1"]["value"] == row.measures["f1"].value
        assert line["measures"]["f1"]["low"] == row.measures["f1"].low
    assert table["pairs"][0]["p_adjusted"] == found.tables[0].pairs[0].p_adjusted
    assert table["words"] == found.tables[0].words and table["foot"] == found.tables[0].foot


def test_no_format_holds_text_of_the_data(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b"))
    for form in FORMATS.values():
        assert SENTINEL not in form.render(found, Toy, None)


def test_a_hostile_name_is_only_text_in_latex(tmp_path: Path) -> None:
    text = render_latex(board(tmp_path, Made(model=HOSTILE), Made(model="b", skill=0.9)), Reported())
    assert (
        r"\textbackslash{}input\{/etc/passwd\} 100\% of \$x\_1\textasciicircum{}2\$ \& \#1 \textasciitilde{}\{\}"
        in text.replace(r"\allowbreak{}", "")
    )
    assert r"\input" not in text
    body = [line for line in text.splitlines() if line.endswith(r" \\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in body} == {8}
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count("\n\\end{tabular}}\n") == 1


def test_what_is_lost_has_columns_in_latex_only_where_something_is(tmp_path: Path) -> None:
    whole = render_latex(board(tmp_path / "whole", Made(), Made(model="b")), Reported())
    lost = render_latex(board(tmp_path / "lost", Made(failed=frozenset({1})), Made(model="b")), Reported())
    assert "Scored" not in whole and "Scored" in lost and "1 failed" in lost


OURS = re.compile(
    r"\\(?:textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|textquotedbl|textquotesingle"
    r"|textasciigrave|ldots|allowbreak)\{\}|\\[{}$&#%_]|\$(?:\\(?:pm|le|ge|times|uparrow|downarrow|Sigma|cdot)|-)\$|\{[-\[\]*?!,]\}"
)


@given(st.text(alphabet=st.one_of(st.sampled_from("\\{}$&#^_%~<>|\"'`-–[]*?!,±\n\r\t "), st.characters())))
def test_whatever_a_text_holds_latex_has_nothing_left_to_act_on(text: str) -> None:
    rest = OURS.sub("", re.sub(r"\\pmbenchother\{(.)\}\{\?\}", r"\1", tex(text)))
    assert not set(rest) & set("\\{}$&#^_%~<>|\"'`[]*?!\n\r\t")
    assert ",," not in rest or ",," in text


def test_numbers_keep_their_minus(tmp_path: Path) -> None:
    assert number("-0.101") == "$-$0.101"
    assert number("12.5%") == r"12.5\%"
    assert number("–") == "--"
    assert number("0.5") == "0.5"
    assert number("<0.001") == r"\textless{}0.001"


def test_where_each_format_goes(tmp_path: Path) -> None:
    assert files("toy", "a.csv", None) == {"csv": Path("a.csv")}
    assert files("toy", "a.tex", None) == {"latex": Path("a.tex")}
    assert files("toy", "a.json", None) == {"json": Path("a.json")}
    assert files("toy", "page", None) == {"md": Path("page")}
    assert files("toy", "a.htm", "html") == {"html": Path("a.htm")}
    assert files("toy", "a.txt", "csv") == {"csv": Path("a.txt")}
    assert files("toy", f"{tmp_path}", "csv") == {"csv": tmp_path / "toy.csv"}
    assert files("toy", "new", "md, LATEX,md") == {"md": Path("new/toy.md"), "latex": Path("new/toy.tex")}
    assert files("toy", "-", "csv") == files("toy", None, None) == {}


@pytest.mark.parametrize(
    ("output", "form", "told"),
    [
        (None, "md,csv", "2 formats cannot go to one place"),
        ("-", "md,csv", "Name a folder for them"),
        ("x", "html5", "no format called 'html5'. There are: md, csv, json, html, latex"),
        ("x", ",", "no format is named"),
        (
            "x.txt",
            None,
            "no format has files that end in '.txt'. Endings are .md, .csv, .json, .html, .tex; or name",
        ),
        ("board.PDF", None, "no format has files that end in '.PDF'"),
        (
            "one.md",
            "md,csv",
            "--output one.md: 2 formats go into a folder, and this is called like a file. Name a",
        ),
    ],
)
def test_formats_that_cannot_be_written(output: str | None, form: str | None, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        files("toy", output, form)


def test_several_formats_do_not_go_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="go into a folder, and this is none"):
        files("toy", str(tmp_path / "file"), "md,csv")
    assert formats_of("json,csv") == ["json", "csv"]


def test_each_format_begins_as_it_says(tmp_path: Path) -> None:
    found = board(tmp_path, Made(), Made(model="b"))
    for form in FORMATS.values():
        assert form.render(found, Toy, None).startswith(form.beginning)
        assert form.render(found, Toy, ["f1"]).startswith(form.beginning)


def test_a_csv_file_needs_no_table(tmp_path: Path) -> None:
    write(tmp_path, Made(pending=3))
    found = leaderboard(Toy, tmp_path, statistics=FAST)
    text = render_csv(found, Reported())
    assert text.count("\n") == 1 and text.startswith(FORMATS["csv"].beginning)
    assert "No run can be shown yet" in render_latex(found, Reported())
