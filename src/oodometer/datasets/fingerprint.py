"""What a data set is, as one short text for the manifest of a run."""

from __future__ import annotations

import hashlib
import typing
from collections.abc import Sequence

from oodometer.types import Sample

__all__ = ["digest", "digest_of"]


class _Sampled(typing.Protocol):
    """A data set, as far as it matters here."""

    @property
    def samples(self) -> Sequence[Sample]: ...


def digest(dataset: _Sampled) -> str:
    """Return the SHA-256 over (id, label, size) of all samples, in the order of their ids.

    Parameters
    ----------
    dataset
        Any data set; no image is read. If it has ``digests``, of what else tells it from others, they go in too.

    Returns
    -------
    str
        64 hexadecimal digits. Equal for two copies of one data set in different places, and different as soon as an
        image is missing, renamed, labelled otherwise or of another length.
    """
    return digest_of(dataset.samples, getattr(dataset, "digests", ()))


def digest_of(samples: Sequence[Sample], more: Sequence[str] = ()) -> str:
    """Return the SHA-256 over some samples and further texts; see ``digest``."""
    total = hashlib.sha256()
    for sample in sorted(samples, key=lambda sample: sample.id):
        # The id comes last, so that no id can imitate the numbers of another sample.
        total.update(f"{sample.label} {sample.size} {sample.id}\0".encode("utf-8", "surrogatepass"))
    for text in more:
        total.update(f"{text}\0".encode())
    return total.hexdigest()
