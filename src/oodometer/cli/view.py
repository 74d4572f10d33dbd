"""`oodometer view`: runs, their pictures and one image to play with, in a browser on this machine."""

from __future__ import annotations

from typing import Any

import click

from oodometer.cli.model_options import with_model_options

__all__ = ["view"]


@click.command()
@click.argument("folder", metavar="RUN_OR_DIR")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--data",
    multiple=True,
    metavar="DATA",
    help="Images that runs were made on, as for evaluate, for the pictures. Can be given again.",
)
@click.option("--labels", metavar="FILE", help="As for evaluate, if it was given them.")
@click.option("--model", help="Ask this MODEL of ImageNet's classes about the image to play with.")
@with_model_options
def view(folder: str, **options: Any) -> None:  # noqa: ANN401
    """Show a run, or the runs in a folder, as a page in a browser on this machine, and an image to play with.

    The page is at 127.0.0.1, reads only, and lives until Ctrl-C.
    """
    from oodometer.viewing import serve

    serve(folder, click.echo, **options)
