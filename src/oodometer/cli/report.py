"""`oodometer report`: what one or several runs say, made again from their stores."""

from __future__ import annotations

import click

__all__ = ["report"]


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", metavar="DIR", help="The folder for the report; default: that of RUN, if it is one.")
@click.option("--figures", is_flag=True, help="Write the charts for papers, too: PNG and SVG, in DIR/figures.")
@click.option("--baseline", help="As for evaluate; default: the one that the first run was made with.")
@click.option("--difficulty", type=click.IntRange(1, 3), help="Of a run over sequences, as for sequences; default: 1.")
def report(runs: tuple[str, ...], out: str | None, figures: bool, baseline: str | None, difficulty: int | None) -> None:
    """Make the report again from the stores of one or several RUNs: a page that compares several, and the numbers.

    Of one run it is report.html and results.json; of several, of the same images and protocol, report.html and
    comparison.json; of a run over sequences, sequences.json.
    """
    from oodometer.errors import ArgumentError
    from oodometer.sequences import holds_sequences

    over_sequences = [run for run in runs if holds_sequences(run)]
    if over_sequences:
        _of_sequences(runs, baseline, difficulty, others=bool(out or figures))
        return
    if difficulty is not None:
        raise ArgumentError(f"--difficulty goes with a run over sequences, and {runs[0]} is none.")
    if len(runs) > 1:
        _of_several(runs, out, figures, baseline)
    else:
        _of_one(runs[0], out, figures, baseline)


def _of_sequences(runs: tuple[str, ...], baseline: str | None, difficulty: int | None, *, others: bool) -> None:
    from oodometer.cli.evaluate_sequences import finish
    from oodometer.errors import ArgumentError

    if len(runs) > 1:
        raise ArgumentError("Runs over sequences are reported one by one; --baseline RUN compares one with another.")
    if others:
        raise ArgumentError(f"{runs[0]} is a run over sequences, which has no page and no figures.")
    finish(runs[0], baseline, difficulty or 1)


def _of_several(runs: tuple[str, ...], out: str | None, figures: bool, baseline: str | None) -> None:
    from oodometer.errors import ArgumentError
    from oodometer.reports import write_reports
    from oodometer.run import Run

    if out is None:
        raise ArgumentError("A report of several runs needs a folder of its own: give it with -o DIR.")
    for path in write_reports([Run(run) for run in runs], out, baseline, figures=figures):
        click.echo(path)


def _of_one(place: str, out: str | None, figures: bool, baseline: str | None) -> None:
    from oodometer.cli.evaluate import finish
    from oodometer.reports import write_reports
    from oodometer.run import Run

    run = Run(place)
    page, _, *charts = write_reports([run], run.path if out is None else out, baseline, figures=figures)
    finish(run, page, baseline)
    for path in charts:
        click.echo(path)
