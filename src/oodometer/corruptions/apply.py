"""Corrupting images: arguments checked, constants and chance looked up, the kernel called."""

from __future__ import annotations

import typing
import warnings
from collections.abc import Sequence

import numpy as np
import PIL.Image

from oodometer import arguments, seeding
from oodometer.arguments import choice
from oodometer.corruptions import registry
from oodometer.corruptions.images import Array, Unpacked, unpack
from oodometer.corruptions.severity import EDITIONS, STRONGEST
from oodometer.errors import ArgumentError
from oodometer.families import GROUPS
from oodometer.types import Image

__all__ = ["METHODS", "corrupt"]

SEEDS = (-(2**63), 2**64 - 1)
"""The least and the greatest seed: those of any integer type of NumPy's."""

METHODS = ("fast", "reference")
"""The two ways to compute each corruption."""


@typing.overload
def corrupt(
    image: Array,
    corruption: str,
    severity: float = ...,
    *,
    seed: int = ...,
    method: str = ...,
    edition: str = ...,
    image_id: str | Sequence[str] | None = ...,
) -> Array: ...


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
    image: Array | PIL.Image.Image,
    corruption: str,
    severity: float = 1,
    *,
    seed: int = 0,
    method: str = "fast",
    edition: str = "imagenet224",
    image_id: str | Sequence[str] | None = None,
) -> Array | PIL.Image.Image:
    """Corrupt an image, or each image of a batch.

    Parameters
    ----------
    image
        An array of uint8 in 0..255, or of float16, float32 or float64 in 0..1, with one of the shapes H x W x 3 (RGB),
        H x W and H x W x 1 (gray), N x H x W x 3 and N x H x W x 1 (a batch), of any strides (a read-only array or a
        flipped view is fine); or a PIL image of any mode. It is never changed. Each side has at least 16 pixels.
    corruption
        A name that ``list_corruptions`` gives: one of ``"all"`` or of ``"own"``.
    severity
        A number from 0 to 10. 0 returns a copy; 1 to 5 are the published strengths exactly; for numbers between, and
        for those above 5, which not every corruption has, see the notes.
    seed
        An integer. The same arguments give the same pixels, in any order, thread or process.
    method
        ``"fast"``, or ``"reference"``: the plain kernels that match the published images. Both have the same meaning.
    edition
        The published set of constants: ``"imagenet224"`` (ImageNet-C), ``"inception299"``, ``"tiny64"`` or
        ``"cifar32"``. The first on an image under 64 pixels warns, since it leaves little to recognise. Own
        corruptions have one set of constants.
    image_id
        Names the image, so that images corrupted with one seed get different noise. Best its path relative to the
        root of the data set, with ``/``. For a batch, one name for each image; without them they are called ``"0"``,
        ``"1"`` and so on, by their place in the batch.

    Returns
    -------
    numpy.ndarray or PIL.Image.Image
        New images of the same size, always RGB: H x W x 3 for an array of one image, N x H x W x 3 for a batch, both
        of the dtype that came in, and a PIL image of mode RGB for a PIL image.

    Raises
    ------
    ArgumentError
        If an argument is none of the above; the message says what was expected.
    MissingDataError
        If frost's textures are nowhere; the message says how to get them.

    Notes
    -----
    Gray is repeated to three channels, and a gray result is not restored. Floats are rounded to the nearest of 256
    levels first, and the result is divided by 255. PIL images are converted with Pillow's ``convert("RGB")``, which
    drops alpha and clips what does not fit 8 bits (modes ``I;16``, ``I`` and ``F``), so scale those yourself.

    The random stream is that of (seed, image id, corruption, severity). One case differs: with ``method="reference"``,
    a single image and no ``image_id``, draws come from ``numpy.random.RandomState(seed)`` in the published order, which
    reproduces images made by the published code with that seed.

    A severity between two published ones mixes their constants linearly, below 1 with those of an unchanged image,
    except where that would not mean a strength between:

    ================== ============================================================================================
    shot_noise         ``1 / sqrt(photons)`` is mixed, which the noise's deviation is proportional to
    defocus_blur       grows in small steps, as its disk is made of whole pixels; a softer edge stays up to the next row
    glass_blur         a fractional number of passes: the last one moves a share of the pixels; where the largest
                       displacement differs, it and the passes step at the middle
    zoom_blur          the largest zoom is mixed; the number of zooms is rounded up; on small images, whose zooms are
                       rounded to pixels, it grows in steps
    snow               below 1 the flakes get rare and the whitening fades; where flakes begin to be enlarged
                       (``tiny64`` and ``cifar32``, 2 to 3) the nearer one is taken
    spatter            between water (3) and mud (4) the nearer one is taken, at the middle mud
    saturate           between fading (2) and boosting (3) the nearer one is taken, at the middle boosting
    elastic_transform  alpha and sigma are mixed geometrically, unless alpha is 0 on one side
    pixelate           grows in small steps: the small picture has whole pixels
    jpeg_compression   the quality is rounded to a whole number, from 100 at severity 0
    own ones           below 1 the pixels are mixed, as nobody knows the constants of an unchanged image
    ================== ============================================================================================

    A severity above 5 goes on as the last published step, from 4 to 5, began: 7 adds that step twice. Constants whose
    last step makes nothing stronger stay as they are at 5:

    ================== ============================================================================================
    shot_noise         ``1 / sqrt(photons)`` goes on
    defocus_blur       the radius goes on; the edge stays
    glass_blur         goes on; the displacement is rounded to whole pixels
    zoom_blur          the largest zoom goes on, in steps no wider than at 5
    snow               the size of the flakes stays
    fog                the amount goes on; the roughness stays
    contrast           the factor is multiplied by the same ratio again
    elastic_transform  the displacement goes on; its smoothness and the affine map stay
    pixelate           the number of pixels along a side is multiplied by the same ratio again
    jpeg_compression   the quality is multiplied by the same ratio again and rounded, down to 1
    spatter            the mud spreads; its smoothness stays
    saturate, own ones an error
    the others         go on
    ================== ============================================================================================

    Up to 10 all move images further from the clean ones (see ``strength``) but two: in ``cifar32`` the growing blur of
    glass_blur undoes part of its displacement, and frost first darkens.

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
    quick = chosen.fast_kernel() if choice("method", method, METHODS) == "fast" else None
    constants = chosen.constants(choice("edition", edition, EDITIONS), strength)
    whole = arguments.whole("seed", seed, *SEEDS)
    unpacked = unpack(image)
    names = _image_ids(image_id, unpacked)
    if edition == "imagenet224" and min(unpacked.rgb.shape[1:3]) < 64 and corruption in GROUPS["all"]:
        warnings.warn(
            "The edition 'imagenet224' is meant for larger images than "
            f"{unpacked.rgb.shape[1]} x {unpacked.rgb.shape[2]}; 'tiny64' and 'cifar32' have the strengths published "
            "for small ones.",
            UserWarning,
            stacklevel=2,
        )
    if constants is None:
        return unpacked.untouched()
    results: list[Image] = []
    # The ends of a bell may underflow to 0, which is what they are; a user may have asked NumPy to raise.
    with np.errstate(under="ignore"):
        for picture, name in zip(unpacked.pictures, names, strict=True):
            if quick is not None:
                key = seeding.stream_key(whole, name or "", corruption, strength)
                results.append(quick(picture, key, *constants))
            else:
                stream = _stream(whole, name, corruption, strength, method)
                results.append(chosen.reference(picture, stream, *constants))
    return unpacked.pack(results)


def _severity(severity: object) -> float:
    kinds = (int, float, np.integer, np.floating)
    if isinstance(severity, bool) or not isinstance(severity, kinds) or not 0 <= severity <= STRONGEST:  # NaN fails
        given = "another one" if isinstance(severity, int) and abs(severity) >= 2**64 else repr(severity)
        raise ArgumentError(
            f"The severity must be a number from 0 (unchanged) to {STRONGEST}, not {given}; 5 is the strongest "
            "published one."
        )
    return float(severity)


def _image_ids(image_id: object, unpacked: Unpacked) -> Sequence[str | None]:
    """Return the name of each picture; ``None`` for a single one that has none."""
    count = len(unpacked.pictures)
    if unpacked.kind != "batch":
        if image_id is None or isinstance(image_id, str):
            return [image_id]
        raise ArgumentError(f"The image_id of one image must be a string, not {image_id!r}.")
    if image_id is None:
        return [str(place) for place in range(count)]
    many = isinstance(image_id, Sequence | np.ndarray) and np.ndim(image_id) == 1
    names: list[str] | None = list(image_id) if many else None  # type: ignore[call-overload]  # one of these
    if names is None or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"The image_id of a batch must be a sequence of strings, not {image_id!r}.")
    if len(names) != count:
        raise ArgumentError(f"The batch has {count} images, and image_id has {len(names)} names.")
    return names


def _stream(seed: int, image_id: str | None, corruption: str, severity: float, method: str) -> np.random.RandomState:
    if method == "fast" or image_id is not None:
        return seeding.stream(seed, image_id or "", corruption, severity)
    if not 0 <= seed < 2**32:
        raise ArgumentError(
            "With method='reference' and no image_id the seed is that of a RandomState, from 0 to 2**32 - 1, "
            f"not {seed!r}."
        )
    return np.random.RandomState(seed)
