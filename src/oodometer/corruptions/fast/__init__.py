"""The fast kernels: Numba twins of the plain ones, with the same meaning and their own random streams.

One module a family as for the plain kernels, and one for each kernel that is long: ``noise`` (its laws in
``channels``), ``blur``, ``defocus``, ``glass``, ``zoom``, ``weather``, ``spatter``, ``tone``, ``digital``, ``jpeg``,
``elastic``. Shared: ``streams`` and ``normals`` (random numbers), ``taps`` (filtering rows), ``int32``, ``views`` and
``vectors`` (explicit vector code; ``OODOMETER_VECTORS=0`` does without it, to the same pixels).

A kernel is ``name(image, key, *constants) -> image``. Where chance is in play it is made of two parts, ``draw_name``
for the random fields and ``render_name`` for the rest: given the fields that the plain kernel drew, the rendering
equals it within one level, and the fields have the same law. Importing a module of this package imports Numba, so
they are imported when used.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import warnings

import numba


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


def _find_cache() -> None:
    """See to it that Numba has a place for compiled kernels: without one it refuses to import them.

    It tries the folder of this package, which may be read-only, and then the user's cache, which a container may lack.
    """
    try:
        numba.njit(cache=True)(lambda: None)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="oodometer-")
        atexit.register(_remove, folder, os.getpid())
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]  # made by Numba from the environment
        warnings.warn(
            "Compiled kernels cannot be kept, neither beside the package nor in the user's cache, so that each process "
            "compiles its own, for seconds. Set NUMBA_CACHE_DIR to a folder that can be written.",
            UserWarning,
            stacklevel=2,
        )


def _remove(folder: str, owner: int) -> None:
    """Remove a folder at the end of the process that made it; a fork of it has inherited the wish."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


if "numba.np.arraymath" not in sys.modules:
    with contextlib.suppress(ImportError, AttributeError):  # a Numba that is built otherwise just takes its time
        _spare_scipy()
_find_cache()
