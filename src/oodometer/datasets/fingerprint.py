"""What a data set is, as one short text for the manifest of a run."""

from __future__ import annotations

import hashlib

from oodometer.types import Dataset

__all__ = ["digest"]


def digest(dataset: Dataset) -> str:
    """Return the SHA-256 over (id, label, size) of all samples, in the order of their ids.

    Parameters
    ----------
    dataset
        Any data set; no image is read.

    Returns
    -------
    str
        64 hexadecimal digits. Equal for two copies of one data set in different places, and different as soon as an
        image is missing, renamed, labelled otherwise or of another length.
    """
    total = hashlib.sha256()
    for sample in sorted(dataset.samples, key=lambda sample: sample.id):
        # The id comes last, so that no id can imitate the numbers of another sample.
        total.update(f"{sample.label} {sample.size} {sample.id}\0".encode("utf-8", "surrogatepass"))
    return total.hexdigest()
