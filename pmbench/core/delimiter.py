"""Which character separates the columns of a CSV file: spreadsheets of many countries write semicolons."""

from __future__ import annotations


def separator(text: str) -> str:
    """The separator of comma-separated text, from its first record.

    A comma if the header has one outside quotes, else a semicolon, else a tab, else a comma: a header of one
    column.
    """
    seen: set[str] = set()
    quoted = False
    for letter in text:
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in "\r\n":
            if seen:
                break
        elif not quoted:
            seen.add(letter)
    return next((mark for mark in ",;\t" if mark in seen), ",")
