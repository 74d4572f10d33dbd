"""Several runs side by side: differences on the images that all of them saw, with intervals and tests.

``reading`` checks that the runs may be compared and finds what they share, ``comparing`` turns that into a
``Comparison`` (``numbers``, ``result``), which ``text`` prints.
"""

from oodometer.comparison.comparing import compare
from oodometer.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
