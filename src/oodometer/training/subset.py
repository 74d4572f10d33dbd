"""A small, fixed part of an evaluation, for the end of every epoch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from oodometer import arguments, plan
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.evaluation import evaluate_benchmarks
from oodometer.inputs import open_clean
from oodometer.metrics import Estimate
from oodometer.models import ModelOptions
from oodometer.report.summary import Corruptions
from oodometer.road import Execution
from oodometer.run import Run
from oodometer.tracking.quantities import named, scalars
from oodometer.training.undisturbed import bare, undisturbed
from oodometer.types import Dataset

__all__ = ["RobustnessCheck"]

ONE_OF_EACH_FAMILY = ("gaussian_noise", "defocus_blur", "fog", "jpeg_compression")


class RobustnessCheck:
    """Evaluates a model on the same few images and corruptions at the end of epochs.

    Every call sees the same pixels, so that epochs, and trainings, can be compared on them. The numbers are of the
    subset and are named so: none is the benchmark's mCE. Each has its 95 % interval, which says how little so few
    images tell; the difference of two epochs is known better (``out`` and ``oodometer.compare``).

    Everything that needs no model is settled here, so that a mistake is told before the training.

    Parameters
    ----------
    data
        The clean images, in a form that ``oodometer.evaluate`` takes.
    limit
        How many of them, drawn by the seed with the classes in turn; ``None`` for all.
    corruptions
        Names of corruptions and groups, as for ``evaluate``; each is run at all five severities. The default is one of
        each family.
    labels, classes, label_space, preprocess, edition, seed
        As for ``evaluate``.
    model_options
        As for ``evaluate``, but for what would change the model itself: ``device``, ``channels_last`` and ``compile``.
    batch_size, workers
        As for ``evaluate``; the batch size is fixed, so that all epochs have the same float noise.
    out
        A folder for the runs, each in a folder such as ``epoch-0003``; without it nothing is left on the disk.

    Raises
    ------
    OodometerError
        As for ``evaluate``, before the first prediction; and if a corruption cannot be run here.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | Dataset,
        *,
        limit: int | None = 200,
        corruptions: str | Sequence[str] = ONE_OF_EACH_FAMILY,
        labels: str | Path | Mapping[str, int | str] | None = None,
        classes: int | None = None,
        label_space: str | None = None,
        preprocess: str = "imagenet224",
        edition: str = "imagenet224",
        seed: int = 0,
        model_options: ModelOptions | None = None,
        batch_size: int = 64,
        workers: int | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        self._options = ModelOptions() if model_options is None else model_options
        if self._options.device != "auto" or self._options.channels_last or self._options.compile:
            raise ArgumentError("device, channels_last and compile would change the model that is being trained.")
        self._execution = Execution.of(arguments.whole("batch_size", batch_size, lowest=1), workers)
        self._out = None if out is None else arguments.path("The folder of the runs", out)
        protocol = plan.make_protocol(
            corruptions=corruptions,
            preprocess=preprocess,
            encoding="memory",
            edition=edition,
            method="fast",
            seed=seed,
        )
        dataset = open_clean(data, labels=labels, classes=classes, label_space=label_space)
        self._benchmark = plan.corrupted(dataset, protocol, limit=limit)
        for name, reason in self._benchmark.unavailable.items():
            raise MissingDataError(f"{name} cannot be run: {reason}.")

    def on_epoch_end(self, model: object, epoch: int) -> dict[str, float]:
        """Evaluate a model on the subset.

        The model's modes, weights, gradients and device, and the state of every global random generator, are after it
        what they were before.

        Parameters
        ----------
        model
            A ``torch.nn.Module`` that maps normalised pictures to logits, on whatever device, or any other model that
            ``evaluate`` takes.
        epoch
            Its number, which names the folder of the run if there is ``out``.

        Returns
        -------
        dict
            Fractions: ``oodometer/subset/clean_error``, ``oodometer/subset/mean_error`` over those of the published 15
            that were asked for, and ``oodometer/subset/error/fog`` and so on, the mean of one corruption over its
            severities. Each also with ``_low``, ``_high`` (the ends of the 95 % interval) and ``_n`` (images).

        Raises
        ------
        ModelError
            If the model does not give logits for the classes of the data.
        StoreError
            If there is ``out``, and it holds the run of another model for this epoch.
        """
        place = None if self._out is None else self._out / f"epoch-{arguments.whole('epoch', epoch, lowest=0):04d}"
        asked = bare(model)
        with undisturbed(asked):
            run = evaluate_benchmarks(
                asked,
                [self._benchmark],
                place,
                baseline=None,
                execution=self._execution,
                model_options=self._options,
                progress=False,
            )
        return _numbers(run)


def _numbers(run: Run) -> dict[str, float]:
    part = run.summary().corruptions
    assert part is not None  # the images have labels
    found = {named(f"subset/{name}"): estimate for name, estimate in _estimates(part) if estimate is not None}
    return scalars(found) | {f"{name}_n": float(estimate.n) for name, estimate in found.items()}


def _estimates(part: Corruptions) -> Iterator[tuple[str, Estimate | None]]:
    yield "clean_error", part.clean_error
    yield "mean_error", part.mean_error
    for row in (*part.rows, *part.extra):
        yield f"error/{row.name}", row.mean
