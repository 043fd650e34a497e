"""Names and labels in errors: none of them reaches a terminal raw, and not all of many."""

from pmbench.core.names import names_listed


def test_names_are_listed_as_they_are_and_odd_ones_in_quotes() -> None:
    assert names_listed(["easy", "hard"]) == "easy, hard"
    assert names_listed(["", "  ", "a\x1b[31mb", "\u202edaed"]) == r"'', '  ', 'a\x1b[31mb', '\u202edaed'"
    assert names_listed([f"l{number}" for number in range(14)]).endswith("l11 and 2 more")
    assert names_listed(["my mother has been ill since May"]) == "(a name of 32 characters)"
    assert names_listed([]) == ""
