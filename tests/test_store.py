"""A run on disk: written whole or not at all, read as it was written, never mixed."""

import errno
import itertools
import os
from dataclasses import replace

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.continuing import differences
from oodometer.errors import MetricError, StoreError
from oodometer.outfolder import write_atomically
from oodometer.preprocess import PREPROCESS
from oodometer.scoring import score
from oodometer.store import (
    FORMAT,
    BenchmarkRecord,
    Block,
    Design,
    Manifest,
    ModelRecord,
    RunStore,
    Skipped,
    Step,
    _plan,
    _schema,
)
from oodometer.store import _rows as rows_of
from oodometer.types import CLEAN, Condition, LabelSpace, Protocol
from synthetic_runs import write_run

SPACE = LabelSpace("custom-7", tuple("abcdefg"), tuple("abcdefg"))
CONDITIONS = (CLEAN, Condition("fog", 1), Condition("fog", 2), Condition("contrast", 1))


def _manifest(**changes):
    protocol = Protocol(PREPROCESS["none"], "memory", "imagenet224", "fast", ("fog",), 0)
    benchmark = {
        "name": "imagenet-c",
        "dataset": "val",
        "digest": "d1",
        "images": 8,
        "classes": SPACE.classes,
        "class_names": SPACE.names,
        "label_spaces": (SPACE.name,),
        "protocol": protocol,
        "design": None,
    }
    benchmark.update({key: value for key, value in changes.items() if key in benchmark})
    return Manifest(
        format=changes.get("format", FORMAT),
        model=changes.get("model", ModelRecord("m", "f1", None)),
        benchmarks=(BenchmarkRecord(**benchmark),),
        baseline=None,
        created="2026-01-01T00:00:00+00:00",
        command="oodometer",
        environment={},
    )


def _store(path):
    """Begin a run: a predictions file belongs to the manifest beside it."""
    store = RunStore(path)
    store.write_manifest(_manifest())
    return store


def _block(images, seed=0, skipped=()):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 7, len(images)).astype(np.int32)
    logits = {condition: rng.normal(size=(len(images), 7)) for condition in CONDITIONS}
    scores = tuple((c, SPACE.name, score(logits[c], labels, SPACE), None) for c in CONDITIONS)
    return Block(tuple(images), labels, scores, tuple(skipped))


