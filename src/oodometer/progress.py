"""The live line of long work."""

from __future__ import annotations

import types
import typing

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["Observer", "ProgressBar", "Silent"]


class Observer(typing.Protocol):
    """What an evaluation tells of its progress."""

    def begin(self, title: str, total: int, done: int) -> None:
        """Begin a benchmark of ``total`` pictures, of which ``done`` were done by an earlier process."""
        ...

    def advance(self, pictures: int) -> None:
        """Count so many more pictures as done."""
        ...

    def note(self, text: str) -> None:
        """Say what is known so far, such as the running mCE."""
        ...


class Silent:
    """Tells nothing."""

    def begin(self, title: str, total: int, done: int) -> None:
        """Do nothing."""

    def advance(self, pictures: int) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""


class ProgressBar:
    """A bar on stderr with the running result beside it; a single line at the end where stderr is no terminal."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
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

    def begin(self, title: str, total: int, done: int) -> None:
        """Add a bar below the earlier ones."""
        self._task = self._bar.add_task(title, total=total, completed=done, note="")

    def advance(self, pictures: int) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bar.advance(self._task, pictures)

    def note(self, text: str) -> None:
        """Write beside the bar."""
        if self._task is not None:
            self._bar.update(self._task, note=text)
