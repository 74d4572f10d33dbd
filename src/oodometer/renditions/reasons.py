"""Everything that a decision about a candidate can rest on: one table, the weightiest reason first."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["CONVERSIONS", "REASONS", "Decision", "decision_of"]

Decision: TypeAlias = Literal["keep", "convert", "drop", "review", "ignore", "report"]
"""What becomes of a candidate without a person: ``convert`` keeps it after a conversion, ``review`` waits for a person,
``ignore`` and ``report`` are of rows that stand for no picture."""

REASONS: dict[str, tuple[Decision, str]] = {
    "not_an_image": ("ignore", "no picture by its name"),
    "path_outside_root": ("report", "lies outside the folder of the pictures"),
    "not_local": ("report", "is no file on this machine; nothing is downloaded"),
    "linked_folder": ("report", "is a link to a folder, which is not followed"),
    "missing_file": ("report", "has a row, but there is no such file"),
    "unsupported_format": ("drop", "is of a format that is not read; convert it first"),
    "unreadable": ("drop", "cannot be decoded whole"),
    "too_small": ("drop", "is too small"),
    "blank": ("drop", "shows one colour only"),
    "bad_wnid": ("drop", "has a label that is no wnid"),
    "class_not_in_imagenet_1k": ("drop", "has a class that ImageNet-1k lacks"),
    "class_not_in_imagenet_r": ("drop", "has a class that is none of ImageNet-R's 200"),
    "unknown_class": ("drop", "has a class that is not in the list"),
    "leaked": ("drop", "is also among the clean or training images"),
    "duplicate": ("drop", "has the same pixels as another candidate"),
    "conflicting_rows": ("review", "has rows that contradict each other"),
    "label_conflict": ("review", "has the same pixels as a candidate of another class"),
    "no_label": ("review", "has no label"),
    "unknown_style": ("review", "has a style that ImageNet-R does not know"),
    "missing_licence": ("review", "has no licence"),
    "near_leak": ("review", "looks like one of the clean or training images"),
    "near_duplicate": ("review", "looks like another candidate"),
    "not_a_rendition": ("review", "looks like a photograph"),
    "animation": ("convert", "has several frames; the first is taken"),
    "bit_depth": ("convert", "has 16 bits a value; scaled to 8"),
    "colour_mode": ("convert", "is of another colour mode; converted to RGB"),
    "exif_orientation": ("convert", "is turned upright as its tag asks for"),
    "extension_mismatch": ("convert", "gets the extension of what it holds"),
    "format": ("convert", "is stored as PNG"),
    "alpha": ("convert", "is drawn in transparency alone; put on white"),
}
"""By reason: the decision that it leads to, and what it says of a candidate. The first that holds decides."""

CONVERSIONS = tuple(reason for reason, (decision, _) in REASONS.items() if decision == "convert")
"""The reasons that name a conversion."""


def decision_of(reason: str) -> Decision:
    """Return the decision that a reason leads to; no reason means ``keep``."""
    return REASONS[reason][0] if reason else "keep"
