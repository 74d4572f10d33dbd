"""Videos of images under a perturbation, ``<perturbation>[_<difficulty>]/<class>/<video>``: ImageNet-P and its kin.

A video is a folder of frames or a file; see ``videos.py``. Its id is the path below the folder of the perturbation, so
that the videos of one image have one id under all perturbations (of files, the extension belongs to it). Labels are not
needed, so classes may be called anything.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import PIL.Image

from oodometer import arguments
from oodometer.datasets.manifest import refuse_no_videos
from oodometer.datasets.scan import is_folder, is_image_name, visible
from oodometer.datasets.videos import frame_names, is_video_name, read_video
from oodometer.errors import DatasetError, ImageError
from oodometer.families import IMAGENET_P, IMAGENET_P_VALIDATION
from oodometer.types import UNLABELLED, LabelSpace, Sample

__all__ = ["MOST_FRAMES", "SequenceSet", "hint", "image_of", "open_sequences", "split_difficulty"]

_PUBLISHED = IMAGENET_P + IMAGENET_P_VALIDATION

MOST_FRAMES = 127
"""How many frames a video may have: the store keeps their number in a byte. Published videos have 31 or 41."""

_PROBED = 3
_TRIED = 12


@dataclass(frozen=True)
class SequenceSet:
    """The videos of one perturbation, each of ``frames`` frames.

    It has what the plan of an evaluation needs of a ``Dataset``; ``read`` gives a whole video. ``size`` of the samples
    is in bytes, of all frames together.
    """

    root: Path
    perturbation: str
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    frames: int
    notes: tuple[str, ...] = ()

    @property
    def from_files(self) -> bool:
        """Whether there are video files, whose pixels depend on who decodes them."""
        return any(is_video_name(sample.id) for sample in self.samples)

    def read(self, sample: Sample) -> list[PIL.Image.Image]:
        """Read the frames of one video, mode RGB.

        Raises
        ------
        ImageError
            If it is damaged, or has not as many frames as the others; the message names it.
        DatasetError
            If the system cannot give a file.
        MissingDataError
            If it is a file, and PyAV is not installed.
        """
        frames = _read(self.root, self.perturbation, sample)
        if len(frames) != self.frames:
            raise ImageError(
                f"The video {self.perturbation}/{sample.id} has {len(frames)} frames where others have {self.frames}."
            )
        return frames


def open_sequences(root: str | os.PathLike[str], label_space: LabelSpace) -> tuple[SequenceSet, ...]:
    """Find the videos below a folder of perturbations, or below the folder of one perturbation.

    Parameters
    ----------
    root
        The folder. Perturbations may lie in folders of families, as in the archives.
    label_space
        The classes of the model.

    Returns
    -------
    tuple of SequenceSet
        One for each perturbation, the published ones first and in their order.

    Raises
    ------
    DatasetError
        If there are no videos, two folders of one perturbation, or two videos of one image in it; if they are of a
        build that is not finished; if folders can be taken for perturbations as well as for something else; if videos
        of one perturbation differ in their number of frames, or have fewer than two or more than 127. Of video files
        only a few are read for that; the others are seen to when they are read.
    """
    folder = _named(arguments.path("The sequences", root))
    refuse_no_videos(folder)
    found: dict[Path, dict[str, _Found]] = {}
    for parts, video in _videos(folder):
        depth = _depth(folder, parts)
        found.setdefault(folder.joinpath(*parts[:depth]), {})["/".join(parts[depth:])] = video
    if not found:
        raise DatasetError(
            f"{folder} holds no videos. Expected <perturbation>/<class>/<video>, such as "
            "gaussian_noise/n01440764/x.mp4 or a folder of frames in place of that file."
        )
    _check_names(list(found))
    _check_places(folder, found)
    order = sorted(found, key=lambda place: _order(_name(place)))
    return tuple(_opened(place, found[place], folder, label_space) for place in order)


def _named(folder: Path) -> Path:
    """Return a folder under its own name, which tells noises from others, if it is given as ``..`` or by a link."""
    real = folder.resolve()
    by_link = _is_published(real.name) and not _is_published(_name(folder))
    return real if ".." in folder.parts or by_link else folder


def hint(names: Iterable[str]) -> str:
    """Return a sentence for who takes a folder of sequences for images, by the names in it; empty if it is none."""
    if not any(_is_published(name) for name in names):
        return ""
    return " If it is ImageNet-P, or holds other videos of perturbations, `oodometer sequences` evaluates it."


def split_difficulty(name: str) -> tuple[str, int | None]:
    """Split the name of a folder such as ``shot_noise_2`` into perturbation and difficulty, if it says one.

    Noises alone have videos of their own for each difficulty; elsewhere it is how many frames lie between those that
    are compared.
    """
    match = re.fullmatch(r"(.*noise.*)_([1-9])", name)
    return (name, None) if match is None else (match[1], int(match[2]))


@dataclass(frozen=True, slots=True)
class _Found:
    """What is known of a video that was found: its bytes, and the frames that it has if it is a folder."""

    size: int
    frames: int | None


def _videos(folder: Path, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], _Found]]:
    """Yield the path of each video below a folder, as its parts; pictures beside folders of videos are none."""
    entries = visible(folder)
    below, frames = False, []
    for entry in entries:
        path = (*above, entry.name)
        if is_folder(entry):
            if entry.is_symlink() and folder.resolve().is_relative_to(Path(entry.path).resolve()):
                raise DatasetError(f"The folder {entry.path} links back to a folder that holds it; remove the link.")
            for video in _videos(folder / entry.name, path):
                below = True
                yield video
        elif is_video_name(entry.name):
            below = True
            yield path, _Found(_size(entry), None)
        elif is_image_name(entry.name):
            frames.append(entry)
    if frames and not below and above:
        if len({entry.name.rpartition(".")[0] for entry in frames}) < len(frames):
            frame_names(folder)  # names the frame that is there twice
        yield above, _Found(sum(map(_size, frames)), len(frames))


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:  # a link to nowhere: reading it will name it
        return 0


def _depth(root: Path, parts: Sequence[str]) -> int:
    """Return how many parts of a video's path lead to the folder of its perturbation.

    It is the first folder with a published name, beginning with the root; else the one that holds the class folders.
    """
    if _is_published(root.absolute().name) and (len(parts) < 3 or not _is_published(parts[0])):
        return 0
    known = [depth for depth, part in enumerate(parts[:-1], start=1) if _is_published(part)]
    return known[0] if known else max(len(parts) - 2, 0)


def _is_published(name: str) -> bool:
    return split_difficulty(name)[0] in _PUBLISHED


def _name(place: Path) -> str:
    return place.absolute().name


def _check_names(places: Sequence[Path]) -> None:
    """Refuse a perturbation that is there twice, such as in two families, or with and without its difficulty 1."""
    seen: dict[tuple[str, int], Path] = {}
    for place in places:
        name, difficulty = split_difficulty(_name(place))
        if (other := seen.setdefault((name, difficulty or 1), place)) != place:
            raise DatasetError(f"{other} and {place} are one perturbation twice. Remove one, or open one of them.")


_IF_IMAGES = " Of images, `oodometer corrupt --sequence` makes videos of perturbations, in a folder of their own."


def _check_places(root: Path, found: Mapping[Path, Mapping[str, _Found]]) -> None:
    """Refuse what can be taken for perturbations as well as for classes, or for images: the numbers would be wrong."""
    for place, videos in found.items():
        around = [parent for parent in place.parents if parent != root and parent in found]
        if around and _is_published(_name(place)):
            raise DatasetError(
                f"{place} has the name of a perturbation, and other videos beside it are no perturbations. If it is "
                f"a class of the perturbation {around[0].name}, give it another name; else move the others away."
            )
        if all(re.fullmatch(r"(.*/)?n\d{8}", id_) and video.frames is not None for id_, video in videos.items()):
            raise DatasetError(f"{place} holds images in folders of classes, and no videos.{_IF_IMAGES}")
    above, of_one_class = _name(root.absolute().parent), root in found and not any("/" in id_ for id_ in found[root])
    if of_one_class and _is_published(above) and not _is_published(_name(root)):
        raise DatasetError(
            f"{root} holds videos of one class of the perturbation {above}. Give the folder of the perturbation, or "
            "the one that holds all perturbations."
        )


def image_of(id_: str) -> str:
    """Return of which image a video is: its id, of files without the extension."""
    return id_.rpartition(".")[0] if is_video_name(id_) else id_


def _order(name: str) -> tuple[int, str]:
    base, _ = split_difficulty(name)
    return (_PUBLISHED.index(base) if base in _PUBLISHED else len(_PUBLISHED), name)


def _opened(place: Path, videos: Mapping[str, _Found], root: Path, space: LabelSpace) -> SequenceSet:
    name = _name(place)
    samples = tuple(Sample(id_, UNLABELLED, video.size) for id_, video in sorted(videos.items()))
    counts = {id_: video.frames for id_, video in videos.items() if video.frames is not None}
    frames = _counted(name, counts) if counts else _probed(place, name, samples)
    if not 2 <= frames <= MOST_FRAMES:
        raise DatasetError(
            f"The videos of {name} in {place} have {frames} frame(s); expected 2 to {MOST_FRAMES}, of which one is "
            f"compared with another.{_if_images(name)}"
        )
    if strange := [id_ for id_ in videos if id_.encode("utf-8", "replace").decode() != id_]:
        raise DatasetError(f"The video {strange[0]!r} in {place} has a name that is not UTF-8. Rename it.")
    _check_one_each(place, [sample.id for sample in samples])
    title = root.absolute().name
    return SequenceSet(place, name, title if title == name else f"{title}/{name}", space, samples, frames)


def _check_one_each(place: Path, ids: Sequence[str]) -> None:
    """Refuse two videos of one image, of which only one could count in the means."""
    seen: dict[str, str] = {}
    for id_ in ids:
        if (other := seen.setdefault(image_of(id_), id_)) != id_:
            raise DatasetError(f"{place} has two videos of one image: {other} and {id_}. Remove or rename one of them.")


def _if_images(name: str) -> str:
    """Return a hint for who takes images for videos, whose folder has no published name."""
    return "" if _is_published(name) else _IF_IMAGES


def _counted(name: str, counts: Mapping[str, int]) -> int:
    """Return how many frames all folders have, or name one that differs."""
    (most, _), *others = Counter(counts.values()).most_common()
    if others:
        odd = sorted(id_ for id_, count in counts.items() if count != most)
        raise DatasetError(
            f"Videos of {name} differ in their number of frames: {odd[0]} has {counts[odd[0]]}, others have {most}, "
            f"and {len(odd)} of {len(counts)} are not like those. Make them again, or move them away.{_if_images(name)}"
        )
    return most


def _read(root: Path, perturbation: str, sample: Sample) -> list[PIL.Image.Image]:
    name = f"{perturbation}/{sample.id}"
    if sample.size == 0:
        raise ImageError(f"Cannot read the video {name}: it is empty, or a link to nowhere.")
    return read_video(root / sample.id, name)


def _probed(place: Path, name: str, samples: Sequence[Sample]) -> int:
    """Read a few video files for their number of frames: whole, since what the files say of it may be wrong."""
    found: dict[str, int] = {}
    reasons = []
    for k in range(min(len(samples), _TRIED)):
        sample = samples[k * len(samples) // min(len(samples), _TRIED)]
        try:
            found[sample.id] = len(_read(place, name, sample))
        except ImageError as error:
            reasons.append(str(error))
        if len(found) == _PROBED:
            break
    if not found:
        raise DatasetError(f"None of {len(reasons)} videos of {name} can be read: {reasons[0]}")
    frames, times = Counter(found.values()).most_common(1)[0]
    if 2 * times <= len(found):
        each = ", ".join(f"{id_} {count}" for id_, count in found.items())
        raise DatasetError(
            f"Videos of {name} differ in their number of frames: {each}. Move away those that are wrong."
        )
    return frames
