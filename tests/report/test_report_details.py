"""What the report says beyond errors, against plain counts of the stored rows."""

import json
import math

import msgspec
import numpy as np
import pytest

from oodometer import Run, metrics
from oodometer.errors import MetricError
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, SEVERITIES
from oodometer.report import results, summarize, write_report
from oodometer.types import CLEAN, Condition


def rows_of(store):
    """Read the stored rows as no code of the package does."""
    import pyarrow.parquet as pq

    (path,) = (store.path / "predictions" / "imagenet-c").glob("*.parquet")
    return [row for row in pq.read_table(path).to_pylist() if row["label_space"] != "imagenet-r"]


def mean(rows, value, **condition):
    chosen = [row for row in rows if all(row[key] == wanted for key, wanted in condition.items())]
    return math.fsum(value(row) for row in chosen) / len(chosen)


def wrong(row):
    return row["prediction"] != row["label"]


def test_losses_and_changes_are_those_of_the_rows(make_run):
    store = make_run(images=45, error=0.4)
    rows, part = rows_of(store), summarize(store).corruptions
    clean = {row["image"]: row["prediction"] for row in rows if row["corruption"] == "clean"}

    def outside_top5(row):
        return row["label"] not in row["top5"]

    def changed(row):
        return row["prediction"] != clean[row["image"]]

    assert part.losses.top5_error.value == pytest.approx(mean(rows, outside_top5, corruption="clean"))
    assert part.losses.nll.value == pytest.approx(mean(rows, lambda row: row["nll"], corruption="clean"))
    assert part.losses.brier.value == pytest.approx(mean(rows, lambda row: row["brier"], corruption="clean"))
    for row in part.rows:
        assert row.top5_error.value == pytest.approx(mean(rows, outside_top5, corruption=row.name))
        assert row.changed.value == pytest.approx(mean(rows, changed, corruption=row.name))
        for severity, change in zip(SEVERITIES, row.changes, strict=True):
            assert change.value == pytest.approx(mean(rows, changed, corruption=row.name, severity=severity))
    for at in part.by_severity:
        assert at.error.value == pytest.approx(mean(rows, wrong, severity=at.severity))
        assert at.changed.value == pytest.approx(mean(rows, changed, severity=at.severity))
        assert at.losses.top5_error.value == pytest.approx(mean(rows, outside_top5, severity=at.severity))
    corrupted = [row for row in rows if row["corruption"] != "clean"]
    assert part.changed.value == pytest.approx(mean(corrupted, changed))
    for family in part.by_family:
        of_family = [row for row in rows if row["corruption"] in FAMILIES[family.name]]
        assert family.error.value == pytest.approx(mean(of_family, wrong))


def test_errors_by_class_are_those_of_the_rows(make_run):
    names = ("tench", "goldfish", "shark")
    store = make_run(images=40, classes=("a", "b", "c"), names=names, space="three", baseline=None)
    rows, part = rows_of(store), summarize(store).corruptions
    assert [(of.identifier, of.name) for of in part.by_class] == [("a", "tench"), ("b", "goldfish"), ("c", "shark")]
    assert sum(of.n for of in part.by_class) == 40
    for k, of in enumerate(part.by_class):
        own = [row for row in rows if row["label"] == k]
        assert of.clean_error.value == pytest.approx(mean(own, wrong, corruption="clean"))
        assert of.error.value == pytest.approx(mean([r for r in own if r["corruption"] != "clean"], wrong))
        assert of.error.n == of.n


def test_the_parts_leave_out_the_extra_corruptions(make_run):
    def cells(*names):
        return (CLEAN, *(Condition(name, severity) for name in names for severity in SEVERITIES))

    fifteen = summarize(make_run(conditions=cells(*IMAGENET_C))).corruptions
    nineteen = summarize(make_run(conditions=cells(*IMAGENET_C, *EXTRA))).corruptions
    for field in ("by_severity", "by_family", "by_class", "changed"):
        assert getattr(fifteen, field) == getattr(nineteen, field), field


def test_confidence_is_that_of_the_metrics(make_run):
    store = make_run(images=250)
    part = summarize(store).corruptions
    sure = part.confidence
    rows = [row for row in rows_of(store) if row["corruption"] == "clean"]
    confidences = np.array([row["confidence"] for row in rows])
    hits = np.array([not wrong(row) for row in rows])
    for found, plain in (
        (sure.ece, metrics.expected_calibration_error(confidences, hits)),
        (sure.ece_equal_mass, metrics.expected_calibration_error(confidences, hits, binning="mass")),
        (sure.rms_calibration_error, metrics.rms_calibration_error(confidences, hits)),
        (sure.rms_calibration_error_published, metrics.rms_calibration_error_published(confidences, hits)),
        (sure.aurra, metrics.aurra(confidences, hits)),
        (sure.aurc, 1 - metrics.aurra(confidences, hits)),
    ):
        assert found.value == pytest.approx(plain)
        assert found.low < found.high
        assert found.n == sure.n == 250
    assert sum(row.n for row in part.reliability) == 250
    assert [risk.coverage for risk in sure.risk_at_coverage][-1] == 1
    assert sure.risk_at_coverage[-1].error.value == pytest.approx(1 - hits.mean())


