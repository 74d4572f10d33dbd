"""What is to be built: sources, conditions and format, settled and checked before anything is written."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from oodometer import corruptions as kernels
from oodometer import textures
from oodometer.arguments import choice, whole
from oodometer.building.cells import Cell, Item
from oodometer.building.formats import FORMATS, Format
from oodometer.building.manifest import BuildFolder, Manifest, Source
from oodometer.building.naming import check_names, class_folders, stem
from oodometer.building.sources import open_source
from oodometer.continuing import environment
from oodometer.corruptions import registry
from oodometer.corruptions.apply import SEEDS
from oodometer.corruptions.severity import STRONGEST
from oodometer.datasets import digest
from oodometer.datasets.manifest import BUILD, FORMAT
from oodometer.errors import ArgumentError, DatasetError, ImageError, MissingDataError
from oodometer.families import SEVERITIES
from oodometer.plan import make_protocol, seeded_order
from oodometer.preprocess import apply
from oodometer.types import CLEAN, UNLABELLED, Dataset, Image, LabelSpace, Orientation, Preprocess, Protocol, Sample

__all__ = ["CommonOptions", "Options", "Recipe", "items_of", "opened", "read_severities", "settle", "source_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The choices that every build has, of pictures or of videos."""

    preprocess: str = "imagenet224"
    format: str = "jpeg"
    seed: int = 0
    limit: int | None = None
    labels: str | Path | Mapping[str, int | str] | None = None
    classes: int | None = None
    label_space: str | LabelSpace | None = None
    orientation: Orientation = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """The choices of a build, as users give them; see ``oodometer.build``."""

    corruptions: str | Sequence[str] = "imagenet-c"
    severities: str | Sequence[float] = SEVERITIES
    clean: bool = False
    edition: str = "imagenet224"
    method: str = "fast"


@dataclass(frozen=True)
class Recipe:
    """A build that has been checked.

    ``planned`` is its manifest before there is any result; ``shape`` is that of all pictures, height x width x 3, where
    the format needs one.
    """

    dataset: Dataset
    protocol: Protocol
    cells: tuple[Cell, ...]
    items: tuple[Item, ...]
    format: Format
    planned: Manifest
    shape: tuple[int, ...] | None = None

    noun: ClassVar[str] = "picture"
    folder_type: ClassVar[type[BuildFolder]] = BuildFolder

    @property
    def files(self) -> int:
        """How many files of pictures there will be."""
        return self.format.layout.files(len(self.items), self.cells)

    @property
    def geometry(self) -> Preprocess:
        """What is done to a picture before it is corrupted."""
        return self.protocol.preprocess

    def source_image(self, item: Item) -> Image:
        """Read and preprocess one image.

        Raises
        ------
        ImageError
            If it cannot be read whole, or is too small or too narrow; the message names it.
        DatasetError
            If it has another size than the others, and the format needs one size.
        """
        name = item.sample.id
        read = self.dataset.read(item.sample)
        try:
            image = apply(read, self.geometry)
        except (ArgumentError, ImageError) as error:  # the preprocessing knows no names
            raise ImageError(f"Cannot use the image {name}: {error}") from error
        if min(image.shape[:2]) < kernels.SMALLEST_SIDE:
            raise ImageError(
                f"Cannot use the image {name}: it has {image.shape[1]}x{image.shape[0]} pixels, and corruptions need "
                f"{kernels.SMALLEST_SIDE} on each side."
            )
        if self.shape and image.shape != self.shape:
            raise DatasetError(
                f"{name} is {image.shape[1]}x{image.shape[0]} pixels where others are {self.shape[1]}x{self.shape[0]}. "
                "Arrays need images of one size: choose a preprocessing that gives one, or a format of files."
            )
        return image

    def picture(self, image: Image, item: Item, cell: Cell) -> Image:
        """Corrupt one image; the pixels are those of an evaluation on the fly."""
        if not cell.severity:
            return image
        return kernels.corrupt(
            image,
            cell.corruption,
            cell.severity,
            seed=self.protocol.seed,
            method=self.protocol.method,
            edition=self.protocol.edition,
            image_id=item.sample.id,
        )


def settle(source: str | os.PathLike[str] | Dataset, out: str | os.PathLike[str], options: Options) -> Recipe:
    """Open the sources of a build and check its choices; nothing is written.

    Raises
    ------
    ArgumentError
        If an option is wrong; near names are listed.
    DatasetError
        If there are no images, fewer than the limit, or two that would have one name.
    MissingDataError
        If frost is asked for and its textures are nowhere.
    """
    form = FORMATS[choice("format", options.format, FORMATS)]
    protocol = make_protocol(
        corruptions=options.corruptions,
        preprocess=options.preprocess,
        encoding="memory" if form.encoding.quality is None else "jpeg85",
        edition=options.edition,
        method=options.method,
        seed=whole("seed", options.seed, *SEEDS),
    )
    severities = read_severities(options.severities)
    cells = _cells(protocol, severities, clean=options.clean)
    dataset, samples = opened(source, out, options, protocol.seed)
    planned = Manifest(
        kind=BUILD,
        format=FORMAT,
        source=source_of(dataset, samples, options.orientation),
        protocol=protocol,
        severities=severities,
        layout=options.format,
        quality=form.encoding.quality,
        clean=options.clean,
        environment=environment("pyarrow"),
    )
    recipe = Recipe(dataset, protocol, cells, items_of(samples, dataset, form), form, planned)
    return replace(recipe, shape=_first_shape(recipe)) if form.layout.one_size else recipe


