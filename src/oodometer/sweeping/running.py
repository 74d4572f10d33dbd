"""The runs of a sweep, one after the other, each in a process of its own.

A process of its own gives back all memory, that of the graphics processor too, and takes nobody with it when it is
killed. It is the command line that one would type, so that each run can be continued by hand.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from oodometer import arguments
from oodometer.errors import ArgumentError, StoreError
from oodometer.outfolder import MANIFEST, exclusive, write_atomically
from oodometer.run import Run
from oodometer.sharding import Shard, ShardSpec
from oodometer.store import RunStore
from oodometer.sweeping.plan import TABLES, read_plan
from oodometer.sweeping.result import Outcome, Sweep
from oodometer.sweeping.settling import Pair, settle

__all__ = ["sweep"]

_CHILD = "oodometer.cli.attended"
"""The command line for a process that is to end with the one that started it."""

_THROUGH = 100
"""What that adds to the exit status of a command which came to its end."""

_DONE = (_THROUGH, _THROUGH + 3)
"""The exit statuses of an evaluation that is through: the second one if images could not be read."""

_PATIENCE = 5
"""How many seconds a process may take to end when it is told to."""

_FAULT = 1
"""The exit status of a process that an unforeseen error ended, which its log shows at the end."""

FORMAT = 1
"""Of the files that say what became of a run."""


class _State(msgspec.Struct, frozen=True):
    """What became of a run: what it was asked, and the reason if it failed."""

    format: int
    digest: str
    failed: str | None


def sweep(
    plan: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    shard: ShardSpec | None = None,
    modules: Sequence[str] = (),
    progress: bool = True,
) -> Sweep:
    """Evaluate every model of a plan on every benchmark of it; a model that fails does not stop the others.

    Killed at any moment, the same call continues: finished runs are not made again, others go on where they were.

    Parameters
    ----------
    plan
        A TOML file of ``[[model]]`` and ``[[benchmark]]`` entries, whose keys are the options of ``oodometer
        evaluate``.
    out
        The folder of the sweep. The run of a model on a benchmark is ``out/<model>/<benchmark>``, a run like any other,
        with its report; ``<benchmark>.log`` beside it is what its process printed, also the traceback of a fault.
    shard
        Make only every n-th of the runs, while other processes make the others: as for ``oodometer.evaluate``. Without
        it, the same call then puts their numbers side by side.
    modules
        Modules that each process imports first, for the corruptions that they register.
    progress
        Whether to say on stderr which run is begun, and what became of it.

    Returns
    -------
    Sweep
        What became of each run, and their numbers; also in ``sweep.md`` and ``sweep.csv``, unless it is of a shard.

    Raises
    ------
    ArgumentError
        If something in the plan is wrong, before any run is begun; all of it is listed.
    StoreError
        If another process is at the same sweep.
    """
    part = None if shard is None else Shard.of(shard)
    folder = arguments.path("The folder of the sweep", out).absolute()
    if (folder / MANIFEST).exists():
        raise ArgumentError(f"{folder} holds a run or a data set. Choose a new folder for the sweep.")
    pairs = settle(read_plan(plan), folder)
    chosen = [pair for number, pair in enumerate(pairs) if part is None or part.takes(number)]
    alone = exclusive(folder, "sweeping", lambda: any(folder.glob("*/*.log")), lambda: None)
    with alone if part is None else contextlib.nullcontext():
        outcomes = []
        for number, pair in enumerate(chosen, start=1):
            where = f"[{number}/{len(chosen)}] {pair.model.name} on {pair.benchmark.name}"
            outcomes.append(_outcome(pair, modules, where if progress else None))
        found = Sweep(folder, tuple(outcomes))
        if part is None:
            for name, content in zip(TABLES, (found.markdown(), found.csv()), strict=True):
                write_atomically(folder / name, content.encode())
    return found


def _outcome(pair: Pair, modules: Sequence[str], where: str | None) -> Outcome:
    """Make one run, unless that was done, and say what came of it."""
    if _is_done(pair):
        _say(where, "was done before")
        return _read(pair, None)
    _say(where, "...")
    failed = _make(pair, modules)
    write_atomically(pair.state, msgspec.json.encode(_State(FORMAT, pair.digest, failed)))
    _say(where, "done" if failed is None else f"failed: {failed}")
    return _read(pair, failed)


def _say(where: str | None, what: str) -> None:
    if where is not None:
        sys.stderr.write(f"{where}: {what}\n")


def _is_done(pair: Pair) -> bool:
    """Whether the run was finished as it is asked for now, and is still there."""
    try:
        state = msgspec.json.decode(pair.state.read_bytes(), type=_State)
    except (OSError, msgspec.MsgspecError):
        return False
    return state.failed is None and state.digest == pair.digest and RunStore(pair.path).exists()


def _make(pair: Pair, modules: Sequence[str]) -> str | None:
    """Run one evaluation in a process of its own; return why it failed, or ``None``."""
    pair.path.parent.mkdir(parents=True, exist_ok=True)
    imports = [word for module in modules for word in ("--import", module)]
    command = [sys.executable, "-m", _CHILD, *imports, *pair.command]
    # Its input is held open as long as this process lives: the child ends when that closes.
    with (
        pair.log.open("wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT) as child,
    ):
        try:
            status = child.wait()
        except BaseException:
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_PATIENCE)
            child.kill()  # a model may be deaf to signals; what is finished of a run is safe at any moment
            raise
    return None if status in _DONE else _reason(status, pair.log)


def _reason(status: int, log: Path) -> str:
    """Say in a few words why a process failed."""
    if status < 0:
        name = signal.Signals(-status).name
        often = ", as when the memory of the machine is exhausted" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{often}"
    if 0 <= status < _THROUGH and status != _FAULT:
        return f"its process ended itself with the status {status}, before it was through"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    said = [line.removeprefix("Error: ") for line in lines if line.startswith("Error: ")]
    return (said or lines or [f"its process ended with status {status}"])[-1]


def _read(pair: Pair, failed: str | None) -> Outcome:
    """Read the numbers of a run that is through."""
    summary = skipped = None
    if failed is None:
        try:
            run = Run(pair.path)
            summary, skipped = run.summary(), len(run.skipped)
        except StoreError as error:
            failed = str(error)
    return Outcome(pair.model.name, pair.benchmark.name, pair.path, pair.log, failed, summary, skipped or 0)
