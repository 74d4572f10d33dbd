"""Any object of the user's with ``predict(images) -> logits``, by its import path."""

from __future__ import annotations

from oodometer.errors import ModelError
from oodometer.models.importing import called, imported
from oodometer.models.options import ModelOptions

__all__ = ["OPTIONS", "load"]

OPTIONS: frozenset[str] = frozenset()


def load(path: str, options: ModelOptions) -> object:
    """Import ``package.module:object``: a model, or a class or function that is called without arguments to make one.

    Raises
    ------
    ModelError
        If it cannot be imported, fails, or makes something without ``predict``.
    """
    found = imported("python", path)
    model = called("python", path, found) if isinstance(found, type) or not hasattr(found, "predict") else found
    if not callable(getattr(model, "predict", None)):
        raise ModelError(f"python:{path} gives {type(model).__name__}, which has no method predict(images).")
    return model
