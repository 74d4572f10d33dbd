"""`oodometer merge`: partial runs of one plan become one."""

from __future__ import annotations

import click

__all__ = ["merge"]


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("-o", "--out", required=True, metavar="RUN", help="The folder of the new run.")
def merge(runs: tuple[str, ...], out: str) -> None:
    """Unite partial RUNS of one plan into a new run; runs of other plans are refused."""
    from oodometer.merging import merge as merge_runs

    merged = merge_runs(runs, out)
    for record in merged.manifest.benchmarks:
        done = len(merged.store.done(record.name))
        click.echo(f"{record.name}: {done:,} of {record.images:,} images")
    click.echo(f"Store:  {merged.path}\n`oodometer report {merged.path}` makes its report.")
