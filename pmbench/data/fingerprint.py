"""The fingerprint of a dataset: of what its instances hold, whatever file they came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pmbench.core.digest import canonical_json, digest, digest_bytes
from pmbench.core.errors import DataError
from pmbench.core.instance import Instance


def fingerprint(instances: Iterable[Instance]) -> str:
    """SHA-256 over id, inputs, target, cluster and slices of every instance, in their order.

    The digest of the list of each instance's own digest, so that memory stays flat.

    Raises:
        DataError: an instance that cannot be written as JSON.
    """
    return digest([_one(instance) for instance in instances])


def id_shown(ident: str) -> str:
    """An id as an error may show it; what is as long as text, or has spaces as text has, is not shown."""
    return repr(ident) if len(ident) <= 64 and not any(map(str.isspace, ident)) else "(a long id)"


def _one(instance: Instance) -> str:
    parts: list[Any] = [
        instance.id,
        instance.inputs,
        instance.target,
        instance.cluster,
        dict(instance.slices),
    ]
    try:
        encoded = canonical_json(parts)
        # NaN and infinities are encoded as null: two datasets could share one fingerprint.
        finite = b"null" not in encoded or _finite(parts)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DataError(
            f"cannot be written as JSON ({type(error).__name__})",
            where=f"instance {id_shown(instance.id)}",
            remedy="Use text, numbers, lists and objects only, not nested too deeply",
        ) from None
    if not finite:
        raise DataError(
            "holds NaN or an infinity",
            where=f"instance {id_shown(instance.id)}",
            remedy="Leave that value empty (null)",
        )
    return digest_bytes(encoded)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    return not isinstance(value, (list, tuple, set, frozenset)) or all(map(_finite, value))
