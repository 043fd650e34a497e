"""The parts of the page that need no browser: what can be seen, chips, Markdown, bars, the picture."""

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pmbench.core.metric import Mean
from pmbench.core.view import ViewBlock, ViewLine
from pmbench.pages.bars import bar, scale_of
from pmbench.pages.visible import visible
from pmbench.report.blocks import NotShown, shown
from pmbench.report.markdown import html_of
from pmbench.report.plots import spread
from pmbench.running.results import MetricResult

SHARE = Mean("right", title="Right", limits=(0, 1), unit="%", digits=0)


class Read(HTMLParser):
    """Tags in order, attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(str(page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def test_what_steers_the_writing_is_written_out() -> None:
    assert visible("a\u202eb\u2066c\x00\x1b[1m\ud83d") == "a\\u202eb\\u2066c\\x00\\x1b[1m\\ud83d"


def test_emoji_scripts_and_line_ends_stay() -> None:
    for text in ("👩🏽‍⚕️", "🏳️‍🌈", "مرحبا", "क्‍ष", "one\n\ttwo"):
        assert visible(text) == text


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_what_is_visible_can_be_written_and_is_visible_already(text: str) -> None:
    seen = visible(text)
    assert visible(seen) == seen
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00]", seen)
    seen.encode()


@pytest.mark.parametrize(
    ("beside", "chips", "remark"),
    [
        ("", (), ""),
        ("planning; empathy", ("planning", "empathy"), ""),
        ("planning; 3: take it; not now (0.71)", ("planning",), "3: take it; not now (0.71)"),
        ("yes; probability of yes 0.93; “one; two”", ("yes", "probability of yes 0.93"), "“one; two”"),
        ("“yes; no”; planning", (), "“yes; no”; planning"),
        ("x" * 41, (), "x" * 41),
    ],
)
def test_chips_are_the_short_parts_at_the_beginning(beside: str, chips: tuple[str, ...], remark: str) -> None:
    (block,) = shown([ViewBlock("", (ViewLine("text", beside=beside),))])
    assert (block.lines[0].chips, block.lines[0].remark) == (chips, remark)


@settings(deadline=None)
@given(st.text("ab:; “”", max_size=60))
def test_no_word_of_a_remark_is_lost(beside: str) -> None:
    (block,) = shown([ViewBlock("", (ViewLine("text", beside=beside),))])
    line = block.lines[0]
    assert "; ".join([*line.chips, *([line.remark] if line.remark else [])]) in (
        beside,
        beside.removesuffix("; "),
    )


@pytest.mark.parametrize(
    "made", [None, 5, b"bytes", ["text"], [ViewBlock("title", ("text",))], [ViewBlock("", (ViewLine(5),))]]
)
def test_what_is_no_view_is_refused(made: Any) -> None:
    with pytest.raises(NotShown):
        shown(made)


TABLE = """# Top

### Deep

| n | what | |
|---:|:---:|---|
| 1 | <b>x</b> | [a](http://127.0.0.1/) |
"""


def test_markdown_has_headings_in_order_a_caption_and_no_style() -> None:
    read = Read(html_of(TABLE))
    assert [tag for tag in read.tags if tag.startswith("h")] == ["h4", "h5"]
    assert read.tags.count("caption") == 1 and read.tags.count("th") == 2
    assert ("scope", "col") in read.attributes and ("class", "r") in read.attributes
    assert not {"a", "b", "img"} & set(read.tags)
    assert "style" not in {name for name, _ in read.attributes}
    assert "<b>x</b>" in read.text and "http://127.0.0.1/" in read.text


ALLOWED = {
    *("p", "ul", "ol", "li", "h4", "h5", "h6", "em", "strong", "code", "pre", "hr", "br", "blockquote"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
}


@settings(deadline=None)
@given(st.text(st.sampled_from("ab<>&\"'[]()!`*_#|-: \n\\/=;"), max_size=80))
def test_markdown_makes_nothing_but_text_lists_and_tables(text: str) -> None:
    read = Read(html_of(text))
    assert set(read.tags) <= ALLOWED
    assert {name for name, _ in read.attributes} <= {"class", "scope", "start"}


@settings(deadline=None)
@given(st.text(st.sampled_from("ab *_#|-\n"), max_size=60))
def test_markdown_says_the_words_that_the_parser_finds(text: str) -> None:
    """Against the parser's own rendering, with its tags taken away."""
    own = Read(MarkdownIt("commonmark", {"html": False}).enable("table").render(text)).text
    made = Read(re.sub(r"<caption.*?</caption>", "", html_of(text))).text
    assert made.split() == own.split()


def test_a_bar_lies_where_its_numbers_are() -> None:
    """On a scale from 0 to 1 that is drawn from 34 to 206: 0.5 is at 34 + 172 / 2 = 120, 0.25 at 77, 0.75 at 163."""
    made = bar(SHARE, MetricResult(0.5, 0.25, 0.75), (0.0, 1.0), rule=1.0)
    assert made is not None
    assert (made.value, made.low, made.high, made.rule) == (120.0, 77.0, 163.0, 206.0)
    assert (made.first, made.last) == ("0%", "100%")
    assert bar(SHARE, MetricResult(None), (0.0, 1.0)) is None


@pytest.mark.parametrize(
    ("metric", "numbers", "scale"),
    [
        (SHARE, (0.2, 0.1, 0.4), (0, 1)),
        (SHARE, (1.2, 1.1, 1.4), (0, 2)),
        (Mean("x"), (0.2, None, None), (0, 1)),
        (Mean("x"), (3.0, 1.0, 6.0), (0, 10)),
        (Mean("x"), (-0.2, -0.4, 0.1), (-1, 1)),
        (Mean("x", unit="words"), (58.5, 47.7, 69.0), (0, 100)),
        (Mean("x", unit="$"), (0.0013, 0.001, 0.0018), (0, 0.002)),
        (Mean("x", unit="words"), (0.0, 0.0, 0.0), (0, 1)),
    ],
)
def test_a_scale_holds_the_numbers(
    metric: Mean, numbers: tuple[Any, ...], scale: tuple[float, float]
) -> None:
    assert scale_of(metric, [MetricResult(*numbers)]) == pytest.approx(scale)


def test_columns_hold_every_value() -> None:
    few = spread(SHARE, [0.0, 1.0, 1.0], 2 / 3)
    assert few.rows == (("0%", 1), ("100%", 2))
    many = spread(SHARE, [number / 50 for number in range(51)], 0.5)
    assert len(many.rows) == 20 and sum(number for _, number in many.rows) == 51
    outside = spread(SHARE, [number / 25 for number in range(51)], 0.5)
    assert sum(number for _, number in outside.rows) == 51


def test_the_picture_has_no_style_and_no_name_twice() -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    odd = Mean("right", title="$\\frac{ </svg><script>alert(1)</script> & \x07 医療", limits=(0, 1))
    picture = str(spread(odd, [0.0, 0.5, 1.0], 0.5).picture)
    root = fromstring(picture)
    tags = {str(one.tag).rpartition("}")[2] for one in root.iter()}
    assert not tags & {"style", "script", "metadata", "image", "foreignObject"}
    assert all("style" not in one.attrib for one in root.iter())
    names = [one.attrib["id"] for one in root.iter() if "id" in one.attrib]
    assert len(names) == len(set(names))
    asked = re.findall(r"(?:url\(#|href=\"#)([\w-]+)", picture)
    assert asked and set(asked) <= set(names)
    assert "</script>" not in picture and "医療" in picture and "currentColor" in picture
    assert picture == str(spread(odd, [0.0, 0.5, 1.0], 0.5).picture)
