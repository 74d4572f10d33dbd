"""Parquet as Hugging Face ``datasets`` reads it: a column of pictures and one of classes, named in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from oodometer.building.cells import Item
from oodometer.building.shards import Shards

__all__ = ["Parquet"]

_TOGETHER = 100
"""The rows of a group, which readers take at once."""


class Parquet(Shards):
    """Parquet shards with ``image`` (struct of ``bytes`` and ``path``) and ``label`` (-1: none)."""

    ending = ".parquet"

    def pack(self, path: Path, pictures: Iterable[tuple[Item, bytes]]) -> None:
        """Write one shard; pictures are compressed already."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = self._schema()
        with path.open("wb") as file, pq.ParquetWriter(file, schema, compression="none") as writer:
            rest = iter(pictures)
            while group := list(islice(rest, _TOGETHER)):
                rows = [
                    {"image": {"bytes": data, "path": item.name}, "label": item.sample.label} for item, data in group
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema))

    def _schema(self) -> Any:  # noqa: ANN401 - pyarrow publishes no types
        import pyarrow as pa

        fields = [("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))]
        features: dict[str, object] = {"image": {"_type": "Image"}}
        if self.place.source.classes:
            fields.append(("label", pa.int64()))
            features["label"] = {"names": self.place.source.classes, "_type": "ClassLabel"}
        return pa.schema(fields, {"huggingface": json.dumps({"info": {"features": features}})})
