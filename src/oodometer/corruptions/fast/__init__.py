"""The fast kernels: Numba twins of the plain ones, with the same meaning and their own random streams.

One module per family, as for the plain kernels. A kernel is ``name(image, key, *constants) -> image``. Where chance is
in play it is made of two parts, ``draw_name(key, ...)`` for the random fields and ``render_name(image, fields, ...)``
for the rest: given the fields that the plain kernel drew, the rendering equals it within one level, and the fields have
the same law. Importing a module of this package imports Numba, so they are imported when used.
"""

from __future__ import annotations

import contextlib
import sys


def _spare_scipy() -> None:
    """Load the part of Numba that asks whether SciPy's linear algebra is there, with the answer that it is.

    Numba asks by importing all of ``scipy.linalg``, which takes a third of the time from the start of a process to its
    first corruption, for a function that no kernel uses. SciPy is a requirement of ours; and code that does use it
    imports it then, as ever.
    """
    import numba.np.linalg

    ask = numba.np.linalg.ensure_blas
    numba.np.linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # asks once, while it is imported
    finally:
        numba.np.linalg.ensure_blas = ask


if "numba.np.arraymath" not in sys.modules:
    with contextlib.suppress(ImportError, AttributeError):  # a Numba that is built otherwise just takes its time
        _spare_scipy()
