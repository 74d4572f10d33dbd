"""The random stream of one image under one condition, from (seed, image id, corruption, severity) alone.

Nothing else enters: not the order, the batch, the number of threads, the other images, the folder or the process.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["order_stream", "stream", "stream_key"]


def stream(seed: int, image_id: str, corruption: str, severity: float) -> np.random.RandomState:
    """Return the random stream of one image under one corruption at one severity.

    The four values are hashed (BLAKE2b, 256 bits) into the key of a Mersenne Twister, so that two different
    combinations share a stream with probability 2^-256, where a 32-bit seed would collide among the
    3.75 million images of ImageNet-C.

    Parameters
    ----------
    seed
        The seed of the run; any integer.
    image_id
        The path of the image relative to the root of its data set, with ``/``.
    corruption
        The name of the corruption.
    severity
        The severity; ``3`` and ``3.0`` are the same.

    Returns
    -------
    numpy.random.RandomState
        A legacy generator, because the published corruptions are defined by its draws.
    """
    return np.random.RandomState(_words(_name(seed, image_id, corruption, severity)))


def stream_key(seed: int, image_id: str, corruption: str, severity: float) -> NDArray[np.uint32]:
    """Return the key of the stream that a fast kernel draws from: 128 bits of the same hash, uint32, shape (4,)."""
    return _words(_name(seed, image_id, corruption, severity))[:4]


def order_stream(seed: int, purpose: str) -> np.random.RandomState:
    """Return the stream that shuffles the images of one data set; ``purpose`` keeps several orders apart."""
    return np.random.RandomState(_words(f"{int(seed)}\0order\0{purpose}"))


def _name(seed: int, image_id: str, corruption: str, severity: float) -> str:
    return f"{int(seed)}\0{image_id}\0{corruption}\0{float(severity)!r}"


def _words(text: str) -> NDArray[np.uint32]:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return np.frombuffer(digest, dtype="<u4").astype(np.uint32)
