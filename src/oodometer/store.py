"""The format of a run on disk, and the only code that writes or reads it.

A run is a folder::

    RUN/
      manifest.json                        what was done: Manifest below, as JSON
      predictions/<benchmark>/<n>.parquet  one block of images, all its conditions; <n> = its place in the seeded order
      steps/<benchmark>.json               of a run by a design: through how many conditions which images went
      examples/<benchmark>.parquet         a few of the pictures that the model saw, for the report
      answers/*.jsonl                      of a model behind an endpoint: what it said, so that nothing is paid twice
      report.html, results.json            derived from the above; rebuilt by ``oodometer report RUN``

Columns of a predictions file, one row for each image, condition and label space:

===========  ============  ===========================================================================================
image        string        path relative to the root of the data set, with ``/``
label        int32         position of the true class among the logits' columns; -1 of images without labels
corruption   string        ``clean`` or the name of a corruption
severity     int8          0 for clean, else 1..5; the number of the frame where the corruption is ``frame``
label_space  string        where the prediction was made, such as ``imagenet-1k`` or ``imagenet-r`` (masked)
prediction   int32         the best class, a position among the logits' columns; -1 for an answer that names none
top5         list<int32>   the best five classes, best first; of a model that names classes, that one
confidence   float32       softmax probability of the best class, 0..1; NaN, like the next, of named classes
nll          float32       negative log-likelihood of the label, in nats; NaN without labels
brier        float32       squared distance of the probabilities from the label's, 0..2 (from format 2 on); likewise
===========  ============  ===========================================================================================

The file's metadata name the format (``oodometer.format``), the plan of the run by its SHA-256 (``oodometer.plan``),
so that predictions of another run are never taken for its own, and the images of the block that could not be read
(``oodometer.skipped``, JSON). Pages carry checksums, which are verified. A file is written beside its place, flushed
to the disk and renamed, so it is there whole or not at all: a killed run loses at most the block it was in, and the
union of the files of two partial runs of one plan that have no image in common is a run.

Format history: 1 - first; 2 - the Brier score. Runs of format 1 are read, and continued, with that column as NaN.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from oodometer import arguments
from oodometer.continuing import differences
from oodometer.errors import MetricError, StoreError
from oodometer.outfolder import LOCK, TEMPORARY, mapped_errors, write_atomically
from oodometer.scoring import Scores
from oodometer.sharding import Cut
from oodometer.types import UNLABELLED, UNMAPPED, Condition, Protocol

__all__ = [
    "ANSWERS",
    "FORMAT",
    "SEQUENCES",
    "BenchmarkRecord",
    "Block",
    "Design",
    "Example",
    "Manifest",
    "ModelRecord",
    "Part",
    "RunStore",
    "Skipped",
    "Step",
    "Table",
    "plan_differences",
]

FORMAT = 2

ANSWERS = "answers"
"""The folder in which a model that is asked in words may keep what it said."""

SEQUENCES = "imagenet-p/"
"""Begins the name of a benchmark whose images are videos; the folder of the perturbation follows."""

_UNSEEN = -2
"""Stands for the best class where an image did not go through a condition."""

READABLE = (1, 2)
"""The formats that can be read."""

_ENCODED = {str(version).encode(): version for version in READABLE}


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Which model was evaluated, and how its inputs were normalised (``None``: the model takes uint8 as it is).

    ``resized`` is the size and the interpolation to which pictures of another size were resized after their corruption,
    such as ``299x299 bicubic``; ``settings`` is what else changes its answers, as names and values for people.
    """

    name: str
    fingerprint: str
    normalization: dict[str, Any] | None
    resized: str | None = None
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Design:
    """How images and conditions are chosen where not all images go through all conditions.

    ``half_width`` is half the width that the 95 % interval of the mCE may have in the end, as a fraction; ``None`` if
    that does not matter. ``paired`` is the SHA-256 of the plan of another run whose images and conditions these are.
    """

    half_width: float | None
    paired: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """The images from ``start`` to before ``stop`` in the seeded order go through ``each`` conditions.

    ``decoding`` is what decoding an image cost when this was chosen, in passes through corruption and model; ``None``
    where nothing had been measured.
    """

    start: int
    stop: int
    each: int
    decoding: float | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkRecord:
    """One data set under one protocol: what makes two partial runs of a benchmark the same plan.

    ``digest`` is of the ids, labels and sizes of all images, wherever the folder lies; ``images`` is how many of them
    the plan takes, the first of the seeded order; ``unavailable`` maps corruptions that were asked for and could not be
    run to the reason. ``classes`` and ``class_names`` are the label space's identifiers and words for people. Without a
    ``design`` all images go through all conditions. If it is not ``labelled``, no image has a label.
    """

    name: str
    dataset: str
    digest: str
    images: int
    classes: tuple[str, ...]
    class_names: tuple[str, ...]
    label_spaces: tuple[str, ...]
    protocol: Protocol
    unavailable: dict[str, str] = field(default_factory=dict)
    design: Design | None = None
    labelled: bool = True


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was done. ``model`` and ``benchmarks`` are the plan; the rest tells how to read and repeat it.

    ``baseline`` is what CE and mCE are divided by unless the reader asks for another: the name of a published baseline,
    the content of a baseline file, or ``None``. ``environment`` maps package names to versions. ``batch_size`` is how
    many images the model was given at once. ``shard`` says which part of the images are here, where several processes
    share them; it is a part of the plan, so that shards are never taken for one another, until they are merged.
    """

    format: int
    model: ModelRecord
    benchmarks: tuple[BenchmarkRecord, ...]
    baseline: str | dict[str, Any] | None
    created: str
    command: str
    environment: dict[str, str]
    batch_size: int | None = None
    shard: Cut | None = None

    def benchmark(self, name: str) -> BenchmarkRecord | None:
        """Return the record of one benchmark, or ``None`` if the run has none of that name."""
        return next((b for b in self.benchmarks if b.name == name), None)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An image that could not be read and is left out of every condition alike."""

    image: str
    reason: str


