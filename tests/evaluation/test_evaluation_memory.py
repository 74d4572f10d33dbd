"""Case K2: an evaluation takes no more memory for more images."""

import os
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

SCRIPT = """
import resource, sys
import numpy as np
import oodometer
class Small:
    name = fingerprint = "small"
    def predict(self, images):
        return images.reshape(len(images), -1)[:, :1000].astype(np.float32)
options = {"preprocess": "none", "corruptions": "contrast", "batch_size": 32, "progress": False, "unlabelled": True}
run = oodometer.evaluate(Small(), sys.argv[1], sys.argv[2], limit=int(sys.argv[3]), **options)
assert len(run.under("contrast", 5).images) == int(sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
def test_2000_images_take_as_much_memory_as_500(tmp_path):
    root = tmp_path / "images"
    root.mkdir()
    rng = np.random.default_rng(0)
    for k in range(10):
        PIL.Image.fromarray(rng.integers(0, 256, (224, 224, 3), dtype=np.uint8)).save(tmp_path / f"{k}.bmp")
    for k in range(2000):
        os.link(tmp_path / f"{k % 10}.bmp", root / f"{k:04d}.bmp")
    peaks = []
    for images in (500, 2000):
        command = [sys.executable, "-c", SCRIPT, str(root), str(tmp_path / f"run{images}"), str(images)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        peaks.append(int(done.stdout) / 1024)
    assert peaks[1] - peaks[0] < 150  # MB; as float tensors 1500 images more have 900
