"""Importing the corruptions is light, and no system library is needed."""

import subprocess
import sys


def test_importing_loads_no_compiler_no_framework_and_no_imagemagick():
    code = "import sys, oodometer.corruptions; print(*sorted({'numba', 'torch', 'wand', 'skimage'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
