"""Weights & Biases: a run of a project, offline unless the user's environment says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

# Its report of errors would look an address up even in offline mode. A user's own word on it stands.
os.environ.setdefault("WANDB_ERROR_REPORTING", "false")

import wandb

from oodometer.errors import StoreError
from oodometer.models.importing import first_line
from oodometer.tracking.quantities import scalars
from oodometer.tracking.record import Record

__all__ = ["log"]


def log(record: Record, target: str) -> str:
    """Write a run to a project; return its folder, which ``wandb sync`` uploads.

    Raises
    ------
    StoreError
        If the package refuses, or cannot write.
    """
    try:
        with wandb.init(
            project=target,
            name=record.name,
            config=dict(record.settings),
            mode=os.environ.get("WANDB_MODE", "offline"),
            reinit="create_new",  # a run that is under way, of a training, stays what it is
            settings=wandb.Settings(console="off", silent=True),
        ) as run:
            run.log(scalars(record.estimates), step=0)
            for name, content in record.files.items():
                # Within the run's folder, so that the folder can be moved to where there is a network.
                place = Path(run.dir) / name
                place.write_bytes(content)
                run.save(str(place), base_path=run.dir, policy="end")
            return str(Path(run.dir).parent)
    except (wandb.Error, OSError, ValueError) as error:
        raise StoreError(f"wandb:{target} refused {record.name!r}: {first_line(error)}.") from error
