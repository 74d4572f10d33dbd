"""WebDataset: tar files in which ``<key>.jpg`` is a picture and ``<key>.cls`` the index of its class."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from oodometer.building.cells import Item
from oodometer.building.encodings import Encoding
from oodometer.building.shards import Shards
from oodometer.types import UNLABELLED

__all__ = ["WebDataset"]

_ENDINGS = {".JPEG": ".jpg"}
"""By which readers know how to decode."""


class WebDataset(Shards):
    """Tar shards; a key is ``<class>/<name>``, without dots in the name, which would end it."""

    ending = ".tar"

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return the key."""
        folder, slash, name = stem.rpartition("/")
        return folder + slash + name.replace(".", "_")

    def pack(self, path: Path, pictures: Iterable[tuple[Item, bytes]]) -> None:
        """Write one shard; the headers hold no time and no owner, so that equal shards are equal files."""
        ending = _ENDINGS.get(self.place.encoding.extension, self.place.encoding.extension)
        with tarfile.open(path, "w") as shard:
            for item, data in pictures:
                _add(shard, item.name + ending, data)
                if item.sample.label != UNLABELLED:
                    _add(shard, item.name + ".cls", str(item.sample.label).encode())


def _add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))
