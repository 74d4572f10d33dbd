"""`oodometer strength`: error by real-valued severity, and the severity that costs half of the accuracy."""

from __future__ import annotations

from typing import Any

import click

from oodometer.cli.model_options import with_model_options

__all__ = ["strength"]


def _numbers(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no list of numbers such as 1,2.5,4.") from None


@click.command()
@click.argument("model")
@click.option("--data", required=True, metavar="DATA", help="Clean images, as for evaluate.")
@click.option("-c", "--corruption", required=True, metavar="NAME", help="One corruption.")
@click.option(
    "-s",
    "--severities",
    default="1,2,3,4,5",
    show_default=True,
    callback=_numbers,
    help="Where to measure first: numbers from 0 to 10.",
)
@click.option("--labels", metavar="FILE", help="CSV (name,label) or JSON: the class index or wnid of a folder or file.")
@click.option("--classes", type=int, help="How many classes the model has, if --labels names only some.")
@click.option("--label-space", metavar="NAME", help="What indices in --labels mean: imagenet-1k; default: own classes.")
@click.option("--preprocess", default="imagenet224", show_default=True, help="As for evaluate.")
@click.option("--encoding", default="memory", show_default=True, help="memory, or jpeg85 as in the published files.")
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--method", default="fast", show_default=True, help="fast or reference.")
@with_model_options
@click.option("--seed", default=0, show_default=True, help="Of the corruption and of the order.")
@click.option("--limit", type=int, help="Only so many images, the first of the seeded order.")
@click.option("--workers", type=int, help="Threads; default: one per processor.")
@click.option("--json", "target", metavar="FILE", help="Write every number with its interval as JSON, too.")
def strength(model: str, data: str, target: str | None, **options: Any) -> None:  # noqa: ANN401
    """Measure MODEL by the severity of one corruption, and find the severity that costs half of its accuracy.

    Published severities of two corruptions cannot be compared; these severities can. Nothing is kept but with --json.
    """
    import msgspec

    from oodometer.arguments import path
    from oodometer.outfolder import check_file_place, write_atomically
    from oodometer.strength_curves import strength_curve

    place = None if target is None else check_file_place(path("The output", target))
    curve = strength_curve(model, data, **options)
    click.echo(str(curve))
    if place is not None:
        write_atomically(place, msgspec.json.format(msgspec.json.encode(curve), indent=1))