@given(st.integers(0, 5), st.lists(st.booleans(), max_size=4), st.integers(0, 2**32 - 1))
def test_the_rows_are_those_of_a_plain_loop(images, whole, seed):
    """Of entries about all images, or some; in two label spaces, of which one has fewer than five classes."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    few = LabelSpace("few", ("a", "b", "c"), ("a", "b", "c"))
    names = tuple(f"{number}.png" for number in range(images))
    labels = rng.integers(0, 3, images).astype(np.int32)
    entries, expected = [], []
    for condition, all_of_them in zip(CONDITIONS, whole, strict=False):
        space = SPACE if rng.integers(2) else few
        rows = None if all_of_them else np.flatnonzero(rng.integers(0, 2, images))
        taken = np.arange(images) if rows is None else rows
        scores = score(rng.normal(size=(len(taken), space.width)), labels[taken], space)
        entries.append((condition, space.name, scores, rows))
        for place, row in enumerate(taken):
            expected.append(
                {
                    "image": names[row],
                    "label": int(labels[row]),
                    "corruption": condition.corruption,
                    "severity": condition.severity,
                    "label_space": space.name,
                    "prediction": int(scores.top[place, 0]),
                    "top5": scores.top[place].tolist(),
                    "confidence": float(scores.confidence[place]),
                    "nll": float(scores.nll[place]),
                    "brier": float(scores.brier[place]),
                }
            )
    found = rows_of(Block(names, labels, tuple(entries)))
    assert found.equals(pa.Table.from_pylist(expected, schema=_schema()))


def test_a_block_comes_back_as_it_went(tmp_path):
    store = _store(tmp_path)
    block = _block(["b/2.png", "a/1.png", "c/3.png"])
    store.write_block("imagenet-c", 0, block)
    table = store.table("imagenet-c", SPACE.name)
    assert table.images == ("a/1.png", "b/2.png", "c/3.png")
    assert table.conditions == CONDITIONS
    order = [1, 0, 2]
    np.testing.assert_array_equal(table.labels, block.labels[order])
    for i, (_, _, scores, _) in enumerate(block.scores):
        np.testing.assert_array_equal(table.top[:, i], scores.top[order])
        np.testing.assert_array_equal(table.confidence[:, i], scores.confidence[order])
        np.testing.assert_array_equal(table.nll[:, i], scores.nll[order])
        np.testing.assert_array_equal(table.brier[:, i], scores.brier[order])
        np.testing.assert_array_equal(table.hits[:, i], scores.top[order, 0] == block.labels[order])


@given(st.permutations(range(9)), st.lists(st.integers(1, 8), max_size=4))
def test_any_cut_into_blocks_gives_the_same_table(tmp_path_factory, order, cuts):
    """The union of the files is the run, in whatever pieces and order it was written."""
    names = [f"{i}.png" for i in range(9)]
    whole, pieces = (_store(tmp_path_factory.mktemp("run")) for _ in range(2))
    block = _block(names)
    whole.write_block("imagenet-c", 0, block)
    edges = sorted({0, 9, *cuts})
    for start, stop in itertools.pairwise(edges):
        rows = np.array(order[start:stop])
        pieces.write_block("imagenet-c", start, _rows(block, rows))
    one, other = (store.table("imagenet-c", SPACE.name) for store in (whole, pieces))
    assert one.images == other.images
    for field in ("labels", "top", "confidence", "nll", "brier"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def _rows(block, rows):
    def taken(scores):
        return type(scores)(scores.top[rows], scores.confidence[rows], scores.nll[rows], scores.brier[rows])

    return Block(
        tuple(block.images[i] for i in rows),
        block.labels[rows],
        tuple((c, name, taken(s), None) for c, name, s, _ in block.scores),
    )


def test_skipped_images_are_done_and_named(tmp_path):
    store = _store(tmp_path)
    store.write_block(
        "imagenet-c", 0, _block(["a.png"], skipped=[Skipped("z.png", "cut"), Skipped("b.png", "no image")])
    )
    store.write_block("imagenet-c", 3, _block([], skipped=[Skipped("y.png", "empty")]))
    assert [s.image for s in store.skipped("imagenet-c")] == ["b.png", "y.png", "z.png"]
    assert store.done("imagenet-c") == {"a.png", "b.png", "y.png", "z.png"}
    assert store.table("imagenet-c", SPACE.name).images == ("a.png",)


def test_an_image_predicted_twice_is_refused(tmp_path):
    store = _store(tmp_path)
    store.write_block("imagenet-c", 0, _block(["a.png", "b.png"]))
    store.write_block("imagenet-c", 1, _block(["b.png"]))
    with pytest.raises(StoreError, match=r"'b\.png' has 2 predictions"):
        store.table("imagenet-c", SPACE.name)


def test_an_image_that_lacks_a_condition_is_refused(tmp_path):
    store = _store(tmp_path)
    whole, part = _block(["a.png"]), _block(["b.png"])
    store.write_block("imagenet-c", 0, whole)
    store.write_block("imagenet-c", 1, Block(part.images, part.labels, part.scores[:-1]))
    with pytest.raises(StoreError, match=r"'b\.png' has 0 predictions under contrast/1"):
        store.table("imagenet-c", SPACE.name)


@pytest.mark.parametrize("other", [{"model": ModelRecord("m", "f2", None)}, {"digest": "d2"}, {"images": 9}], ids=str)
def test_predictions_of_another_run_are_never_taken_for_its_own(tmp_path, other):
    """Whatever a file is called and wherever it was copied from."""
    mine, theirs = _store(tmp_path / "mine"), RunStore(tmp_path / "theirs")
    theirs.write_manifest(_manifest(**other))
    mine.write_block("imagenet-c", 0, _block(["a.png"]))
    theirs.write_block("imagenet-c", 0, _block(["a.png"], seed=1))
    name = "predictions/imagenet-c/00000000.parquet"
    (tmp_path / "mine" / name).write_bytes((tmp_path / "theirs" / name).read_bytes())
    for read in (mine.done, mine.skipped, lambda benchmark: mine.table(benchmark, SPACE.name)):
        with pytest.raises(StoreError, match="another run"):
            read("imagenet-c")


def test_a_flipped_bit_does_not_pass(tmp_path):
    """Wherever it is: the file is refused, or (outside the data) reads the same."""
    store = _store(tmp_path)
    store.write_block("imagenet-c", 0, _block(["a.png", "b.png"]))
    before = store.table("imagenet-c", SPACE.name)
    file = tmp_path / "predictions" / "imagenet-c" / "00000000.parquet"
    raw = file.read_bytes()
    refused = 0
    for place in range(0, len(raw), 7):
        file.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        try:
            after = store.table("imagenet-c", SPACE.name)
        except StoreError:
            refused += 1
        else:
            assert (after.images, after.conditions) == (before.images, before.conditions)
            np.testing.assert_array_equal(after.top, before.top)
            np.testing.assert_array_equal(after.confidence, before.confidence)
    assert refused > 10


@pytest.mark.parametrize("name", ["~", "s3:x", "mem:x", "file:x", "a b?*", "hdfs:"])
def test_the_name_of_a_folder_has_no_grammar(tmp_path, monkeypatch, name):
    """The Parquet reader would take some of these for its own kinds of address."""
    monkeypatch.chdir(tmp_path)
    store = _store(name)
    store.write_block("imagenet-c", 0, _block(["a.png"]))
    assert store.done("imagenet-c") == {"a.png"}
    assert store.table("imagenet-c", SPACE.name).images == ("a.png",)
    assert (tmp_path / name / "manifest.json").is_file()


def test_a_change_of_the_working_directory_does_not_move_a_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = _store("run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.read_manifest() == _manifest()


def test_nothing_written_is_an_empty_table(tmp_path):
    table = RunStore(tmp_path).table("imagenet-c", SPACE.name)
    assert table.images == ()
    assert table.hits.shape == (0, 0)


def test_the_manifest_comes_back_as_it_went(tmp_path):
    store = RunStore(tmp_path / "run")
    assert not store.exists()
    store.write_manifest(_manifest())
    assert store.read_manifest() == _manifest()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": ModelRecord("m", "f2", None)}, "model.fingerprint"),
        ({"model": ModelRecord("n", "f1", None)}, "model.name"),
        ({"model": ModelRecord("m", "f1", {"mean": (0.5,) * 3})}, "model.normalization"),
        ({"model": ModelRecord("m", "f1", None, resized="299x299 bicubic")}, "model.resized"),
        ({"model": ModelRecord("m", "f1", None, settings={"Precision": "bf16 autocast"})}, "model.settings"),
        ({"digest": "d2"}, "benchmarks.imagenet-c.digest"),
        ({"images": 9}, "benchmarks.imagenet-c.images"),
        (
            {"protocol": Protocol(PREPROCESS["none"], "jpeg85", "imagenet224", "fast", ("fog",), 0)},
            "protocol.encoding",
        ),
        ({"protocol": Protocol(PREPROCESS["none"], "memory", "imagenet224", "fast", ("fog",), 1)}, "protocol.seed"),
    ],
)
def test_another_plan_is_refused_and_the_difference_named(tmp_path, change, named):
    store = _store(tmp_path)
    store.check_same_plan(_manifest())
    store.check_same_plan(_manifest(dataset="moved"))
    with pytest.raises(StoreError, match="holds another run") as refusal:
        store.check_same_plan(_manifest(**change))
    assert named in str(refusal.value)


def test_a_plan_equals_itself_after_it_was_written(tmp_path):
    """What JSON changes, tuples into lists, is no difference."""
    model = ModelRecord("m", "f", {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)})
    store = RunStore(tmp_path)
    store.write_manifest(_manifest(model=model))
    store.check_same_plan(_manifest(model=model))


def test_of_two_lists_the_members_that_differ_are_named(tmp_path):
    store = _store(tmp_path)
    protocol = Protocol(PREPROCESS["none"], "memory", "imagenet224", "fast", ("snow", "frost"), 0)
    with pytest.raises(StoreError, match=r'corruptions: there \["fog"\], now \["snow", "frost"\]'):
        store.check_same_plan(_manifest(protocol=protocol))


@pytest.mark.parametrize(
    ("there", "now", "words"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: there 1, now 2."),
        ({"a": ["x", "y"]}, {"a": ["x", "y", "z"]}, 'a: now also ["z"].'),
        ({"a": ["x", "y"]}, {"a": ["y"]}, 'a: there also ["x"].'),
        ({"a": []}, {"a": ["y"]}, 'a: there [], now ["y"].'),
        ({"a": ["x", "y"]}, {"a": ["y", "x"]}, 'a: there ["x", "y"], now ["y", "x"].'),
        ({"a": 1, "b": {"c": None}}, {"a": 1, "b": {"c": None}}, ""),
        (
            {"model": 1, "benchmarks": {name: {"seed": 0, "p": {"q": name}} for name in "abc"}},
            {"model": 2, "benchmarks": {name: {"seed": 1, "p": {"q": "other"}} for name in "abc"}},
            "model: there 1, now 2. benchmarks.a.seed: there 0, now 1 (and 2 more alike). "
            'benchmarks.a.p.q: there "a", now "other" (and 2 more alike).',
        ),
    ],
)
def test_differences_of_plans_are_told_once(there, now, words):
    assert differences(there, now) == words


def test_a_format_of_the_future_is_refused_by_its_number(tmp_path):
    store = RunStore(tmp_path)
    store.write_manifest(_manifest(format=99))
    with pytest.raises(StoreError, match="format 99"):
        store.read_manifest()


def _as_format_1(folder):
    """Rewrite a run as the first format had it: no Brier score."""
    import pyarrow.parquet as pq

    for path in folder.glob("predictions/*/*.parquet"):
        table = pq.read_table(path)
        metadata = table.schema.metadata | {b"oodometer.format": b"1"}
        pq.write_table(table.drop_columns("brier").replace_schema_metadata(metadata), path)
    manifest = msgspec.json.decode((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest | {"format": 1}))


def test_a_run_of_format_1_is_read_and_continued(tmp_path):
    store, whole = _store(tmp_path / "old"), _store(tmp_path / "new")
    for run in (store, whole):
        run.write_block("imagenet-c", 0, _block(["a.png", "b.png"], skipped=[Skipped("z.png", "cut")]))
    _as_format_1(store.path)
    for run in (store, whole):
        run.write_block("imagenet-c", 2, _block(["c.png"], seed=1))
    old, new = (run.table("imagenet-c", SPACE.name) for run in (store, whole))
    assert old.images == new.images == ("a.png", "b.png", "c.png")
    for field in ("labels", "top", "confidence", "nll"):
        np.testing.assert_array_equal(getattr(old, field), getattr(new, field))
    assert np.isnan(old.brier[:2]).all()
    np.testing.assert_array_equal(old.brier[2], new.brier[2])
    assert store.done("imagenet-c") == {"a.png", "b.png", "c.png", "z.png"}
    store.check_same_plan(_manifest())


def test_a_file_without_the_columns_of_its_format_is_refused(tmp_path):
    import pyarrow.parquet as pq

    store = _store(tmp_path)
    store.write_block("imagenet-c", 0, _block(["a.png"]))
    path = tmp_path / "predictions" / "imagenet-c" / "00000000.parquet"
    table = pq.read_table(path)
    pq.write_table(table.drop_columns("brier"), path)
    with pytest.raises(StoreError, match="lacks columns"):
        store.table("imagenet-c", SPACE.name)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"format": 1}', b"\xff\xfe"])
def test_a_damaged_manifest_is_an_error_that_names_it(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        RunStore(tmp_path).read_manifest()


def test_a_folder_without_a_manifest_is_no_run(tmp_path):
    with pytest.raises(StoreError, match="is not a run"):
        RunStore(tmp_path).read_manifest()


@pytest.mark.parametrize(
    "damage", [lambda raw: raw[: len(raw) // 2], lambda raw: b"", lambda raw: b"no parquet at all"]
)
def test_a_damaged_block_is_an_error_that_names_it(tmp_path, damage):
    store = _store(tmp_path)
    store.write_block("imagenet-c", 0, _block(["a.png"]))
    file = tmp_path / "predictions" / "imagenet-c" / "00000000.parquet"
    file.write_bytes(damage(file.read_bytes()))
    for read in (store.done, store.skipped, lambda name: store.table(name, SPACE.name)):
        with pytest.raises(StoreError, match=r"00000000\.parquet"):
            read("imagenet-c")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "file"
    write_atomically(path, b"old")
    monkeypatch.setattr(*((os, "fsync", full) if step == "fsync" else ("pathlib.Path.replace", full)))
    with pytest.raises(StoreError, match="The disk is full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_columns_are_what_the_format_says(tmp_path):
    """The table in the module's docstring is the contract with pandas, Polars and DuckDB."""
    import pyarrow.parquet as pq

    from oodometer import store as module

    store = _store(tmp_path)
    store.write_block("imagenet-c", 0, _block(["a.png"]))
    schema = pq.read_schema(tmp_path / "predictions" / "imagenet-c" / "00000000.parquet")
    for field in schema:
        kind = "list<int32>" if field.name == "top5" else str(field.type)
        assert f"\n{field.name:<13}{kind}" in module.__doc__
    assert msgspec.json.decode(schema.metadata[b"oodometer.skipped"]) == []


