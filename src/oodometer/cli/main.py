"""The command itself: which subcommands there are, and what becomes of errors."""

from __future__ import annotations

import importlib
import io
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn

import click

from oodometer import __version__
from oodometer.cli.check import check
from oodometer.cli.compare import compare
from oodometer.cli.corrupt import corrupt
from oodometer.cli.evaluate import demo, evaluate
from oodometer.cli.evaluate_sequences import sequences
from oodometer.cli.fetch import fetch
from oodometer.cli.leaderboard import export, leaderboard, validate
from oodometer.cli.merge import merge
from oodometer.cli.names import list_names
from oodometer.cli.renditions import renditions
from oodometer.cli.report import report
from oodometer.cli.show import show
from oodometer.cli.strength import strength
from oodometer.cli.sweep import sweep
from oodometer.cli.tables import tables
from oodometer.cli.track import track
from oodometer.cli.view import view
from oodometer.errors import ArgumentError, OodometerError

__all__ = ["cli", "main"]

EXIT_INTERRUPTED = 130


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
    left out; 130 stopped by Ctrl-C (the same command continues); 1 `check` found faults, `corrupt` left out images that
    could not be read, or a fault of Oodometer's own.
    """
    for module in modules:
        _import(module)


for command in (
    *(demo, evaluate, sequences, report, compare, tables, merge, strength, sweep),
    *(export, validate, leaderboard, track),
    *(corrupt, show, view, fetch, check, renditions, list_names),
):
    cli.add_command(command)


def _import(module: str) -> None:
    """Import a module of the user's, for what it registers."""
    try:
        importlib.import_module(module)
    except Exception as error:  # it is the user's code and may raise anything
        raise ArgumentError(
            f"--import {module} failed: {type(error).__name__}: {error}. The module must be importable: installed, or "
            "in a folder on PYTHONPATH."
        ) from error


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; turns errors into one message and an exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to stop
    # Like Ctrl-C, so that a temporary folder goes with the process.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = [a for a in given if a != "--debug"]
    # The place in our code that a warning comes from says nothing to who runs a command.
    warnings.showwarning = lambda message, *_, **__: click.echo(f"Warning: {message}", err=True)
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
