"""TensorBoard, by tensorboardX: the writer alone, which needs neither PyTorch nor TensorBoard and its server."""

from __future__ import annotations

from tensorboardX import SummaryWriter

from oodometer import arguments
from oodometer.errors import StoreError
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
    try:
        for path in earlier:
            path.unlink()
        with SummaryWriter(str(folder), filename_suffix=suffix) as writer:
            for name, value in scalars(record.estimates).items():
                writer.add_scalar(name, value, 0)
            writer.add_text(f"{PREFIX}settings", _table(record.settings), 0)
    except OSError as error:
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return str(folder)


def _table(settings: dict[str, str]) -> str:
    """Write the settings as a table of Markdown, which TensorBoard shows; pipes are the only thing to escape.

    TensorBoard strips HTML from what it shows.
    """
    rows = (f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in settings.items())
    return "\n".join(["| setting | value |", "| --- | --- |", *rows])
