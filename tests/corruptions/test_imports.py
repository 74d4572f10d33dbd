"""Importing the corruptions is light, a first fast one nearly so, and no system library is needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oodometer.corruptions import registry

HEAVY = ["numba", "scipy.linalg", "scipy.ndimage", "scipy.special", "cv2", "torch", "wand", "skimage", "pyarrow"]
MODULES = sorted({corruption.fast for corruption in registry.REGISTRY.values() if corruption.fast})


def python(code):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600)
    return json.loads(run.stdout)


def loaded(code):
    report = f"import sys, json; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    return set(python(f"{code}\n{report}"))


def test_importing_loads_no_compiler_no_framework_and_no_imagemagick():
    assert loaded("import oodometer.corruptions, oodometer.testing") == set()


@pytest.mark.parametrize("module", MODULES)
def test_the_fast_kernels_load_numba_alone(module, frost):
    """Whose own import takes most of the time that a first corruption may take."""
    names = [corruption.name for corruption in registry.REGISTRY.values() if corruption.fast == module]
    code = f"""
import numpy as np, oodometer
for name in {names}:
    oodometer.corrupt(np.zeros((64, 64, 3), np.uint8), name, 3)
"""
    assert loaded(code) == {"numba"}


def test_numba_keeps_its_linear_algebra():
    """Numba is told that SciPy has it, instead of importing it; what uses it must still find it."""
    code = """
import json, numba, numpy as np
import oodometer.corruptions.fast

@numba.njit
def solve(a, b):
    return np.linalg.solve(a, a @ b)

print(json.dumps(solve(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([5.0, 7.0])).round(9).tolist()))
"""
    assert python(code) == [5, 7]


READ_ONLY = """
import json, sys, warnings
from pathlib import Path
from numba.core import caching

def refuse(self):
    raise OSError("read-only")

for name in dir(caching):
    if name.lstrip("_") in {locators}:
        getattr(caching, name).ensure_cache_path = refuse
import numpy as np, numba, oodometer
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = oodometer.corrupt(np.full((64, 64, 3), 100, np.uint8), "brightness", 1)
place = numba.config.CACHE_DIR or sys.argv[1]
print(json.dumps([[str(w.message) for w in caught], len(list(Path(place).rglob("*.nbc"))), int(made[0, 0, 0]), place]))
"""


@pytest.mark.parametrize(
    ("locators", "warned"),
    [
        (["InTreeCacheLocator", "InTreeCacheLocatorFsAgnostic"], False),
        (["InTreeCacheLocator", "InTreeCacheLocatorFsAgnostic", "UserWideCacheLocator"], True),
    ],
)
def test_a_read_only_installation_works(locators, warned, tmp_path):
    """The folder of the package cannot be written, then the user's cache neither."""
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"} | places
    code = READ_ONLY.format(locators=locators)
    command = [sys.executable, "-c", code, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, env=environment)
    messages, kept, level, place = json.loads(run.stdout)
    assert [("NUMBA_CACHE_DIR" in message) for message in messages] == [True] * warned
    assert kept > 0
    assert level == 125
    assert Path(place).exists() is not warned  # a place for one process goes with it
