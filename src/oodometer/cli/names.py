"""`oodometer list`: the names that the other commands take."""

from __future__ import annotations

import click

__all__ = ["list_names"]


@click.command("list")
def list_names() -> None:
    """List corruptions, perturbations, editions, baselines and models."""
    from oodometer.corruptions import EDITIONS, list_corruptions
    from oodometer.families import EXTRA, FAMILIES, RENDITIONS
    from oodometer.metrics import BASELINES
    from oodometer.models import MODELS
    from oodometer.perturbations import GROUPS

    click.secho("Corruptions (--corruptions, -c)", bold=True)
    for family, names in {**FAMILIES, "extra": EXTRA, "renditions": RENDITIONS, "own": list_corruptions("own")}.items():
        click.echo(f"  {family:<10} {', '.join(names) or '(of a module given with oodometer --import MODULE)'}")
    click.echo(
        "  Groups: imagenet-c (the first four families: the 15 that an mCE counts), extra, all, renditions, own."
    )
    click.secho("Perturbations (corrupt --sequence, --corruptions, -c)", bold=True)
    for group in ("imagenet-p", "validation"):
        click.echo(f"  {group:<10} {', '.join(GROUPS[group])}")
    click.echo("  Noises have three difficulties, such as gaussian_noise_2. Groups: imagenet-p, validation, all.")
    click.secho("Editions (--edition)", bold=True)
    click.echo(f"  {', '.join(EDITIONS)}")
    click.secho("Baselines (--baseline)", bold=True)
    for baseline in BASELINES.values():
        click.echo(f"  {baseline.name}: {baseline.source}")
    click.echo("  Or a JSON file, or the folder of another run.")
    click.secho("Models", bold=True)
    for spec, meaning in MODELS.items():
        click.echo(f"  {spec}: {meaning}")
