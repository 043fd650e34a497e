"""Arrow tables as rows: Parquet files, and what the `datasets` library holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pmbench.core.dataset import Row
from pmbench.core.errors import DataError, MissingExtra
from pmbench.data.columns import name_shown


def read_parquet(path: Path, shown: str, check: Callable[[int], None] | None = None) -> list[Row]:
    """Rows of one Parquet file.

    Args:
        path: of the file; shown: how to call it.
        check: is given the number of its rows before they are read, and may refuse them.

    Raises:
        MissingExtra: pyarrow is not installed.
        DataError: the file is no Parquet, is damaged, holds no rows or two columns of one name.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet", "parquet", "pyarrow") from None
    try:
        # ParquetFile, not read_table: that one makes columns out of folders called `key=value`.
        with parquet.ParquetFile(path) as file:
            _check_names(file.schema_arrow.names, shown)
            if check is not None:
                check(file.metadata.num_rows)
            table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"is no Parquet file or a damaged one ({type(error).__name__})",
            where=shown,
            remedy="Copy it again or write it again",
        ) from None
    return table_rows(table, shown)


def table_rows(table: Any, shown: str) -> list[Row]:
    """Rows of a `pyarrow.Table`, nested values as lists and dicts.

    Raises:
        DataError: no rows, two columns of one name, or values that Python cannot hold.
    """
    names: list[str] = list(table.column_names)
    _check_names(names, shown)
    if not table.num_rows:
        raise DataError("holds no rows", where=shown, remedy="Give a dataset with at least one row")
    columns = [_values(table.column(place), name, shown) for place, name in enumerate(names)]
    return [
        Row(dict(zip(names, values, strict=True)), shown, number)
        for number, values in enumerate(zip(*columns, strict=True), 1)
    ]


def _values(column: Any, name: str, shown: str) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError) as error:  # not UTF-8, or a time finer than Python's
        raise DataError(
            f"a column of type {column.type} has a value that cannot be read ({type(error).__name__})",
            where=f"{shown}, column {name_shown(name)}",
            remedy="Write that column as text (UTF-8)",
        ) from None
    return values


def _check_names(names: list[str], shown: str) -> None:
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise DataError(
            f"two columns are called {name_shown(twice)}",
            where=shown,
            remedy="Give each column a name of its own",
        )
