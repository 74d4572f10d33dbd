"""The classes that a set of renditions has, and what is wrong with a label that is none of them."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from oodometer import arguments
from oodometer.datasets.label_spaces import imagenet1k, imagenet_r
from oodometer.errors import ArgumentError
from oodometer.renditions.rows import read_text

__all__ = ["Vocabulary", "own_classes", "vocabulary"]

_WNID = re.compile(r"n\d{8}")
_KNOWN = {"imagenet-r": imagenet_r, "imagenet-1k": imagenet1k}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The classes of a set: ``classes`` are identifiers, and the names of folders; ``names`` are words for people.

    ``name`` is ``imagenet-r``, ``imagenet-1k``, or ``own`` for classes of the user's own.
    """

    name: str
    classes: tuple[str, ...]
    names: tuple[str, ...]

    def called(self, label: str) -> str:
        """Return the words for a class, or the label itself if it is none."""
        return self.names[self.classes.index(label)] if label in self.classes else label

    def fault(self, label: str) -> tuple[str, str] | None:
        """Return the reason for which a label cannot be used, and a sentence on what was meant; ``None`` if it can."""
        if label in self.classes:
            return None
        if self.name == "own":
            return "unknown_class", f"{label!r} is not in the list of classes.{self._near(label)}"
        whole = imagenet1k()
        if label in whole.classes:
            words = whole.names[whole.classes.index(label)]
            return "class_not_in_imagenet_r", f"{label} ({words}) is a class of ImageNet-1k, but none of the 200."
        if _WNID.fullmatch(label):
            return "class_not_in_imagenet_1k", f"{label} is no class of ImageNet-1k.{self._near(label)}"
        return "bad_wnid", f"{label!r} is no wnid, such as n01443537.{self._near(label)}"

    def _near(self, label: str) -> str:
        """Return the classes that a label may have meant, by word, then by spelling."""
        given = label.casefold().replace("_", " ")
        named = [i for i, words in enumerate(self.names) if re.search(rf"\b{re.escape(given)}\b", words.casefold())]
        spelt = difflib.get_close_matches(given, [words.casefold() for words in self.names], n=3)
        found = named or [i for i, words in enumerate(self.names) if words.casefold() in spelt]
        found = found or [self.classes.index(c) for c in difflib.get_close_matches(label, self.classes, n=3)]
        meant = [
            self.classes[i] if self.classes[i] == self.names[i] else f"{self.classes[i]} ({self.names[i]})"
            for i in found[:3]
        ]
        return f" Did you mean {' or '.join(meant)}?" if meant else ""


def vocabulary(spec: str | os.PathLike[str]) -> Vocabulary:
    """Return the classes that a name or a file stands for.

    Parameters
    ----------
    spec
        ``imagenet-r`` (200 classes), ``imagenet-1k``, or a UTF-8 text file with a class of one's own on each line.

    Raises
    ------
    ArgumentError
        If it is neither, or a line of the file cannot be the name of a folder or occurs twice.
    DatasetError
        If the file cannot be read.
    """
    if spec in _KNOWN:
        space = _KNOWN[str(spec)]()
        columns = range(space.width) if space.columns is None else space.columns
        return Vocabulary(str(spec), tuple(space.classes[i] for i in columns), tuple(space.names[i] for i in columns))
    file = arguments.path("classes", spec)
    if not file.is_file():
        raise ArgumentError(
            f"classes must be {', '.join(_KNOWN)}, or a text file with one class a line; there is no file {file}."
        )
    return own_classes([line.strip() for line in read_text(file).splitlines() if line.strip()], str(file))


def own_classes(classes: list[str], where: str) -> Vocabulary:
    """Return a vocabulary of one's own classes; ``where`` names their file in messages."""
    if not classes:
        raise ArgumentError(f"{where} names no class; write one a line.")
    for number, name in enumerate(classes):
        if re.search(r'^[. ]|[. ]$|[\\/:*?"<>|\x00-\x1f\x7f]', name) or Path(name).name != name:
            raise ArgumentError(f"{where}: the class {name!r} cannot be the name of a folder on every system.")
        if name.casefold() in {other.casefold() for other in classes[:number]}:
            raise ArgumentError(f"{where}: the class {name!r} occurs more than once (the case of letters aside).")
    return Vocabulary("own", tuple(classes), tuple(classes))
