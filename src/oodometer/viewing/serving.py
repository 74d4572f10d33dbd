"""The live page on this machine's own address, until it is stopped."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from oodometer.arguments import whole
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.models import ModelOptions

__all__ = ["listening", "serve"]

_ADDRESS = "127.0.0.1"
"""Nobody but this machine is served."""

_SETTINGS: dict[str, Any] = {
    "log_level": "warning",
    "ws": "none",
    "proxy_headers": False,
    "server_header": False,
    "timeout_graceful_shutdown": 3,  # seconds for answers under way
}


def serve(
    root: str | os.PathLike[str],
    say: Callable[[str], None],
    *,
    port: int,
    data: Sequence[str] = (),
    labels: str | Path | None = None,
    model: object = None,
    model_options: ModelOptions | None = None,
) -> None:
    """Serve the live page of a run, or of the runs in a folder, until the process is interrupted.

    Parameters
    ----------
    root
        The folder.
    say
        Is told where the page is.
    port
        The port of 127.0.0.1; 0 takes a free one.
    data
        The images that the runs were made on, in any form that ``evaluate`` takes: for the pictures.
    labels
        As for ``evaluate``, if it was given them.
    model, model_options
        As for ``evaluate``, a model of ImageNet's classes that is asked about the image to play with.

    Raises
    ------
    MissingDataError
        If the packages of the extra ``view`` are not installed.
    ArgumentError
        If there is no such folder, or the port is taken.
    DatasetError, ModelError
        If images or model cannot be opened.
    """
    try:
        import uvicorn

        from oodometer.viewing.app import make_app
    except ModuleNotFoundError as error:
        raise MissingDataError(f"The live page needs {error.name}: pip install 'oodometer[view]'.") from error
    app = make_app(root, data=data, labels=labels, model=model, model_options=model_options)
    with listening(whole("port", port, 0, 65535)) as listener:
        say(f"http://{_ADDRESS}:{listener.getsockname()[1]}/ (Ctrl-C ends it)")
        uvicorn.Server(uvicorn.Config(app, **_SETTINGS)).run(sockets=[listener])


def listening(port: int) -> socket.socket:
    """Take a port of this machine's own address, 0 for a free one, so that whoever is told of it can connect.

    Raises
    ------
    ArgumentError
        If it is taken, or not to be had.
    """
    # Named TCP, since asyncio then sends small pieces at once; else an answer may wait 40 ms for what it has to follow.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    # Else a port is taken for a minute after its last page was stopped; it cannot take one that is in use.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_ADDRESS, port))
        listener.listen()
    except OSError as error:
        listener.close()
        taken = "is taken by another program" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
        raise ArgumentError(f"The port {port} {taken}. Give another one; --port 0 takes a free one.") from error
    return listener
