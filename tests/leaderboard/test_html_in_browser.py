"""The leaderboard's page as a reader has it: in a real Chromium, with and without script, light, dark, printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_runs import Made, Themed, Toy, themed, write

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))

from real_browser import chromium, opened, violations

from pmbench.leaderboard import html_page
from pmbench.leaderboard.board import leaderboard
from pmbench.leaderboard.html_page import render_html, render_several
from pmbench.leaderboard.reported import Reported, ReportedRow
from pmbench.leaderboard.several import several_tasks
from pmbench.leaderboard.tested import Resampling
from pmbench.pages.visible import visible
from pmbench.running.results import MetricResult, Results, SliceResult, UsageTotal

__all__ = ["chromium", "opened"]

FAST = Resampling(resamples=300, permutations=300)
HOSTILE = [
    "<script>window.hit = 1</script>",
    "</style><b>bold",
    '"><img src=http://127.0.0.1:9/x.png onerror=window.hit=2>',
    "\u202eright to left\u202c 👩‍⚕️",
    "a" * 300,
    "$x_1$ {{ 7 * 7 }} {% raw %}",
]
LABELS = {"sex": ["women", "men"], "<i>kind</i>": ['"odd" <b>', "plain"]}
Opened = Callable[..., Any]


def enrich(folder: Path, number: int, cost: float | None) -> None:
    """Subgroups and a cost, as a run's results have them."""
    [path] = folder.glob("scores/*/results.json")
    results = msgspec.json.decode(path.read_bytes(), type=Results)
    for name, labels in LABELS.items():
        results.slices[name] = {
            label: SliceResult(
                12, 12, 0, {results.primary: MetricResult(0.1 * number + 0.3 * place, 0.1, 0.9)}
            )
            for place, label in enumerate(labels)
        }
    results.usage["model"] = UsageTotal(
        calls=24, prompt_tokens=100, cost=cost or 0.0, unpriced=0 if cost else 24, latency_median=1.5 + number
    )
    path.write_bytes(msgspec.json.encode(results))


def made(runs: Path, names: list[str]) -> None:
    for number, name in enumerate(names):
        one = Made(model=name, seed=number, skill=0.2 + number / 8, more=themed(12 - number, 6 + number))
        enrich(write(runs, one, Themed).path, number, 0.01 * 10**number if number else None)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board of systems of hostile names, with subgroups, costs, groups of metrics and reported rows."""
    folder = tmp_path_factory.mktemp("page")
    made(folder / "runs", HOSTILE)
    write(folder / "runs", Made(model="later", version=2), Themed)
    paper = Reported(
        [
            ReportedRow("GPT <b>", "0-shot", "Table 4", {"f1": "0.50"}, note="odd <i>"),
            ReportedRow("X", values={"f1": "1"}),
        ],
        source="A paper",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html_page, "reported", lambda task: paper)
        board = leaderboard(Themed, folder / "runs", statistics=FAST, aggregate="strategy")
        (folder / "page.html").write_text(render_html(board, Themed), encoding="utf-8")
    return folder / "page.html"


@pytest.fixture(scope="module")
def several_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")

    class Other(Themed):
        name = "other"
        title = "Other </title><b>"

    for task in (Themed, Other):
        for number, name in enumerate(HOSTILE[: 5 if task is Other else 6]):
            write(folder / "runs", Made(model=name, seed=number, more=themed(6, 6)), task)
    found = several_tasks([Themed, Other], folder / "runs", statistics=FAST)
    (folder / "page.html").write_text(render_several(found), encoding="utf-8")
    return folder / "page.html"


def column(page: Any, at: int, table: int = 0) -> list[str]:
    """The texts of a column of a table's measured rows."""
    return page.evaluate(
        "([table, at]) => Array.from(document.querySelectorAll('table.sortable')[table].tBodies[0].rows)"
        ".map((row) => row.children[at].innerText.trim())",
        [table, at],
    )


def heading(page: Any, words: str) -> Any:
    return page.locator("table.sortable").first.locator("thead th", has_text=words).first


