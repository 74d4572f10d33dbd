"""Videos as in ImageNet-P on disk: pictures taken through perturbations, frame by frame.

Order, resuming and manifest are those of every build; a video stands where a picture does.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from oodometer.arguments import choice, whole
from oodometer.building.cells import Cell, Item
from oodometer.building.encodings import JPEG85, PNG, WEBP, Encoding
from oodometer.building.formats import Format
from oodometer.building.frames import FrameFolders, of_frames
from oodometer.building.job import Build, construct
from oodometer.building.manifest import BuildFolder, SequenceFolder, SequenceManifest
from oodometer.building.mp4 import encode_mp4
from oodometer.building.recipe import CommonOptions, Recipe, items_of, opened, source_of
from oodometer.building.tree import Tree
from oodometer.continuing import environment
from oodometer.corruptions.apply import SEEDS
from oodometer.datasets.manifest import FORMAT, SEQUENCES
from oodometer.datasets.videos import require_pyav
from oodometer.errors import ArgumentError
from oodometer.perturbations import FOLDERS, GROUPS, perturb, published_frames
from oodometer.preprocess import PREPROCESS
from oodometer.sharding import Shard, ShardSpec
from oodometer.types import Dataset, Image, Images, LabelSpace, Orientation, Preprocess, Protocol

__all__ = ["VIDEO_FORMATS", "SequenceOptions", "build_sequences", "settle_sequences"]

VIDEO_FORMATS: dict[str, Format] = {
    "jpeg": Format(FrameFolders, of_frames(JPEG85)),
    "png": Format(FrameFolders, of_frames(PNG)),
    "webp": Format(FrameFolders, of_frames(WEBP)),
    "mp4": Format(Tree, Encoding(".mp4", None, encode_mp4)),
}
"""The formats of videos by name: folders of frames of quality 85, or without loss; a file for each video."""

_PREPROCESS = ("imagenet224", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceOptions(CommonOptions):
    """The choices of a build of videos, as users give them; see ``oodometer.build_sequences``."""

    perturbations: str | Sequence[str] = "imagenet-p"
    frames: int | None = None


@dataclass(frozen=True)
class _SequenceRecipe(Recipe):
    """A build of videos that has been checked; its cells are the folders of perturbations."""

    frames: int | None = None

    noun: ClassVar[str] = "video"
    folder_type: ClassVar[type[BuildFolder]] = SequenceFolder

    @property
    def files(self) -> int:
        if self.format.layout is not FrameFolders:
            return super().files
        return len(self.items) * sum(self.frames or _frames_of(cell.corruption) for cell in self.cells)

    @property
    def geometry(self) -> Preprocess:
        """The resize alone: movements show what lies around the crop."""
        return replace(self.protocol.preprocess, crop=None)

    def picture(self, image: Image, item: Item, cell: Cell) -> Images:
        """Return the frames of a video."""
        name, difficulty = FOLDERS[cell.corruption]
        crop = self.protocol.preprocess.crop
        return perturb(
            image,
            name,
            seed=self.protocol.seed,
            image_id=item.sample.id,
            frames=self.frames,
            difficulty=difficulty,
            side=crop if isinstance(crop, int) else None,
        )


def build_sequences(
    source: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str],
    *,
    perturbations: str | Sequence[str] = "imagenet-p",
    frames: int | None = None,
    preprocess: str = "imagenet224",
    format: str = "jpeg",
    seed: int = 0,
    limit: int | None = None,
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: str | LabelSpace | None = None,
    orientation: Orientation = "ignore",
    workers: int | None = None,
    shard: ShardSpec | None = None,
    progress: bool = True,
) -> Build:
    """Make videos as those of ImageNet-P, each a folder of frames: ``<perturbation>/<class>/<name>/<frame>``.

    Like ``oodometer.build`` it continues what was stopped and mends what was damaged; a video is there whole or not at
    all. The frames are those of ``oodometer.perturb``.

    Parameters
    ----------
    source, out, limit, labels, classes, label_space, orientation, workers, shard, progress
        As for ``oodometer.build``.
    perturbations
        ``"imagenet-p"`` (the ten), ``"validation"`` (the other four), ``"all"``, or names; those of noises with their
        difficulty, such as ``"gaussian_noise_2"``.
    frames
        The first so many of each video; by default all: 41 of translate, else 31.
    preprocess
        ``"imagenet224"`` (shorter side to 256; frames show the central 224), or ``"none"`` (frames show all of the
        picture, at its size).
    format
        Of the frames: ``"jpeg"`` of quality 85, or without loss ``"png"`` or ``"webp"``. ``"mp4"`` makes a file of each
        video, ``<perturbation>/<class>/<name>.mp4``, in which x264 loses a level or two; it needs PyAV.
    seed
        Of noise, flakes and drops, and of the order of which ``limit`` takes the first.

    Returns
    -------
    Build
        What is in the folder: its ``pictures`` and ``made`` count videos.

    Raises
    ------
    OodometerError
        As ``oodometer.build`` does.
    """
    options = SequenceOptions(
        perturbations=perturbations,
        frames=frames,
        preprocess=preprocess,
        format=format,
        seed=seed,
        limit=limit,
        labels=labels,
        classes=classes,
        label_space=label_space,
        orientation=orientation,
    )
    part = None if shard is None else Shard.of(shard)
    return construct(settle_sequences(source, out, options), out, workers, part, progress=progress)


def settle_sequences(
    source: str | os.PathLike[str] | Dataset, out: str | os.PathLike[str], options: SequenceOptions
) -> Recipe:
    """Open the sources of videos and check the choices; nothing is written.

    Raises
    ------
    ArgumentError
        If an option is wrong; near names are listed.
    DatasetError
        If there are no images, fewer than the limit, or two that would have one name.
    MissingDataError
        If a format needs PyAV, and it is not installed.
    """
    form = VIDEO_FORMATS[choice("format of videos", options.format, VIDEO_FORMATS)]
    if options.format == "mp4":
        require_pyav("Writing")
    folders = _folders(options.perturbations)
    most = min(map(_frames_of, folders))
    frames = None if options.frames is None else whole("frames", options.frames, 2, most)
    protocol = Protocol(
        preprocess=PREPROCESS[choice("preprocess of videos", options.preprocess, _PREPROCESS)],
        encoding="memory" if form.encoding.quality is None else "jpeg85",
        edition="imagenet-p",
        method="fast",
        corruptions=folders,
        seed=whole("seed", options.seed, *SEEDS),
    )
    dataset, samples = opened(source, out, options, protocol.seed)
    planned = SequenceManifest(
        kind=SEQUENCES,
        format=FORMAT,
        source=source_of(dataset, samples, options.orientation),
        protocol=protocol,
        severities=(),
        layout=options.format,
        quality=form.encoding.quality,
        clean=False,
        environment=environment("pyarrow", *(["av"] if options.format == "mp4" else [])),
        frames=frames,
    )
    cells = tuple(Cell(folder, 0) for folder in folders)
    return _SequenceRecipe(dataset, protocol, cells, items_of(samples, dataset, form), form, planned, frames=frames)


def _folders(asked: str | Sequence[str]) -> tuple[str, ...]:
    """Read names of perturbations and of groups, with commas or as a sequence; each once, in the published order."""
    names = asked.split(",") if isinstance(asked, str) else asked
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"perturbations must be names of perturbations or of groups of them, not {asked!r}.")
    known = {**GROUPS, **{folder: (folder,) for folder in FOLDERS}}
    chosen = {folder for name in names for folder in known[choice("perturbation", name.strip(), known)]}
    return tuple(folder for folder in FOLDERS if folder in chosen)


def _frames_of(folder: str) -> int:
    name, _ = FOLDERS[folder]
    return published_frames(name)
