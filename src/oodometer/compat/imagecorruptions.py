"""The interface of the package ``imagecorruptions``: the same two functions, the corruptions of this package.

Change one line::

    from imagecorruptions import corrupt, get_corruption_names          # before
    from oodometer.compat.imagecorruptions import corrupt, get_corruption_names

**Chance.** As there, every call draws from NumPy's global generator, so ``numpy.random.seed`` repeats a sequence of
calls; here it does so for ``glass_blur``, too, which draws outside of that generator there. The pictures of one NumPy
seed are not those of that package. A forked worker inherits the generator, as there: seed it in each worker, which
PyTorch's ``DataLoader`` does by itself, or use ``oodometer.transforms.Corrupt``, which needs no care.

**Pixels.** Oodometer follows the code that made ImageNet-C. ``imagecorruptions`` 1.1.2 and its fork
``imagecorruptions-imaug`` 1.1.5 depart from it for some corruptions, and there scores differ, too. Given the same
random numbers (compared with the fork at 224 x 224 and 120 x 200, severities 1, 3 and 5):

================== ====================================================================================================
elastic_transform  Another transform there: displacements smoothed by 1 % of each side at all severities, not affine.
                   Here they are those of ImageNet-C, where severities 1 and 2 bend in long waves and 3 to 5 are grainy.
frost              There a texture is enlarged by 1.1, cubically, and the fork draws from six; here it is used as it is,
                   and drawn from the first five, as published.
pixelate           Equal at 224 x 224. Where a pixel lies on the border of two of the small picture (a side of 120 at
                   severity 3), it is one of them there and their mean here, as in ImageNet-C.
snow               Within 2 levels for nearly all pixels: the streaks there are sums of shifted copies in 64 bits; here
                   they follow ImageMagick, which made ImageNet-C, and its 8 and 16 bits.
motion_blur        Within 1 level, for the same reason.
all others         Equal, but for single pixels by 1 level.
================== ====================================================================================================

The fast kernels, which this module calls, draw other random numbers, and are within 1 level of these pixels where
nothing is random.

**Refusals.** Wrong arguments raise ``ArgumentError``, a ``ValueError``, where that package raises ``AttributeError``,
``KeyError`` or ``IndexError``. Images from 16 pixels a side are taken; there it is 32.
"""

from __future__ import annotations

import numpy as np

from oodometer import corruptions
from oodometer.arguments import choice, whole
from oodometer.errors import ArgumentError
from oodometer.families import EXTRA, FAMILIES, GROUPS, IMAGENET_C, SEVERITIES
from oodometer.types import Image

__all__ = ["corrupt", "get_corruption_names"]

_SUBSETS = {"common": IMAGENET_C, "validation": EXTRA, "all": GROUPS["all"], **FAMILIES}


def corrupt(image: Image, severity: int = 1, corruption_name: str | None = None, corruption_number: int = -1) -> Image:
    """Corrupt one image, as ``imagecorruptions.corrupt`` does; see the module for what differs.

    Parameters
    ----------
    image
        A uint8 array, H x W x 3, H x W x 1 or H x W, 0..255. It is never changed.
    severity
        1, 2, 3, 4 or 5.
    corruption_name
        One of ``get_corruption_names("all")``; wins over the number.
    corruption_number
        The position in ``get_corruption_names("all")``, 0 to 18; -1 stands for none.

    Returns
    -------
    numpy.ndarray
        A new image, uint8, H x W x 3, for gray images, too.

    Raises
    ------
    ArgumentError
        If an argument is none of the above.
    """
    whole("severity", severity, SEVERITIES[0], SEVERITIES[-1])
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim not in (2, 3):
        raise ArgumentError("The image must be a uint8 array, H x W x 3, H x W x 1 or H x W.")
    name = _name(corruption_name, corruption_number)
    seed = int(np.random.randint(2**63 - 1, dtype=np.int64))
    return corruptions.corrupt(image, name, int(severity), seed=seed)


def get_corruption_names(subset: str = "common") -> list[str]:
    """Return names of corruptions, in the order of ``corruption_number``.

    Parameters
    ----------
    subset
        ``"common"``: the 15 of ImageNet-C; ``"validation"``: the 4 extra ones; ``"all"``: both; or ``"noise"``,
        ``"blur"``, ``"weather"`` or ``"digital"``.

    Returns
    -------
    list of str
        The names that ``corrupt`` takes.

    Raises
    ------
    ArgumentError
        If there is no such subset.
    """
    return list(_SUBSETS[choice("subset of corruptions", subset, _SUBSETS)])


def _name(name: str | None, number: int) -> str:
    names = _SUBSETS["all"]
    if name is not None:
        return name
    if number == -1:
        raise ArgumentError("Give a corruption_name or a corruption_number.")
    return names[whole("corruption_number", number, 0, len(names) - 1)]
