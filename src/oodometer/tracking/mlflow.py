"""MLflow, by mlflow-skinny: a run of an experiment in a file store or on a server."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

# MLflow counts its users over the network, whatever the store, unless told not to. A user's own word on it stands.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException

from oodometer.errors import StoreError
from oodometer.models.importing import first_line
from oodometer.tracking.quantities import named, scalars
from oodometer.tracking.record import Record

__all__ = ["log"]

_EXPERIMENT = "oodometer"
_AT_ONCE = 100
"""How many metrics or parameters go into one call; no store takes more parameters."""

_LONGEST = 500
"""How many characters of a setting are kept, which is what the oldest servers take."""


def log(record: Record, target: str) -> str:
    """Write a run to an experiment; return where it is.

    Raises
    ------
    StoreError
        If the store or the server cannot be reached, or refuses.
    """
    if urlsplit(target).scheme in ("", "file"):
        # From MLflow 3.7 on file stores are refused without this word. Who names one here has said it.
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    try:
        client = MlflowClient(tracking_uri=target)
        run = client.create_run(_experiment(client), run_name=record.name, tags={"oodometer.plan": record.plan})
        with _ended(client, run.info.run_id):
            _log(client, run.info.run_id, record)
    except (MlflowException, OSError) as error:
        raise StoreError(f"mlflow:{target} refused {record.name!r}: {first_line(error)}.") from error
    return f"{target}, run {run.info.run_id}"


@contextlib.contextmanager
def _ended(client: MlflowClient, run: str) -> Iterator[None]:
    """End a run, as failed if that is so: it would count as running for ever."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(MlflowException, OSError):
            client.set_terminated(run, "FAILED")
        raise
    client.set_terminated(run)


def _log(client: MlflowClient, run: str, record: Record) -> None:
    now = int(1000 * time.time())
    metrics = [Metric(name, value, now, 0) for name, value in scalars(record.estimates).items()]
    params = [Param(named(name), value[:_LONGEST]) for name, value in record.settings.items()]
    for start in range(0, len(metrics), _AT_ONCE):
        client.log_batch(run, metrics=metrics[start : start + _AT_ONCE])
    for start in range(0, len(params), _AT_ONCE):
        client.log_batch(run, params=params[start : start + _AT_ONCE])
    with tempfile.TemporaryDirectory() as folder:
        for name, content in record.files.items():
            (Path(folder) / name).write_bytes(content)
        client.log_artifacts(run, folder)


def _experiment(client: MlflowClient) -> str:
    """Find the experiment, or begin it."""
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", _EXPERIMENT)
    found = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if found is None else found.experiment_id)
