"""Own corruptions: a user's function gets what the published ones have."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Sequence

import numpy as np

from oodometer.corruptions.registry import Corruption, Kernel, register
from oodometer.corruptions.severity import Row, Table, mix, nearest
from oodometer.errors import ArgumentError
from oodometer.families import GROUPS
from oodometer.types import Image

__all__ = ["corruption"]

Function = typing.TypeVar("Function", bound=Callable[..., Image])


def corruption(
    name: str, *, severities: Sequence[typing.Any], family: str = "own", random: bool = True
) -> Callable[[Function], Function]:
    """Register a function as a corruption, under a name of its own.

    The function is called as ``f(image, rng, *constants)``: ``image`` is uint8, H x W x 3, RGB, contiguous, of any size
    from 16 x 16; ``rng`` is a ``numpy.random.RandomState``, which must be its only source of chance; ``constants`` are
    those of the severity. It returns a new uint8 image of the same shape and leaves the given one as it is.

    Parameters
    ----------
    name
        What it is called, in ``corrupt``, on the command line and in reports: letters, digits, ``_``, ``-`` and ``.``.
    severities
        The constants of severities 1 to 5: five tuples, all of one length, or five single constants.
    family
        A group to list it in, besides ``"own"``; not one of the published groups, which stay as they are.
    random
        Whether the result depends on ``rng``.

    Returns
    -------
    callable
        A decorator that returns the function untouched.

    Raises
    ------
    ArgumentError
        If the name is taken, a name is not usable, the severities are not five rows of one length, or the function does
        not take them. Later, from ``corrupt``: if the function returns anything else than promised or changes its
        input.

    Notes
    -----
    Between two severities numbers are mixed linearly (so that they are floats there), and of other constants the nearer
    one is taken. Below 1 the result of severity 1 is mixed with the image, pixel by pixel. There is no severity above 5
    and no edition: whatever the edition, the constants are the same.

    ``oodometer.testing.check_corruption`` checks a function's promises. Command lines know it with
    ``oodometer --import MODULE``.

    Examples
    --------
    >>> import numpy as np
    >>> import oodometer
    >>> @oodometer.corruption("darkness", severities=(20, 40, 60, 80, 100), random=False)
    ... def darkness(image, rng, levels):
    ...     return np.clip(image - np.float64(levels), 0, 255).astype(np.uint8)
    >>> oodometer.corrupt(np.full((64, 64, 3), 128, np.uint8), "darkness", severity=2.5)[0, 0]
    array([78, 78, 78], dtype=uint8)
    """
    _check_names(name, family)
    rows = _rows(name, severities)

    def decorate(function: Function) -> Function:
        _check_signature(name, function, rows)
        register(Corruption(name, family, _table(rows), _kernel(name, function), random=random))
        return function

    return decorate


def _check_names(name: object, family: object) -> None:
    for what, given, taken in (("name", name, [*GROUPS, "own", "clean"]), ("family", family, [*GROUPS, "clean"])):
        if not isinstance(given, str) or not re.fullmatch(r"\w[\w.-]*", given):
            raise ArgumentError(
                f"The {what} of a corruption must be made of letters, digits, '_', '-' and '.', and begin with neither "
                f"of the last two; not {given!r}."
            )
        if given in taken:
            raise ArgumentError(f"The {what} of an own corruption cannot be {given!r}, which means something else.")


def _rows(name: str, severities: object) -> list[Row]:
    if not isinstance(severities, Sequence | np.ndarray) or isinstance(severities, str) or len(severities) != 5:
        raise ArgumentError(
            f"{name}: the severities must be five constants or five tuples of constants, not {severities!r}."
        )
    rows = [tuple(row) if isinstance(row, tuple | list | np.ndarray) else (row,) for row in severities]
    if len({len(row) for row in rows}) != 1:
        raise ArgumentError(f"{name}: each severity must have as many constants as the others, not {severities!r}.")
    return rows


def _check_signature(name: str, function: Callable[..., Image], rows: list[Row]) -> None:
    try:
        inspect.signature(function).bind("image", "rng", *rows[0])
    except (TypeError, ValueError) as error:  # ValueError: of a built-in function that tells no signature
        raise ArgumentError(
            f"{name}: the function must take an image, a random generator and {len(rows[0])} constants; {error}."
        ) from None


def _table(rows: list[Row]) -> Table:
    """Use the same rows for all editions.

    A last constant is the share of the result in a mix with the image, which only severities below 1 have.
    """
    first, second, third, fourth, fifth = ((*row, 1) for row in rows)
    all_five = (first, second, third, fourth, fifth)
    return Table(
        clean=(*[None] * len(rows[0]), 0),
        imagenet224=all_five,
        inception299=all_five,
        tiny64=all_five,
        cifar32=all_five,
        between=_between,
        beyond="its author gave five.",
    )


def _between(low: Row, high: Row, t: float) -> Row:
    return tuple(_mixed(a, b, t) for a, b in zip(low, high, strict=True))


def _mixed(low: typing.Any, high: typing.Any, t: float) -> typing.Any:  # noqa: ANN401  # an author's constants
    numbers = all(isinstance(c, (int, float, np.number)) and not isinstance(c, bool) for c in (low, high))
    # Equal ones stay as they are, a whole number whole.
    return mix(low, high, t) if numbers and low != high else nearest((low,), (high,), t)[0]


def _kernel(name: str, function: Callable[..., Image]) -> Kernel:
    """Wrap the function as a kernel that holds it to its promises."""

    @functools.wraps(function)  # so that the function leads to its kernel
    def kernel(image: Image, rng: np.random.RandomState, *constants: typing.Any) -> Image:  # noqa: ANN401
        *given, share = constants
        before = image.copy()
        made = function(before, rng, *given)
        _check_result(name, image, made)
        if not np.array_equal(before, image):
            raise ArgumentError(f"The own corruption {name!r} changed its input; it must return a new image.")
        if share == 1:
            return np.array(made, order="C")  # a function may keep what it returns, or return a view
        mixed: Image = np.rint(image + (made - image.astype(np.float64)) * share).astype(np.uint8)
        return mixed

    return kernel


def _check_result(name: str, image: Image, made: object) -> None:
    if not isinstance(made, np.ndarray):
        found = type(made).__name__
    elif made.dtype != np.uint8 or made.shape != image.shape:
        found = f"{made.dtype} of shape {' x '.join(map(str, made.shape))}"
    else:
        return
    shape = " x ".join(map(str, image.shape))
    raise ArgumentError(f"The own corruption {name!r} must return a uint8 array of shape {shape}, not {found}.")
