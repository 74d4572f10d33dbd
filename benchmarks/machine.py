"""What every benchmark says of the machine, and how it prints."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import oodometer

__all__ = ["machine", "print_table"]

PACKAGES = (
    "oodometer",
    "imagecorruptions-imaug",
    "corrupt-tta",
    "numpy",
    "scipy",
    "numba",
    "opencv-python-headless",
    "pillow",
    "scikit-image",
    "torch",
)
"""The packages whose versions are named, ours and the peers among them; those that are not installed are left out."""


def machine() -> dict[str, str]:
    """Name what the figures depend on."""
    from numba.core.registry import cpu_target

    _, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "processors": str(os.cpu_count()),
        "system": platform.platform(),
        "code for": f"{cpu}, {'with' if '+avx512f' in features else 'without'} AVX-512",
        "python": platform.python_version(),
        **{package: version for package in PACKAGES if (version := _version(package))},
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return oodometer.__version__ if package == "oodometer" else ""  # ours may run from a checkout


def print_table(title: str, head: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """Print Markdown, so that it can go into the documentation as it is."""
    rows = [head, ["---"] * len(head), *lines]
    sys.stdout.write(f"\n{title}\n\n" + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows))
    sys.stdout.flush()
