"""Which class each image has: by a table, by what came with the image, or by its class folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oodometer import arguments
from oodometer.datasets import layout
from oodometer.datasets.label_spaces import custom, imagenet1k, known_space
from oodometer.datasets.labels_file import described, read_labels, resolve
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import UNLABELLED, LabelSpace

__all__ = ["Labelling", "Table"]

Table = str | Path | Mapping[str, int | str]
"""A table of labels: a file, or a mapping from names to class indices or to names of classes."""

_NO_CLASSES = LabelSpace("unlabelled", (), ())


@dataclass(frozen=True)
class Labelling:
    """What the caller said about labels, and what follows for the images of one data set.

    ``table``, ``classes`` and ``space`` are those of ``open_folder``. ``optional`` allows images without a label, and
    class folders of any name.
    """

    table: Table | None = None
    classes: int | None = None
    space: LabelSpace | None = None
    optional: bool = False

    def __post_init__(self) -> None:
        if self.classes is not None:
            arguments.whole("classes", self.classes, lowest=1, highest=1_000_000)
            if self.space is not None:
                raise ArgumentError("classes goes only with indices of your own classes, not with a label space.")
        if self.optional and (self.table, self.classes, self.space) != (None, None, None):
            raise ArgumentError("unlabelled goes without labels, classes and label_space: there is nothing to label.")

    def by_folder(
        self, root: Path, ids: Sequence[str], folders: Sequence[str] | None = None
    ) -> tuple[LabelSpace, list[int]]:
        """Return the label space and the class index of each id, by the table, else by the ids' top folders.

        Parameters
        ----------
        root
            Where the images are, for messages.
        ids
            Of all images.
        folders
            The top folders, where there may be empty ones; else those in ``ids``.

        Raises
        ------
        DatasetError
            If labels are missing or do not fit; the message says where and what to do.
        """
        if self.table is not None:
            where = described(self.table)
            space, known = resolve(read_labels(self.table), where, self.space, self.classes)
            return space, layout.by_labels(root, ids, where, known)
        if self.classes is not None:
            raise ArgumentError("classes goes only with class indices in labels: it says how many the model has.")
        tops = sorted({id_.split("/")[0] for id_ in ids if "/" in id_}) if folders is None else list(folders)
        if self.optional:
            return _by_any_folder(tops, ids)
        space = self.space or imagenet1k()
        return space, layout.by_class_folder(root, tops, ids, space)

    def by_own(
        self, root: Path, ids: Sequence[str], own: Sequence[int | str | None], names: Sequence[str] | None = None
    ) -> tuple[LabelSpace, list[int]]:
        """Return the label space and the class index of each id, by the table, else by labels that came with them.

        Parameters
        ----------
        root
            Where the images are, for messages.
        ids
            Of all images.
        own
            Their labels: class indices or names of classes; ``None`` where there is none.
        names
            The names of the classes that indices in ``own`` mean, if the data set has them.

        Raises
        ------
        DatasetError
            If labels are missing or do not fit; the message says where and what to do.
        """
        missing = [id_ for id_, label in zip(ids, own, strict=True) if label is None]
        if self.table is not None or len(missing) == len(ids):
            return self.by_folder(root, ids)
        if missing and not self.optional:
            raise DatasetError(
                f"{len(missing)} of the {len(ids)} images in {root} have no label: {layout.some(missing)}."
            )
        where = f"The data set {root}"
        published = known_space(names) if names else None
        names = published.classes if published else names
        labels = [_named(label, names, where) for label in own]
        given = {str(label): label for label in labels if label is not None}
        space, known = self._resolved(given, where, published, names)
        return space, [UNLABELLED if label is None else known[str(label)] for label in labels]

    def _resolved(
        self, given: Mapping[str, int | str], where: str, published: LabelSpace | None, names: Sequence[str] | None
    ) -> tuple[LabelSpace, dict[str, int]]:
        """Return the label space and the index of each label that occurs."""
        texts = [label for label in given.values() if isinstance(label, str)]
        space = self.space or published
        if space is None and not set(imagenet1k().classes).issuperset(names or texts) and (names or self.optional):
            space = custom(names or sorted(texts))
        if space is None:
            return resolve(given, where, None, self.classes)
        words = dict(zip(space.names, space.classes, strict=True))
        meant = {key: words.get(str(label), label) for key, label in given.items()}
        return resolve(meant, where, space, self.classes)


def _by_any_folder(tops: Sequence[str], ids: Sequence[str]) -> tuple[LabelSpace, list[int]]:
    """Label by class folders of any name; loose images have no label, and a folder ``images`` is no class."""
    known = layout.positions(imagenet1k())
    folders = [] if [top.lower() for top in tops] == ["images"] else list(tops)
    space = imagenet1k() if folders and set(folders) <= set(known) else custom(folders) if folders else _NO_CLASSES
    index = layout.positions(space)
    return space, [index.get(id_.split("/")[0], UNLABELLED) if "/" in id_ else UNLABELLED for id_ in ids]


def _named(label: int | str | None, names: Sequence[str] | None, where: str) -> int | str | None:
    if names is None or not isinstance(label, int):
        return label
    if not 0 <= label < len(names):
        raise DatasetError(f"{where} has the label {label}, and names {len(names)} classes.")
    return names[label]
