"""A model that fails when a test asks for it, by files in a folder that all processes of a test see."""

import contextlib
import os
import signal
import time
from pathlib import Path

import oodometer

CALLS = 11
"""After so many batches a process waits at the gate: of two blocks of six batches at once, one is done then."""


def state():
    return Path(os.environ["OODOMETER_FAULTY"])


def taken(name):
    """Whether this process is the one that finds a file, which then is gone."""
    with contextlib.suppress(FileNotFoundError):
        (state() / name).unlink()
        return True
    return False


def wait_while(condition):
    until = time.monotonic() + 120
    while condition():
        assert time.monotonic() < until, "nobody went on"
        time.sleep(0.01)


class Model(oodometer.FakeModel):
    """The fake model; dies at a batch, waits at a gate, or waits for the others, as files ask for."""

    def __init__(self):
        super().__init__()
        self.name = self.fingerprint = "faulty"
        self.calls = 0
        self.slow = taken("slow")

    def predict(self, images):
        self.calls += 1
        if self.calls > 3 and taken("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.calls > CALLS:
            wait_while((state() / "gate").exists)
        if self.slow:
            wait_while(lambda: self._batches_of_others() < 4 * 6)
        else:
            with (state() / "batches").open("a") as file:
                file.write(f"{os.getpid()}\n")
        return super().predict(images)

    @staticmethod
    def _batches_of_others():
        file = state() / "batches"
        return len(file.read_text().splitlines()) if file.exists() else 0
