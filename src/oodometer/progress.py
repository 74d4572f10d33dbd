"""The live line of long work."""

from __future__ import annotations

import types
import typing

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

__all__ = ["Observer", "ProgressBar", "Silent"]


class Observer(typing.Protocol):
    """What long work tells of its progress, in steps: the pictures of a benchmark, the bytes of a file."""

    def begin(self, title: str, total: int | None, done: int) -> None:
        """Begin work of ``total`` steps (``None``: nobody knows), of which an earlier process did ``done``."""
        ...

    def advance(self, steps: int) -> None:
        """Count so many more steps as done; fewer than none where work must be done again."""
        ...

    def expect(self, total: int) -> None:
        """Say how many steps there will be, if that has become known or has changed."""
        ...

    def note(self, text: str) -> None:
        """Say what is known so far, such as the running mCE."""
        ...

    def say(self, text: str) -> None:
        """Say something that stays, such as what a data set was taken for."""
        ...


class Silent:
    """Tells nothing."""

    def begin(self, title: str, total: int | None, done: int) -> None:
        """Do nothing."""

    def advance(self, steps: int) -> None:
        """Do nothing."""

    def expect(self, total: int) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Do nothing."""


class _Rate(ProgressColumn):
    """Steps in a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "")


class ProgressBar:
    """A bar on stderr with a rate and a note beside it; a single line at the end where stderr is no terminal.

    ``unit`` is ``"pictures"`` or ``"bytes"``.
    """

    def __init__(self, unit: str = "pictures") -> None:
        columns = (DownloadColumn(), TransferSpeedColumn()) if unit == "bytes" else (MofNCompleteColumn(), _Rate())
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            *columns,
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._task: TaskID | None = None

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, title: str, total: int | None, done: int) -> None:
        """Add a bar below the earlier ones."""
        self._task = self._bar.add_task(title, total=total, completed=done, note="")

    def advance(self, steps: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bar.advance(self._task, steps)

    def expect(self, total: int) -> None:
        """Make the bar so long."""
        if self._task is not None:
            self._bar.update(self._task, total=total)

    def note(self, text: str) -> None:
        """Write beside the bar."""
        if self._task is not None:
            self._bar.update(self._task, note=text)

    def say(self, text: str) -> None:
        """Write above the bars."""
        self._bar.console.print(Text(text), soft_wrap=True)
