"""The page as a reader has it: in a real Chromium, with and without script, light, dark, printed, by keys."""

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import LABEL
from hostile_texts import HOSTILE
from real_browser import violations

from pmbench.pages.visible import visible

ENTRY = "details.i"


def shown(page: Any) -> list[str]:
    """Ids of the instances that the list shows, in order."""
    found = page.locator(f"{ENTRY}:not([hidden]) > summary > h3").all_text_contents()
    return [text.strip() for text in found]


def entry(page: Any, name: str) -> Any:
    return page.locator(ENTRY).filter(has=page.locator("h3", has_text=name)).first


def test_it_asks_for_nothing_and_complains_of_nothing(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    page.click("#open")
    page.wait_for_timeout(300)
    assert page.heard == []


@pytest.mark.parametrize("name", [*HOSTILE, *(f"{name}-md" for name in HOSTILE)])
def test_a_hostile_answer_is_text(opened: Any, page_file: Path, name: str) -> None:
    page = opened(page_file)
    held = page.locator(ENTRY).nth(shown(page).index(name))
    held.locator("summary").click()
    text = " ".join(held.inner_text().split())
    if name != "link-md":  # Markdown takes the brackets of a link whose address it refuses as they are
        wanted = HOSTILE[name.removesuffix("-md")]
        if name == "entity-md":  # which Markdown reads as the characters that they name
            wanted = "<b> &amp; <script>"
        assert " ".join(visible(wanted).split()) in text
    assert page.locator("img, iframe, object, embed, a[href^='javascript'], a[href^='http']").count() == 0
    assert page.locator("script").count() == 1 and page.locator("style").count() == 1
    assert page.heard == []


def test_names_and_labels_are_text(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    assert page.locator("h1").inner_text() == 'Strange <script>alert("title")</script> messages'
    assert page.locator(".system bdi").first.inner_text() == visible(LABEL)
    assert page.locator("table").first.locator("tbody th").first.inner_text() == "Right </style><b>"
    assert 'odd "<b>" kind' in page.locator("section", has_text="Subgroups").first.inner_text()
    assert "<i>id</i>" in shown(page)


def test_its_policy_refuses_scripts_styles_and_requests(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          const picture = document.createElement("img");
          picture.src = "http://127.0.0.1:9/p.png";
          document.body.append(script, picture);
          document.body.setAttribute("onclick", "window.hit = 2");
          document.body.click();
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert sum("Content Security Policy" in line for line in page.heard) >= 3


def test_without_script_everything_is_there_and_opens(opened: Any, page_file: Path) -> None:
    page = opened(page_file, java_script_enabled=False)
    assert not page.locator("#controls").is_visible()
    held = entry(page, "emoji")
    assert not held.locator("h4").first.is_visible()
    held.locator("summary").click()
    assert held.locator("del").first.is_visible() and held.locator("ins").first.is_visible()
    assert page.locator(ENTRY).count() == 2 * len(HOSTILE) + 7


def test_marks_stand_as_signs_and_themes_as_chips(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    held = entry(page, "emoji")
    held.locator("summary").click()
    answer = held.locator("ul.s")
    assert answer.locator("li > b").all_inner_texts() == ["=", "-", "+"]
    assert answer.locator("li").nth(0).locator("small i").all_inner_texts() == ["planning", "empathy"]
    assert answer.locator("li").nth(0).locator("small bdi").inner_text() == "1: near “one; two” (0.71)"
    colours = [
        answer.locator("li").nth(place).evaluate("one => getComputedStyle(one).backgroundColor")
        for place in range(3)
    ]
    assert len(set(colours)) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_nothing_stands_in_the_way_of_a_reader(opened: Any, page_file: Path, scheme: str, width: int) -> None:
    page = opened(page_file, color_scheme=scheme, viewport={"width": width, "height": 900})
    for held in page.locator(f"{ENTRY} > summary").all()[:40]:
        if "long" not in held.inner_text():
            held.click()
    page.locator("details.quiet > summary").click()
    assert violations(page) == []


def test_the_page_is_no_wider_than_a_telephone(opened: Any, page_file: Path) -> None:
    page = opened(page_file, viewport={"width": 320, "height": 700})
    page.click("#open")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_states_and_slices_filter_the_list(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    for state, names in {
        "failed": ["none"],
        "missing": ["unscored"],
        "truncated": ["cut"],
        "empty": ["empty"],
    }.items():
        page.select_option("#state", state)
        assert shown(page) == names
        assert page.locator("#found").inner_text().startswith("1 of ")
    page.select_option("#state", "")
    page.select_option("select.slice", index=1)
    odd = shown(page)
    assert odd and all(
        "odd" in text for text in page.locator(f"{ENTRY}:not([hidden]) > summary").all_text_contents()
    )
    page.select_option("select.slice", index=2)
    assert {"none", "unscored"} <= set(shown(page))  # without a score too
    page.select_option("select.slice", index=1)
    page.select_option("#state", "failed")
    assert shown(page) == [] and page.locator("#none").is_visible()


def test_search_reads_what_is_closed(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    page.keyboard.press("/")
    page.keyboard.type("CUT OFF that")
    page.locator("#found", has_text=re.compile("^1 of")).wait_for()
    assert shown(page) == ["cut"]


def test_order(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    worst = shown(page)
    assert set(worst[:2]) == {"none", "unscored"}  # those without a value come first
    page.select_option("#order", "best")
    assert shown(page) == worst[::-1]
    page.select_option("#order", "id")
    assert shown(page) != worst and sorted(shown(page)) == sorted(worst)


def test_keys(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    names = shown(page)

    def held() -> str:
        return page.evaluate("document.activeElement.closest('details').querySelector('h3').textContent")

    page.keyboard.press("j")
    assert held() == names[0]
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert held() == names[1]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_keys_can_be_turned_off(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    page.click("#keys")
    page.uncheck("#keyed")
    page.click("#help button")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('details')") is None
    page.click("#keys")
    assert page.locator("#help").is_visible() and violations(page) == []


def test_the_first_key_offers_to_skip_to_the_instances(opened: Any, page_file: Path) -> None:
    page = opened(page_file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the instances"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "instances"


def test_dark_is_dark_and_paper_is_white(opened: Any, page_file: Path) -> None:
    page = opened(page_file, color_scheme="dark")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(colour) == "rgb(20, 24, 28)"
    held = entry(page, "emoji")
    held.locator("summary").click()
    page.emulate_media(media="print")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert not page.locator("#controls").is_visible()
    assert held.locator("del").first.is_visible()
    line = held.locator("del").first.evaluate("one => getComputedStyle(one).textDecorationLine")
    assert line == "line-through"  # a printer may have no colour


def test_without_texts_the_list_still_works(opened: Any, reporting: Any, run_folder: Path) -> None:
    command, home = reporting
    assert command("report", run_folder, "-o", "bare.html", "--no-text").returncode == 0
    page = opened(home / "bare.html")
    page.select_option("#state", "failed")
    assert shown(page) == ["none"] and page.heard == []
    assert violations(page) == []
