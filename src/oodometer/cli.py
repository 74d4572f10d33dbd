"""The command line: parse, call, print."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import click

from oodometer import __version__
from oodometer.arguments import path
from oodometer.errors import ArgumentError, OodometerError

__all__ = ["main"]

EXIT_SKIPPED = 3
EXIT_INTERRUPTED = 130

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""What `oodometer corrupt` writes, by the ending of the name: formats that keep the size and the colours."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="oodometer")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--import",
    "modules",
    multiple=True,
    metavar="MODULE",
    help="Import a module first, so that the corruptions it registers are known. Can be given again.",
)
def cli(debug: bool, modules: tuple[str, ...]) -> None:
    """Measure how far an image classifier's accuracy travels off its training distribution.

    Exit status: 0 done; 2 a mistake in the input, nothing was begun; 3 done, but some images could not be read and were
    left out; 130 stopped by Ctrl-C (the same command continues); 1 a fault of Oodometer's own.
    """
    for module in modules:
        _import(module)


@cli.command()
@click.option("-o", "--out", default="oodometer-demo", show_default=True, help="The run's folder.")
def demo(out: str) -> None:
    """Evaluate the built-in model on the built-in images: ImageNet-C and ImageNet-R in small."""
    from oodometer.demo import run_demo

    with _told_when_stopped(out):
        run = run_demo(out, click.echo)
    _finish(run, saved=True)


@cli.command()
@click.argument("model")
@click.option(
    "--data", required=True, metavar="DIR", help="Clean images: class folders named by wnid, or see --labels."
)
@click.option("-o", "--out", metavar="RUN", help="The run's folder; the same command continues a stopped run.")
@click.option("--imagenet-r", metavar="DIR", help="ImageNet-R, or other renditions in its layout.")
@click.option("--labels", metavar="FILE", help="CSV (name,label) or JSON: the class index or wnid of a folder or file.")
@click.option("--classes", type=int, help="How many classes the model has, if --labels names only some.")
@click.option("--label-space", metavar="NAME", help="What indices in --labels mean: imagenet-1k; default: own classes.")
@click.option("--corruptions", default="imagenet-c", show_default=True, help="A group, a family, or names with commas.")
@click.option("--preprocess", default="imagenet224", show_default=True, help="imagenet224, or none for cropped files.")
@click.option("--encoding", default="memory", show_default=True, help="memory, or jpeg85 as in the published files.")
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--method", default="fast", show_default=True, help="fast or reference.")
@click.option(
    "--baseline", default="auto", show_default=True, help="alexnet, none, or a JSON file; what mCE divides by."
)
@click.option("--normalization", help="Of a PyTorch model: imagenet (default), none, or MEAN/STD such as 0.5/0.5.")
@click.option("--seed", default=0, show_default=True, help="Of the corruptions and of the order.")
@click.option("--limit", type=int, help="Only so many images, the first of the seeded order.")
@click.option("--batch-size", default=16, show_default=True, help="Images in a batch.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def evaluate(model: str, data: str, out: str | None, baseline: str, **options: Any) -> None:  # noqa: ANN401
    """Evaluate MODEL on clean images, their corruptions and, if given, renditions.

    MODEL is demo, torch:PACKAGE.MODULE:FACTORY, or a TorchScript or torch.export file; see `oodometer list`.
    """
    from oodometer import evaluation

    with _told_when_stopped(out):
        run = evaluation.evaluate(model, data, out, baseline=baseline, **options)
    _finish(run, saved=out is not None)


@cli.command()
@click.argument("run")
@click.option("--baseline", help="alexnet or a JSON file; default: the one that the run was made with.")
def report(run: str, baseline: str | None) -> None:
    """Rebuild the table, report.html and results.json of RUN from its store alone."""
    from oodometer.run import Run

    _finish(Run(run), saved=True, baseline=baseline)


@cli.command()
@click.argument("image")
@click.option("-c", "--corruption", required=True, help="Its name; see `oodometer list`.")
@click.option("-s", "--severity", default=1.0, show_default=True, help="0 (none) to 10, as published from 1 to 5.")
@click.option("-o", "--out", required=True, metavar="FILE", help="Where to write; the ending gives the format.")
@click.option("--seed", default=0, show_default=True)
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--method", default="fast", show_default=True, help="fast or reference.")
def corrupt(image: str, corruption: str, severity: float, out: str, **options: Any) -> None:  # noqa: ANN401
    """Corrupt one IMAGE file, at its own size."""
    from oodometer import corruptions
    from oodometer.datasets.decode import decode
    from oodometer.store import write_atomically

    made = corruptions.corrupt(decode(path("IMAGE", image)), corruption, severity, **options)
    target = path("The output", out)
    kind = FORMATS.get(target.suffix.lower())
    if kind is None:
        raise ArgumentError(f"{out}: no image format is known by this ending; use one of {', '.join(FORMATS)}.")
    buffer = io.BytesIO()
    made.save(buffer, kind)
    write_atomically(target, buffer.getvalue())


@cli.command("list")
def list_names() -> None:
    """List corruptions, editions, baselines and models."""
    from oodometer.corruptions import EDITIONS, list_corruptions
    from oodometer.families import EXTRA, FAMILIES
    from oodometer.metrics import BASELINES
    from oodometer.models import MODELS

    click.secho("Corruptions (--corruptions, -c)", bold=True)
    for family, names in {**FAMILIES, "extra": EXTRA, "own": list_corruptions("own")}.items():
        click.echo(f"  {family:<8} {', '.join(names) or '(of a module given with oodometer --import MODULE)'}")
    click.echo("  Groups: imagenet-c (the first four families: the 15 that an mCE counts), extra, all, own.")
    click.secho("Editions (--edition)", bold=True)
    click.echo(f"  {', '.join(EDITIONS)}")
    click.secho("Baselines (--baseline)", bold=True)
    for baseline in BASELINES.values():
        click.echo(f"  {baseline.name}: {baseline.source}")
    click.secho("Models", bold=True)
    for spec, meaning in MODELS.items():
        click.echo(f"  {spec}: {meaning}")


@cli.command()
@click.argument("what", type=click.Choice(["frost"]))
def fetch(what: str) -> None:
    """Fetch what cannot be shipped: the textures of frost, from a public Python package, into your cache."""
    from oodometer.textures import fetch_frost

    click.echo(f"The textures of {what} are in {fetch_frost()}.")


@contextlib.contextmanager
def _told_when_stopped(out: str | None) -> Iterator[None]:
    """Say what a run that is stopped leaves behind."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("What was finished is safe; the same command continues." if out else "Nothing was kept.", err=True)
        raise


