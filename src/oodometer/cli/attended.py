"""The command line for a process that is to end with the one that started it: ``python -m oodometer.cli.attended``.

Its standard input is a pipe that the other one holds open.
"""

from __future__ import annotations

import os
import threading

from oodometer.cli.main import main

__all__: list[str] = []


def _watch() -> None:
    """End at once when the pipe closes: what is finished of a run is safe at any moment."""
    os.read(0, 1)
    os._exit(130)


if __name__ == "__main__":
    threading.Thread(target=_watch, daemon=True).start()
    main()
