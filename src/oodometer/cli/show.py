"""`oodometer show`: one image under many corruptions, to look at."""

from __future__ import annotations

from typing import Any

import click

from oodometer.cli.model_options import with_model_options

__all__ = ["show"]


def _numbers(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        return tuple(float(text) for text in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} are no numbers with commas, such as 0,1,3,5.") from None


def _given(name: str) -> bool:
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


@click.command()
@click.argument("image")
@click.option("-o", "--out", required=True, metavar="FILE", help=".png, .jpg, .webp or .html; .gif with --animate.")
@click.option("-c", "--corruptions", default="all", show_default=True, help="A group, a family, or names with commas.")
@click.option(
    "-s",
    "--severities",
    default="0,1,2,3,4,5",
    show_default=True,
    callback=_numbers,
    help="From 0 (clean) to 10, also 2.5.",
)
@click.option("--animate", is_flag=True, help="One corruption from severity 0 to 5 and back: .gif, .webp or .png.")
@click.option("--model", help="Write under each picture what this MODEL of ImageNet's classes says, as for evaluate.")
@with_model_options
@click.option("--preprocess", default="imagenet224", show_default=True, help="inception299, tiny64, or none.")
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--seed", default=0, show_default=True, help="Of the corruptions.")
def show(image: str, out: str, corruptions: str, animate: bool, **options: Any) -> None:  # noqa: ANN401
    """Show IMAGE under the corruptions, a row each, by severity: as a picture, a page or an animation."""
    from oodometer import showing
    from oodometer.errors import ArgumentError

    if animate:
        if given := [name for name in ("model", "severities") if _given(name)]:
            raise ArgumentError(f"--{given[0]} does not go with --animate, which shows all severities from 0 to 5.")
        of_both = {name: options[name] for name in ("preprocess", "edition", "seed")}
        showing.animate(image, corruptions, out, **of_both)
    else:
        showing.target(out, showing.ENDINGS, image)  # before the work
        showing.show(image, corruptions=corruptions, **options).save(out)
    click.echo(out)