def test_it_asks_for_nothing_and_complains_of_nothing(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    for button in page.locator("table.sortable").first.locator("thead button").all():
        button.click()
    page.wait_for_timeout(200)
    assert page.heard == []
    assert page.evaluate("window.hit") is None


def test_names_are_text(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    names = page.locator("table.sortable").first.locator("tbody").first.locator("th bdi").all_text_contents()
    assert sorted(names) == sorted(visible(name) for name in HOSTILE)
    assert page.locator("img, iframe, object, embed, a[href^='http']").count() == 0
    assert page.locator("script").count() == 1 and page.locator("style").count() == 1
    text = page.locator("main").inner_text()
    assert '"odd" <b>' in text and "n = 12" in text and "<i>kind</i>" in text and "GPT <b>" in text


def test_its_policy_refuses_what_is_put_in(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          const picture = document.createElement("img");
          picture.src = "http://127.0.0.1:9/p.png";
          document.body.append(script, picture);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert sum("Content Security Policy" in line for line in page.heard) >= 2


def test_a_heading_sorts_by_click_and_by_key(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    best_first = column(page, 0)
    assert best_first == [str(n) for n in range(1, 7)]
    assert heading(page, "Edit-F1").get_attribute("aria-sort") == "descending"
    heading(page, "Edit-F1").locator("button").click()
    assert heading(page, "Edit-F1").get_attribute("aria-sort") == "ascending"
    assert column(page, 0) == best_first[::-1]
    heading(page, "Row").locator("button").focus()
    page.keyboard.press("Enter")
    assert column(page, 0) == best_first
    assert heading(page, "Edit-F1").get_attribute("aria-sort") is None
    page.keyboard.press("Space")
    assert heading(page, "Row").get_attribute("aria-sort") == "descending"
    assert column(page, 0) == best_first[::-1]


def test_numbers_are_sorted_as_numbers_and_what_is_missing_comes_last(
    opened: Opened, page_file: Path
) -> None:
    page = opened(page_file)
    at = page.evaluate(
        "Array.from(document.querySelector('table.sortable thead tr').cells)"
        ".findIndex((cell) => cell.innerText.startsWith('Difference'))"
    )
    for _ in range(2):
        heading(page, "Difference").locator("button").click()
        texts = column(page, at)
        assert texts[-1] == "–"  # of the best
        numbers = [float(text.split()[0]) for text in texts[:-1]]
        assert numbers in (sorted(numbers), sorted(numbers, reverse=True))


def test_reported_rows_stay_below_the_line(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    heading(page, "System").locator("button").click()
    papers = page.locator("tbody.papers").first
    assert "never tested" in papers.locator("th[scope=rowgroup]").inner_text()
    assert papers.locator("tr").nth(1).locator("th bdi").first.inner_text() == "GPT <b>"
    assert "0.50" in papers.inner_text()
    assert page.evaluate("document.querySelector('table').tBodies[1].className") == "papers"


def test_without_script_everything_is_there(opened: Opened, page_file: Path) -> None:
    page = opened(page_file, java_script_enabled=False)
    assert page.locator("thead button").count() == 0
    assert not page.locator(".sorts").first.is_visible()
    assert page.locator("table.sortable").first.locator("tbody").first.locator("tr").count() == 6
    assert page.locator(".lead").first.is_visible()
    held = page.locator("details.more").first
    assert not held.locator("table").is_visible()
    held.locator("summary").click()
    assert held.locator("table").is_visible()
    assert page.locator("svg.bar").count() == 7


def test_the_heat_map_has_numbers_in_colours(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    cells = page.locator("td.h")
    assert cells.count() == 24
    shades = {cell.get_attribute("class").split()[-1]: cell.inner_text() for cell in cells.all()}
    assert {"h0", "h6"} <= set(shades)
    assert float(shades["h0"]) < float(shades["h3"]) < float(shades["h6"])
    colours = {
        cell.evaluate("one => getComputedStyle(one).backgroundColor")
        for cell in page.locator(".legend .h").all()
    }
    assert len(colours) == 7


def test_intervals_are_drawn_on_one_scale(opened: Opened, page_file: Path) -> None:
    page = opened(page_file)
    places = page.evaluate(
        "Array.from(document.querySelector('table').querySelectorAll('svg.bar circle'))"
        ".map((one) => Number(one.getAttribute('cx')))"
    )
    assert places == sorted(places, reverse=True) and len(set(places)) == len(places)
    ends = page.locator("table").first.locator("svg.bar text").all_text_contents()
    assert len(set(ends)) == 2


def test_cost_against_quality_is_drawn_and_says_who_is_not_there(opened: Opened, page_file: Path) -> None:
    pytest.importorskip("matplotlib")
    page = opened(page_file)
    assert page.locator("figure svg.plot").count() >= 1
    words = page.locator("figcaption").first.inner_text()
    assert "against the cost of 1,000 instances in US dollars" in words
    assert "Of row 6 that is not known." in words


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("which", ["page_file", "several_file"])
def test_nothing_stands_in_the_way_of_a_reader(
    opened: Opened, request: pytest.FixtureRequest, which: str, scheme: str, width: int
) -> None:
    page = opened(
        request.getfixturevalue(which), color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    for held in page.locator("details.more > summary").all():
        held.click()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.heard == []


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with as many subgroups as clinics have specialties."""
    folder = tmp_path_factory.mktemp("wide")
    specialties = ["gastroenterology", "endocrinology", "administrative", "cardiology", "mental health"]
    labels = [f"{name} {place}" for place in range(5) for name in specialties]
    for number, name in enumerate(["Vendor of drafts A/B", "smollm2-135m", "another system"]):
        one = Made(model=name, seed=number, skill=0.3 + number / 5, more=themed(12 - number, 6 + number))
        run = write(folder / "runs", one, Themed).path
        [path] = run.glob("scores/*/results.json")
        results = msgspec.json.decode(path.read_bytes(), type=Results)
        results.slices["specialty"] = {
            label: SliceResult(3, 3, 0, {results.primary: MetricResult(place / 25, 0.1, 0.9)})
            for place, label in enumerate(labels)
        }
        path.write_bytes(msgspec.json.encode(results))
    board = leaderboard(Themed, folder / "runs", statistics=FAST)
    (folder / "page.html").write_text(render_html(board, Themed), encoding="utf-8")
    return folder / "page.html"


def test_on_paper_nothing_is_cut_off_and_nothing_is_closed(opened: Opened, wide_file: Path) -> None:
    page = opened(wide_file, viewport={"width": 718, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    tables = page.locator("table").all()
    assert len(tables) == 5 and all(table.is_visible() for table in tables)  # also where details are closed
    assert (
        page.evaluate(
            "Array.from(document.querySelectorAll('table'))"
            ".map((one) => one.getBoundingClientRect().right).filter((right) => right > innerWidth)"
        )
        == []
    )


def test_details_are_opened_for_the_printer_and_closed_again(opened: Opened, wide_file: Path) -> None:
    page = opened(wide_file)
    closed = "document.querySelectorAll('details:not([open])').length"
    before = page.evaluate(closed)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(closed) == 0 < before
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(closed) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_telephone_the_first_number_is_seen_and_names_stay(
    opened: Opened, wide_file: Path, scheme: str
) -> None:
    page = opened(wide_file, color_scheme=scheme, viewport={"width": 390, "height": 844})
    first = page.locator("table.sortable").first
    for row in first.locator("tbody").first.locator("tr").all():
        box = row.locator("td").nth(2).bounding_box()
        assert box is not None and box["x"] + box["width"] <= 390
    assert page.locator("caption").count() == 0  # nothing that a scroller would clip
    for caption in page.locator("p.caption").all():
        if caption.is_visible():
            box = caption.bounding_box()
            assert box is not None and box["x"] + box["width"] <= 390
    first.evaluate("one => { one.parentElement.scrollLeft = 500 }")
    name = first.locator("tbody th").first
    box = name.bounding_box()
    assert box is not None and box["x"] >= 0
    assert name.evaluate("one => getComputedStyle(one).backgroundColor") != "rgba(0, 0, 0, 0)"


def test_dark_is_dark_and_paper_is_white(opened: Opened, page_file: Path) -> None:
    page = opened(page_file, color_scheme="dark")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 24, 28)"
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    cell = page.locator("td.h6").first
    assert cell.evaluate("one => getComputedStyle(one).color") == "rgb(0, 0, 0)"
    assert not page.locator(".skip").is_visible()


def test_several_tasks_are_sorted_too(opened: Opened, several_file: Path) -> None:
    page = opened(several_file)
    assert page.locator("h1").inner_text() == "Leaderboard: several tasks"
    assert "Other </title><b>" in page.locator("header").inner_text()
    before = column(page, 0)
    heading(page, "Mean rank").locator("button").click()
    heading(page, "Mean rank").locator("button").click()
    ranks = [float(text.split()[0]) for text in column(page, 4)]
    assert ranks == sorted(ranks, reverse=True) and before == [str(n) for n in range(1, 7)]
    assert page.heard == []


def test_a_board_of_chosen_columns_and_one_of_nothing(opened: Opened, tmp_path: Path) -> None:
    write(tmp_path, Made(pending=3))
    empty = leaderboard(Toy, tmp_path, statistics=FAST)
    (tmp_path / "empty.html").write_text(render_html(empty, Toy))
    page = opened(tmp_path / "empty.html")
    assert "No run can be shown yet." in page.locator("main").inner_text() and page.heard == []
    assert violations(page) == []
    write(tmp_path, Made())
    board = leaderboard(Toy, tmp_path, statistics=FAST)
    (tmp_path / "one.html").write_text(render_html(board, Toy, ["words", "letters"]))
    page = opened(tmp_path / "one.html")
    heads = [" ".join(text.split()) for text in page.locator("thead th").all_inner_texts()]
    assert heads[3:] == ["Words to delete (words) ↓", "Letters"]
    assert page.locator("svg").count() == 0 and page.heard == []