def read_severities(asked: object) -> tuple[int | float, ...]:
    """Read severities, with commas or as a sequence; ascending, each once, whole ones as whole numbers.

    Raises
    ------
    ArgumentError
        If there is none, or one is no number above 0 and up to the strongest.
    """
    expected = f"severities must be numbers above 0 and up to {STRONGEST}, such as 1,2,3,4,5; not {asked!r}."
    numbers = asked.split(",") if isinstance(asked, str) else asked
    if not isinstance(numbers, Sequence | np.ndarray) or not len(numbers):
        raise ArgumentError(expected)
    found: set[float] = set()
    for number in numbers:
        try:
            severity = math.nan if isinstance(number, bool) else float(number)
        except (TypeError, ValueError):
            raise ArgumentError(expected) from None
        if not 0 < severity <= STRONGEST:  # also NaN
            raise ArgumentError(expected)
        found.add(severity)
    return tuple(int(s) if s == int(s) else s for s in sorted(found))


def _cells(protocol: Protocol, severities: Sequence[int | float], *, clean: bool) -> tuple[Cell, ...]:
    """Return clean first, if wanted, then every corruption at every severity, if all of these can be made."""
    for name in protocol.corruptions:
        for severity in severities:
            registry.find(name).constants(protocol.edition, severity)  # some have none above 5
    if "frost" in protocol.corruptions and textures.find_frost() is None:
        raise MissingDataError(
            "Frost needs its textures, which are not on this machine. Run `oodometer fetch frost`, name their folder "
            "in OODOMETER_FROST, or leave frost out (--corruptions)."
        )
    first = (Cell(CLEAN.corruption, CLEAN.severity),) if clean else ()
    return (*first, *(Cell(name, severity) for name in protocol.corruptions for severity in severities))


def opened(
    source: str | os.PathLike[str] | Dataset, out: str | os.PathLike[str], options: CommonOptions, seed: int
) -> tuple[Dataset, list[Sample]]:
    """Open the sources of a build; return them, and the images to take."""
    dataset = open_source(
        source, out, options.labels, options.classes, options.label_space, orientation=options.orientation
    )
    return dataset, _taken(dataset, seed, options.limit)


def _taken(dataset: Dataset, seed: int, limit: int | None) -> list[Sample]:
    """Return the images to take, in the order of the data set: all, or the first of the seeded order.

    Raises
    ------
    ArgumentError
        If the limit is no whole number above 0.
    DatasetError
        If there are no images, or fewer than the limit.
    """
    samples = list(dataset.samples)
    if not samples:
        raise DatasetError(f"{dataset.name} has no images.")
    if limit is None:
        return samples
    limit = whole("limit", limit, lowest=1)
    if limit > len(samples):
        raise DatasetError(f"{limit} images were asked for, and {dataset.name} has {len(samples)}.")
    labelled = [replace(sample, label=sample.label + 1) for sample in samples]  # UNLABELLED is a class here
    chosen = {sample.id for sample in seeded_order(labelled, seed)[:limit]}
    return [sample for sample in samples if sample.id in chosen]


def items_of(samples: Sequence[Sample], dataset: Dataset, form: Format) -> tuple[Item, ...]:
    """Return the images with the names of their pictures; raises ``DatasetError`` if one is no usable name."""
    folders = class_folders(dataset.label_space)
    names = [form.layout.name(stem(sample, folders), form.encoding) for sample in samples]
    check_names(names, [sample.id for sample in samples])
    return tuple(Item(number, *both) for number, both in enumerate(zip(samples, names, strict=True)))


def source_of(dataset: Dataset, samples: Sequence[Sample], orientation: str) -> Source:
    """Return what the manifest says of the images."""
    labelled = any(sample.label != UNLABELLED for sample in samples)
    space = dataset.label_space
    order = hashlib.sha256(b"".join(f"{s.id}\0".encode("utf-8", "surrogatepass") for s in samples))
    return Source(
        name=dataset.name,
        digest=digest(dataset),
        images=len(samples),
        order=order.hexdigest(),
        orientation=orientation,
        label_space=space.name,
        classes=space.classes if labelled else (),
        class_names=space.names if labelled else (),
    )


def _first_shape(recipe: Recipe) -> tuple[int, ...]:
    """Return the shape of the first image that can be read."""
    for item in recipe.items:
        try:
            return recipe.source_image(item).shape
        except ImageError:
            continue
    raise DatasetError(f"None of the {len(recipe.items)} images of {recipe.dataset.name} can be read.")
