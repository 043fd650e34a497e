"""From what was asked for to an engine that answers: load, see what fits, put the parts together."""

from __future__ import annotations

from pmbench.models.backends.hf.loading import Wanted, load
from pmbench.models.backends.hf.worker import Engine


def build(
    wanted: Wanted, *, template: str, rows: int, context: int, thinking: bool | None, reuse: bool
) -> Engine:
    """Load a model and put an engine around it; seconds to minutes.

    Args:
        wanted: what to load.
        template: chat template.
        rows: most sequences at once; 0: as many as fit.
        context: most tokens of prompt and answer.
        thinking: what the template is told; None: nothing.
        reuse: whether common beginnings are kept.

    Raises:
        ConfigError, ModelUnavailable: see `load`.
    """
    loaded = load(wanted)
    from pmbench.models.backends.hf.engine import ChatEngine
    from pmbench.models.backends.hf.memory import budget_for
    from pmbench.models.backends.hf.pooled import PooledEngine
    from pmbench.models.backends.hf.prompts import open_speech
    from pmbench.models.backends.hf.reading import reader_for

    speech = open_speech(wanted.folder, template)
    config = loaded.module.config
    budget = budget_for(config, loaded.device, loaded.module.dtype, rows, wanted.kind != "chat")
    if wanted.kind != "chat":
        pooling = wanted.folder.pooling if wanted.kind == "embed" else ""
        return PooledEngine(loaded, speech, budget, context=context, pooling=pooling)
    if not reuse:
        budget.kept = 0
    reader = reader_for(loaded, kept=budget.kept, piece=budget.prefill)
    ends = speech.ends | _ends(loaded.module)
    return ChatEngine(reader, speech, budget, context=context, thinking=thinking, ends=ends)


def _ends(module: object) -> frozenset[int]:
    """The tokens by which the model's own settings end an answer; nothing else of them is taken."""
    found: set[int] = set()
    for settings in (getattr(module, "generation_config", None), getattr(module, "config", None)):
        given = getattr(settings, "eos_token_id", None)
        found |= set(given if isinstance(given, list) else [] if given is None else [given])
    return frozenset(found)
