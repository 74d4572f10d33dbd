"""Names of files that some systems cannot hold, or cannot tell apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

import numpy as np

from oodometer.doctor.diagnosis import Findings

__all__ = ["check_names"]

_FORBIDDEN = re.compile(
    r'[<>:"|?*\\\x00-\x1f]'  # characters
    r"|[ .](?=/|$)"  # ends that are dropped without a word
    r"|(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|/|$)",  # devices, with any extension
    re.IGNORECASE,
)


def check_names(ids: Collection[str], findings: Findings) -> None:
    """Check that names are UTF-8, that Windows can hold them, and that they differ by more than case.

    Parameters
    ----------
    ids
        Relative paths with ``/``, each one once.
    findings
        Where to add what is odd.
    """
    if broken := [id_ for id_ in ids if not id_.isascii() and id_.encode("utf-8", "replace").decode() != id_]:
        findings.fault("name-not-utf8", f"Names that are not UTF-8: {len(broken):,}.", "Rename these files.", broken)
    if unportable := [id_ for id_ in ids if _FORBIDDEN.search(id_)]:
        findings.note(
            "name-not-portable",
            f"Names that Windows does not allow: {len(unportable):,}.",
            "Rename them if the set is to be used or unpacked there.",
            unportable,
        )
    if alike := _alike(ids):
        findings.note(
            "names-differ-by-case",
            f"Names that differ by upper and lower case or by Unicode form alone: {len(alike):,}.",
            "Rename one of each: on Windows and macOS the one overwrites the other.",
            alike,
        )


def _alike(ids: Collection[str]) -> list[str]:
    """Return the ids that another one equals but for case and form; by hashes first, as ids may be millions."""
    values, counts = np.unique(np.fromiter((hash(_folded(id_)) for id_ in ids), np.int64, len(ids)), return_counts=True)
    twice = set(values[counts > 1].tolist())
    groups: dict[str, list[str]] = {}
    for id_ in ids if twice else ():
        if hash(folded := _folded(id_)) in twice:
            groups.setdefault(folded, []).append(id_)
    return [id_ for group in groups.values() if len(group) > 1 for id_ in group]


def _folded(id_: str) -> str:
    return unicodedata.normalize("NFC", id_).casefold()
