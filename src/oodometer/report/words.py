"""Numbers and names as people read them; the same words in the terminal and on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from oodometer.metrics import Estimate

__all__ = [
    "UNDEFINED",
    "count",
    "counted",
    "decimal",
    "in_order",
    "interval",
    "listed",
    "one_line",
    "p_value",
    "percent",
    "printable",
    "spaced",
    "spreadsheet_cell",
    "told_apart",
]

UNDEFINED = "n/a"


def percent(value: float) -> str:
    """Write a fraction in percent with one decimal, without the sign: 0.6467 is ``64.7``."""
    return f"{round(100 * value, 1) + 0:.1f}" if math.isfinite(value) else UNDEFINED  # + 0: no "-0.0"


def decimal(value: float) -> str:
    """Write a number that is no percentage with two decimals: 1.2345 is ``1.23``."""
    return f"{value:.2f}" if math.isfinite(value) else UNDEFINED


def interval(estimate: Estimate) -> str:
    """Write the 95 % interval of an estimate in percent: ``[60.1, 68.9]``."""
    return f"[{percent(estimate.low)}, {percent(estimate.high)}]"


def p_value(value: float) -> str:
    """Write the p-value of a test with three decimals."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun: ``1 image``, ``12,000 images``; the plural has an s unless given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def counted(numbers: Iterable[int], noun: str) -> str:
    """Write counts of several that should be equal, and are not always: ``400 images``, or ``12 to 400 images``."""
    found = sorted(set(numbers))
    return count(found[0], noun) if len(found) == 1 else f"{found[0]:,} to {count(found[-1], noun)}"


def listed(names: list[str] | tuple[str, ...], most: int = 3) -> str:
    """List names in a sentence, the first few of them: ``a, b and 3 more``."""
    if len(names) <= most:
        return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def told_apart(names: Sequence[str], *folders: Sequence[str]) -> list[str]:
    """Give each of the names that several runs have the run's folder: ``a model (first)``, ``a model (second)``.

    Parameters
    ----------
    names
        What the runs are called.
    folders
        Their folders, and longer forms of these for those that have one name even then.
    """
    found = list(names)
    for known in folders:
        found = [
            f"{name} ({folder})" if found.count(called) > 1 else called
            for called, name, folder in zip(found, names, known, strict=True)
        ]
    return found


def spaced(name: str) -> str:
    """Write the name of a corruption as words: ``gaussian noise``."""
    return name.replace("_", " ")


def printable(name: str) -> str:
    r"""Write a name so that it can do nothing to a terminal: control and direction characters appear as ``\x1b``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def one_line(text: str) -> str:
    """Write a name in one line, whatever characters are in it."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def spreadsheet_cell(text: str) -> str:
    """Keep a name on its line of a table of values, and spreadsheets from taking it for a formula."""
    text = one_line(text)
    return f"'{text}" if text[:1] in tuple("=+-@") else text


# The characters that turn the direction of what follows: a name with one could be read as another. And what stands for
# the bytes of a name of a file that is no text, which no page can hold.
_TURNING = {ord(c): f"\\u{ord(c):04x}" for c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"} | {
    code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)
}


def in_order(text: str) -> str:
    """Make the direction characters of a text visible, so that they can turn nothing."""
    return text.translate(_TURNING)
