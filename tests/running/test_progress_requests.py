"""How many requests are answered, while an instance that takes many is not done."""

from __future__ import annotations

import io

from pmbench.running.progress import PlainLines


def test_lines_come_now_and_then_and_say_of_how_many_where_that_is_known() -> None:
    told = io.StringIO()
    lines = PlainLines(told, every=0.0)
    lines.start("respond", 2)
    lines.requests(212, 870)
    lines.requests(213, 0)
    assert told.getvalue().splitlines()[1].startswith("respond: 0 of 2; 212 of 870 requests, ")
    assert told.getvalue().splitlines()[2].startswith("respond: 0 of 2; 213 requests, ")
    seldom = PlainLines(told, every=60.0)
    seldom.start("respond", 2)
    before = told.getvalue()
    seldom.requests(1, 870)
    assert told.getvalue() == before
