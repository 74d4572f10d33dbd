"""`oodometer merge`: partial runs of one plan become one."""

from __future__ import annotations

import click

__all__ = ["merge"]


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("-o", "--out", required=True, metavar="RUN", help="The folder of the new run.")
def merge(runs: tuple[str, ...], out: str) -> None:
    """Unite partial RUNS of one plan, such as the shards of an evaluation, into a new run; others are refused."""
    from oodometer.merging import merge as merge_runs
    from oodometer.merging import missing_shards
    from oodometer.report.words import listed

    merged = merge_runs(runs, out)
    for record in merged.manifest.benchmarks:
        done = len(merged.store.done(record.name))
        click.echo(f"{record.name}: {done:,} of {record.images:,} images")
    if missing := missing_shards(runs):
        names = listed([str(shard) for shard in missing], most=20)
        click.echo(f"Not there: shard {names}. The merged run is partial; merge again when they are.", err=True)
    click.echo(f"Store:  {merged.path}\n`oodometer report {merged.path}` makes its report.")
