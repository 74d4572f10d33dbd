"""How images are handed to compiled functions."""

from __future__ import annotations

from oodometer.types import Image

__all__ = ["read_only"]


def read_only(image: Image) -> Image:
    """Return a view that cannot be written to.

    Numba compiles a function for read-only arrays and once more for others, so kernels are always given these.
    """
    view = image.view()
    view.flags.writeable = False
    return view
