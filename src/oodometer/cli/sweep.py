"""`oodometer sweep`: many models on many benchmarks."""

from __future__ import annotations

import sys

import click

from oodometer.cli.shared import EXIT_SKIPPED

__all__ = ["sweep"]


@click.command()
@click.argument("plan", metavar="PLAN.toml")
@click.option("-o", "--out", required=True, metavar="DIR", help="The folder of the runs; the same command continues.")
@click.option(
    "--shard", metavar="I/N", help="Only every N-th run, from I on (0 to N - 1); auto: as torchrun or srun say."
)
@click.pass_context
def sweep(context: click.Context, plan: str, out: str, shard: str | None) -> None:
    """Evaluate every [[model]] of PLAN.toml on every [[benchmark]] of it, each into DIR/MODEL/BENCHMARK.

    The keys of an entry are name, spec (of a model), and the options of `oodometer evaluate`. All is checked before any
    run is begun. A model that fails does not stop the others, and is told of at the end; finished runs are not made
    again. DIR/sweep.md and DIR/sweep.csv have the numbers.

    Exit status: 0 all runs are done; 3 done, but runs failed or images could not be read; else as for evaluate.
    """
    from oodometer.sweeping import sweep as sweep_all

    modules = context.find_root().params.get("modules", ())
    try:
        found = sweep_all(plan, out, shard=shard, modules=modules)
    except KeyboardInterrupt:
        click.echo("What was finished is safe; the same command continues.", err=True)
        raise
    click.echo(str(found))
    if found.failed or found.skipped:
        sys.exit(EXIT_SKIPPED)
