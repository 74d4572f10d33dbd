"""A corruption that fails when a test asks for it, as the model of ``faulty`` does; known once this is imported."""

import os
import signal

from faulty import state, taken, wait_while

import oodometer


@oodometer.corruption("deadly", severities=(1, 2, 3, 4, 5))
def deadly(image, rng, level):
    if taken("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    wait_while((state() / "gate").exists)
    return 255 - image // level
