"""`oodometer export`, `validate` and `leaderboard`: results that people exchange."""

from __future__ import annotations

import sys

import click

__all__ = ["export", "leaderboard", "validate"]

STATUS = {"confirmed": 0, "refuted": 1, "open": 3}


@click.command()
@click.argument("run")
@click.option("-o", "--out", required=True, metavar="FILE", help="The JSON file.")
def export(run: str, out: str) -> None:
    """Write the result of RUN as one file: the numbers, what was done, and the digests of the predictions."""
    from oodometer.arguments import path
    from oodometer.leaderboard import export as export_run
    from oodometer.outfolder import check_file_place
    from oodometer.report.words import count
    from oodometer.run import Run

    entry = export_run(Run(run), check_file_place(path("The output", out)))
    click.echo(f"{out}: {count(len(entry.numbers), 'number')}{', of a partial run' if entry.partial else ''}.")


@click.command()
@click.argument("file")
@click.option("--run", metavar="RUN", help="The folder with the predictions.")
def validate(file: str, run: str | None) -> None:
    """Check that the numbers in FILE, an exported result, follow from the predictions in RUN.

    Exit status: 0 they do; 1 they do not; 3 nobody can tell without the predictions; 2 FILE is no result.
    """
    from oodometer.leaderboard import validate as check

    found = check(file, run)
    click.echo(str(found))
    sys.exit(STATUS[found.verdict])


@click.command()
@click.argument("folder")
@click.option("-o", "--out", required=True, metavar="DIR", help="Where index.html and leaderboard.csv go.")
def leaderboard(folder: str, out: str) -> None:
    """Make a sortable page and a CSV file of the exported results in FOLDER.

    Only results of the same images, protocol and baseline are ranked together; published ones stand by themselves.
    """
    from oodometer.leaderboard import collect, write_board

    board = collect(folder)
    for path in write_board(board, out):
        click.echo(path)
    for reason in board.left_out:
        click.echo(f"Left out: {reason}", err=True)
