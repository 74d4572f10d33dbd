"""Measure how long a change takes on the live page: from the request for a picture to its last byte.

    python benchmarks/view.py [--changes 40] [--json FILE]

One image of 224 x 224 pixels, every corruption in turn, by severities from 0 to 5 that a hand on the slider would take,
each asked for when the picture before is there, over a real socket of this machine and after the kernels are loaded, as
they are some seconds after the start. The model, which is asked apart from the pictures, is not in the figures.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import PIL.Image
import uvicorn
from machine import machine, print_table

from oodometer.families import GROUPS
from oodometer.viewing.app import make_app
from oodometer.viewing.serving import listening

_LOADING = 10
"""How many seconds the page has for its kernels."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=40, help="of the severity, for each corruption")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _served(folder) as port:
        time.sleep(_LOADING)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        token = _uploaded(connection)
        taken = {name: _changes(connection, token, name, options.changes) for name in GROUPS["all"]}
    every = [one for some in taken.values() for one in some]
    rows = [[name, *_figures(some)] for name, some in taken.items()]
    title = "Live page: milliseconds from a change of the severity to the picture, 224 x 224"
    print_table(title, ["corruption", "median", "worst"], [*rows, ["all", *_figures(every)]])
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "milliseconds": taken}, indent=1))


def _figures(milliseconds: list[float]) -> list[str]:
    return [f"{statistics.median(milliseconds):.1f}", f"{max(milliseconds):.1f}"]


@contextmanager
def _served(folder: str) -> Iterator[int]:
    """Serve the live page of an empty folder; yields the port."""
    listener = listening(0)
    server = uvicorn.Server(uvicorn.Config(make_app(folder), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _uploaded(connection: http.client.HTTPConnection) -> str:
    """Upload a picture with texture at every scale, which compresses as a photograph does."""
    rng = np.random.default_rng(0)
    layers = [
        np.asarray(
            PIL.Image.fromarray(rng.integers(0, 256, (side, side, 3)).astype(np.uint8)).resize((256, 256)), float
        )
        for side in (4, 8, 16, 32, 64, 128)
    ]
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.mean(layers, axis=0).astype(np.uint8)).save(buffer, "PNG")
    headers = {"content-type": "application/octet-stream"}
    connection.request("POST", "/playground/uploads", buffer.getvalue(), headers)
    return str(json.loads(connection.getresponse().read())["image"])


def _changes(connection: http.client.HTTPConnection, token: str, name: str, count: int) -> list[float]:
    """Move the slider; returns milliseconds."""
    taken = []
    for severity in (2.5, 0.1):  # whose kernels may not be loaded yet
        _ask(connection, token, name, severity)
    for severity in np.random.default_rng(1).permutation(np.linspace(0.1, 5, count)):
        began = time.perf_counter()
        _ask(connection, token, name, round(float(severity), 1))
        taken.append(1000 * (time.perf_counter() - began))
    return taken


def _ask(connection: http.client.HTTPConnection, token: str, name: str, severity: float) -> None:
    connection.request("GET", f"/playground/picture?image={token}&corruption={name}&severity={severity}")
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(content.decode())


if __name__ == "__main__":
    main()
