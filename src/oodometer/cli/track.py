"""`oodometer track`: runs handed to where people track them."""

from __future__ import annotations

import click

__all__ = ["track"]


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--to",
    required=True,
    metavar="PLACE",
    help="tensorboard:DIR, wandb:PROJECT (offline unless WANDB_MODE says otherwise) or mlflow:URI.",
)
def track(runs: tuple[str, ...], to: str) -> None:
    """Hand RUNs to TensorBoard, Weights & Biases or MLflow: numbers, how they were made, and the report.

    The numbers are fractions by names such as oodometer/mCE and oodometer/error/fog/3, each with the ends of its 95 %
    interval (oodometer/mCE_low, oodometer/mCE_high).
    """
    from oodometer.tracking import track as track_runs

    for place in track_runs(runs, to):
        click.echo(place)
