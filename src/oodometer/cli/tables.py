"""`oodometer tables`: what papers print, of one or several runs."""

from __future__ import annotations

import click

__all__ = ["tables"]


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--out", required=True, metavar="DIR", help="The folder for the tables.")
@click.option("--baseline", help="What CEs divide by; default: what the first run was made with.")
@click.option(
    "--intervals", is_flag=True, help="Print 95 % intervals in LaTeX and Markdown, too; the others always have them."
)
def tables(runs: tuple[str, ...], out: str, baseline: str | None, intervals: bool) -> None:
    """Write the tables of papers as LaTeX (booktabs), Markdown, CSV and JSON, the best of several RUNs in bold.

    ImageNet-C: clean error, mCE and the CE of the 15 corruptions. ImageNet-R: the errors on ImageNet-200 and on
    ImageNet-R, and the gap. The runs must be of the same images and protocol. A table of an earlier call in DIR that
    these runs do not have is removed.
    """
    from oodometer.paper_tables import write_tables
    from oodometer.run import Run

    for path in write_tables([Run(run) for run in runs], out, baseline, intervals=intervals):
        click.echo(path)