def test_a_run_by_a_design_has_gaps(tmp_path):
    """What is there comes back; what is not counts nowhere."""
    store = RunStore(tmp_path)
    store.write_manifest(_manifest(design=Design(0.01)))
    block = _block(["b.png", "a.png", "c.png"])
    rows = {CONDITIONS[0]: [0, 2], CONDITIONS[1]: [1], CONDITIONS[2]: [0, 1, 2], CONDITIONS[3]: [2]}
    entries = tuple(
        (
            c,
            name,
            _rows(Block(block.images, block.labels, ((c, name, s, None),)), rows[c]).scores[0][2],
            np.array(rows[c]),
        )
        for c, name, s, _ in block.scores
    )
    store.write_block("imagenet-c", 0, Block(block.images, block.labels, entries))
    table = store.table("imagenet-c", SPACE.name)
    assert table.images == ("a.png", "b.png", "c.png")
    assert table.seen.tolist() == [[False, True, True, False], [True, False, True, False], [True, False, True, True]]
    with pytest.raises(MetricError, match="some of the conditions only"):
        _ = table.hits
    misses = table.misses
    for condition, _, scores, at in entries:
        part = table.under(condition)
        order = np.argsort([block.images[i] for i in at])
        assert part.images == tuple(sorted(block.images[i] for i in at))
        np.testing.assert_array_equal(part.top[:, 0], scores.top[order])
        np.testing.assert_array_equal(part.nll[:, 0], scores.nll[order])
        column = misses[:, table.conditions.index(condition)]
        np.testing.assert_array_equal(column.compressed(), ~part.hits[:, 0])
    assert np.isnan(table.confidence[~table.seen]).all()


