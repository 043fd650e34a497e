"""Whatever is in a name, a page shows that name and nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_runs import UNBROKEN, Page
from markdown_it import MarkdownIt

from pmbench.leaderboard.escaping import code, escape, row

NAMES = [
    "smollm2-135m",
    "llama-cpp:models/a_b_c.gguf?slots=2&x=1",
    "replay:@draft",
    "a|b",
    r"a\|b",
    r"C:\models\m.gguf",
    "ends with \\",
    "`code` and ``more``",
    "*bold* _em_ __strong__ ~~gone~~",
    "<b>bold</b><script>alert(1)</script><!-- -->",
    "&amp; &#124; &lt;",
    "two\nlines\r\nand a\ttab",
    "# heading",
    "- item",
    "1. item",
    "1) item",
    "---",
    "> quote",
    "[link](http://example.com) ![image](x) [^1] [x]",
    "http://example.com www.example.com me@example.com example.com",
    "https://example.com/a_b|c",
    ":100: :smile: a:o2:b",
    "$x$ $$y$$ $`z`$",
    "@someone #12",
    "naïve 模型 🤖👩‍⚕️",
    "abc\u202egpj.exe",
    "\u2066isolated\u2069 \u200bzero\u00a0width",
    " outer blanks ",
    "two  inner",
    "|",
    "\\",
    "`",
    "~~~",
    "```",
    "=",
    "\u2028line\u2029paragraph\u0085next",
]


def shown(text: str) -> str:
    """What a page shows of a text, as `Page` reads it: characters that it cannot show are marked."""
    marked = "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n\r" else c for c in text
    )
    return UNBROKEN.sub(" ", marked)


def in_table(cell: str) -> Page:
    """A page with the cell between two others."""
    return Page("\n".join([row(["a", "b", "c"]), row([":---", "---:", "---"]), row(["1", cell, "3"])]))


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_shows_the_name(name: str) -> None:
    for escaped in (escape(name), code(name)):
        page = in_table(escaped)
        assert page.tables == [[["a", "b", "c"], ["1", shown(name), "3"]]]
        assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_a_list_shows_the_name(name: str) -> None:
    for escaped in (escape(name), code(name)):
        page = Page(f"- {escaped}\n- next\n")
        assert page.items == [shown(name), "next"]
        assert page.tags <= {"ul", "li", "code"}


@settings(max_examples=400, deadline=None)
@given(st.text(st.one_of(st.sampled_from("|\\`<>&*_~[]()#@$:.!-+= \n\rwww"), st.characters()), min_size=1))
@example("\ufdd0")
@example("±\xa0")
def test_any_text_is_shown_as_it_is(name: str) -> None:
    page = in_table(escape(name))
    assert page.tables == [[["a", "b", "c"], ["1", shown(name), "3"]]]
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert in_table(code(name)).tables == page.tables


@pytest.mark.parametrize("name", NAMES)
def test_plain_commonmark_with_tables_agrees(name: str) -> None:
    renderer = MarkdownIt("commonmark").enable("table")
    page = Page("")
    page.feed(renderer.render("\n".join([row(["a"]), row(["---"]), row([code(name)])])))
    assert page.tables == [[["a"], [shown(name)]]]


def test_source_holds_no_character_that_turns_it_around() -> None:
    for name in NAMES:
        for escaped in (escape(name), code(name)):
            assert not [c for c in escaped if unicodedata.category(c) in ("Cf", "Cc", "Zl", "Zp")]


def test_usual_names_and_numbers_stay_readable_in_the_source() -> None:
    assert code("llama-cpp:models/a_b.gguf?slots=2") == "`llama-cpp:models/a_b.gguf?slots=2`"
    assert escape("-0.021, 0.5 to 12.3 words (2 failed); content_f1") == (
        "-0.021, 0.5 to 12.3 words (2 failed); content_f1"
    )
