"""Datasets of the Hugging Face hub, and folders that the `datasets` library saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmbench.core.dataset import HubDataset, Row
from pmbench.core.errors import DataError, MissingExtra
from pmbench.data import arrow

_PATIENCE = 10.0
"""Seconds to wait for the hub's first answer."""

_SAVED = ("dataset_dict.json", "state.json", "dataset_info.json")

_ELSEWHERE = "Download it on a machine that has a network, and give it as --data FILE or --data FOLDER"


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows with where they came from: the commit they belong to and the lines that the user should see."""

    rows: list[Row]
    location: str
    revision: str = ""
    notes: list[str] = field(default_factory=list)


def is_saved_dataset(folder: Path) -> bool:
    """Whether `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote this folder."""
    return any((folder / name).is_file() for name in _SAVED)


def load_saved(folder: Path, split: str | None, shown: str) -> Loaded:
    """Rows of a folder that `save_to_disk` wrote.

    Raises:
        MissingExtra: `datasets` is not installed.
        DataError: the folder is damaged, or holds several splits and none was chosen.
    """
    datasets = _library()
    with _quiet(datasets):
        try:
            found = datasets.load_from_disk(str(folder))
        except Exception as error:  # noqa: BLE001 - whatever the library meets in a damaged folder
            raise DataError(
                f"is no whole `datasets` folder ({type(error).__name__})",
                where=shown,
                remedy="Save it again with save_to_disk, or give a CSV, JSONL or Parquet file",
            ) from None
        notes: list[str] = []
        if isinstance(found, datasets.DatasetDict):
            names = _choose_splits(list(found), split, shown)
            if split is None:
                notes.append(f"split {names[0]!r}: the only one")
            rows = _rows({name: found[name] for name in names}, shown)
            return Loaded(rows, f"{shown} ({'+'.join(names)})", notes=notes)
        if split is not None and str(found.split) != split:
            raise DataError(
                f"is not split, and --split {split} was given", where=shown, remedy="Leave it out"
            )
        return Loaded(_rows({"": found}, shown), shown, notes=notes)


def load_hub(dataset: HubDataset, config: str | None = None) -> Loaded:
    """Rows of a dataset on the hub, or of its copy in the cache where there is no network.

    Args:
        dataset: its id; a branch, tag or commit; a split, or None for the only one.
        config: the name of the configuration, where the dataset has several.

    Raises:
        MissingExtra: `datasets` is not installed.
        DataError: no such dataset, revision, configuration or split; or no network and no copy.
    """
    datasets = _library()
    shown = f"hub:{dataset.id}" + (f"/{config}" if config else "")
    if Path(dataset.id).is_dir():
        # The library would read that folder and say nothing.
        raise DataError(
            f"a folder {dataset.id!r} here would be taken for the hub's dataset",
            where=shown,
            remedy=f"Start pmbench in another folder, or give --data ./{dataset.id}",
        )
    commit, trouble = _commit(dataset, shown)
    with _quiet(datasets), _offline(datasets, on=not commit):
        try:
            builder = datasets.load_dataset_builder(
                dataset.id, name=config, revision=commit or dataset.revision
            )
            cached = builder.__module__.endswith(".cache.cache")
            if not cached:
                builder.download_and_prepare()
            names = _choose_splits(list(builder.info.splits or {}), dataset.split, shown)
            found = {name: builder.as_dataset(split=name) for name in names}
        except DataError:
            raise
        except Exception as error:  # noqa: BLE001 - the library raises its own, httpx's, pyarrow's and builtin ones
            raise _failed(error, shown, trouble) from None
    if cached:
        commit = _cached_commit(str(builder.hash), commit or dataset.revision, shown, trouble)
    notes = (
        [] if not cached else [f"{shown}: {trouble or 'not reached'}; the copy in the cache, {commit[:12]}"]
    )
    if dataset.split is None:
        notes.append(f"split {names[0]!r}: the only one")
    return Loaded(_rows(found, shown), f"{shown} ({'+'.join(names)})", commit, notes)


def _library() -> Any:
    try:
        import datasets
    except ImportError:
        raise MissingExtra("reading a dataset of the hub or a `datasets` folder", "hub", "datasets") from None
    return datasets


def _commit(dataset: HubDataset, shown: str) -> tuple[str, str]:
    """The commit that a revision stands for now; or `""` and why the hub could not be asked."""
    from huggingface_hub import HfApi, errors

    try:
        info = HfApi().dataset_info(dataset.id, revision=dataset.revision, timeout=_PATIENCE)
    except errors.GatedRepoError:
        what, remedy = "asks for permission", "Ask for it on the dataset's page, then: hf auth login"
    except errors.RepositoryNotFoundError:
        what = "no such dataset on the hub, or a private one"
        remedy = "Check the id; if it is private: hf auth login"
    except errors.RevisionNotFoundError:
        what, remedy = (
            f"no revision {dataset.revision!r}",
            "Name a branch, tag or commit that the dataset has",
        )
    except errors.HFValidationError:
        what, remedy = "is no id of the hub", "Write hub:ORGANISATION/NAME"
    except errors.OfflineModeIsEnabled:
        return "", "the hub may not be asked (HF_HUB_OFFLINE)"
    except errors.HfHubHTTPError as error:
        return "", f"the hub answered with status {error.response.status_code}"
    except Exception as error:  # noqa: BLE001 - no network has many names
        return "", f"the hub cannot be reached ({type(error).__name__})"
    else:
        return str(info.sha), ""
    raise DataError(what, where=shown, remedy=remedy)


def _cached_commit(found: str, asked: str, shown: str, trouble: str) -> str:
    """The commit of the copy in the cache. The library takes the latest copy whatever was asked for."""
    if asked not in ("main", found):
        raise DataError(
            f"{trouble or 'the hub cannot be reached'}, and the copy in the cache is of {found[:12]}, "
            f"not of revision {asked[:40]!r}",
            where=shown,
            remedy=f"Ask for --revision {found}, or: {_ELSEWHERE}",
        )
    return found


def _failed(error: Exception, shown: str, trouble: str) -> DataError:
    """The error for whatever the library raised. Its own message may quote the data, so it is left out."""
    if trouble:
        return DataError(f"{trouble}, and there is no copy in the cache", where=shown, remedy=_ELSEWHERE)
    if isinstance(error, ValueError) and "Config name is missing" in str(error):
        return DataError(
            "has several configurations",
            where=shown,
            remedy=f"Name one of them: --data {shown}/CONFIGURATION",
        )
    if isinstance(error, ValueError) and "BuilderConfig" in str(error):
        return DataError("has no such configuration", where=shown, remedy="See the dataset's page on the hub")
    return DataError(
        f"the `datasets` library cannot read it ({type(error).__name__})", where=shown, remedy=_ELSEWHERE
    )


def _choose_splits(splits: list[str], asked: str | None, shown: str) -> list[str]:
    """The split asked for, or several of them (`A+B`)."""
    if asked is not None and asked not in splits:
        wanted = list(dict.fromkeys(asked.split("+")))
        missing = next((name for name in wanted if name not in splits), None)
        if missing is not None:
            raise DataError(
                f"no split {missing!r}", where=shown, remedy=f"Splits found: {', '.join(splits) or 'none'}"
            )
        return wanted
    if asked is None and len(splits) != 1:
        what = f"has {len(splits)} splits: {', '.join(splits)}" if splits else "has no splits"
        raise DataError(
            what, where=shown, remedy="Choose with --split NAME, or several with --split NAME+NAME"
        )
    return splits if asked is None else [asked]


def _rows(splits: Mapping[str, Any], shown: str) -> list[Row]:
    """The rows of one split, or of several, each with its split's name in a column `split`."""
    rows: list[Row] = []
    for name, found in splits.items():
        where = f"{shown} ({name})" if name else shown
        read = arrow.table_rows(found.with_format("arrow")[:], where)
        rows += (
            read if len(splits) == 1 else [Row({"split": name, **r.values}, where, r.number) for r in read]
        )
    return rows


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """No progress bars, and no log lines: they may quote rows that cannot be parsed."""
    from huggingface_hub.utils import logging as hub_logging

    loggers: Mapping[Any, int] = {
        module: module.get_verbosity() for module in (datasets.utils.logging, hub_logging)
    }
    bars = datasets.utils.are_progress_bars_disabled()
    for module in loggers:
        module.set_verbosity(100)
    datasets.utils.disable_progress_bars()
    try:
        yield
    finally:
        for module, level in loggers.items():
            module.set_verbosity(level)
        if not bars:
            datasets.utils.enable_progress_bars()


@contextmanager
def _offline(datasets: Any, *, on: bool) -> Iterator[None]:
    """Tell the libraries that there is no network, once that is known: they would try for half a minute."""
    from huggingface_hub import constants

    before = datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    if on:
        datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