def test_gaps_are_refused_without_a_design(tmp_path):
    store = _store(tmp_path)
    block = _block(["a.png", "b.png"])
    first, *others = block.scores
    some = (first[0], first[1], _rows(block, [0]).scores[0][2], np.array([0]))
    store.write_block("imagenet-c", 0, Block(block.images, block.labels, (some, *others)))
    with pytest.raises(StoreError, match=r"'b.png' has 0 predictions under clean"):
        store.table("imagenet-c", SPACE.name)


def test_only_a_design_is_part_of_the_plan(tmp_path):
    """Without one the plan is that of earlier versions, whose runs could not be read otherwise."""
    store = _store(tmp_path)
    assert "design" not in _plan(_manifest())["benchmarks"]["imagenet-c"]
    without = store.plan_digest()
    store.write_manifest(_manifest(design=Design(0.01)))
    assert store.plan_digest() != without
    with pytest.raises(StoreError, match=r"design.half_width: there 0.01, now 0.02"):
        store.check_same_plan(_manifest(design=Design(0.02)))


def test_steps_come_back_as_they_went(tmp_path):
    store = _store(tmp_path)
    assert store.steps("imagenet-c") == ()
    steps = (Step(0, 76, 4), Step(76, 300, 1, 0.21))
    store.write_steps("imagenet-c", steps)
    assert store.steps("imagenet-c") == steps
    (tmp_path / "steps" / "imagenet-c.json").write_bytes(b"[{]")
    with pytest.raises(StoreError, match="damaged"):
        store.steps("imagenet-c")


