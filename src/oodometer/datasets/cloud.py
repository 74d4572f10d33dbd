"""Images in class folders that lie in a store, such as ``s3://BUCKET/val``; each is read when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import PIL.Image

from oodometer.arguments import is_url
from oodometer.datasets.decode import EXTENSIONS, decode
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.scan import hidden, is_image_name
from oodometer.errors import ArgumentError, DatasetError, ImageError, StoreError
from oodometer.storage import Storage
from oodometer.types import LabelSpace, Orientation, Sample

__all__ = ["CloudFolder", "cloud_url", "open_cloud"]

_KINDS = ("folder", "flat")


@dataclass
class CloudFolder:
    """Images in a folder of a store, as a ``Dataset``, with the ids, labels and sizes of a copy in a local folder."""

    storage: Storage
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Read and decode one image, as ``ImageFolder.read`` does.

        Raises
        ------
        ImageError
            If the image is damaged; the message names it.
        DatasetError
            If the store does not give the file.
        """
        if sample.size == 0:
            raise ImageError(f"Cannot read the image {sample.id}: the file is empty.")
        try:
            content = self.storage.read(sample.id)
        except StoreError as error:
            raise DatasetError(f"Cannot read the file {self.storage.url}/{sample.id}: {error}") from error
        if content is None:
            raise DatasetError(f"Cannot read the file {self.storage.url}/{sample.id}: it is not there any more.")
        return decode(content, sample.id, orientation=self.orientation)


def cloud_url(spec: object) -> str | None:
    """Return the URL that a specification of images names; ``None`` if it names a path.

    Raises
    ------
    ArgumentError
        If it names a kind of data set that is read from paths alone.
    """
    if not isinstance(spec, str):
        return None
    kind, colon, rest = spec.partition(":")
    if colon and is_url(rest):
        if kind not in _KINDS:
            raise ArgumentError(
                f"{spec}: of stores only folders of images are read (folder:{rest}). Copy other kinds to a disk."
            )
        return rest
    return spec if is_url(spec) else None


def open_cloud(
    url: str, labelling: Labelling, orientation: Orientation = "ignore", name: str | None = None
) -> CloudFolder:
    """Find the images below a folder of a store, and the class of each by the rules of ``open_folder``.

    Raises
    ------
    DatasetError
        If there are none, or if the labels do not describe a usable data set.
    """
    storage = Storage(url.rstrip("/"))
    found = sorted((path, size) for path, size in storage.sizes().items() if _counts(path))
    if not found:
        raise DatasetError(f"There are no images in {url}. Extensions that count: {', '.join(sorted(EXTENSIONS))}.")
    ids = [id_ for id_, _ in found]
    space, indices = labelling.by_folder(Path(url), ids)
    samples = tuple(Sample(id_, label, size) for (id_, size), label in zip(found, indices, strict=True))
    return CloudFolder(storage, name or storage.url.rpartition("/")[2], space, samples, orientation=orientation)


def _counts(path: str) -> bool:
    """Whether a file counts as an image, by its name and those of its folders."""
    return is_image_name(path) and not any(map(hidden, path.split("/")))
