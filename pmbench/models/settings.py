"""What an organisation or a user sets once, in `pmbench.toml`: trusted endpoints, rate limits, prices."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

import msgspec
import platformdirs

from pmbench.core import registry
from pmbench.core.errors import ConfigError, UnknownName
from pmbench.models.serving.endpoints import origin

VARIABLE = "PMBENCH_CONFIG"
FILE = "pmbench.toml"
_LARGEST = 1 << 20


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[policy]`.

    Attributes:
        trusted_endpoints: origins (`https://llm.hospital.example:8443`) that count as local: patients' words may
            be sent there.
    """

    trusted_endpoints: tuple[str, ...] = ()


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[limits."openai"]`, or of one model `[limits."openai:gpt-4o"]`.

    Attributes:
        requests_per_minute, tokens_per_minute: never more than these; None: what the server bears.
        concurrency: most requests in flight.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"`{name}` must be above 0")


class OwnPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[prices."openai:gpt-4o"]`: US dollars per million tokens; takes the place of the kept price list.

    Attributes:
        input, output: of the prompt and of the answer.
        cached, written: of prompt tokens that the server had, or keeps for later; None: as `input`.
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"`{name}` must be 0 or more")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of `pmbench.toml`."""

    policy: Policy = Policy()
    limits: dict[str, Rates] = {}
    prices: dict[str, OwnPrice] = {}

    def rates(self, backend: str, target: str) -> Rates:
        """The limits of a model: its own, else those of its backend."""
        return self.limits.get(f"{backend}:{target}") or self.limits.get(backend) or Rates()


def settings() -> Settings:
    """What applies here: the file that PMBENCH_CONFIG names, `pmbench.toml` here, or that of the user.

    Raises:
        ConfigError: the file that is named is not there, or it cannot be understood.
    """
    path = settings_file()
    return Settings() if path is None else _read(path, path.stat().st_mtime_ns)


def settings_file() -> Path | None:
    """The file whose settings apply, None where there is none.

    Raises:
        ConfigError: PMBENCH_CONFIG names a file that is not there.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        if not path.is_file():
            raise ConfigError("there is no such file", where=f"{VARIABLE}={named}")
        return path
    here = (Path(FILE), Path(platformdirs.user_config_dir("pmbench")) / FILE)
    return next((path for path in here if path.is_file()), None)


@functools.lru_cache(maxsize=8)
def _read(path: Path, _changed: int) -> Settings:
    try:
        if path.stat().st_size > _LARGEST:
            raise ConfigError(f"it is larger than {_LARGEST:,} bytes, as no settings are", where=str(path))
        found = msgspec.toml.decode(path.read_bytes(), type=Settings)
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(str(error), where=str(path)) from None
    for text in found.policy.trusted_endpoints:
        if (
            not origin(text)
            or "*" in text
            or text.strip().rstrip("/").count("/") > 2
            or "?" in text
            or "#" in text
        ):
            # Not quoted: it may hold a password.
            raise ConfigError(
                "an entry is no endpoint",
                where=f"{path}: policy.trusted_endpoints",
                remedy="Write scheme, host and port and no more: https://llm.hospital.example:8443",
            )
    known = set(registry.names(registry.BACKENDS))
    for table, names in (("limits", found.limits), ("prices", found.prices)):
        for name in names:
            # A price may stand under a server's address too.
            if name.partition(":")[0] not in known and not (table == "prices" and "//" in name):
                unknown = UnknownName("backend", name.partition(":")[0], known)
                raise ConfigError(str(unknown), where=f"{path}: {table}")
    return found
