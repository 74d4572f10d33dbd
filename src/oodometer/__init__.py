"""Measure how far an image classifier's accuracy travels off its training distribution.

>>> import oodometer
>>> foggy = oodometer.corrupt(image, "fog", severity=3)  # doctest: +SKIP
>>> run = oodometer.evaluate(model, "path/to/val")  # doctest: +SKIP
>>> run.mce()  # doctest: +SKIP

Names are imported when first used, so that ``import oodometer`` is quick and pulls in no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oodometer import (
        compat,
        corruptions,
        datasets,
        errors,
        metrics,
        models,
        perturbations,
        testing,
        training,
        transforms,
    )
    from oodometer.building import build, build_sequences
    from oodometer.comparison import Comparison, compare
    from oodometer.corruptions import corrupt, corruption, list_corruptions
    from oodometer.corruptions.fast.jpeg import jpeg_roundtrip
    from oodometer.datasets import open_dataset, open_folder
    from oodometer.doctor import Diagnosis, check
    from oodometer.errors import OodometerError
    from oodometer.evaluation import evaluate
    from oodometer.fetching import fetch
    from oodometer.merging import merge
    from oodometer.metrics import Estimate
    from oodometer.models import FakeModel, ModelOptions, Normalization
    from oodometer.perturbations import perturb
    from oodometer.run import Run
    from oodometer.sequences import SequenceRun, evaluate_sequences
    from oodometer.showing import animate, show
    from oodometer.strength_curves import StrengthCurve, strength_curve
    from oodometer.sweeping import sweep
    from oodometer.textures import fetch_frost
    from oodometer.tracking import track

__version__ = "0.1.0"

_HOMES = {
    "Comparison": "comparison",
    "Diagnosis": "doctor",
    "Estimate": "metrics",
    "FakeModel": "models",
    "ModelOptions": "models",
    "Normalization": "models",
    "OodometerError": "errors",
    "Run": "run",
    "SequenceRun": "sequences",
    "StrengthCurve": "strength_curves",
    "animate": "showing",
    "build": "building",
    "build_sequences": "building",
    "check": "doctor",
    "compare": "comparison",
    "corrupt": "corruptions",
    "corruption": "corruptions",
    "evaluate": "evaluation",
    "evaluate_sequences": "sequences",
    "fetch": "fetching",
    "fetch_frost": "textures",
    "jpeg_roundtrip": "corruptions.fast.jpeg",
    "list_corruptions": "corruptions",
    "merge": "merging",
    "open_dataset": "datasets",
    "open_folder": "datasets",
    "perturb": "perturbations",
    "show": "showing",
    "strength_curve": "strength_curves",
    "sweep": "sweeping",
    "track": "tracking",
}

__all__ = [
    "Comparison",
    "Diagnosis",
    "Estimate",
    "FakeModel",
    "ModelOptions",
    "Normalization",
    "OodometerError",
    "Run",
    "SequenceRun",
    "StrengthCurve",
    "animate",
    "build",
    "build_sequences",
    "check",
    "compare",
    "compat",
    "corrupt",
    "corruption",
    "corruptions",
    "datasets",
    "errors",
    "evaluate",
    "evaluate_sequences",
    "fetch",
    "fetch_frost",
    "jpeg_roundtrip",
    "list_corruptions",
    "merge",
    "metrics",
    "models",
    "open_dataset",
    "open_folder",
    "perturb",
    "perturbations",
    "show",
    "strength_curve",
    "sweep",
    "testing",
    "track",
    "training",
    "transforms",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'oodometer' has no attribute {name!r}")
    home = importlib.import_module(f"oodometer.{_HOMES.get(name, name)}")
    value = getattr(home, name) if name in _HOMES else home
    globals()[name] = value  # asked for once, then found without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
