"""The words that go with a finished set: its datasheet, and the licences with attribution."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence

import jinja2
import PIL

from oodometer.renditions.agreement import Agreement, agreement
from oodometer.renditions.decisions import Reviewer
from oodometer.renditions.parts import Part
from oodometer.renditions.settling import Settled
from oodometer.renditions.vocabulary import Vocabulary
from oodometer.report.words import printable

__all__ = ["datasheet", "described", "evaluation", "licences"]

_SCOPE = {
    "imagenet-r": "the 200 of ImageNet-R",
    "imagenet-1k": "the 1000 of ImageNet-1k",
    "own": "the makers' own",
}


def datasheet(
    classes: Vocabulary, parts: Sequence[Part], left_out: Sequence[Settled], reviewers: Sequence[Reviewer]
) -> str:
    """Write the datasheet of a set, filled as far as it is known, as Markdown.

    Parameters
    ----------
    classes
        Of the set.
    parts, left_out
        Its pictures, and those that were seen but left out.
    reviewers
        Who judged.
    """
    pairs = [
        {"first": a.name, "second": b.name, "words": described(agreement(a.verdicts, b.verdicts))}
        for a, b in itertools.combinations(reviewers, 2)
        if a.verdicts.keys() & b.verdicts.keys()
    ]
    has = {part.label for part in parts}
    return (
        _environment()
        .get_template("datasheet.md")
        .render(
            parts=parts,
            left_out=left_out,
            classes=classes,
            scope=_SCOPE[classes.name],
            by_class=_counted(part.label for part in parts),
            by_style=_counted(part.style for part in parts),
            style_classes=_counted(style for style, _ in {(part.style, part.label) for part in parts}),
            by_source=_counted(_package(part.source) for part in parts),
            by_licence=_counted(part.licence for part in parts),
            converted=_counted(part.conversion for part in parts if part.conversion),
            missing=[classes.called(label) for label in classes.classes if label not in has],
            unseen=sum(not part.judged_by for part in parts),
            reviewers=reviewers,
            pairs=pairs,
            reasons=_counted(re.sub(r" \(.*?\)", "", one.why) for one in left_out),
            command=evaluation(classes, "FOLDER"),
            version=_version(),
            pillow=PIL.__version__,
        )
    )


def licences(parts: Sequence[Part]) -> str:
    """Write the licence, author and source of every picture, by licence, as Markdown."""
    by_licence: dict[str, list[Part]] = {}
    for part in sorted(parts, key=lambda part: part.licence):
        by_licence.setdefault(part.licence, []).append(part)
    return _environment().get_template("licenses.md").render(by_licence=by_licence)


def described(found: Agreement) -> str:
    """Write the agreement of two people in words."""
    if math.isnan(found.kappa):
        kappa = "Cohen's kappa is not defined, since both said the same of every picture"
    else:
        kappa = f"Cohen's kappa {found.kappa:.2f} (95 % interval {found.low:.2f} to {found.high:.2f})"
    agreed = found.pictures - len(found.differing)
    return f"{kappa}; they agree on {agreed} of the {found.pictures} pictures that both judged."


def evaluation(classes: Vocabulary, folder: str) -> str:
    """Return the command that evaluates a model on a finished set."""
    if classes.name == "imagenet-r":
        return f"oodometer evaluate MODEL --data VAL --imagenet-r {folder}"
    if classes.name == "imagenet-1k":
        return f"oodometer evaluate MODEL --data {folder}"
    return f"oodometer evaluate MODEL --data {folder} --labels {folder}/labels.csv --classes {len(classes.classes)}"


def _package(source: str) -> str:
    """Return the first word of a source: the package or the site, without the place in it."""
    return source.split(" ")[0]


def _counted(values: object) -> dict[str, int]:
    counts = Counter(values)  # type: ignore[call-overload]  # of any strings
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _version() -> str:
    import oodometer

    return oodometer.__version__


def _plain(value: object) -> object:
    """Make a text from outside such that it means nothing in Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|#&~])", r"\\\1", printable(value)) if isinstance(value, str) else value


@functools.cache
def _environment() -> jinja2.Environment:
    # Markdown needs other escapes than HTML: every text is made plain when it is put in.
    return jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.renditions"),
        finalize=_plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
