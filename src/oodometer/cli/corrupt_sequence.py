"""`oodometer corrupt --sequence`: which of its options videos have, and what they mean there."""

from __future__ import annotations

from typing import Any

from oodometer.arguments import path
from oodometer.errors import ArgumentError

__all__ = ["settle"]

OF_PICTURES = ("severities", "edition", "method", "clean")
"""The options that make no sense for videos, whose steps are fixed."""


def settle(source: str, out: str, given: set[str], chosen: dict[str, Any]) -> Any:  # noqa: ANN401 - imported when used
    """Check everything about the videos that are asked for; returns a ``Recipe``.

    Parameters
    ----------
    source, out
        As given.
    given
        The names of the options that were given, rather than left as they are.
    chosen
        All options that say what to make, by name.
    """
    from oodometer.building import SequenceOptions, settle_sequences
    from oodometer.datasets.videos import is_video_name

    place = path("The output folder", out)
    if is_video_name(place.name) and not place.is_dir():
        raise ArgumentError(
            f"{place}: with --sequence OUT is a folder, which gets a folder or file for each video. Name it without "
            f"{place.suffix}; --format mp4 makes files."
        )
    if unfit := [name for name in OF_PICTURES if name in given]:
        raise ArgumentError(
            f"{', '.join(unfit)}: goes with pictures, not with --sequence, whose perturbations have steps of their own."
        )
    names = chosen["corruptions"] if "corruptions" in given else "imagenet-p"
    options = {name: value for name, value in chosen.items() if name not in (*OF_PICTURES, "corruptions")}
    return settle_sequences(source, out, SequenceOptions(perturbations=names, **options))