@pytest.mark.parametrize("name", ["../../elsewhere", "/elsewhere", "", "imagenet-p/..", "a\0b", "a\\..\\b"])
def test_a_benchmark_whose_name_leads_elsewhere_is_refused(tmp_path, name):
    store = write_run(tmp_path / "run")
    manifest = store.read_manifest()
    store.write_manifest(replace(manifest, benchmarks=(replace(manifest.benchmarks[0], name=name),)))
    with pytest.raises(StoreError, match="cannot be the name of a benchmark"):
        store.read_manifest()


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"label_spaces": ()}, "no label space"),
        ({"class_names": ("one",)}, "1000 classes with 1 names"),
        (None, "a benchmark twice"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(tmp_path, changed, fault):
    store = write_run(tmp_path / "run")
    manifest = store.read_manifest()
    record = manifest.benchmarks[0]
    store.write_manifest(
        replace(manifest, benchmarks=(record, record) if changed is None else (replace(record, **changed),))
    )
    with pytest.raises(StoreError, match=fault):
        store.read_manifest()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("label", 1000),
        ("label", -7),
        ("label", None),
        ("image", None),
        ("confidence", None),
        ("top5", [1000, 1, 2, 3, 4]),
        ("top5", [1, 2]),
        ("top5", []),
        ("top5", [1, 2, 3, 4, None]),
        ("top5", None),
    ],
)
def test_rows_that_no_evaluation_writes_are_refused(tmp_path, column, value):
    store = write_run(tmp_path / "run", images=4)
    (part,) = store.parts("imagenet-c")
    values = part.rows[column].to_pylist()
    values[1] = value
    at = part.rows.schema.get_field_index(column)
    field = part.rows.schema.field(column)
    store.write_part("imagenet-c", replace(part, rows=part.rows.set_column(at, field, pa.array(values, field.type))))
    with pytest.raises(StoreError, match="no predictions of this run"):
        store.table("imagenet-c", "imagenet-1k")
