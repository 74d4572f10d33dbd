"""`oodometer demo` and `evaluate`: predictions and what is made of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from oodometer.cli.cluster_options import with_cluster
from oodometer.cli.model_options import with_model_options
from oodometer.cli.shared import EXIT_SKIPPED, auto_or_whole, tell_of_shard, told_when_stopped

__all__ = ["demo", "evaluate", "finish"]


def _sets(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        name, equals, data = value.partition("=")
        if not (name and equals and data):
            raise click.BadParameter(f"{value!r} is not NAME=DATA, such as r=path/to/imagenet-r.")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.")
        found[name] = data
    return found


@click.command()
@click.option("-o", "--out", default="oodometer-demo", show_default=True, help="The run's folder.")
def demo(out: str) -> None:
    """Evaluate the built-in model on the built-in images: ImageNet-C and ImageNet-R in small."""
    from oodometer.demo import run_demo

    with told_when_stopped(out):
        run = run_demo(out, click.echo)
    finish(run, run.report())


@click.command()
@click.argument("model")
@click.option(
    "--data",
    metavar="DATA",
    help="Clean images (class folders, shards, KIND:PATH), or corrupted before (imagenet-c:PATH, a build).",
)
@click.option(
    "--clean", metavar="DATA", help="The clean images of pictures that were corrupted before, or of shifted sets alone."
)
@click.option("-o", "--out", metavar="RUN", help="The run's folder; the same command continues a stopped run.")
@click.option("--imagenet-r", metavar="DIR", help="ImageNet-R, or other renditions in its layout.")
@click.option(
    "--suite",
    multiple=True,
    callback=_sets,
    metavar="NAME=DATA",
    help="A shifted set, again and again: r, a, v2, sketch, o, c, or a name of your own.",
)
@click.option("--labels", metavar="FILE", help="CSV (name,label) or JSON: the class index or wnid of a folder or file.")
@click.option("--classes", type=int, help="How many classes the model has, where the data do not tell.")
@click.option("--label-space", metavar="NAME", help="What indices in --labels mean: imagenet-1k; default: own classes.")
@click.option("--unlabelled", is_flag=True, help="No labels: how often the prediction changes is what is measured.")
@click.option("-c", "--corruptions", default="imagenet-c", show_default=True, help="A group, a family, or names.")
@click.option(
    "--preprocess",
    show_default="imagenet224; none for pictures that were corrupted before",
    help="imagenet224, inception299, tiny64, or none for cropped files.",
)
@click.option("--encoding", show_default="memory", help="memory, or jpeg85 as in the published files.")
@click.option("--edition", show_default="imagenet224", help="Which published table of strengths.")
@click.option("--method", show_default="fast", help="fast or reference.")
@click.option(
    "--baseline",
    default="auto",
    show_default=True,
    help="What mCE divides by: alexnet, resnet50, none, a JSON file, or the folder of another run.",
)
@with_model_options
@click.option("--seed", default=0, show_default=True, help="Of the corruptions and of the order.")
@click.option(
    "--limit",
    type=int,
    help="Only so many images, the first of the seeded order: of the data, or of --clean; without either, of each set.",
)
@click.option(
    "--precision",
    type=float,
    metavar="POINTS",
    help="Stop when mCE is known to so many points; each image goes through few of the conditions.",
)
@click.option("--paired", metavar="RUN", help="Images and conditions of RUN; --precision is then of the difference.")
@click.option("--batch-size", default="auto", show_default=True, callback=auto_or_whole, help="Images in a batch.")
@click.option("--workers", type=int, help="Threads, with --ray of each copy of the model; default: one per processor.")
@with_cluster(gpus=True)
@click.option(
    "--shard",
    metavar="I/N",
    help="Only every N-th block of images, from I on (0 to N - 1), into a folder within RUN, for `oodometer merge`; "
    "auto: as torchrun or srun say.",
)
def evaluate(model: str, data: str | None, out: str | None, baseline: str, **options: Any) -> None:  # noqa: ANN401
    """Evaluate MODEL on clean images, their corruptions and, if given, renditions.

    MODEL is demo, KIND:NAME such as timm:resnet50 or onnx:FILE, or a TorchScript or torch.export file;
    `oodometer list` has them all.
    """
    from oodometer import evaluation

    with told_when_stopped(out):
        run = evaluation.evaluate(model, data, out, baseline=baseline, **options)
    if run.manifest.shard is None:
        finish(run, None if out is None else run.report())
    else:
        tell_of_shard(run)


def finish(run: Any, page: Path | None, baseline: str | None = None) -> None:  # noqa: ANN401 - imported when used
    """Print the table, where the report is, and what was left out."""
    from rich.console import Console

    from oodometer.report import WIDTH

    table = run.table(baseline)
    console = Console()
    # On a terminal the errors are coloured; elsewhere, and where it is too narrow, the table has a width of its own.
    if console.is_terminal and console.width >= WIDTH:
        console.print(table)
    else:
        click.echo(str(table))
    click.echo(f"Report: {page}\nStore:  {run.path}" if page else "Nothing was saved; give -o RUN to keep the result.")
    if run.skipped:
        click.echo(f"Images that could not be read and were left out of every condition: {len(run.skipped)}", err=True)
        for skipped in run.skipped:
            click.echo(f"  {skipped.reason}", err=True)
        sys.exit(EXIT_SKIPPED)
