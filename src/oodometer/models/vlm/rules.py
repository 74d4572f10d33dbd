"""From free text to a class, by rules that anybody can apply by hand.

1. What a reasoning model writes up to its last ``</think>`` is left out; thoughts without an end leave nothing.
2. Text and names are made alike: Unicode's compatibility forms (NFKC), case folded, and each underscore, hyphen or run
   of white space one blank.
3. If the whole text, without the punctuation around it, is the name of one candidate, that is the answer.
4. Otherwise the text is searched from left to right for names as whole words, at each place for the longest. If one
   candidate alone is named, however often, that is the answer.
5. Anything else is unmapped: no name, names of several candidates, or a name that two candidates share.

Nothing is guessed: a plural, a synonym, a number or a letter names no class, and what a negation names counts.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter

from oodometer.types import UNMAPPED

__all__ = ["RULES", "Reader"]

RULES = 1
"""The version of the rules above; results by other rules are results by another protocol."""

_BLANKS = re.compile(r"[\s_\-\u2010-\u2015]+")
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


class Reader:
    """Finds the class that a text names.

    Parameters
    ----------
    names
        Of the candidates.
    positions
        Of the same candidates, in the label space.
    """

    def __init__(self, names: tuple[str, ...], positions: tuple[int, ...]) -> None:
        alike = [(_alike(name), position) for name, position in zip(names, positions, strict=True)]
        self._known = _unshared(alike)
        self._bare = _unshared([(_AROUND.sub("", name), position) for name, position in alike])

    def read(self, text: str) -> int:
        """Return the position of the class that a text names, ``UNMAPPED`` if it names none, or several."""
        said = _alike(_without_thoughts(text))
        whole = self._known.get(said, self._bare.get(_AROUND.sub("", said), UNMAPPED))
        if whole != UNMAPPED:
            return whole
        found = {self._known[name] for name in self._names.findall(said)}
        return found.pop() if len(found) == 1 else UNMAPPED

    @functools.cached_property
    def _names(self) -> re.Pattern[str]:
        """Match any name as whole words, the longest first."""
        names = sorted(self._known, key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)" if names else r"(?!)")


def _unshared(names: list[tuple[str, int]]) -> dict[str, int]:
    """Map names to positions; one that two candidates share means neither."""
    count = Counter(name for name, _ in names)
    return {name: position if count[name] == 1 else UNMAPPED for name, position in names if name}


def _alike(text: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _without_thoughts(text: str) -> str:
    *thoughts, said = text.split("</think>")
    return "" if not thoughts and "<think>" in text else said
