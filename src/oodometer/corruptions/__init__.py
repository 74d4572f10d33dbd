"""The corruptions: an image in, a corrupted image of the same size out. Knows nothing of data sets, models or files."""

from __future__ import annotations

import operator
import typing
import warnings

import numpy as np
import PIL.Image

from oodometer import seeding
from oodometer.corruptions import registry
from oodometer.corruptions.severity import EDITIONS
from oodometer.errors import ArgumentError, unknown_name
from oodometer.types import Image

__all__ = ["EDITIONS", "METHODS", "SMALLEST_SIDE", "corrupt", "list_corruptions"]

METHODS = ("fast", "reference")
"""The two ways to compute each corruption."""

SMALLEST_SIDE = 16
"""Below this many pixels on a side there is no meaning to defend, and displacements leave the image."""


@typing.overload
def corrupt(
    image: Image,
    corruption: str,
    severity: float = ...,
    *,
    seed: int = ...,
    method: str = ...,
    edition: str = ...,
    image_id: str | None = ...,
) -> Image: ...


@typing.overload
def corrupt(
    image: PIL.Image.Image,
    corruption: str,
    severity: float = ...,
    *,
    seed: int = ...,
    method: str = ...,
    edition: str = ...,
    image_id: str | None = ...,
) -> PIL.Image.Image: ...


def corrupt(
    image: Image | PIL.Image.Image,
    corruption: str,
    severity: float = 1,
    *,
    seed: int = 0,
    method: str = "fast",
    edition: str = "imagenet224",
    image_id: str | None = None,
) -> Image | PIL.Image.Image:
    """Corrupt one image.

    Parameters
    ----------
    image
        A uint8 array, H x W x 3, RGB, 0..255, of any strides (a read-only array or a flipped view is fine), or a PIL
        image of any mode. It is never changed. Each side has at least 16 pixels.
    corruption
        One of ``list_corruptions("all")``.
    severity
        A number from 0 to 5. 0 returns a copy; 1 to 5 are the published strengths exactly; for numbers between see
        the notes.
    seed
        An integer. The same arguments give the same pixels, in any order, thread or process.
    method
        ``"fast"``, or ``"reference"``: the plain kernels that match the published images. Both have the same meaning.
    edition
        The published set of constants: ``"imagenet224"`` (ImageNet-C), ``"inception299"``, ``"tiny64"`` or
        ``"cifar32"``. The first on an image under 64 pixels warns, since it leaves little to recognise.
    image_id
        Names the image, so that images corrupted with one seed get different noise. Best its path relative to the
        root of the data set, with ``/``.

    Returns
    -------
    numpy.ndarray or PIL.Image.Image
        A new image of the same size: an array for an array, an RGB image for a PIL image.

    Raises
    ------
    ArgumentError
        If an argument is none of the above; the message says what was expected.
    MissingDataError
        If frost's textures are nowhere; the message says how to get them.

    Notes
    -----
    PIL images are converted with Pillow's ``convert("RGB")``: alpha is dropped, gray is repeated, and a gray result is
    not restored. Pillow clips what does not fit 8 bits (modes ``I;16``, ``I`` and ``F``), so scale those yourself.

    The random stream is that of (seed, image id, corruption, severity). One case differs: with ``method="reference"``
    and no ``image_id``, draws come from ``numpy.random.RandomState(seed)`` in the published order, which reproduces
    images made by the published code with that seed.

    A severity between two published ones mixes their constants linearly, below 1 with those of an unchanged image,
    except where that would not mean a strength between:

    ================== ============================================================================================
    shot_noise         ``1 / sqrt(photons)`` is mixed, which the noise's deviation is proportional to
    defocus_blur       grows in small steps, as its disk is made of whole pixels; a softer edge stays up to the next row
    glass_blur         a fractional number of passes: the last one moves a share of the pixels; where the largest
                       displacement differs, it and the passes step at the middle
    zoom_blur          the largest zoom is mixed; the number of zooms is rounded up
    snow               below 1 the flakes get rare and the whitening fades
    spatter            between water (3) and mud (4) the nearer one is taken, at the middle mud
    saturate           between fading (2) and boosting (3) the nearer one is taken, at the middle boosting
    elastic_transform  alpha and sigma are mixed geometrically, unless alpha is 0 on one side
    pixelate           grows in small steps: the small picture has whole pixels
    jpeg_compression   the quality is rounded to a whole number, from 100 at severity 0
    ================== ============================================================================================

    References
    ----------
    Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations",
    ICLR 2019.

    Examples
    --------
    >>> import numpy as np
    >>> gray = np.full((224, 224, 3), 128, np.uint8)
    >>> corrupt(gray, "brightness", severity=3)[0, 0]
    array([204, 204, 204], dtype=uint8)
    """
    chosen = registry.find(corruption)
    strength = _severity(severity)
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    if edition not in EDITIONS:
        raise unknown_name("edition", edition, EDITIONS)
    pixels = _pixels(image)
    if min(pixels.shape[:2]) < 64 and edition == "imagenet224":
        warnings.warn(
            f"The edition 'imagenet224' is meant for larger images than {pixels.shape[0]} x {pixels.shape[1]}; "
            "'tiny64' and 'cifar32' have the strengths published for small ones.",
            UserWarning,
            stacklevel=2,
        )
    rng = _stream(seed, image_id, corruption, strength, method)
    if strength == 0:
        result = pixels.copy()
    else:
        result = chosen.kernel(method)(pixels, rng, *chosen.table.row(edition, strength))
    return PIL.Image.fromarray(result) if isinstance(image, PIL.Image.Image) else result


