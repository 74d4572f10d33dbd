"""Which pictures become part of the set: what was decided by machine, overruled by what people said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from oodometer.datasets.layout import some
from oodometer.errors import DatasetError
from oodometer.renditions.decisions import Reviewer
from oodometer.renditions.reasons import REASONS, decision_of
from oodometer.renditions.screened import Screened
from oodometer.renditions.vocabulary import Vocabulary

__all__ = ["Settled", "settle"]

_STYLE = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of one picture that a person could see: ``why`` is empty if it is taken, else why it is left out.

    ``judged_by`` are the people who judged it; without any it is taken by the automatic decision alone.
    """

    screened: Screened
    why: str
    judged_by: tuple[str, ...]


def settle(screened: Sequence[Screened], reviewers: Sequence[Reviewer], classes: Vocabulary) -> list[Settled]:
    """Decide which pictures are taken.

    A picture is taken if everybody who judged it says keep, or if nobody judged it and the screening keeps it. What no
    picture can show, a person cannot waive: a label, a style that can begin a file's name, and a licence are needed.

    Raises
    ------
    DatasetError
        If two pictures with the same pixels would be taken; the message names both.
    """
    settled = [_settled(row, reviewers, classes) for row in screened if row.shown]
    taken: dict[str, list[str]] = defaultdict(list)
    for one in settled:
        if not one.why:
            taken[one.screened.pixels].append(one.screened.path)
    twice = [paths for paths in taken.values() if len(paths) > 1]
    if twice:
        raise DatasetError(
            f"{' and '.join(twice[0])} have the same pixels, and both were kept: at most one may stay. Drop the others "
            f"in the contact sheets{f' (and so on for {len(twice) - 1} more)' if len(twice) > 1 else ''}."
        )
    return settled


def _settled(row: Screened, reviewers: Sequence[Reviewer], classes: Vocabulary) -> Settled:
    verdicts = {r.name: r.verdicts[row.path] for r in reviewers if row.path in r.verdicts}
    against = [f"{verdict} ({name})" for name, verdict in verdicts.items() if verdict != "keep"]
    why = ", ".join(against)
    if not verdicts and any(row.path in reviewer.outdated for reviewer in reviewers):
        why = "was judged under another class or style: review it again"
    elif not verdicts and row.decision == "review":
        waiting = [row.reason, *(reason for reason in row.also.split() if decision_of(reason) == "review")]
        why = f"waits for a person: it {some([REASONS[reason][1] for reason in waiting])}"
    return Settled(row, why or _lacking(row, classes), tuple(verdicts))


def _lacking(row: Screened, classes: Vocabulary) -> str:
    """Return what the table lacks for a picture to be taken, whatever people say."""
    if row.label not in classes.classes:
        return "has no label: add it to the table"
    if not _STYLE.fullmatch(row.style):
        return "has no style that can begin a name (small letters and digits): mend it in the table"
    return "" if row.licence else "has no licence: add it to the table"
