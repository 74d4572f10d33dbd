"""One video to its frames: a folder of pictures, or a file by PyAV; read whole, or refused by name.

The frames of a folder are its images in the order of the numbers in their names (``9.png`` before ``10.png``), decoded
by the rules of ``decode.py``. Those of a file are all that its first video stream holds, in the order in which they are
shown, in RGB at the size that they are stored in, without any rotation; the same values that OpenCV gives.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

from oodometer.datasets.decode import decode
from oodometer.datasets.scan import is_image_name, visible
from oodometer.errors import DatasetError, ImageError, MissingDataError

__all__ = ["VIDEO_EXTENSIONS", "frame_names", "is_video_name", "read_video", "require_pyav"]

VIDEO_EXTENSIONS = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v"})
"""The extensions, in lower case, of the files that count as videos; what they hold is seen when they are read."""


def is_video_name(name: str) -> bool:
    """Return whether a file of this name counts as a video."""
    return name[name.rfind(".") :].lower() in VIDEO_EXTENSIONS


def frame_names(folder: Path) -> list[str]:
    """Return the names of the frames in a folder, in their order.

    Raises
    ------
    DatasetError
        If it cannot be read, or has a frame twice, as files of two formats.
    """
    names = sorted((entry.name for entry in visible(folder) if is_image_name(entry.name)), key=_by_numbers)
    stems = [name.rpartition(".")[0] for name in names]
    for one, other, stem in zip(names, names[1:], stems, strict=False):
        if stem == other.rpartition(".")[0]:
            raise DatasetError(f"{folder} has the frame {stem} twice: {one} and {other}. Remove one of them.")
    return names


def read_video(place: Path, name: str) -> list[PIL.Image.Image]:
    """Read all frames of one video. Safe to call from several threads.

    Parameters
    ----------
    place
        A folder of frames, or a video file.
    name
        What to call it in an error.

    Returns
    -------
    list of PIL.Image.Image
        The frames, mode RGB.

    Raises
    ------
    ImageError
        If it is damaged, or is no video; the message names it. The usual codecs have no checksums: damage that leaves
        something that can be decoded goes unseen.
    DatasetError
        If the system cannot give the file.
    MissingDataError
        If it is a file, and PyAV is not installed.
    """
    if place.is_dir():
        return [decode(place / frame, name=f"{name}/{frame}") for frame in frame_names(place)]
    return _decoded(place, name)


def _decoded(path: Path, name: str) -> list[PIL.Image.Image]:
    av = require_pyav("Reading")
    frames: list[PIL.Image.Image] = []
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise ImageError(f"Cannot read the video {name}: it holds no pictures.")
            stream = container.streams.video[0]
            # One thread a video: there are as many videos at work as there are processors.
            stream.codec_context.thread_count = 1
            for frame in container.decode(stream):
                if frame.is_corrupt:  # the decoder fills in what it misses, and goes on
                    raise ImageError(f"Cannot read the video {name}: frame {len(frames) + 1} is damaged.")
                frames.append(PIL.Image.fromarray(np.asarray(frame.to_ndarray(format="rgb24"))))
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):  # a fault of the system, which may pass, says nothing about the video
            raise DatasetError(f"Cannot read the file {path}: {error.strerror}.") from error
        raise ImageError(f"Cannot read the video {name}: {error.strerror or error}.") from error
    return frames


def require_pyav(doing: str) -> Any:  # noqa: ANN401 - a module, which may be missing where this is checked
    """Import PyAV for ``"Reading"`` or ``"Writing"``; raises ``MissingDataError`` that says how to get it."""
    try:
        return importlib.import_module("av")
    except ModuleNotFoundError as error:
        raise MissingDataError(
            f"{doing} video files needs av: pip install 'oodometer[video]'. Folders of frames need nothing more."
        ) from error


def _by_numbers(name: str) -> tuple[list[tuple[int, str]], str]:
    """Order names by the numbers in them, and only then by letters."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts], name
