"""What the pictures of a source image are called: by its class and its own name, each name once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from oodometer.datasets.scan import identifier, is_image_name
from oodometer.errors import DatasetError
from oodometer.types import UNLABELLED, LabelSpace, Sample

__all__ = ["check_names", "class_folders", "stem"]


def class_folders(space: LabelSpace) -> tuple[str, ...]:
    """Return the folder of each class: its identifier, in which ``_`` stands for what a file name cannot have.

    Raises
    ------
    DatasetError
        If two classes would share a folder.
    """
    folders = tuple(re.sub(r'^\.|[\\/:*?"<>|\x00-\x1f]', "_", name) or "_" for name in space.classes)
    if len(set(map(_folded, folders))) < len(folders):
        first, second = _clash(zip(folders, space.classes, strict=True))
        raise DatasetError(f"The classes {first!r} and {second!r} would share one folder. Rename one of them.")
    return folders


def stem(sample: Sample, folders: Sequence[str]) -> str:
    r"""Return the path of an image's pictures within a condition, without an extension.

    Parameters
    ----------
    sample
        The image. Its id may have been written on any system: ``\`` counts as ``/``.
    folders
        The folder of each class.

    Returns
    -------
    str
        ``<class>/<name>``, where the name is what follows the class in the id, or all of it if the class is no folder
        of the id, but for a folder ``images`` at the top. Without a label, all of the id.

    Raises
    ------
    DatasetError
        If the id leads out of the data set, is no text, or has a part that readers would pass over, such as ``.x``.
    """
    path = identifier(sample.id)
    if not path.isascii() and path.encode("utf-8", "replace").decode() != path:
        raise DatasetError(f"The name of {sample.id!r} is not UTF-8 and could not be listed. Rename it.")
    parts = path.split("/")
    if any(part.startswith(".") for part in parts):
        raise DatasetError(f"The name of {sample.id!r} is that of a hidden file, which readers pass over. Rename it.")
    if is_image_name(parts[-1]):
        parts[-1] = parts[-1].rpartition(".")[0]
    if sample.label == UNLABELLED:
        return "/".join(parts)
    folder = folders[sample.label]
    if parts[0].lower() == "images" and len(parts) > 1:
        parts = parts[1:]  # the folder of flat sets says nothing, and the published layout has no such level
    inner = parts[parts.index(folder) + 1 :] if folder in parts[:-1] else parts
    return "/".join([folder, *inner])


def check_names(names: Sequence[str], ids: Sequence[str]) -> None:
    """Refuse two images whose pictures would have one name, on any system: case does not tell names apart everywhere.

    Raises
    ------
    DatasetError
        If two names are equal but for the case of letters, or one is a folder of the other; both images are named.
    """
    folded = [_folded(name) for name in names]
    if len(set(folded)) < len(folded):
        first, second = _clash(zip(folded, ids, strict=True))
        raise DatasetError(
            f"The images {first!r} and {second!r} would have pictures of one name (extensions and the case of letters "
            "do not tell them apart). Rename one of them. Nothing was written."
        )
    above = {parent.as_posix() for name in set(map(_parent, folded)) for parent in (name, *name.parents)}
    for name, id_ in zip(folded, ids, strict=True):
        if name in above:
            raise DatasetError(f"The pictures of {id_!r} would have the name of a folder of others. Rename it.")


def _parent(name: str) -> PurePosixPath:
    return PurePosixPath(name).parent


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _clash(named: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """Return the first two whose names are one; there must be two."""
    seen: dict[str, str] = {}
    for name, whose in named:
        if (folded := _folded(name)) in seen:
            return seen[folded], whose
        seen[folded] = whose
    raise AssertionError("all names differ")
