"""What a run says of a set of shifted images beyond its accuracy, as plain data; ``shift_details.py`` fills it."""

from __future__ import annotations

from dataclasses import dataclass

from oodometer.metrics import Estimate

__all__ = ["Balanced", "BeyondLine", "ByStyle", "NewPair", "OfStyle", "Pair", "ShiftDetails", "Wrong"]


@dataclass(frozen=True, slots=True)
class Balanced:
    """The accuracies with every class counted alike, over the ``classes`` that both clean and shifted images have.

    Where these are fewer than half of the shifted classes there is none: it would tell of them, and not of the set.
    """

    classes: int
    accuracy: Estimate
    clean: Estimate
    gap: Estimate


@dataclass(frozen=True, slots=True)
class OfStyle:
    """The images of one style, told by what their file names begin with; ``""`` where that says nothing.

    ``clean`` is over clean images of exactly the style's classes, weighted by the style's images, and ``gap`` that less
    the accuracy; over ``compared`` of the ``classes``, which are all unless some have no clean image. ``adjusted`` is
    the accuracy that the style would have over the classes of all styles (``metrics.two_way``); ``None`` where the
    style shares no class with the others. The calibration needs 100 images, the published one 200.
    """

    name: str
    n: int
    classes: int
    accuracy: Estimate
    compared: int
    clean: Estimate | None
    gap: Estimate | None
    adjusted: Estimate | None
    rms_calibration_error: Estimate | None
    rms_calibration_error_published: Estimate | None
    aurra: Estimate | None


@dataclass(frozen=True, slots=True)
class ByStyle:
    """One class: how many images it has in each style, and how many of these are right, in the order of the styles."""

    identifier: str
    name: str
    n: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wrong:
    """A class that was named ``n`` times for images of ``classes`` others; ``share`` is of all errors."""

    identifier: str
    name: str
    n: int
    share: Estimate
    classes: int


@dataclass(frozen=True, slots=True)
class Pair:
    """``n`` images of one class were called another; ``rate`` is their share of the class."""

    identifier: str
    name: str
    called_identifier: str
    called: str
    n: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class NewPair:
    """A pair that is more frequent than on clean images, of a class that is known when clean."""

    identifier: str
    name: str
    called_identifier: str
    called: str
    n: int
    rate: Estimate
    clean_rate: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class BeyondLine:
    """The accuracy less the one ``expected`` of a model of this clean accuracy, by the line of published ``models``."""

    models: tuple[str, ...]
    source: str
    expected: float
    difference: Estimate


@dataclass(frozen=True, slots=True)
class ShiftDetails:
    """What is behind the accuracy on a set of shifted images.

    ``balanced_accuracy`` is the mean over the classes of the set. ``styles`` are by falling accuracy, and there are
    none in a set whose names tell none; ``class_spread`` is how much classes were found to differ in the fit that
    adjusts them, in log odds. ``wrong``, ``pairs`` and ``new_pairs`` are the first of their kind. Without
    ``beyond_line``, ``beyond_line_unavailable`` says why. What needs clean images is ``None``, or empty, without them.
    """

    balanced_accuracy: Estimate
    balanced: Balanced | None
    styles: tuple[OfStyle, ...]
    class_spread: float | None
    by_style: tuple[ByStyle, ...]
    wrong: tuple[Wrong, ...]
    pairs: tuple[Pair, ...]
    new_pairs: tuple[NewPair, ...]
    beyond_line: BeyondLine | None
    beyond_line_unavailable: str | None
