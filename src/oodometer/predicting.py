"""A batch before the model: asked, refused if what it gives would make a wrong number, and scored in each label space.

A model that gives logits is asked once, and its logits are scored in all label spaces. A model that names classes is
asked in each label space anew, since what it may choose from is part of the question.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import ModelError, OodometerError
from oodometer.scoring import Scores, score, score_answers
from oodometer.types import (
    UNMAPPED,
    AnsweringModel,
    Answers,
    Classifier,
    Condition,
    Images,
    LabelSpace,
    Logits,
    Model,
    Sample,
)

__all__ = ["Outputs", "ask", "scored", "taking_part"]

Outputs: typing.TypeAlias = Logits | Answers
"""What a model said of N pictures: logits, N x classes, or the classes that it named, int32, N x label spaces."""


def ask(
    model: Classifier,
    images: Images,
    samples: Sequence[Sample],
    condition: Condition,
    spaces: Sequence[LabelSpace],
    seed: int,
) -> Outputs:
    """Ask a model about a batch.

    Parameters
    ----------
    model
        The classifier.
    images, samples
        N pictures, and the images that they were made from.
    condition
        What they went through, for messages.
    spaces
        The label spaces of interest; the first one is the data set's own, and the others are for the images whose class
        takes part.
    seed
        The seed of the run.

    Raises
    ------
    ModelError
        If the model fails, or its output does not fit; the message says under which condition and on which images.
    """
    where = f"on {len(samples)} images from {samples[0].id!r} on, under {condition}"
    if not isinstance(model, AnsweringModel):
        return _logits(model, images, samples, condition, spaces[0], where)
    answers = np.full((len(samples), len(spaces)), UNMAPPED, dtype=np.int32)
    for column, space in enumerate(spaces):
        rows = _rows(samples, space, own=column == 0)
        if len(rows):
            answers[rows, column] = _answers(model, images[rows], [samples[row] for row in rows], space, seed, where)
    return answers


def scored(
    outputs: Outputs, samples: Sequence[Sample], spaces: Sequence[LabelSpace], *, named: bool
) -> Iterator[tuple[LabelSpace, NDArray[np.intp], Scores]]:
    """Score what a model said of a batch, in each label space: with the rows that this is about.

    Parameters
    ----------
    outputs, samples, spaces
        As ``ask`` gave and took them.
    named
        Whether the outputs are classes that the model named.
    """
    labels = np.array([sample.label for sample in samples], dtype=np.int32)
    for column, space in enumerate(spaces):
        rows = _rows(samples, space, own=column == 0)
        if named:
            yield space, rows, score_answers(typing.cast("Answers", outputs)[rows, column])
        else:
            yield space, rows, score(typing.cast("Logits", outputs)[rows], labels[rows], space)


def taking_part(samples: Sequence[Sample], space: LabelSpace) -> list[int]:
    """Return the positions of the images whose class is one of those that take part in a label space."""
    members = None if space.columns is None else set(space.columns)
    return [row for row, sample in enumerate(samples) if members is None or sample.label in members]


def _rows(samples: Sequence[Sample], space: LabelSpace, *, own: bool) -> NDArray[np.intp]:
    return np.array(range(len(samples)) if own else taking_part(samples, space), dtype=np.intp)


def _called(ask_it: Callable[[], object], where: str) -> tuple[object, NDArray[typing.Any]]:
    """Call the model, which is the user's code and may raise anything."""
    try:
        output = ask_it()
        return output, np.asarray(output)
    except OodometerError:
        raise
    except (Exception, SystemExit) as error:
        raise ModelError(f"The model failed {where}: {type(error).__name__}: {error}") from error


def _logits(
    model: Model, images: Images, samples: Sequence[Sample], condition: Condition, space: LabelSpace, where: str
) -> Logits:
    """Ask for logits, and refuse an output that would make a wrong number."""
    output, logits = _called(lambda: model.predict(images), where)
    if logits.dtype.kind not in "fiu" or np.ma.isMaskedArray(output):
        raise ModelError(
            f"The model gave {type(output).__name__} of {logits.dtype} {where}; expected an array of floats."
        )
    if logits.ndim != 2 or len(logits) != len(images):
        raise ModelError(
            f"The model gave an output of shape {logits.shape} {where}; expected ({len(images)}, {space.width})."
        )
    if logits.shape[1] != space.width:
        raise ModelError(
            f"The model gives {logits.shape[1]} outputs and the label space {space.name} has {space.width} classes. "
            "Give a model of that width, say by a labels file (--labels) what its outputs mean, drop those that belong "
            "to no class (--logits-offset 1 for the 1001 of a background class), or name the class of each output "
            "(--model-classes FILE), by which those of the data are picked."
        )
    if not np.isfinite(logits).all():
        bad = samples[int(np.argwhere(~np.isfinite(logits))[0, 0])]
        raise ModelError(f"The model gave NaN or infinite logits for {bad.id!r} under {condition}.")
    return logits


def _answers(
    model: AnsweringModel, images: Images, samples: Sequence[Sample], space: LabelSpace, seed: int, where: str
) -> Answers:
    """Ask for classes, and refuse what is none of those that take part."""
    output, answers = _called(lambda: model.answer(images, samples, space, seed), where)
    if answers.dtype.kind not in "iu" or np.ma.isMaskedArray(output) or answers.shape != (len(samples),):
        raise ModelError(
            f"The model gave {type(output).__name__} of {answers.dtype} and shape {answers.shape} {where}; expected "
            f"{len(samples)} integers."
        )
    members = [UNMAPPED, *(range(space.width) if space.columns is None else space.columns)]
    if not np.isin(answers, members).all():
        bad = answers[~np.isin(answers, members)][0]
        raise ModelError(f"The model named the class {bad} {where}, and {space.name} has no such class.")
    return answers.astype(np.int32)
