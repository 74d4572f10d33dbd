"""Finding what a model needs: the packages of its framework, and the user's own code by its import path."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator

from oodometer.errors import MissingDataError, ModelError, OodometerError

__all__ = ["called", "first_line", "imported", "loading", "needed"]


@contextlib.contextmanager
def needed(extra: str, what: str = "This model") -> Iterator[None]:
    """Turn a missing package into an error that says what to install.

    Parameters
    ----------
    extra
        The extra of Oodometer that brings the packages which are imported here.
    what
        What needs them.

    Raises
    ------
    MissingDataError
        If one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDataError(f"{what} needs {error.name}: pip install 'oodometer[{extra}]'.") from error


@contextlib.contextmanager
def loading(spec: str) -> Iterator[None]:
    """Turn whatever a framework raises while it loads a model into an error that names the model.

    Raises
    ------
    ModelError
        With the first line of what the framework says.
    """
    try:
        yield
    except OodometerError:
        raise
    except Exception as error:  # frameworks raise everything, in dozens of lines
        raise ModelError(f"{spec} cannot be loaded: {type(error).__name__}: {first_line(error)}") from error


def imported(kind: str, path: str) -> object:
    """Import an object of the user's from ``package.module:object``.

    Parameters
    ----------
    kind
        What stands before the path in the specification, such as ``"torch"``.
    path
        Where the object is.

    Raises
    ------
    ModelError
        If it cannot be imported.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise ModelError(f"{kind}:{path} is not of the form {kind}:package.module:object.")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except (Exception, SystemExit) as error:  # the module is the user's code and may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise ModelError(
                f"{kind}:{path}: {error}. The module must be importable: installed, or in a folder on PYTHONPATH."
            ) from error
        raise _failed(kind, path, error) from error


def called(kind: str, path: str, factory: object) -> object:
    """Call a factory of the user's without arguments.

    Raises
    ------
    ModelError
        If it fails, or is no function.
    """
    try:
        return _callable(factory)()
    except (Exception, SystemExit) as error:
        raise _failed(kind, path, error) from error


def first_line(error: BaseException) -> str:
    """Return the beginning of what an exception says."""
    return str(error).strip().partition("\n")[0][:160]


def _callable(factory: object) -> Callable[[], object]:
    if not callable(factory):
        raise TypeError(f"{type(factory).__name__} cannot be called")
    return factory


def _failed(kind: str, path: str, error: BaseException) -> ModelError:
    return ModelError(f"{kind}:{path} failed: {type(error).__name__}: {error}.")
