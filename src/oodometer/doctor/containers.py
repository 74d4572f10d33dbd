"""Sets that keep many images in one file: tar shards, Parquet, and what Hugging Face datasets saved."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from oodometer.datasets import open_dataset
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.probe import Probe, Trouble, digest
from oodometer.doctor.reading import Reader, Troubles
from oodometer.doctor.twins import check_equal_files
from oodometer.errors import DatasetError, ImageError
from oodometer.report.words import listed
from oodometer.types import UNLABELLED, Dataset, Sample

__all__ = ["examine_container"]

_SPLIT = re.compile(r"(.+)-(\d+)-of-(\d+)\.parquet")
_SHARD = re.compile(r"(.*?)(\d+)\.tar")


def examine_container(kind: str, path: Path, reader: Reader, findings: Findings) -> None:
    """Examine a set in containers: every image of every split is decoded.

    Parameters
    ----------
    kind
        ``webdataset``, ``parquet`` or ``huggingface``.
    path
        A folder, a file, or a pattern of files.
    reader
        Reads the images.
    findings
        Where to add what is wrong, and what was looked at.
    """
    if path.is_dir():
        _check_shards(sorted(file.name for file in path.rglob("*") if file.is_file()), findings)
    for part in _splits(kind, path):
        try:
            found = cast(Dataset, open_dataset(f"{kind}:{part}", unlabelled=True))  # no such kind has conditions
        except DatasetError as error:
            findings.fault("unreadable-set", str(error), "Copy, fetch or make it again.", [part.name])
            continue
        _read(found, part, reader, findings)
        _check_labels(part, found.samples, findings)


def _splits(kind: str, path: Path) -> list[Path]:
    """Return what to open one by one: the splits of a set, or the set."""
    if kind == "huggingface" and (path / "dataset_dict.json").is_file():
        try:
            return [path / split for split in json.loads((path / "dataset_dict.json").read_text("utf-8"))["splits"]]
        except (OSError, ValueError, KeyError, TypeError):
            return [path]  # the reader says what is wrong with it
    if kind == "parquet" and path.is_dir():
        files = sorted(path.glob("*.parquet")) or sorted((path / "data").glob("*.parquet"))
        matches = [_SPLIT.fullmatch(file.name) for file in files]
        names = list(dict.fromkeys(match[1] for match in matches if match))
        if len(names) > 1 and all(matches):
            return [files[0].parent / f"{name}-*.parquet" for name in names]
    return [path]


def _check_shards(names: Sequence[str], findings: Findings) -> None:
    """Check that no file of a numbered series is missing."""
    there: dict[tuple[str, int], set[int]] = {}
    for match in filter(None, map(_SPLIT.fullmatch, names)):
        there.setdefault((match[1], int(match[3])), set()).add(int(match[2]))
    if gaps := [
        f"{split}, {n} of {count}" for (split, count), ns in there.items() for n in range(count) if n not in ns
    ]:
        findings.fault(
            "missing-shard",
            f"Files that belong to the set by the names of the others, and are not there: {len(gaps):,}.",
            "Copy or fetch them.",
            gaps,
        )
    numbered: dict[str, set[int]] = {}
    for match in filter(None, map(_SHARD.fullmatch, names)):
        numbered.setdefault(match[1], set()).add(int(match[2]))
    holes = [f"{head}{n}.tar" for head, ns in numbered.items() for n in range(min(ns), max(ns)) if n not in ns]
    if holes:
        findings.note(
            "gap-in-shards",
            f"Numbers between those of the tar files that none has: {listed(holes)}.",
            "Copy or fetch them, if they are part of the set.",
            holes,
        )


def _read(found: Dataset, part: Path, reader: Reader, findings: Findings) -> None:
    """Decode every image, and compare their pixels."""

    def probe(sample: Sample) -> Probe:
        try:
            image = found.read(sample)
        except ImageError as error:
            reason = str(error).rpartition(": ")[2].rstrip(".")
            return Probe(bytes(16), sample.size, trouble=Trouble.DAMAGED, reason=reason)
        except DatasetError as error:
            return Probe(bytes(16), sample.size, trouble=Trouble.FORBIDDEN, reason=str(error).rstrip("."))
        return Probe(digest(image.tobytes()), sample.size, *image.size)

    troubles = Troubles()
    reader.observer.begin(part.name, len(found.samples), 0)
    reading = reader.read(found.samples, probe, troubles, lambda sample: sample.id)
    findings.count("images", len(found.samples))
    findings.count("bytes", reading.bytes)
    troubles.report(findings)
    check_equal_files([s.id for s in found.samples], [s.label for s in found.samples], reading, findings)


def _check_labels(part: Path, samples: Sequence[Sample], findings: Findings) -> None:
    without = [sample.id for sample in samples if sample.label == UNLABELLED]
    if len(without) == len(samples):
        findings.note(
            "no-labels",
            f"The images in {part.name} have no labels.",
            "Give a file of labels to the commands that take --labels.",
        )
    elif without:
        findings.fault(
            "missing-labels",
            f"Images without a label, while others have one: {len(without):,}.",
            "Make the set again with all labels, or without these images.",
            without,
        )
