"""`oodometer sequences`: how much predictions flicker along the videos of ImageNet-P."""

from __future__ import annotations

import sys
from typing import Any

import click

from oodometer.cli.model_options import with_model_options
from oodometer.cli.shared import EXIT_SKIPPED, auto_or_whole, tell_of_shard, told_when_stopped

__all__ = ["finish", "sequences"]


@click.command()
@click.argument("model")
@click.option(
    "--data",
    required=True,
    metavar="DIR",
    help="PERTURBATION/CLASS/VIDEO, or the folder of one perturbation; a video is a folder of frames, or a file.",
)
@click.option("-o", "--out", metavar="RUN", help="The run's folder; the same command continues a stopped run.")
@click.option("--classes", type=int, help="How many classes the model has; default: ImageNet's 1000.")
@click.option("--label-space", metavar="NAME", help="The model's classes, if they are other known ones.")
@click.option("--preprocess", default="none", show_default=True, help="Of every frame, as for evaluate.")
@click.option("--baseline", help="What mFR and mT5D divide by: the folder of another run, a JSON file, or none.")
@click.option(
    "--difficulty",
    default=1,
    show_default=True,
    type=click.IntRange(1, 3),
    help="Which noise videos count, and how many frames apart those of the others are compared; of the table alone.",
)
@with_model_options
@click.option("--seed", default=0, show_default=True, help="Of the order of the videos.")
@click.option("--limit", type=int, help="Only so many videos of each perturbation, the first of the seeded order.")
@click.option("--batch-size", default="auto", show_default=True, callback=auto_or_whole, help="Videos in a batch.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
@click.option(
    "--shard",
    metavar="I/N",
    help="Only every N-th block of images, from I on (0 to N - 1), into a folder within RUN, for `oodometer merge`; "
    "auto: as torchrun or srun say.",
)
@click.option("--json", "target", metavar="FILE", help="Write every number with its interval as JSON, too.")
def sequences(
    model: str,
    data: str,
    out: str | None,
    difficulty: int,
    target: str | None,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure how often the predictions of MODEL flip along videos of a growing perturbation (ImageNet-P).

    It gives the flip rate and the top-5 distance (T5D) of each perturbation, their means, and with a baseline mFR and
    mT5D. No labels are needed. RUN keeps every prediction, and sequences.json; `oodometer report RUN` reads it again.
    """
    from oodometer.arguments import path
    from oodometer.outfolder import check_file_place
    from oodometer.sequences import evaluate_sequences

    place = None if target is None else check_file_place(path("The output", target))
    with told_when_stopped(out):
        run = evaluate_sequences(model, data, out, **options)
    if run.manifest.shard is not None:
        tell_of_shard(run)
        return
    click.echo(str(run.table(difficulty=difficulty)))
    if place is not None:
        run.write_results(place, difficulty=difficulty)
    _end(run, saved=out is not None, difficulty=difficulty)


def finish(path: str, baseline: str | None, difficulty: int) -> None:
    """Print the table of a run, and write its numbers again."""
    from oodometer.sequences import SequenceRun

    run = SequenceRun(path)
    click.echo(str(run.table(baseline, difficulty)))
    _end(run, saved=True, baseline=baseline, difficulty=difficulty)


def _end(run: Any, *, saved: bool, baseline: str | None = None, difficulty: int = 1) -> None:  # noqa: ANN401
    """Keep the numbers, and tell what was left out."""
    if saved:
        click.echo(f"Numbers: {run.write_results(baseline=baseline, difficulty=difficulty)}\nStore:   {run.path}")
    else:
        click.echo("Nothing was saved; give -o RUN to keep the result.")
    if run.skipped:
        click.echo(f"Videos that could not be read and were left out: {len(run.skipped)}", err=True)
        for skipped in run.skipped:
            click.echo(f"  {skipped.reason}", err=True)
        sys.exit(EXIT_SKIPPED)
