"""`oodometer check`: the data doctor."""

from __future__ import annotations

import sys
import warnings

import click

__all__ = ["check"]

EXIT_FAULTS = 1


@click.command()
@click.argument("path", metavar="DIR")
@click.option("--clean", metavar="DIR", help="The clean images of a tree of corruptions, to compare its cells with.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with all places.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
def check(path: str, clean: str | None, as_json: bool, workers: int | None) -> None:
    """Check that a data set is whole, readable and what it seems to be; say what is wrong and how to mend it.

    DIR is a data set of any kind, or what `oodometer corrupt` built. Exit status: 0 no faults; 1 faults; 2 it is no
    data set.
    """
    from oodometer import doctor

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")  # on single files; what matters is in the findings
        diagnosis = doctor.check(path, clean=clean, workers=workers)
    click.echo(diagnosis.to_json() if as_json else doctor.as_text(diagnosis))
    if not diagnosis.ok:
        sys.exit(EXIT_FAULTS)
