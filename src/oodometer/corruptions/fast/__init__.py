"""The fast kernels: Numba twins of the plain ones, with the same meaning and their own random streams.

One module per family, as for the plain kernels. A kernel is ``name(image, key, *constants) -> image``. Where chance is
in play it is made of two parts, ``draw_name(key, ...)`` for the random fields and ``render_name(image, fields, ...)``
for the rest: given the fields that the plain kernel drew, the rendering equals it within one level, and the fields have
the same law. Importing a module of this package imports Numba, so they are imported when used.
"""
