"""Sets in NumPy files: CIFAR-10-C and CIFAR-100-C, and arrays of images with their labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.cells import Cell
from oodometer.doctor.copies import find_copies
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.grid import note_corruptions
from oodometer.doctor.labels import check_labels, check_repeated
from oodometer.doctor.order import check_order
from oodometer.doctor.probe import Probe, digest
from oodometer.doctor.reading import Digests, Reader, Troubles
from oodometer.families import SEVERITIES
from oodometer.report.words import listed
from oodometer.types import CLEAN

__all__ = ["examine_cifar", "examine_pair"]

Array = NDArray[Any]

_TFDS = {"frosted_glass_blur": "glass_blur", "elastic": "elastic_transform"}
"""What TensorFlow Datasets calls two of the corruptions."""

_BLANK = 0.01
"""More black images than this share are no photographs in the dark, but a file that was not written to its end."""


def examine_cifar(root: Path, classes: int, reader: Reader, findings: Findings) -> None:
    """Examine a set like CIFAR-10-C: an array of images for each corruption, severity after severity, and the labels.

    Parameters
    ----------
    root
        The folder of the arrays.
    classes
        How many there are, 10 or 100.
    reader
        Reads the rows.
    findings
        Where to add what is wrong, and what was looked at.
    """
    files = sorted(file for file in root.glob("*.npy") if not file.name.startswith("."))
    loaded = {file.stem: array for file in files if (array := _load(file, findings)) is not None}
    labels, clean = loaded.pop("labels", None), loaded.pop("clean", None)
    if not (root / "labels.npy").exists():
        findings.fault("no-labels", "There is no labels.npy.", "Fetch or copy it; it is part of the archive.")
    arrays = _alike(loaded, findings)
    length = len(next(iter(arrays.values()), ()))
    if length % len(SEVERITIES):
        findings.fault(
            "not-five-severities",
            f"The arrays have {length:,} images, which are not five severities of equally many.",
            "Copy or make them again: severity s is the s-th fifth of the images.",
        )
    if labels is not None:
        check_labels(labels, length, classes, findings)
        check_repeated(labels, length, findings)
    _note_names([file.stem for file in files if file.stem not in {"labels", "clean"}], findings)
    if clean is not None and _fits(clean, arrays, findings):
        arrays["clean"] = clean
    digests = _read(arrays, reader, findings)
    _check_blank(arrays, digests, findings)
    if length % len(SEVERITIES) == 0:
        _compare(arrays, digests, findings)


def _fits(clean: Array, arrays: Mapping[str, Array], findings: Findings) -> bool:
    """Check that the clean images beside the corrupted ones are a fifth of them."""
    shapes = {(len(array) // len(SEVERITIES), *array.shape[1:]) for array in arrays.values()}
    fits = clean.dtype == np.uint8 and shapes <= {clean.shape}
    if not fits:
        findings.fault(
            "array-shape",
            f"clean.npy holds {clean.dtype} of shape {clean.shape}; the images of one severity have {shapes.pop()}.",
            "Copy or make it again.",
            ["clean.npy"],
        )
    return fits


def _note_names(names: Sequence[str], findings: Findings) -> None:
    renamed = [name for name in names if name in _TFDS]
    if renamed:
        findings.note(
            "other-names",
            f"Corruptions that are called as in TensorFlow Datasets: {listed(renamed)}.",
            f"Nothing to do here; for other programs rename them to {listed([_TFDS[name] for name in renamed])}.",
            [f"{name}.npy" for name in renamed],
        )
    note_corruptions([_TFDS.get(name, name) for name in names], findings)


def examine_pair(path: Path, reader: Reader, findings: Findings) -> None:
    """Examine ``images.npy`` and ``labels.npy`` in a folder, or a single array of images.

    Parameters
    ----------
    path
        The folder, or the file.
    reader, findings
        As for ``examine_cifar``.
    """
    files = [path / "images.npy", path / "labels.npy"] if path.is_dir() else [path]
    loaded = [_load(file, findings) for file in files]
    if loaded[0] is None:
        return
    images = _alike({files[0].stem: loaded[0]}, findings)
    if len(files) > 1 and loaded[1] is not None:
        check_labels(loaded[1], len(next(iter(images.values()), ())), None, findings)
    _check_blank(images, _read(images, reader, findings), findings)


def _load(file: Path, findings: Findings) -> Array | None:
    """Open an array without reading it; one that is cut off or is no plain array is a fault."""
    try:
        return np.lib.format.open_memmap(file, mode="r")
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        short = "mmap length" in str(error)
        reason = "it is shorter than its header says" if short else str(error).rstrip(".") or type(error).__name__
        findings.fault(
            "damaged-array", f"{file.name} cannot be read: {reason}.", "Copy, fetch or make it again.", [file.name]
        )
        return None


def _alike(arrays: Mapping[str, Array], findings: Findings) -> dict[str, Array]:
    """Return the arrays of images that have the shape of most; others are faults."""
    shapes = Counter(array.shape for array in arrays.values() if _is_images(array))
    usual = max(shapes, key=lambda shape: (shapes[shape], shape), default=())
    wrong = [name for name, array in arrays.items() if array.shape != usual or not _is_images(array)]
    for name in wrong:
        expected = (
            f"the others have {usual}" if _is_images(arrays[name]) else "images are uint8, N x height x width x 3"
        )
        findings.fault(
            "array-shape",
            f"{name}.npy holds {arrays[name].dtype} of shape {arrays[name].shape}; {expected}.",
            "Copy, fetch or make it again.",
            [f"{name}.npy"],
        )
    return {name: array for name, array in arrays.items() if name not in wrong}


def _is_images(array: Array) -> bool:
    gray = array.ndim == 3 or (array.ndim == 4 and array.shape[3] == 1)
    return array.dtype == np.uint8 and array.size > 0 and (gray or (array.ndim == 4 and array.shape[3] == 3))


def _read(arrays: Mapping[str, Array], reader: Reader, findings: Findings) -> dict[str, Digests]:
    reader.observer.begin("check", sum(map(len, arrays.values())), 0)
    found = {}
    for name, array in arrays.items():
        size = array[0].nbytes

        def probe(row: int, array: Array = array, size: int = size) -> Probe:
            return Probe(digest(array[row].tobytes()), size, array.shape[2], array.shape[1])

        found[name] = reader.read(range(len(array)), probe, Troubles(), str).digests
        findings.count("images", len(array))
        findings.count("bytes", array.nbytes)
    findings.count("arrays", len(arrays))
    return found


def _check_blank(arrays: Mapping[str, Array], digests: Mapping[str, Digests], findings: Findings) -> None:
    """Check that no array has many black images which the other arrays do not have."""
    black = {
        name: (found == np.frombuffer(digest(bytes(arrays[name][0].nbytes)), np.uint64)).all(axis=1)
        for name, found in digests.items()
        if name != CLEAN.corruption
    }
    # What is black in most arrays is a black photograph.
    everywhere = np.mean(list(black.values()), axis=0) > 0.5 if len(black) > 1 else False
    for name, rows in black.items():
        alone = int((rows & ~np.asarray(everywhere)).sum())
        if alone > max(1, _BLANK * len(rows)):
            findings.fault(
                "blank-images",
                f"{alone:,} of {len(rows):,} images of {name}.npy are black.",
                "Copy or fetch it again: it was not written to its end.",
                [f"{name}.npy"],
            )


def _compare(arrays: Mapping[str, Array], digests: Mapping[str, Digests], findings: Findings) -> None:
    """Compare the severities of all corruptions with each other, and with the clean images if they are there."""
    starts: dict[str, int] = {}
    cells = []
    for name, found in digests.items():
        clean = name == CLEAN.corruption
        part = len(found) if clean else len(found) // len(SEVERITIES)
        rows, sizes = np.arange(part, dtype=np.int32), np.ones((part, 2), np.int32)
        for severity in (1,) if clean else SEVERITIES:
            place = f"{name}.npy" if clean else f"{name}.npy, severity {severity}"
            starts[place] = (severity - 1) * part
            cells.append(Cell(name, place, rows, found[starts[place] : starts[place] + part], sizes))

    def look(cell: Cell, at: int) -> NDArray[np.uint8]:
        pixels: NDArray[np.uint8] = arrays[cell.corruption][starts[cell.name] + at]
        return pixels if pixels.ndim == 3 else pixels[:, :, None]

    cells.sort(key=lambda cell: cell.corruption != CLEAN.corruption)
    find_copies(cells, look).report([f"image {row}" for row in cells[0].rows] if cells else [], findings)
    if cells and cells[0].corruption == CLEAN.corruption:
        check_order(cells[0], cells[1:], look, findings)
