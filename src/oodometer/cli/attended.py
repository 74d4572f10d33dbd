"""The command line for a process that is to end with the one that started it: ``python -m oodometer.cli.attended``.

Its standard input is a pipe that the other one holds open. Its exit status is that of the command line with ``THROUGH``
added, so that a model which ends the process (``os._exit(0)``) is not taken for a command that came to its end.
"""

from __future__ import annotations

import os
import sys
import threading

from oodometer.cli.main import main

__all__ = ["THROUGH"]

THROUGH = 100
"""What is added to the exit status of a command that came to its end."""


def _watch() -> None:
    """End at once when the pipe closes: what is finished of a run is safe at any moment."""
    os.read(0, 1)
    os._exit(130)


if __name__ == "__main__":
    threading.Thread(target=_watch, daemon=True).start()
    try:
        main()
    except SystemExit as ended:
        sys.exit(THROUGH + int(ended.code or 0))
