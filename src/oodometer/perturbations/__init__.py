"""ImageNet-P's perturbations: a picture in, the frames of a short video out. Knows no data set, model or file.

``movements``, ``blurs``, ``weathers`` and ``noises`` have the kernels, ``registry`` lists them, ``apply`` checks what
users give and calls them.
"""

from __future__ import annotations

from oodometer.perturbations.apply import perturb
from oodometer.perturbations.registry import FOLDERS, GROUPS, PERTURBATIONS, published_frames

__all__ = ["FOLDERS", "GROUPS", "PERTURBATIONS", "perturb", "published_frames"]
