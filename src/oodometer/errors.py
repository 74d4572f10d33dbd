"""Every error that Oodometer raises on purpose.

::

    OodometerError                  anything a user can mend; the CLI prints it without a traceback, exit code 2
    ├── ArgumentError  (ValueError) an argument is wrong: unknown name, severity out of range, wrong dtype or shape
    ├── DatasetError                a folder, a label or a mapping file does not describe a usable data set
    │   └── ImageError              one image cannot be read; evaluation skips it, names it and counts it
    ├── ModelError                  a model cannot be loaded, or its output does not fit
    ├── MissingDataError            something that must be fetched or installed first is not there
    ├── MetricError    (ValueError) a number was asked for that these inputs do not define
    └── StoreError                  a run folder cannot be read, written or continued

Anything else that escapes is a bug of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ArgumentError",
    "DatasetError",
    "ImageError",
    "MetricError",
    "MissingDataError",
    "ModelError",
    "OodometerError",
    "StoreError",
    "unknown_name",
]


class OodometerError(Exception):
    """Base of all errors that Oodometer raises on purpose."""


class ArgumentError(OodometerError, ValueError):
    """An argument is wrong: an unknown name, a severity out of range, a wrong dtype or shape."""


class DatasetError(OodometerError):
    """A folder, a label or a mapping file does not describe a usable data set."""


class ImageError(DatasetError):
    """One image cannot be read; the message names the file."""


class ModelError(OodometerError):
    """A model cannot be loaded, or its output does not fit the label space."""


class MissingDataError(OodometerError):
    """Something that must be fetched or installed first is not there; the message says how."""


class MetricError(OodometerError, ValueError):
    """A number was asked for that these inputs do not define."""


class StoreError(OodometerError):
    """A run folder cannot be read, written or continued."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ArgumentError:
    """Build the error for an unknown name: what was given, near names, and what exists.

    Parameters
    ----------
    kind
        What the name should have been, such as ``"corruption"``.
    name
        What was given.
    known
        The names that exist, in the order in which to list them.

    Returns
    -------
    ArgumentError
        Not raised yet, so that the caller's ``raise`` shows where the name came in.
    """
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return ArgumentError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(names)}.")
