"""One build from its sources to the finished folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oodometer.arguments import is_url
from oodometer.building.cells import Place
from oodometer.building.engine import drive, shared
from oodometer.building.occupied import alone, as_shard
from oodometer.building.parts import Crew, construct_in_parts, finished
from oodometer.building.recipe import Options, Recipe, settle
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import SEVERITIES
from oodometer.outfolder import mapped_errors
from oodometer.progress import ProgressBar, Silent
from oodometer.sharding import Shard, ShardSpec
from oodometer.store import Skipped
from oodometer.threads import threads
from oodometer.types import Dataset, LabelSpace, Orientation

__all__ = ["Build", "build", "construct"]


@dataclass(frozen=True, slots=True)
class Build:
    """A finished build: the ``images`` that were read, their ``pictures``, and how many of these were made this time.

    ``path`` is the URL where it was given one. ``skipped`` are the images that could not be read, absent from every
    condition. Of a shard all of it is of its part.
    """

    path: Path | str
    images: int
    pictures: int
    made: int
    skipped: tuple[Skipped, ...]


def build(
    source: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str],
    *,
    corruptions: str | Sequence[str] = "imagenet-c",
    severities: str | Sequence[float] = SEVERITIES,
    preprocess: str = "imagenet224",
    format: str = "jpeg",
    clean: bool = False,
    edition: str = "imagenet224",
    method: str = "fast",
    seed: int = 0,
    limit: int | None = None,
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: str | LabelSpace | None = None,
    orientation: Orientation = "ignore",
    workers: int | None = None,
    shard: ShardSpec | None = None,
    cluster: Crew | None = None,
    progress: bool = True,
) -> Build:
    """Make a corrupted data set on disk, such as ImageNet-C from the validation images.

    A build that was stopped, by whatever, is continued when the same call is made again: what is there is compared with
    its checksums, what is missing or damaged is made, and the folder is the same to the byte as one made at once.

    Parameters
    ----------
    source
        The images: a path or specification that ``oodometer.open_dataset`` takes, or a ``Dataset``. They need no
        labels. The pixels depend on (seed, image id, corruption, severity) alone, so that they are those of
        ``evaluate`` on the same images.
    out
        The folder to make, apart from the source; or the URL of one, such as ``"s3://BUCKET/imagenet-c"``, of whatever
        fsspec writes (but for ``npy``). There, files that are there already are compared by their sizes alone, and no
        lock keeps a second process out, which would write the same files.
    corruptions
        ``"imagenet-c"`` (the 15), ``"extra"`` (the other 4), ``"all"``, ``"own"``, a family, or names.
    severities
        Numbers above 0 and up to 10; real ones give folders such as ``fog/2.5``.
    preprocess
        ``"imagenet224"`` (shorter side to 256, central crop of 224), ``"inception299"``, ``"tiny64"``, or ``"none"``.
    format
        ``"jpeg"``: the tree of the published files, ``<corruption>/<severity>/<class>/<name>.JPEG``, quality 85,
        optimised; ``"png"``, ``"webp"``: the same tree without loss; ``"webdataset"``, ``"parquet"`` (as Hugging Face
        reads it): shards of 1000 such JPEGs, or with ``-png`` or ``-webp`` appended without loss; ``"npy"``: the arrays
        of CIFAR-10-C, for which all images must have one size.
    clean
        Whether to add the preprocessed images without a corruption, under the same names below ``clean/``.
    edition
        Which published table of strengths; ``"imagenet224"`` is ImageNet-C.
    method
        ``"fast"`` or ``"reference"``; see ``oodometer.corrupt``.
    seed
        Of the corruptions, and of the order of which ``limit`` takes the first.
    limit
        Take only so many images, the same as ``evaluate`` does.
    labels, classes, label_space, orientation
        See ``oodometer.open_dataset``.
    workers
        Threads; by default one for each processor. No file depends on them.
    shard
        Make only a part, while other processes make the others in the same folder: ``(index, count)``, the index from 0
        on, or ``"index/count"``, or ``"auto"`` in a process that ``torchrun`` or ``srun`` started. It makes every
        ``count``-th block of images. When all shards are through, the same call without ``shard`` compares everything
        with its checksums, makes what is missing, and finishes the build.
    cluster
        An ``oodometer.scaling.Cluster``: blocks of images are made on the nodes of a Ray cluster, each on as many
        threads as ``workers`` says or a node has. ``source`` and ``out`` must be there under the same path on all
        nodes, or URLs of a store. The files are the same.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    Build
        What is in the folder, and the images that could not be read.

    Raises
    ------
    OodometerError
        For everything that a user can mend (see ``oodometer.errors``): wrong arguments, two images that would have one
        name, a folder that holds another build. A damaged image raises nothing unless all are.
    """
    options = Options(
        corruptions=corruptions,
        severities=severities,
        preprocess=preprocess,
        format=format,
        clean=clean,
        edition=edition,
        method=method,
        seed=seed,
        limit=limit,
        labels=labels,
        classes=classes,
        label_space=label_space,
        orientation=orientation,
    )
    part = None if shard is None else Shard.of(shard)
    return construct(settle(source, out, options), out, workers, part, cluster, progress=progress)


def construct(
    recipe: Recipe,
    out: str | os.PathLike[str],
    workers: int | None,
    shard: Shard | None = None,
    cluster: Crew | None = None,
    *,
    progress: bool,
) -> Build:
    """Make what a recipe says, or what is missing of it, or a shard of that; see ``build``."""
    if cluster is not None or is_url(out):
        if shard is not None:
            raise ArgumentError("shard: is for processes that share a folder, and goes with no cluster and no URL.")
        with ProgressBar() if progress else contextlib.nullcontext(Silent()) as told:
            where, made = construct_in_parts(recipe, out, cluster, workers, told)
        return Build(where, made.images, made.pictures, made.made, tuple(made.skipped))
    folder, count = recipe.folder_type(out), threads(workers)
    place = Place(folder, recipe.planned.source, recipe.cells, recipe.format.encoding, recipe.shape)
    layout = recipe.format.layout(place)
    parts = shared(recipe.items, layout.images, shard)
    if shard is not None:
        _check_enough(len(recipe.items), layout.images, shard)
    with (
        alone(folder, recipe.planned) if shard is None else as_shard(folder, recipe.planned, shard),
        ProgressBar() if progress else contextlib.nullcontext(Silent()) as observer,
    ):
        observer.begin(f"{recipe.noun}s", sum(len(items) for _, items in parts) * len(recipe.cells), 0)
        outcome = drive(recipe, layout, parts, count, observer)
        if shard is None:
            if not outcome.images:
                folder.clear()
                raise DatasetError(f"None of the {len(recipe.items)} images can be read: {outcome.skipped[0].reason}")
            folder.write_manifest(finished(recipe.planned, outcome, layout.finish()))
            with mapped_errors(f"clearing {folder.unfinished}"):
                if folder.unfinished.exists():
                    shutil.rmtree(folder.unfinished)
    return Build(folder.path, outcome.images, outcome.pictures, outcome.made, tuple(outcome.skipped))


def _check_enough(images: int, block: int, shard: Shard) -> None:
    """Refuse more shards than there are blocks: then every shard says so, and none begins."""
    blocks = -(-images // block)
    if blocks < shard.count:
        raise ArgumentError(
            f"There are {images:,} images, which this format keeps in blocks of {block}: {blocks} in all, which "
            f"{shard.count} shards cannot share. Take fewer shards."
        )
