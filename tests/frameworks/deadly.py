"""A corruption that fails when a test asks for it, as the model of ``faulty`` does; known once this is imported."""

import os
import signal

from faulty import state, taken, wait_while

import oodometer

OTHERS = 2 * 19
"""How many pictures the other processes make while a slow one is at its first: all but those of a block of five."""


@oodometer.corruption("deadly", severities=(1, 2, 3, 4, 5))
def deadly(image, rng, level):
    if taken("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    wait_while((state() / "gate").exists)
    if taken("slow"):
        wait_while(lambda: _pictures_of_others() < OTHERS)
    with (state() / "pictures").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return 255 - image // level


def _pictures_of_others():
    file = state() / "pictures"
    return len(file.read_text().splitlines()) if file.exists() else 0
