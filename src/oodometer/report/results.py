"""The numbers of a run for programs: ``results.json``.

Every number is a fraction (an error of 61 % is 0.61, an mCE of 64.7 is 0.647); an estimate is an object with ``value``,
the ends ``low`` and ``high`` of its 95 % interval, its standard error ``se`` and the number of images ``n``. What does
not exist is ``null``. The keys are the fields of ``Summary`` without the pictures, so ``summary.py`` describes them.

Format history: 1 - first; 2 - intervals for the confidence, and losses, changes, severities, families and classes;
3 - the shifted sets of a suite, and what is behind the accuracy on each (``shift.py`` describes it);
4 - reliability diagrams for themselves, of any number of images, and of all corruptions.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from oodometer.report.summary import Summary

__all__ = ["FORMAT", "results"]

FORMAT = 4


def results(summary: Summary) -> dict[str, Any]:
    """Turn a summary into plain JSON values.

    Parameters
    ----------
    summary
        What the run says.
    """
    content = msgspec.to_builtins(dataclasses.replace(summary, corruption_strips=(), rendition_strips=()))
    del content["corruption_strips"], content["rendition_strips"]
    for name, part in (
        ("corruptions", summary.corruptions),
        ("unlabelled", summary.unlabelled),
        ("renditions", summary.renditions),
        ("outliers", summary.outliers),
    ):
        if part is not None:
            content[name]["protocol"]["label"] = part.protocol.label
    for one, plain in zip(summary.shifted, content["shifted"], strict=True):
        plain["part"]["protocol"]["label"] = one.part.protocol.label
        del plain["strips"]
    return {"format": FORMAT, **content}
