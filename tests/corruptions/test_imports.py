"""Importing the corruptions is light, the first fast one nearly so, and no system library is needed."""

import json
import subprocess
import sys

from oodometer.corruptions import registry

HEAVY = ["numba", "scipy.ndimage", "scipy.special", "cv2", "torch", "wand", "skimage", "pyarrow"]


def _loaded(code):
    code += f"\nimport sys, json; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    return json.loads(run.stdout)


def test_importing_loads_no_compiler_no_framework_and_no_imagemagick():
    assert _loaded("import oodometer.corruptions") == []


def test_the_fast_kernels_need_numba_alone(frost):
    """Whose own import takes most of the time that a first corruption may take."""
    names = [corruption.name for corruption in registry.REGISTRY.values() if corruption.fast is not None]
    code = f"""
import numpy as np, oodometer
for name in {names}:
    oodometer.corrupt(np.zeros((64, 64, 3), np.uint8), name, 3)
"""
    assert _loaded(code) == ["numba"]
