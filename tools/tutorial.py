"""Run the tutorial, and put what it prints where it says so.

``python tools/tutorial.py`` runs every ``oodometer`` command and every Python snippet of ``docs/tutorial.md`` in order,
in an empty folder, and fills the box (```` ```text ````) that follows one with what it printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "filled"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"

_PIECES = re.compile(
    r"^    (?P<command>oodometer [^\n]+)$|^```python\n(?P<snippet>.*?)^```$|^```text\n(?P<box>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def filled(page: str, folder: Path) -> str:
    """Return the page with the boxes filled; its files go to the folder."""
    names: dict[str, Any] = {}
    printed = ""

    def fill(match: re.Match[str]) -> str:
        nonlocal printed
        if match["box"] is not None:
            return f"```text\n{printed.strip(chr(10))}\n```"
        printed = _command(match["command"], folder) if match["command"] else _snippet(match["snippet"], names)
        return match[0]

    with contextlib.chdir(folder):
        return _PIECES.sub(fill, page)


def _command(line: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(line)], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.replace(f"{folder}{os.sep}", "")


def _snippet(source: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(source, str(PAGE), "exec"), names)
    return out.getvalue()


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"  # the widest that the site shows without scrolling
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), Path(place)), encoding="utf-8")
