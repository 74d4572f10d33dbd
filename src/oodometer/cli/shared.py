"""What the commands that evaluate have in common."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

__all__ = ["EXIT_SKIPPED", "auto_or_whole", "told_when_stopped"]

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