@dataclass(frozen=True, slots=True)
class Block:
    """The predictions of a few images under all conditions of a benchmark.

    ``scores`` has one entry for each condition and label space; ``rows``, where given, picks the images of the block
    that the entry is about (all of them otherwise).
    """

    images: tuple[str, ...]
    labels: NDArray[np.int32]
    scores: tuple[tuple[Condition, str, Scores, NDArray[np.intp] | None], ...]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One file of predictions: its name, its rows as an Arrow table, and the images that could not be read."""

    name: str
    rows: Any
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One picture that the model saw: a JPEG for the report, not for measuring."""

    image: str
    label: int
    condition: Condition
    prediction: int
    confidence: float
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """The predictions of one benchmark in one label space: N images x C conditions.

    ``labels`` is int32 (N,), ``top`` int32 (N, C, 5 or fewer), ``confidence``, ``nll`` and ``brier`` float32 (N, C);
    ``brier`` is NaN where a run of format 1 did not keep it. The images are sorted by id, whatever the order of
    evaluation was. In a run by a design an image went through some conditions only; elsewhere ``top`` is -2 and the
    floats are NaN. Of a model that names classes ``top`` is (N, C, 1), -1 where it named none, and the floats are NaN.
    """

    images: tuple[str, ...]
    labels: NDArray[np.int32]
    conditions: tuple[Condition, ...]
    top: NDArray[np.int32]
    confidence: NDArray[np.float32]
    nll: NDArray[np.float32]
    brier: NDArray[np.float32]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which images went through which conditions: bool, N x C."""
        return np.asarray(self.top[:, :, 0] != _UNSEEN)

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether the best class is the label: bool, N x C.

        Raises
        ------
        MetricError
            If an image did not go through all conditions; see ``misses`` and ``under``. If there are no labels.
        """
        self.check_labelled()
        if not self.seen.all():
            raise MetricError(
                "In this run an image went through some of the conditions only, and this number needs all of them. "
                "Evaluate without --precision to have it."
            )
        return np.asarray(self.top[:, :, 0] == self.labels[:, None])

    @property
    def misses(self) -> NDArray[np.bool_]:
        """Whether the best class is not the label: bool, N x C, masked where the image did not go through.

        Raises
        ------
        MetricError
            If there are no labels.
        """
        self.check_labelled()
        misses, seen = self.top[:, :, 0] != self.labels[:, None], self.seen
        return np.asarray(misses) if seen.all() else np.ma.array(misses, mask=~seen)

    def check_labelled(self) -> None:
        """Refuse to say anything of errors where there are no labels; raises ``MetricError``."""
        if (self.labels == UNLABELLED).any():
            raise MetricError(
                "The images of this run have no labels, so nothing is known of errors; what is known is how often the "
                "prediction changes. Evaluate with labels to have errors."
            )

    def taking(self, rows: NDArray[np.intp]) -> Table:
        """Return the part of some images, by their positions."""
        return replace(
            self,
            images=tuple(self.images[k] for k in rows),
            labels=self.labels[rows],
            top=self.top[rows],
            confidence=self.confidence[rows],
            nll=self.nll[rows],
            brier=self.brier[rows],
        )

    def under(self, condition: Condition) -> Table:
        """Return the part of the images that went through one condition, and that condition alone."""
        column = self.conditions.index(condition)
        rows = np.flatnonzero(self.seen[:, column])
        at = np.ix_(rows, np.array([column]))
        return Table(
            images=tuple(self.images[i] for i in rows),
            labels=self.labels[rows],
            conditions=(condition,),
            top=self.top[at],
            confidence=self.confidence[at],
            nll=self.nll[at],
            brier=self.brier[at],
        )


