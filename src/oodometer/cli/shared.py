"""What the commands that evaluate have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click

__all__ = ["EXIT_SKIPPED", "auto_or_whole", "tell_of_shard", "told_when_stopped"]

EXIT_SKIPPED = 3


def auto_or_whole(_context: click.Context, _parameter: click.Parameter, value: str) -> str | int:
    """Read a batch size."""
    try:
        return value if value == "auto" else int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither auto nor a whole number.") from None


@contextlib.contextmanager
def told_when_stopped(out: str | None) -> Iterator[None]:
    """Say what a run that is stopped leaves behind."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("What was finished is safe; the same command continues." if out else "Nothing was kept.", err=True)
        raise


def tell_of_shard(run: Any) -> None:  # noqa: ANN401 - imported when used
    """Say what becomes of the run of a shard.

    Unreadable images do not change the exit status here: a launcher would end the other shards for it. The merged run
    tells of them.
    """
    shards = f"{run.path.parent}/shard-*"
    click.echo(
        f"Shard {run.manifest.shard.shard} is done: {run.path}. When all are, `oodometer merge {shards} -o RUN` makes "
        "one run of them."
    )
    for skipped in run.skipped:
        click.echo(f"Could not be read: {skipped.reason}", err=True)
