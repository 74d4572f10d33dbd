"""TensorBoard, by tensorboardX: the writer alone, which needs neither PyTorch nor TensorBoard and its server."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tensorboardX import SummaryWriter

from oodometer import arguments
from oodometer.errors import StoreError
from oodometer.outfolder import mapped_errors, write_atomically
from oodometer.tracking.quantities import PREFIX, scalars
from oodometer.tracking.record import Record

__all__ = ["log"]

_OURS = ".oodometer-"
"""Ends the name of an event file, before the beginning of the digest of the run's plan."""


def log(record: Record, target: str) -> str:
    """Write the event file of a run to a sub-folder of its name, in place of an earlier one; return the folder.

    Raises
    ------
    StoreError
        If the sub-folder holds another run, or cannot be written.
    """
    folder = arguments.path("The folder of the event files", target) / record.name
    suffix = f"{_OURS}{record.plan[:12]}"
    earlier = list(folder.glob(f"events.out.tfevents.*{_OURS}*"))
    if others := [path for path in earlier if not path.name.endswith(suffix)]:
        raise StoreError(f"{others[0]} is of another run. Rename the folder of one of the two, or delete that file.")
    name, content = _events(record, suffix)
    write_atomically(folder / name, content)
    with mapped_errors(f"deleting the earlier event files in {folder}"):
        for path in earlier:
            if path.name != name:
                path.unlink()
    return str(folder)


def _events(record: Record, suffix: str) -> tuple[str, bytes]:
    """Write the event file elsewhere first: its writer is a thread, whose failure, as by a full disk, none hears of."""
    numbers = scalars(record.estimates)
    with mapped_errors("writing a temporary file"), tempfile.TemporaryDirectory() as made:
        with SummaryWriter(made, filename_suffix=suffix) as writer:
            for name, value in numbers.items():
                writer.add_scalar(name, value, 0)
            writer.add_text(f"{PREFIX}settings", _table(record.settings), 0)
        (path,) = Path(made).iterdir()
        content = path.read_bytes()
    if _whole_events(content) <= len(numbers):
        raise StoreError(f"The events of {record.name} could not be written to a temporary file. Is the disk full?")
    return path.name, content


def _whole_events(content: bytes) -> int:
    """Count the events of a file: each is its length (8 bytes), a checksum (4), the event, and a checksum (4)."""
    at = count = 0
    while at + 8 <= len(content):
        at += 16 + int.from_bytes(content[at : at + 8], "little")
        count += at <= len(content)
    return count


def _table(settings: dict[str, str]) -> str:
    """Write the settings as a table of Markdown, which TensorBoard shows; pipes are the only thing to escape.

    TensorBoard strips HTML from what it shows.
    """
    rows = (f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in settings.items())
    return "\n".join(["| setting | value |", "| --- | --- |", *rows])