class RunStore:
    """A run folder: created or opened by path, written block by block, read as tables."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Absolute, since a model's own code may change the working directory in the middle of a run.
        self.path = arguments.path("The run's folder", path).absolute()

    @property
    def manifest_path(self) -> Path:
        """Where the manifest is or will be."""
        return self.path / "manifest.json"

    def exists(self) -> bool:
        """Whether a run was begun here."""
        return self.manifest_path.is_file()

    def check_can_begin(self) -> None:
        """Refuse a folder that holds something else, so that nothing of it is overwritten or taken for predictions.

        Raises
        ------
        StoreError
            If there is something in the folder, and no run.
        """
        names = [p.name for p in self.path.iterdir()] if self.path.is_dir() else []
        # Answers are paid for before there is a result, and those of another model or question do no harm.
        others = [name for name in names if name not in (LOCK, ANSWERS) and not name.endswith(TEMPORARY)]
        if others and not self.exists():
            raise StoreError(
                f"{self.path} is not empty and holds no run ({', '.join(sorted(others)[:3])} ...). Choose a new folder."
            )

    def remove_leftovers(self) -> None:
        """Delete what a killed process had not finished writing."""
        with mapped_errors(f"clearing {self.path}"):
            for path in self.path.rglob(f".*{TEMPORARY}"):
                path.unlink(missing_ok=True)

    def read_manifest(self) -> Manifest:
        """Read the manifest.

        Raises
        ------
        StoreError
            If there is none, or if it is damaged or of a format that this version does not know.
        """
        try:
            raw = self.manifest_path.read_bytes()
            version = msgspec.json.decode(raw).get("format")
        except FileNotFoundError as error:
            raise StoreError(f"{self.path} is not a run: it has no manifest.json.") from error
        except OSError as error:
            raise StoreError(f"{self.manifest_path} cannot be read: {error.strerror or error}.") from error
        except (msgspec.DecodeError, AttributeError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.manifest_path} is damaged: {error}.") from error
        if version not in READABLE:
            raise StoreError(
                f"{self.manifest_path} has format {version!r}; this version of Oodometer reads formats up to {FORMAT}. "
                "Read it with the version named in its environment, or upgrade."
            )
        try:
            manifest = msgspec.json.decode(raw, type=Manifest)
        except msgspec.ValidationError as error:
            raise StoreError(f"{self.manifest_path} does not describe a run: {error}.") from error
        fault = _fault_of(manifest)
        if fault:
            raise StoreError(f"{self.manifest_path} does not describe a run: {fault}.")
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest atomically; also makes the folder."""
        encoded = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        write_atomically(self.manifest_path, encoded)

    def check_same_plan(self, planned: Manifest) -> None:
        """Refuse to continue a run that was planned otherwise.

        Raises
        ------
        StoreError
            If the folder holds a run of another model, data set or protocol; the message says which differs.
        """
        found = plan_differences(self.read_manifest(), planned)
        if found:
            raise StoreError(f"{self.path} holds another run. {found} Choose another folder, or delete this one.")

    def check_same_environment(self, planned: Manifest) -> None:
        """Refuse to add predictions that were made with other packages, since pixels and logits may differ.

        Raises
        ------
        StoreError
            If a version differs; the message says which.
        """
        found = differences(self.read_manifest().environment, planned.environment)
        if found:
            raise StoreError(
                f"{self.path} was begun with other versions, which may give other pixels. {found} Continue with "
                "those versions, or begin again in another output folder."
            )

    def write_block(self, benchmark: str, place: int, block: Block) -> None:
        """Write one block of predictions atomically; ``place`` is where it begins in the seeded order."""
        self.write_part(benchmark, Part(f"{place:08d}", _rows(block), block.skipped))

    def write_part(self, benchmark: str, part: Part) -> None:
        """Write one file of predictions atomically, as this run's own."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        skipped = json.dumps([{"image": s.image, "reason": s.reason} for s in part.skipped])
        # Cast, since what was read calls the members of a list otherwise than what was made, and equal runs are to be
        # equal files.
        table = part.rows.cast(_schema()).replace_schema_metadata(
            {"oodometer.format": str(FORMAT), "oodometer.plan": self.plan_digest(), "oodometer.skipped": skipped}
        )
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        write_atomically(self._folder(benchmark) / f"{part.name}.parquet", sink.getvalue().to_pybytes())

    def parts(self, benchmark: str) -> Iterator[Part]:
        """Read the files of predictions one after the other."""
        for path, file in self._files(benchmark):
            yield Part(path.stem, _completed(file), tuple(_skipped(file)))

    def skipped(self, benchmark: str) -> list[Skipped]:
        """Return the images that could not be read, sorted by id."""
        found = [s for _, file in self._files(benchmark, columns=["image"]) for s in _skipped(file)]
        return sorted(found, key=lambda s: s.image)

    def done(self, benchmark: str) -> set[str]:
        """Return the ids of the images that need no more work: predicted under all their conditions, or skipped."""
        images: set[str] = set()
        for _, file in self._files(benchmark, columns=["image"]):
            images.update(file["image"].unique().to_pylist(), (s.image for s in _skipped(file)))
        return images

    def table(self, benchmark: str, label_space: str) -> Table:
        """Read all predictions of one benchmark in one label space.

        Raises
        ------
        StoreError
            If a file is damaged or of another run, or if an image has been predicted twice, or lacks a condition in a
            run without a design.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = [
            _completed(file.filter(pc.equal(file["label_space"], label_space)).replace_schema_metadata(None))
            for _, file in self._files(benchmark)
        ]
        rows = pa.concat_tables(parts) if parts else _schema().empty_table()
        record = self.read_manifest().benchmark(benchmark) if parts else None
        _check_whole(rows, self._folder(benchmark), None if record is None else len(record.classes))
        return _dense(rows, self._folder(benchmark), gaps=record is not None and record.design is not None)

    def write_steps(self, benchmark: str, steps: Sequence[Step]) -> None:
        """Write the steps that a run by a design has taken or begun, atomically."""
        write_atomically(self._steps(benchmark), msgspec.json.format(msgspec.json.encode(steps), indent=1))

    def steps(self, benchmark: str) -> tuple[Step, ...]:
        """Read the steps that a run by a design has taken or begun; none if none were written.

        Raises
        ------
        StoreError
            If the file is damaged.
        """
        path = self._steps(benchmark)
        if not path.is_file():
            return ()
        with mapped_errors(f"reading {path}"):
            content = path.read_bytes()
        try:
            return msgspec.json.decode(content, type=tuple[Step, ...])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StoreError(f"{path} is damaged: {error}.") from error

    def _steps(self, benchmark: str) -> Path:
        return self.path / "steps" / f"{benchmark}.json"

    def write_examples(self, benchmark: str, examples: Sequence[Example]) -> None:
        """Write the pictures of one benchmark for the report atomically."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [
            {
                "image": e.image,
                "label": e.label,
                "corruption": e.condition.corruption,
                "severity": e.condition.severity,
                "prediction": e.prediction,
                "confidence": e.confidence,
                "jpeg": e.jpeg,
            }
            for e in examples
        ]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        write_atomically(self._examples(benchmark), sink.getvalue().to_pybytes())

    def examples(self, benchmark: str) -> list[Example]:
        """Read the pictures of one benchmark for the report; none if none were kept."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._examples(benchmark)
        if not path.is_file():
            return []
        with mapped_errors(f"reading {path}"):
            return [
                Example(
                    image=row["image"],
                    label=row["label"],
                    condition=Condition(row["corruption"], row["severity"]),
                    prediction=row["prediction"],
                    confidence=row["confidence"],
                    jpeg=row["jpeg"],
                )
                for row in pq.read_table(pa.BufferReader(path.read_bytes()), use_threads=False).to_pylist()
            ]

    def _examples(self, benchmark: str) -> Path:
        return self.path / "examples" / f"{benchmark}.parquet"

    def _folder(self, benchmark: str) -> Path:
        return self.path / "predictions" / benchmark

    def _files(self, benchmark: str, columns: list[str] | None = None) -> Iterator[tuple[Path, Any]]:
        """Read the predictions files one after the other, as Arrow tables that are known to be this run's."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        paths = sorted(p for p in self._folder(benchmark).glob("*.parquet") if not p.name.startswith("."))
        plan = self.plan_digest().encode() if paths else b""
        for path in paths:
            # Opened here, since the Parquet reader takes a path such as ``~/x`` or ``s3:x`` for something else.
            # From memory and without threads: one of Arrow's that is at work while the interpreter ends, aborts.
            with mapped_errors(f"reading {path}"):
                file = pq.ParquetFile(pa.BufferReader(path.read_bytes()), page_checksum_verification=True)
                metadata = file.schema_arrow.metadata or {}
                version = metadata.get(b"oodometer.format")
                if version not in _ENCODED or metadata.get(b"oodometer.plan") != plan:
                    raise StoreError(
                        f"{path} holds predictions of another run, or of another version. Delete that file to have its "
                        "images evaluated again."
                    )
                if not file.schema_arrow.equals(_schema(_ENCODED[version])):
                    raise StoreError(f"{path} lacks columns. Delete it to have its images evaluated again.")
                table = file.read(columns=columns, use_threads=False)
            yield path, table

    def plan_digest(self) -> str:
        """Return the SHA-256 of the plan, by which predictions know their run."""
        return hashlib.sha256(msgspec.json.encode(_plan(self.read_manifest()))).hexdigest()


def _fault_of(manifest: Manifest) -> str:
    """Say what in a manifest of the right form cannot be; empty if nothing."""
    names = [record.name for record in manifest.benchmarks]
    if len(set(names)) < len(names):
        return "it has a benchmark twice"
    for record in manifest.benchmarks:
        # It becomes a part of paths, and whoever passes runs on is not to choose the folders of who merges them.
        if not {"", ".", ".."}.isdisjoint(record.name.replace("\\", "/").split("/")) or "\0" in record.name:
            return f"{record.name!r} cannot be the name of a benchmark"
        if not record.label_spaces:
            return f"the benchmark {record.name} has no label space"
        if len(record.classes) != len(record.class_names):
            return f"the benchmark {record.name} has {len(record.classes)} classes with {len(record.class_names)} names"
    return ""


def _skipped(file: Any) -> list[Skipped]:  # noqa: ANN401 - pyarrow publishes no types
    """Read which images of a block could not be read."""
    return [Skipped(s["image"], s["reason"]) for s in json.loads(file.schema.metadata[b"oodometer.skipped"])]


def _completed(file: Any) -> Any:  # noqa: ANN401 - pyarrow publishes no types
    """Add the column that format 1 lacks."""
    import pyarrow as pa

    if "brier" in file.column_names:
        return file
    return file.append_column("brier", pa.array(np.full(len(file), np.nan, dtype=np.float32)))


def _schema(version: int = FORMAT) -> Any:  # noqa: ANN401 - pyarrow publishes no types
    import pyarrow as pa

    return pa.schema(
        [
            ("image", pa.string()),
            ("label", pa.int32()),
            ("corruption", pa.string()),
            ("severity", pa.int8()),
            ("label_space", pa.string()),
            ("prediction", pa.int32()),
            ("top5", pa.list_(pa.int32())),
            ("confidence", pa.float32()),
            ("nll", pa.float32()),
            *([("brier", pa.float32())] if version > 1 else []),
        ]
    )


def _rows(block: Block) -> Any:  # noqa: ANN401 - pyarrow publishes no types
    """Lay out a block as the rows of the file, condition by condition; by whole columns, for one process keeps all."""
    import pyarrow as pa

    if not block.scores:
        return _schema().empty_table()
    conditions, spaces, scores, chosen = zip(*block.scores, strict=True)
    taken = [np.arange(len(block.images)) if rows is None else rows for rows in chosen]
    counts = [len(rows) for rows in taken]
    at_image, at_entry = np.concatenate(taken), pa.array(np.repeat(np.arange(len(taken)), counts))
    ends = np.cumsum(np.repeat([found.top.shape[1] for found in scores], counts))
    columns = [
        pa.array(block.images, pa.string()).take(pa.array(at_image)),
        pa.array(block.labels[at_image], pa.int32()),
        pa.array([condition.corruption for condition in conditions], pa.string()).take(at_entry),
        pa.array([condition.severity for condition in conditions], pa.int8()).take(at_entry),
        pa.array(spaces, pa.string()).take(at_entry),
        pa.array(np.concatenate([found.top[:, 0] for found in scores]), pa.int32()),
        pa.ListArray.from_arrays(
            pa.array(np.append(0, ends), pa.int32()),
            pa.array(np.concatenate([found.top.ravel() for found in scores]), pa.int32()),
        ),
        pa.array(np.concatenate([found.confidence for found in scores]), pa.float32()),
        pa.array(np.concatenate([found.nll for found in scores]), pa.float32()),
        pa.array(np.concatenate([found.brier for found in scores]), pa.float32()),
    ]
    return pa.Table.from_arrays(columns, schema=_schema())


def _check_whole(rows: Any, where: Path, classes: int | None) -> None:  # noqa: ANN401 - pyarrow publishes no types
    """Refuse rows that no evaluation writes: without a value, or of classes that there are not."""
    import pyarrow.compute as pc

    best = pc.list_flatten(rows["top5"])
    positions = [*(pc.min_max(values).as_py() for values in (rows["label"], best) if len(values))]
    if (
        any(column.null_count for column in (*rows.columns, best))
        or pc.count_distinct(pc.list_value_length(rows["top5"])).as_py() > 1
        or len(best) < len(rows)
        or any(found["min"] < UNMAPPED or (classes is not None and found["max"] >= classes) for found in positions)
    ):
        raise StoreError(f"{where} holds rows that are no predictions of this run: a file was changed.")


def _dense(rows: Any, where: Path, *, gaps: bool) -> Table:  # noqa: ANN401 - pyarrow publishes no types
    """Arrange rows by image and condition, refusing repetitions, and gaps where there may be none."""
    names, at_image = _codes(rows["image"])
    corruptions, at_corruption = _codes(rows["corruption"])
    keys = at_corruption * 256 + rows["severity"].to_numpy()
    found, first, at_found = np.unique(keys, return_index=True, return_inverse=True)
    in_order = np.argsort(first)
    at_condition = np.argsort(in_order)[at_found]
    conditions = tuple(Condition(corruptions[key // 256], int(key % 256)) for key in found[in_order])
    shape = (len(names), len(conditions))
    count = np.zeros(shape, dtype=np.intp)
    np.add.at(count, (at_image, at_condition), 1)
    wrong = count > 1 if gaps else count != 1
    if wrong.any():
        image, condition = np.argwhere(wrong)[0]
        raise StoreError(
            f"{where}: image {names[image]!r} has {count[image, condition]} predictions under "
            f"{conditions[condition]} where there must be one. The folder mixes runs, or a file was changed."
        )
    width = len(rows["top5"][0]) if len(rows) else 1
    top = np.full((*shape, width), _UNSEEN, dtype=np.int32)
    labels = np.zeros(len(names), dtype=np.int32)
    confidence, nll, brier = (np.full(shape, np.nan, dtype=np.float32) for _ in range(3))
    labels[at_image] = rows["label"].to_numpy()
    top[at_image, at_condition] = rows["top5"].combine_chunks().flatten().to_numpy().reshape(-1, width)
    confidence[at_image, at_condition] = rows["confidence"].to_numpy()
    nll[at_image, at_condition] = rows["nll"].to_numpy()
    brier[at_image, at_condition] = rows["brier"].to_numpy()
    return Table(tuple(names), labels, conditions, top, confidence, nll, brier)


def _codes(column: Any) -> tuple[list[str], NDArray[np.intp]]:  # noqa: ANN401 - pyarrow publishes no types
    """Return the sorted distinct strings of a column and, for each row, the position of its string among them."""
    encoded = column.combine_chunks().dictionary_encode()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.intp)
    rank[order] = np.arange(len(values))
    return [values[i] for i in order], rank[encoded.indices.to_numpy()]


def plan_differences(begun: Manifest, planned: Manifest) -> str:
    """Say in which entries a plan differs from that of a run, and how; empty if in none."""
    there, now = _plan(begun), _plan(planned)
    if set(there["benchmarks"]) != set(now["benchmarks"]):
        of_there, of_now = (", ".join(plan["benchmarks"]) for plan in (there, now))
        return f"The sets differ: there {of_there}, now {of_now}."
    for record in (*there["benchmarks"].values(), *now["benchmarks"].values()):
        record["label_spaces"][1:] = sorted(record["label_spaces"][1:])  # which stand in the order of the sets
    found = differences(there, now)
    changed = " (images were added, removed, renamed, relabelled or replaced)" if ".digest:" in found else ""
    return f"{found}{changed}"


def _plan(manifest: Manifest) -> dict[str, Any]:
    """Return what two partial runs must share, as plain JSON values."""
    # By way of JSON, so that a plan that was just made equals the one that was read: it has no tuples, for one.
    model, records = msgspec.json.decode(msgspec.json.encode((manifest.model, manifest.benchmarks)))
    for later in ("resized", "settings"):  # which runs of earlier versions do not name
        if not model[later]:
            del model[later]
    for record in records:
        del record["dataset"]  # what the folder is called; its content has a digest
        if not record["design"]:  # which runs of earlier versions do not name
            del record["design"]
        if not record["protocol"]["stored"]:  # likewise
            del record["protocol"]["stored"]
        if not record["protocol"]["answers"]:  # likewise
            del record["protocol"]["answers"]
        if record["labelled"]:  # likewise
            del record["labelled"]
    shard = {} if manifest.shard is None else {"shard": asdict(manifest.shard)}
    return {"model": model, "benchmarks": {record.pop("name"): record for record in records}, **shard}
