"""`oodometer fetch`: what cannot be shipped."""

from __future__ import annotations

import click

__all__ = ["fetch"]


@click.command()
@click.argument("what", type=click.Choice(["frost"]))
def fetch(what: str) -> None:
    """Fetch what cannot be shipped: the textures of frost, from a public Python package, into your cache."""
    from oodometer.textures import fetch_frost

    click.echo(f"The textures of {what} are in {fetch_frost()}.")
