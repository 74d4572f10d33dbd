"""`oodometer compare`: several runs side by side."""

from __future__ import annotations

import click

__all__ = ["compare"]


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--baseline", help="What the mCEs are divided by; default: what the first run was made with.")
@click.option("--json", "target", metavar="FILE", help="Write every number with its interval as JSON, too.")
def compare(runs: tuple[str, ...], baseline: str | None, target: str | None) -> None:
    """Compare RUNS on the images that all of them saw: differences from the first one, with intervals and tests."""
    import msgspec

    from oodometer.arguments import path
    from oodometer.comparison import compare as compare_runs
    from oodometer.outfolder import check_file_place, write_atomically

    place = None if target is None else check_file_place(path("The output", target))
    comparison = compare_runs(runs, baseline)
    click.echo(str(comparison))
    if place is not None:
        write_atomically(place, msgspec.json.format(msgspec.json.encode(comparison.results()), indent=1))
