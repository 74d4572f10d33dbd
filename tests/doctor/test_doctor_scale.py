"""Many files: all of them are read, one damaged among them is found, and memory hardly grows."""

import json
import subprocess
import sys

import pytest
import sane

from oodometer.families import SEVERITIES

SCRIPT = """
import resource, sys
import oodometer
found = oodometer.check(sys.argv[1], progress=False)
print(found.to_json())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def tree(root, images):
    """Write two corruptions of that many images a cell; the files are one picture with tails of their own."""
    content = sane.encoded(sane.picture("many", side=64))
    for corruption in ("fog", "snow"):
        for severity in SEVERITIES:
            for number in range(images):
                path = root / corruption / str(severity) / sane.CLASSES[number % 2] / f"{number:06d}.JPEG"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content + f"{corruption}{severity}{number}".encode())
    return root


def examined(root):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root)], capture_output=True, text=True, check=True, timeout=1200
    )
    text, peak = done.stdout.rstrip().rsplit("\n", 1)
    return json.loads(text), int(peak) / 1024


@pytest.mark.long
def test_twenty_thousand_files(tmp_path):
    few, less = examined(tree(tmp_path / "few", 100))
    root = tree(tmp_path / "many", 2000)
    (root / "snow/4" / sane.CLASSES[1] / "001111.JPEG").write_bytes(b"\xff\xd8 cut")
    many, more = examined(root)
    assert few["ok"]
    assert (few["looked_at"]["images"], many["looked_at"]["images"]) == (1000, 20_000)
    faults = [finding for finding in many["findings"] if finding["severity"] == "fault"]
    assert [(fault["code"], fault["where"]) for fault in faults] == [
        ("damaged-image", [f"snow/4/{sane.CLASSES[1]}/001111.JPEG"])
    ]
    assert more - less < 30  # MiB, for 19,000 more files