def _import(module: str) -> None:
    """Import a module of the user's, for what it registers."""
    try:
        importlib.import_module(module)
    except Exception as error:  # it is the user's code and may raise anything
        raise ArgumentError(
            f"--import {module} failed: {type(error).__name__}: {error}. The module must be importable: installed, or "
            "in a folder on PYTHONPATH."
        ) from error


def _finish(run: Any, *, saved: bool, baseline: str | None = None) -> None:  # noqa: ANN401 - imported when used
    """Write the report if there is a place for it, print the table, and tell what was left out."""
    from rich.console import Console

    from oodometer.report import WIDTH

    table = run.table(baseline)
    page = run.report(baseline=baseline) if saved else None  # before the printing, which may fail
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


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; turns errors into one message and an exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    # Like Ctrl-C, so that a temporary folder goes with the process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = [a for a in given if a != "--debug"]
    sys.exit(_status(lambda: cli.main(command, prog_name="oodometer", standalone_mode=False), "--debug" in given))


def _status(command: Callable[[], object], debug: bool) -> int:
    try:
        command()
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except OodometerError as error:
        if debug:
            raise
        # A message may quote what a file or a model says: nothing in it may move the cursor.
        click.echo("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in f"Error: {error}"), err=True)
        return 2
    return 0
