"""How many pictures a model takes at once: as many as its memory holds and its throughput gains by."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from oodometer.errors import OodometerError
from oodometer.types import Image, Images, Logits

__all__ = ["LARGEST", "SMALLEST", "find_batch_size", "is_out_of_memory", "padded"]

SMALLEST, LARGEST = 16, 1024

GAIN = 1.05
"""By how much twice the pictures at once must raise the throughput to be worth the memory."""

LONGEST = 1.0
"""Seconds that a batch may take: a run that is stopped loses what it is at."""

_EXHAUSTED = ("out of memory", "can't allocate memory", "failed to allocate memory", "oom when allocating")
"""What PyTorch on CUDA and on the CPU, ONNX Runtime and TensorFlow say; they have no exception in common."""


def find_batch_size(
    predict: Callable[[Images], Logits],
    picture: Image,
    largest: int = LARGEST,
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """Find a batch size by doubling it until memory, throughput or time says stop.

    Parameters
    ----------
    predict
        The model. It is asked twice for each size, since the first time may compile and allocate.
    picture
        A picture of the size at hand.
    largest
        The most pictures to try.
    clock
        What tells the time in seconds.

    Returns
    -------
    int
        16 or more, even if 16 do not fit: whoever asks the model must halve batches then.
    """
    best, best_rate, size = SMALLEST, 0.0, SMALLEST
    while size <= largest:
        batch = np.repeat(picture[None], size, axis=0)
        try:
            predict(batch)
            began = clock()
            predict(batch)
        except OodometerError:
            raise
        except Exception:  # the memory is exhausted; if something else is wrong, the road will say so
            break
        seconds = clock() - began
        rate = size / max(seconds, 1e-9)
        if rate < GAIN * best_rate:
            break
        best, best_rate = size, rate
        if seconds > LONGEST:
            break
        size *= 2
    return best


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of any framework says that the memory is exhausted."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _EXHAUSTED)


def padded(predict: Callable[[Images], Logits], images: Images, batch: int | None) -> Logits:
    """Ask a model that takes only ``batch`` pictures at once; the last batch is filled up, and the surplus dropped.

    Parameters
    ----------
    predict
        Takes exactly ``batch`` pictures, or any number if that is ``None``.
    images
        N pictures or inputs.
    batch
        The only number that the model takes, if there is such a number.

    Returns
    -------
    numpy.ndarray
        N rows.
    """
    if batch is None:
        return predict(images)
    filled = np.concatenate([images, np.repeat(images[:1], -len(images) % batch, axis=0)])
    return np.concatenate([predict(filled[i : i + batch]) for i in range(0, len(filled), batch)])[: len(images)]
