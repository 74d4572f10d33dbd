"""Robustness while a model trains: a small, fixed part of an evaluation at the end of epochs.

``subset`` has the plain helper for any loop, ``lightning`` the callback, which is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oodometer.training.subset import RobustnessCheck

if TYPE_CHECKING:
    from oodometer.training.lightning import RobustnessCallback

__all__ = ["RobustnessCallback", "RobustnessCheck"]


def __getattr__(name: str) -> object:
    if name != "RobustnessCallback":
        raise AttributeError(f"module 'oodometer.training' has no attribute {name!r}")
    from oodometer.training.lightning import RobustnessCallback

    return RobustnessCallback
