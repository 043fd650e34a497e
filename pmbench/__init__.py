"""pmbench: a benchmark harness for language models that work on patient messages and clinical notes.

What stands here is what a plugin author imports; nothing else is public. Each name is imported when it is
first asked for, so that the command line starts at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pmbench.core.blank import says_nothing
    from pmbench.core.dataset import Column, DatasetSpec, HubDataset, Row, Sensitivity
    from pmbench.core.digest import digest
    from pmbench.core.errors import (
        ConfigError,
        DataError,
        MissingExtra,
        RequestFailed,
        UnknownName,
        Unscored,
        UserError,
    )
    from pmbench.core.instance import Instance, Response, Score
    from pmbench.core.metric import COUNT, F1, Macro, Mean, Metric, MetricGroup, Ratio
    from pmbench.core.model import Choice, Completion, Embedder, Message, Model, Usage
    from pmbench.core.options import Options, PathOption, ScoringOption
    from pmbench.core.task import (
        EMBEDDED,
        Judge,
        JudgeParts,
        JudgeRole,
        Record,
        Strategy,
        StrategyContext,
        Task,
    )
    from pmbench.core.unit_metrics import PairMean, RankingMetric
    from pmbench.core.view import ViewBlock, ViewLine
    from pmbench.data.fingerprint import id_shown
    from pmbench.data.jsonrows import json_reason
    from pmbench.data.tables import read_table
    from pmbench.models.backend import Backend, BackendOptions, Request
    from pmbench.models.embedder import open_embedder
    from pmbench.running.borrowed import open_models
    from pmbench.text.alignscore import AlignScorer
    from pmbench.text.bertscore import BertScorer
    from pmbench.text.bleu import bleu
    from pmbench.text.medcon import Entities, Medcon
    from pmbench.text.prompts import Prompt
    from pmbench.text.readability import flesch_kincaid_grade
    from pmbench.text.rouge import rouge
    from pmbench.text.sari import sari
    from pmbench.text.sentences import SPLITTER, sentence_spans, split_sentences
    from pmbench.text.spans import find_span, remove_spans

__version__ = "0.1.0"

_HOME = {
    "AlignScorer": "pmbench.text.alignscore",
    "Backend": "pmbench.models.backend",
    "BackendOptions": "pmbench.models.backend",
    "BertScorer": "pmbench.text.bertscore",
    "COUNT": "pmbench.core.metric",
    "Choice": "pmbench.core.model",
    "Column": "pmbench.core.dataset",
    "Completion": "pmbench.core.model",
    "ConfigError": "pmbench.core.errors",
    "DataError": "pmbench.core.errors",
    "DatasetSpec": "pmbench.core.dataset",
    "EMBEDDED": "pmbench.core.task",
    "Embedder": "pmbench.core.model",
    "F1": "pmbench.core.metric",
    "HubDataset": "pmbench.core.dataset",
    "Instance": "pmbench.core.instance",
    "Judge": "pmbench.core.task",
    "JudgeParts": "pmbench.core.task",
    "JudgeRole": "pmbench.core.task",
    "Macro": "pmbench.core.metric",
    "Mean": "pmbench.core.metric",
    "Entities": "pmbench.text.medcon",
    "Medcon": "pmbench.text.medcon",
    "Message": "pmbench.core.model",
    "Metric": "pmbench.core.metric",
    "MetricGroup": "pmbench.core.metric",
    "MissingExtra": "pmbench.core.errors",
    "Model": "pmbench.core.model",
    "Options": "pmbench.core.options",
    "PairMean": "pmbench.core.unit_metrics",
    "PathOption": "pmbench.core.options",
    "Prompt": "pmbench.text.prompts",
    "RankingMetric": "pmbench.core.unit_metrics",
    "Ratio": "pmbench.core.metric",
    "Record": "pmbench.core.task",
    "Request": "pmbench.models.backend",
    "RequestFailed": "pmbench.core.errors",
    "Response": "pmbench.core.instance",
    "Row": "pmbench.core.dataset",
    "SPLITTER": "pmbench.text.sentences",
    "Score": "pmbench.core.instance",
    "ScoringOption": "pmbench.core.options",
    "Sensitivity": "pmbench.core.dataset",
    "Strategy": "pmbench.core.task",
    "StrategyContext": "pmbench.core.task",
    "Task": "pmbench.core.task",
    "UnknownName": "pmbench.core.errors",
    "Unscored": "pmbench.core.errors",
    "Usage": "pmbench.core.model",
    "UserError": "pmbench.core.errors",
    "ViewBlock": "pmbench.core.view",
    "ViewLine": "pmbench.core.view",
    "bleu": "pmbench.text.bleu",
    "digest": "pmbench.core.digest",
    "find_span": "pmbench.text.spans",
    "id_shown": "pmbench.data.fingerprint",
    "flesch_kincaid_grade": "pmbench.text.readability",
    "json_reason": "pmbench.data.jsonrows",
    "open_embedder": "pmbench.models.embedder",
    "open_models": "pmbench.running.borrowed",
    "read_table": "pmbench.data.tables",
    "remove_spans": "pmbench.text.spans",
    "rouge": "pmbench.text.rouge",
    "sari": "pmbench.text.sari",
    "says_nothing": "pmbench.core.blank",
    "sentence_spans": "pmbench.text.sentences",
    "split_sentences": "pmbench.text.sentences",
}
"""The module that each public name comes from."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "COUNT",
    "EMBEDDED",
    "F1",
    "SPLITTER",
    "AlignScorer",
    "Backend",
    "BackendOptions",
    "BertScorer",
    "Choice",
    "Column",
    "Completion",
    "ConfigError",
    "DataError",
    "DatasetSpec",
    "Embedder",
    "Entities",
    "HubDataset",
    "Instance",
    "Judge",
    "JudgeParts",
    "JudgeRole",
    "Macro",
    "Mean",
    "Medcon",
    "Message",
    "Metric",
    "MetricGroup",
    "MissingExtra",
    "Model",
    "Options",
    "PairMean",
    "PathOption",
    "Prompt",
    "RankingMetric",
    "Ratio",
    "Record",
    "Request",
    "RequestFailed",
    "Response",
    "Row",
    "Score",
    "ScoringOption",
    "Sensitivity",
    "Strategy",
    "StrategyContext",
    "Task",
    "UnknownName",
    "Unscored",
    "Usage",
    "UserError",
    "ViewBlock",
    "ViewLine",
    "__version__",
    "bleu",
    "digest",
    "find_span",
    "flesch_kincaid_grade",
    "id_shown",
    "json_reason",
    "open_embedder",
    "open_models",
    "read_table",
    "remove_spans",
    "rouge",
    "sari",
    "says_nothing",
    "sentence_spans",
    "split_sentences",
]
