"""The label spaces: ImageNet-1k, the 200 classes of ImageNet-R and of ImageNet-A among them, CIFAR's, one's own."""

from __future__ import annotations

import csv
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import resources

from oodometer.errors import ArgumentError
from oodometer.types import LabelSpace

__all__ = [
    "LABEL_SPACES",
    "cifar10",
    "cifar100",
    "custom",
    "imagenet1k",
    "imagenet_a",
    "imagenet_r",
    "known_space",
]


@functools.cache
def imagenet1k() -> LabelSpace:
    """Return the 1000 classes of ImageNet-1k, by wnid in sorted order.

    Returns
    -------
    LabelSpace
        Named ``imagenet-1k``. ``names`` are unique: the first lemma of WordNet, and where two classes share it (crane,
        maillot, cardigan) the second lemma or the wnid as well.
    """
    rows = _rows("imagenet1k.csv")
    lemmas = [[lemma.strip() for lemma in row["names"].split(",")] for row in rows]
    shared = Counter(first.casefold() for first, *_ in lemmas)
    wnids = tuple(row["wnid"] for row in rows)
    names = tuple(
        words[0] if shared[words[0].casefold()] == 1 else _told_apart(words, wnid)
        for words, wnid in zip(lemmas, wnids, strict=True)
    )
    return LabelSpace("imagenet-1k", wnids, names)


@functools.cache
def imagenet_r() -> LabelSpace:
    """Return the 200 classes of ImageNet-R as a mask over ImageNet-1k.

    Returns
    -------
    LabelSpace
        Named ``imagenet-r``: the 1000 classes, with ``columns`` the 200 that take part, in ascending order, as in
        ``eval.py`` of hendrycks/imagenet-r.
    """
    return _among_the_1000("imagenet-r", "imagenet_r.csv")


@functools.cache
def imagenet_a() -> LabelSpace:
    """Return the 200 classes of ImageNet-A as a mask over ImageNet-1k; 86 of them are also in ImageNet-R.

    Returns
    -------
    LabelSpace
        Named ``imagenet-a``: the 1000 classes, with ``columns`` the 200 that take part, in ascending order.
    """
    return _among_the_1000("imagenet-a", "imagenet_a.csv")


_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def cifar10() -> LabelSpace:
    """Return the 10 classes of CIFAR-10 in their order, named ``cifar-10``."""
    return LabelSpace("cifar-10", _CIFAR10, _CIFAR10)


@functools.cache
def cifar100() -> LabelSpace:
    """Return the 100 fine classes of CIFAR-100 in their order, which is that of the alphabet; named ``cifar-100``."""
    classes = tuple(row["class"] for row in _rows("cifar100.csv"))
    return LabelSpace("cifar-100", classes, classes)


def known_space(names: Sequence[str]) -> LabelSpace | None:
    """Return the label space that a list of class names is, in its order: by identifiers, words or WordNet lemmas."""
    lemmas = tuple(row["names"] for row in _rows("imagenet1k.csv")) if len(names) == 1000 else ()
    for space in (cifar10(), cifar100(), imagenet1k()):
        if tuple(names) in {space.classes, space.names} or (space.width == len(lemmas) and tuple(names) == lemmas):
            return space
    return None


def custom(names: Sequence[str]) -> LabelSpace:
    """Return a label space of the user's own classes.

    Parameters
    ----------
    names
        The classes in the order of the model's outputs; they are identifiers and words for people in one.

    Returns
    -------
    LabelSpace
        Named after the number of classes, such as ``custom-10``.

    Raises
    ------
    ArgumentError
        If there is no name, or one occurs twice.
    """
    twice = [name for name, count in Counter(names).items() if count > 1]
    if not names or twice:
        found = f"{twice[0]!r} occurs more than once" if twice else "none was given"
        raise ArgumentError(f"A label space needs distinct class names: {found}.")
    return LabelSpace(f"custom-{len(names)}", tuple(names), tuple(names))


LABEL_SPACES: dict[str, Callable[[], LabelSpace]] = {
    "imagenet-1k": imagenet1k,
    "cifar-10": cifar10,
    "cifar-100": cifar100,
}
"""The label spaces that class indices of a labels file can be of, by name."""


def _among_the_1000(name: str, file: str) -> LabelSpace:
    whole = imagenet1k()
    members = {row["wnid"] for row in _rows(file)}
    columns = tuple(index for index, wnid in enumerate(whole.classes) if wnid in members)
    return LabelSpace(name, whole.classes, whole.names, columns)


def _told_apart(lemmas: list[str], wnid: str) -> str:
    return ", ".join(lemmas[:2]) if len(lemmas) > 1 else f"{lemmas[0]} ({wnid})"


def _rows(file: str) -> list[dict[str, str]]:
    text = resources.files("oodometer.datasets").joinpath("labels", file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
