"""The answers that have come, kept in the run's folder, so that no question is paid for twice.

``answers/`` holds up to 4096 files of lines, one JSON object an answer; an image's answers are all in one file, which
is named after the beginning of the SHA-256 of its id. Lines are only ever appended, and are with the system before the
answer is used, so that a killed process loses nothing. A line that was torn by a full disk or a lost machine is passed
over. Few files are held in memory at a time, whatever the size of the data set.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from oodometer.models.vlm.client import Reply
from oodometer.outfolder import mapped_errors

__all__ = ["Answer", "Kept"]

HELD = 512
"""How many files are held in memory: more than there are images in a batch, so that each is read once a block."""


class Answer(msgspec.Struct, frozen=True):
    """One line: the SHA-256 of model, question and picture; whose question it was; and the reply.

    ``asker`` tells model and question apart from others whose answers lie in the same folder.
    """

    key: str
    asker: str
    space: str
    image: str
    text: str
    finish: str


class Kept:
    """The answers of one folder; may be used from several threads, but from one process only.

    Parameters
    ----------
    folder
        Where they are, or will be.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._held: OrderedDict[Path, dict[str, Reply]] = OrderedDict()

    def get(self, key: str, image: str) -> Reply | None:
        """Return the reply to a question, if there is one."""
        with self._lock:
            return self._file(image)[1].get(key)

    def put(self, answer: Answer) -> None:
        """Append an answer.

        Raises
        ------
        StoreError
            If it cannot be written.
        """
        with self._lock:
            path, known = self._file(answer.image)
            with mapped_errors(f"writing {path}"):
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(_mended(file.tell(), path) + msgspec.json.encode(answer) + b"\n")
            known[answer.key] = Reply(answer.text, answer.finish)

    def counted(self, asker: str) -> Counter[tuple[str, str]]:
        """Count the answers to one asker by label space and image."""
        keys = {a.key: (a.space, a.image) for path in self._paths() for a in _lines(path) if a.asker == asker}
        return Counter(keys.values())

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl"))

    def _file(self, image: str) -> tuple[Path, dict[str, Reply]]:
        """Return an image's file, and what it holds."""
        path = self._folder / f"{hashlib.sha256(image.encode('utf-8', 'surrogatepass')).hexdigest()[:3]}.jsonl"
        if path not in self._held:
            self._held[path] = {a.key: Reply(a.text, a.finish) for a in _lines(path)}
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        self._held.move_to_end(path)
        return path, self._held[path]


def _mended(size: int, path: Path) -> bytes:
    """Return what ends a torn last line, if there is one: an answer must begin a line of its own."""
    if not size:
        return b""
    with path.open("rb") as file:
        file.seek(-1, 2)
        return b"" if file.read(1) == b"\n" else b"\n"


def _lines(path: Path) -> Iterator[Answer]:
    """Read the answers of a file, passing over what is none."""
    if not path.is_file():
        return
    with mapped_errors(f"reading {path}"), path.open("rb") as file:
        for line in file:
            try:
                yield msgspec.json.decode(line, type=Answer)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