def test_what_a_run_cannot_say_is_missing(make_run):
    few = summarize(make_run(images=99)).corruptions
    assert few.confidence is None
    assert all(at.ece is None for at in few.by_severity)
    some = summarize(make_run(images=150)).corruptions
    assert some.confidence.rms_calibration_error_published is None


def test_among_five_classes_there_is_no_top5_error(make_run):
    store = make_run(images=10, classes=tuple("abcde"), names=tuple("abcde"), space="five", baseline=None)
    part = summarize(store).corruptions
    assert part.losses.top5_error is None
    assert {row.top5_error for row in part.rows} == {at.losses.top5_error for at in part.by_severity} == {None}
    with pytest.raises(MetricError, match="Among 5 classes"):
        Run(store.path).top5_error()
    store = make_run(images=10, classes=tuple("abcdef"), names=tuple("abcdef"), space="six", baseline=None)
    assert summarize(store).corruptions.losses.top5_error is not None


def test_a_run_of_the_first_format_has_no_brier_score_and_says_why(make_run):
    import pyarrow.parquet as pq

    store = make_run(images=12)
    for path in store.path.glob("predictions/*/*.parquet"):
        table = pq.read_table(path)
        metadata = table.schema.metadata | {b"oodometer.format": b"1"}
        pq.write_table(table.drop_columns("brier").replace_schema_metadata(metadata), path)
    manifest = msgspec.json.decode(store.manifest_path.read_bytes())
    store.manifest_path.write_bytes(msgspec.json.encode(manifest | {"format": 1}))
    part = summarize(store).corruptions
    assert part.losses.brier is None
    assert part.losses.nll is not None
    assert all(at.losses.brier is None for at in part.by_severity)
    with pytest.raises(MetricError, match="begun by an older version"):
        Run(store.path).brier()


def test_a_run_gives_the_numbers_of_any_condition(make_run):
    store = make_run(images=120)
    run, rows = Run(store.path), rows_of(store)
    fog = [row for row in rows if (row["corruption"], row["severity"]) == ("fog", 3)]
    confidences = np.array([row["confidence"] for row in fog])
    hits = np.array([not wrong(row) for row in fog])
    assert run.nll("fog", 3).value == pytest.approx(np.mean([row["nll"] for row in fog]))
    assert run.brier("fog", 3).value == pytest.approx(np.mean([row["brier"] for row in fog]))
    assert run.top5_error("fog", 3).value == pytest.approx(np.mean([r["label"] not in r["top5"] for r in fog]))
    assert run.ece("fog", 3).value == pytest.approx(metrics.expected_calibration_error(confidences, hits))
    assert run.ece("fog", 3, bins=5, binning="mass").value == pytest.approx(
        metrics.expected_calibration_error(confidences, hits, 5, "mass")
    )
    assert run.reliability("fog", 3) == metrics.reliability(confidences, hits)
    assert run.selective_risk("fog", 3)[1][-1] == pytest.approx(1 - hits.mean())
    assert run.nll().value == run.summary().corruptions.losses.nll.value
    for condition in (("frog", 3), ("fog", 9), ("fog",)):
        with pytest.raises(MetricError, match=r"no predictions under .*It has clean, gaussian_noise"):
            run.nll(*condition)


def test_a_partial_mean_is_called_partial(make_run):
    others = [name for name in IMAGENET_C if name != "frost"]
    conditions = (CLEAN, *(Condition(name, severity) for name in others for severity in SEVERITIES))
    store = make_run(conditions=conditions)
    part = summarize(store).corruptions
    assert part.mce is None
    assert part.mean_ce.value == pytest.approx(np.mean([row.ce.value for row in part.rows]))
    text = " ".join(str(Run(store.path).table()).split())
    assert "Mean CE (14 of 15 corruptions) (baseline alexnet)" in text
    assert summarize(make_run()).corruptions.mean_ce is None


def test_results_and_page_have_all_of_it(make_run):
    store = make_run(images=210)
    written = json.loads((write_report(store).parent / "results.json").read_text())
    assert written == json.loads(json.dumps(results(summarize(store)), allow_nan=False))
    assert written["format"] == 4
    part = written["corruptions"]
    for estimate in (
        part["losses"]["brier"],
        part["confidence"]["ece"],
        part["by_severity"][4]["ece"],
        part["by_family"][0]["error"],
        part["by_class"][0]["error"],
        part["rows"][0]["changes"][2],
        part["changed"],
    ):
        assert set(estimate) == {"value", "low", "high", "se", "n"}
    page = (store.path / "report.html").read_text()
    for words in (
        "Can its confidence be believed?",
        "Brier score",
        "prediction changed",
        "without the last bin",
        "bins of equal width",
    ):
        assert words in page
