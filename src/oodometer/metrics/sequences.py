"""ImageNet-P: how much predictions flicker along videos of one image under a slowly growing perturbation.

Source: Hendrycks & Dietterich, ICLR 2019, section 4, and the public evaluation code of ImageNet-P.
The frames that are compared are each frame and the one before it, or the one ``step`` frames before (which that code
calls the difficulty); in the noise videos, where frames are independent draws rather than a movement, each later frame
and the first. The paper calls flip probability what is a flip rate here, and flip rate its multiple of AlexNet's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.families import IMAGENET_P

__all__ = [
    "FARTHEST",
    "IMAGENET_P",
    "flip_rate",
    "is_noise",
    "mean_flip_rate",
    "top5_distance",
    "video_flip_rates",
    "video_top5_distances",
]

_TOP = 5

FARTHEST = 18
"""The greatest top-5 distance of two frames: the fifth class comes first, and the other four fall out."""


def is_noise(perturbation: str) -> bool:
    """Return whether the frames of a perturbation are independent draws, by its name, as the public code tells."""
    return "noise" in perturbation


def video_flip_rates(predictions: NDArray[np.integer], noise: bool = False, step: int = 1) -> NDArray[np.float64]:
    """Tell of each video how often the predicted class differs between the frames compared.

    Parameters
    ----------
    predictions
        int, shape (videos, frames): the predicted class of each frame.
    noise
        Compare with the first frame, whatever the step, instead of the frame before.
    step
        How many frames before; every frame that has such a one is compared with it.

    Returns
    -------
    NDArray
        float64, shape (videos,), in [0, 1].

    Raises
    ------
    MetricError
        If the array has another dtype or shape, or has no pair of frames.
    """
    before, later = _paired(_checked(predictions, dimensions=2), noise, step)
    return np.asarray(np.mean(before != later, axis=1))


def video_top5_distances(top5: NDArray[np.integer], noise: bool = False, step: int = 1) -> NDArray[np.float64]:
    """Tell of each video the mean top-5 distance of the frames compared, from their five best classes alone.

    That suffices for ``top5_distance``, which needs ranks: all places below the fifth count alike.

    Parameters
    ----------
    top5
        int, shape (videos, frames, 5): the five best classes of each frame, best first, which differ.
    noise, step
        As for ``video_flip_rates``.

    Returns
    -------
    NDArray
        float64, shape (videos,), from 0 to ``FARTHEST``.

    Raises
    ------
    MetricError
        If the array has another dtype or shape, has no pair of frames, or names a class twice in a frame.
    """
    array = _checked(top5, dimensions=3)
    if array.shape[2] != _TOP or (np.diff(np.sort(array, axis=2), axis=2) == 0).any():
        raise MetricError(f"top5: expected {_TOP} different classes in every frame, found shape {array.shape}.")
    before, later = _paired(array, noise, step)
    there = before[..., :, None] == later[..., None, :]
    new_places = np.where(there.any(axis=-1), there.argmax(axis=-1), _TOP)
    return np.asarray(np.mean(np.sum(np.abs(np.arange(_TOP) - new_places), axis=-1), axis=1))


def flip_rate(predictions: NDArray[np.integer], noise: bool = False) -> float:
    """Probability that the predicted class differs between the frames compared.

    Parameters
    ----------
    predictions
        int, shape (videos, frames): the predicted class of each frame; at least 2 frames.
    noise
        Compare with the first frame, as for the noise videos, instead of the frame before.

    Returns
    -------
    float
        In [0, 1]; the mean over videos of the mean over the pairs of frames.

    Raises
    ------
    MetricError
        If the array has another dtype or shape, or has no pair of frames.
    """
    return float(np.mean(video_flip_rates(predictions, noise)))


def top5_distance(ranks: NDArray[np.integer], noise: bool = False) -> float:
    """Top-5 distance (T5D): how far the five best classes move between the frames compared.

    For one pair of frames, with r(i) the new rank of the class that had rank i before: the sum over i = 1..5 of
    abs((i - 1) - min(r(i) - 1, 5)), so that all places below the fifth count alike.

    Parameters
    ----------
    ranks
        int, shape (videos, frames, classes): the rank of each class among all, 1 the most likely; at least 2 frames and
        5 classes. Every rank occurs once in a frame.
    noise
        As for ``flip_rate``.

    Returns
    -------
    float
        The mean over videos of the mean over the pairs of frames, at least 0.

    Raises
    ------
    MetricError
        If the array has another dtype or shape, has no pair of frames, or a frame's ranks are not 1..classes.
    """
    array = _checked(ranks, dimensions=3)
    classes = array.shape[2]
    if classes < _TOP or not np.array_equal(
        np.sort(array, axis=2), np.broadcast_to(1 + np.arange(classes), array.shape)
    ):
        raise MetricError(f"ranks: expected 1..classes once each in every frame, with at least {_TOP} classes.")
    before, later = _paired(array, noise)
    best = np.argsort(before, axis=2)[:, :, :_TOP]
    new_places = np.minimum(np.take_along_axis(later, best, axis=2) - 1, _TOP)
    return float(np.mean(np.sum(np.abs(np.arange(_TOP) - new_places), axis=2)))


def mean_flip_rate(rates: Mapping[str, float], baseline_rates: Mapping[str, float]) -> float:
    """Mean flip rate (mFR): the mean over the 10 perturbations of the flip rate as a multiple of the baseline's.

    With top-5 distances in place of flip rates this is the mT5D.

    Parameters
    ----------
    rates, baseline_rates
        By perturbation name, not negative. Other perturbations than the 10 are left out. There is no default baseline:
        AlexNet's rates were published in no file.

    Returns
    -------
    float
        A fraction: 0.58 for what papers print as 58.

    Raises
    ------
    MetricError
        If one of the 10 is missing, or a rate is negative or not finite, or a baseline rate is 0.
    """
    for where, given in (("rates", rates), ("baseline_rates", baseline_rates)):
        missing = [name for name in IMAGENET_P if name not in given]
        if missing:
            raise MetricError(f"{where}: a mean flip rate needs all 10 perturbations; missing: {', '.join(missing)}.")
        bad = [name for name in IMAGENET_P if not (np.isfinite(given[name]) and given[name] >= 0)]
        if bad:
            raise MetricError(f"{where}: expected a finite rate of at least 0 for {bad[0]!r}, found {given[bad[0]]}.")
    unmoved = [name for name in IMAGENET_P if baseline_rates[name] == 0]
    if unmoved:
        raise MetricError(
            f"baseline_rates: the rate is 0 for {', '.join(unmoved)}, and nothing can be divided by that."
        )
    return sum(rates[name] / baseline_rates[name] for name in IMAGENET_P) / len(IMAGENET_P)


def _checked(array: NDArray[np.integer], dimensions: int) -> NDArray[np.integer]:
    """Check dtype and shape, and that there are videos with at least two frames."""
    found = np.asarray(array)
    if found.dtype.kind not in "iu" or found.ndim != dimensions or not found.size or found.shape[1] < 2:
        raise MetricError(
            f"Expected integers of {dimensions} dimensions, videos x frames{' x classes' * (dimensions - 2)}, with at "
            f"least 2 frames; found {found.dtype} of shape {found.shape}."
        )
    return found


def _paired(frames: NDArray[np.integer], noise: bool, step: int = 1) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the frames to compare with, and those that are compared."""
    if noise:
        later = frames[:, 1:]
        return np.broadcast_to(frames[:, :1], later.shape), later
    if not 1 <= step < frames.shape[1]:
        raise MetricError(f"step: expected 1 to {frames.shape[1] - 1} frames of {frames.shape[1]}, found {step}.")
    return frames[:, :-step], frames[:, step:]