def list_corruptions(group: str = "imagenet-c") -> tuple[str, ...]:
    """Return the names of a group of corruptions, in the published order.

    Parameters
    ----------
    group
        ``"imagenet-c"``: the 15 that mCE counts; ``"extra"``: the 4 that it does not; ``"all"``: both; or one of the
        four families of the 15, ``"noise"``, ``"blur"``, ``"weather"`` and ``"digital"``.

    Returns
    -------
    tuple of str
        The names that ``corrupt`` takes.
    """
    return registry.group(group)


def _severity(severity: object) -> float:
    kinds = (int, float, np.integer, np.floating)
    if isinstance(severity, bool) or not isinstance(severity, kinds) or not 0 <= severity <= 5:  # NaN fails both sides
        raise ArgumentError(
            f"The severity must be a number from 0 (unchanged) to 5 (strongest published), not {severity!r}."
        )
    return float(severity)


def _pixels(image: Image | PIL.Image.Image) -> Image:
    """Return the image as a contiguous array, H x W x 3; not a copy where it is one already."""
    if isinstance(image, PIL.Image.Image):
        # By way of RGBA, or Pillow warns about palettes with transparency.
        opaque = image.convert("RGBA") if "transparency" in image.info else image
        pixels = np.asarray(opaque.convert("RGB"))
    else:
        pixels = np.ascontiguousarray(_checked(image))
    if min(pixels.shape[:2]) < SMALLEST_SIDE:
        raise ArgumentError(
            f"Each side of the image must have at least {SMALLEST_SIDE} pixels; this one is "
            f"{pixels.shape[0]} x {pixels.shape[1]} (height x width)."
        )
    return pixels


def _checked(image: Image) -> Image:
    expected = "The image must be a uint8 array of shape height x width x 3 (RGB, 0..255) or a PIL image"
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"{expected}, not {type(image).__name__}.")
    found = f"not {image.dtype} of shape {' x '.join(map(str, image.shape))}"
    if image.dtype != np.uint8:
        floats = ' Floats from 0 to 1 become one with (x * 255).round().astype("uint8").'
        raise ArgumentError(f"{expected}, {found}.{floats if image.dtype.kind == 'f' else ''}")
    if image.ndim != 3 or image.shape[2] != 3:
        gray = image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 1)
        hint = " Gray becomes RGB with np.repeat(x.reshape(*x.shape[:2], 1), 3, axis=2)." if gray else ""
        raise ArgumentError(f"{expected}, {found}.{hint}")
    return image


def _stream(seed: int, image_id: str | None, corruption: str, severity: float, method: str) -> np.random.RandomState:
    try:
        whole = operator.index(seed)
    except TypeError:
        raise ArgumentError(f"The seed must be an integer, not {seed!r}.") from None
    if method == "fast" or image_id is not None:
        return seeding.stream(whole, image_id or "", corruption, severity)
    if not 0 <= whole < 2**32:
        raise ArgumentError(
            "With method='reference' and no image_id the seed is that of a RandomState, from 0 to 2**32 - 1, "
            f"not {seed!r}."
        )
    return np.random.RandomState(whole)
