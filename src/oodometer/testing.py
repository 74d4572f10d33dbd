"""What a corruption promises, as a check that anyone can run on their own."""

from __future__ import annotations

import concurrent.futures
import functools
import inspect
import random
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oodometer.corruptions import registry
from oodometer.corruptions.apply import corrupt
from oodometer.corruptions.strength import natural_like
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.types import Image

__all__ = ["check_corruption"]

_SIZES = ((16, 16), (16, 130), (33, 47), (64, 96), (96, 64), (120, 200))
_SEVERITIES = (1, 2, 3, 4, 5)


def check_corruption(
    corruption: str | Callable[..., Image], *, edition: str = "imagenet224", method: str = "fast"
) -> None:
    """Check that a registered corruption keeps what all corruptions promise.

    In this order: on images of several sizes, on flat ones and at severities between the whole ones it gives new uint8
    images of the same shape, without an error or a warning, and leaves its input as it is; views (read-only, flipped,
    turned) give what their copies give; the same seed and image id give the same pixels, on threads too, and others
    give other pixels if, and only if, chance was declared; global random states play no part; severity 0 changes
    nothing; and the five severities differ.

    Parameters
    ----------
    corruption
        A name that ``corrupt`` takes, or a function that was registered with ``oodometer.corruption``.
    edition, method
        As for ``corrupt``.

    Raises
    ------
    AssertionError
        If a promise is broken; the message says which, where, and what was found.
    ArgumentError
        If there is no such corruption, edition or method.
    MissingDataError
        If frost's textures are nowhere.

    Examples
    --------
    >>> check_corruption("contrast")
    """
    name = corruption if isinstance(corruption, str) else _name_of(corruption)
    chosen = registry.find(name)
    subject = _Subject(name, edition, method, chosen.random)
    corrupt(_picture(64, 64), name, 0, edition=edition, method=method)  # refuses unknown editions and methods
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The edition 'imagenet224' is meant for larger images")
        for check in (_check_sizes, _check_flat, _check_views, _check_chance, _check_threads, _check_severities):
            check(subject)


def _name_of(function: Callable[..., Image]) -> str:
    for corruption in registry.REGISTRY.values():
        if inspect.unwrap(corruption.reference) is function:
            return corruption.name
    raise ArgumentError(f"{function!r} is not registered as a corruption; see oodometer.corruption.")


@dataclass(frozen=True, slots=True)
class _Subject:
    """The corruption that is checked, and how."""

    name: str
    edition: str
    method: str
    random: bool

    def of(self, image: Image, severity: float, **options: typing.Any) -> Image:  # noqa: ANN401  # those of corrupt
        """Corrupt an image, and hold the result to what every result has to be."""
        before = image.copy()
        given = {"edition": self.edition, "method": self.method, "seed": 0, "image_id": "a.png", **options}
        try:
            made = corrupt(image, self.name, severity, **given)
        except MissingDataError:
            raise
        except Exception as error:  # an own corruption is anyone's code, and a warning counts as an error
            raise AssertionError(f"{self._where(image, severity)} raises {type(error).__name__}: {error}") from error
        self.require(
            made.dtype == np.uint8 and made.shape == image.shape,
            f"gives {made.dtype} of shape {made.shape}",
            image,
            severity,
        )
        self.require(np.array_equal(before, image), "changes its input", image, severity)
        self.require(not np.shares_memory(made, image), "returns its input", image, severity)
        self.require(made.flags.writeable, "gives a read-only array", image, severity)
        return made

    def require(self, promise: bool, broken: str, image: Image, severity: float) -> None:
        """Raise an error that says what is broken, unless the promise is kept."""
        if not promise:
            raise AssertionError(f"{self._where(image, severity)} {broken}.")

    def _where(self, image: Image, severity: float) -> str:
        size = f"{image.shape[0]} x {image.shape[1]}"
        return f"{self.name} (edition {self.edition}, method {self.method}) at severity {severity:g} on {size} pixels"


def _picture(height: int, width: int, number: int = 0) -> Image:
    return natural_like(224)[number][:height, :width].copy()


def _check_sizes(subject: _Subject) -> None:
    for size in _SIZES:
        for severity in _SEVERITIES:
            subject.of(_picture(*size), severity)
    for between in (1e-9, 0.5, 1.5, 2.5, 3.5, 4.99):
        subject.of(_picture(64, 80), between)


def _check_flat(subject: _Subject) -> None:
    for level in (0, 1, 128, 255):
        flat = np.full((32, 40, 3), level, np.uint8)
        dotted = flat.copy()
        dotted[20, 30] = 255 - level
        for severity in _SEVERITIES:
            subject.of(flat, severity)
            subject.of(dotted, severity)


def _check_views(subject: _Subject) -> None:
    image = _picture(64, 96)
    image.setflags(write=False)
    turned = image.transpose(1, 0, 2)
    for view in (image, image[::-1, ::-1], image[:, :, ::-1], image[::2, 1::2], turned, np.asfortranarray(image)):
        expected = subject.of(np.array(view, order="C"), 3)
        subject.require(
            np.array_equal(subject.of(view, 3), expected), "gives a view other pixels than its copy", view, 3
        )


def _check_chance(subject: _Subject) -> None:
    image = _picture(96, 96)
    for severity in _SEVERITIES:
        require = functools.partial(subject.require, image=image, severity=severity)
        states = np.random.get_state(legacy=False), random.getstate()
        first, again = subject.of(image, severity), subject.of(image, severity)
        unmoved = str(states) == str((np.random.get_state(legacy=False), random.getstate()))
        require(unmoved, "draws from a global random state; it must draw from rng alone")
        require(np.array_equal(first, again), "gives other pixels for the same seed")
        for other in ({"seed": 1}, {"image_id": "b.png"}):
            differs = not np.array_equal(first, subject.of(image, severity, **other))
            what = "seed" if "seed" in other else "image id"
            require(differs or not subject.random, f"is declared random, and another {what} gives the same pixels")
            require(subject.random or not differs, f"is declared not random, and another {what} gives other pixels")


def _check_threads(subject: _Subject) -> None:
    jobs = [(_picture(64, 64, number % 4), f"{number}.png") for number in range(8)]

    def run(job: tuple[Image, str]) -> bytes:
        return subject.of(job[0], 3, image_id=job[1]).tobytes()

    alone = [run(job) for job in jobs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, jobs[::-1]))[::-1]
    subject.require(together == alone, "gives other pixels on threads than alone", jobs[0][0], 3)


def _check_severities(subject: _Subject) -> None:
    image = _picture(96, 96)
    subject.require(np.array_equal(subject.of(image, 0), image), "changes the image", image, 0)
    # The reference without an image id draws one stream whatever the severity, so that only the constants tell.
    made = [image, *(subject.of(image, severity, method="reference", image_id=None) for severity in _SEVERITIES)]
    for severity in _SEVERITIES:
        for lower in range(severity):
            subject.require(
                not np.array_equal(made[severity], made[lower]), f"equals severity {lower}", image, severity
            )
