"""The numbers of a summary are those of the plain metrics, and what is missing is said."""

import numpy as np
import pytest

from oodometer import metrics
from oodometer.errors import MetricError, StoreError
from oodometer.families import EXTRA, IMAGENET_C, SEVERITIES
from oodometer.report import summarize
from oodometer.report.headlines import headlines
from oodometer.report.heat import step
from oodometer.store import Skipped
from oodometer.types import CLEAN, Condition


def cells(*names):
    return (CLEAN, *(Condition(name, severity) for name in names for severity in SEVERITIES))


def errors_of(part):
    return {row.name: [e.value for e in row.errors] for row in (*part.rows, *part.extra)}


def plain_errors(store):
    """Count the errors row by row from the stored file, as no code of the package does."""
    import pyarrow.parquet as pq

    (path,) = (store.path / "predictions" / "imagenet-c").glob("*.parquet")
    wrong, total = {}, {}
    for row in pq.read_table(path).to_pylist():
        if row["label_space"] != "imagenet-r":
            key = (row["corruption"], row["severity"])
            wrong[key] = wrong.get(key, 0) + (row["prediction"] != row["label"])
            total[key] = total.get(key, 0) + 1
    return {key: wrong[key] / total[key] for key in wrong}


def test_every_number_equals_the_plain_metrics(make_run):
    store = make_run(images=37, error=0.3)
    part = summarize(store).corruptions
    plain = plain_errors(store)
    errors = {name: [plain[name, s] for s in SEVERITIES] for name in IMAGENET_C}
    clean = plain["clean", 0]
    assert [row.name for row in part.rows] == list(IMAGENET_C)
    for row in part.rows:
        assert [e.value for e in row.errors] == pytest.approx(errors[row.name])
        assert row.mean.value == pytest.approx(np.mean(errors[row.name]))
        assert row.ce.value == pytest.approx(metrics.corruption_errors(errors)[row.name])
        assert row.relative_ce.value == pytest.approx(metrics.relative_corruption_errors(errors, clean)[row.name])
    assert part.clean_error.value == pytest.approx(clean)
    assert part.mean_error.value == pytest.approx(metrics.mean_corruption_error(errors))
    assert part.mce.value == pytest.approx(metrics.mce(errors))
    assert part.relative_mce.value == pytest.approx(metrics.relative_mce(errors, clean))
    assert part.mce.low <= part.mce.value <= part.mce.high
    assert part.mce.n == part.counts.measured == 37


def test_mean_error_and_mce_are_two_numbers(make_run):
    half = np.arange(40) % 2 == 0
    part = summarize(make_run(hits=dict.fromkeys(cells(*IMAGENET_C), half))).corruptions
    assert part.mean_error.value == pytest.approx(0.5)
    assert part.mce.value == pytest.approx(0.6467, abs=5e-5)
    assert part.baseline.name == "alexnet"
    assert part.mean_error_title == "Mean corruption error"


def test_the_extra_corruptions_stand_apart(make_run):
    fifteen = summarize(make_run(conditions=cells(*IMAGENET_C))).corruptions
    nineteen = summarize(make_run(conditions=cells(*EXTRA, *IMAGENET_C))).corruptions
    assert [row.name for row in nineteen.extra] == list(EXTRA)
    assert nineteen.rows == fifteen.rows
    assert (nineteen.mce, nineteen.mean_error) == (fifteen.mce, fifteen.mean_error)
    assert all(row.ce is not None for row in nineteen.extra)


def test_without_frost_there_is_no_mce(make_run):
    others = [name for name in IMAGENET_C if name != "frost"]
    store = make_run(conditions=cells(*others), unavailable={"frost": "the textures are nowhere; fetch them."})
    summary = summarize(store)
    part = summary.corruptions
    assert part.mce is None
    assert part.relative_mce is None
    assert "frost: the textures are nowhere" in part.mce_unavailable
    assert part.mean_error_title == "Mean error (14 of 15 corruptions)"
    assert part.mean_error.value == pytest.approx(np.mean([errors_of(part)[name] for name in others]))
    assert any("no mCE" in note and "fetch them" in note for note in summary.notes)


def test_one_corruption_alone_has_an_error_and_a_ce(make_run):
    part = summarize(make_run(conditions=cells("fog"))).corruptions
    assert [row.name for row in part.rows] == ["fog"]
    assert part.rows[0].ce is not None
    assert part.mce is None
    assert part.missing["snow"] == "it was not asked for"


def test_only_extra_corruptions_have_no_mean_over_the_fifteen(make_run):
    part = summarize(make_run(conditions=cells("spatter"))).corruptions
    assert (part.rows, part.mean_error, part.mce) == ((), None, None)


def custom(**wishes):
    return {
        "classes": tuple("abcdefghij"),
        "names": tuple("abcdefghij"),
        "space": "custom-10",
        "baseline": None,
    } | wishes


def test_a_custom_set_without_baseline_has_a_mean_error_and_says_why_no_mce(make_run):
    summary = summarize(make_run(**custom()))
    part = summary.corruptions
    assert part.mean_error is not None
    assert (part.baseline, part.mce, part.relative_mce) == (None, None, None)
    assert all(row.ce is None for row in part.rows)
    assert "no baseline" in part.mce_unavailable
    assert any("no mCE" in note for note in summary.notes)


def test_a_baseline_of_another_label_space_is_refused(make_run):
    with pytest.raises(MetricError, match="imagenet-1k"):
        summarize(make_run(**custom()), baseline="alexnet")


def test_the_reader_may_ask_for_another_baseline(make_run):
    store = make_run(**custom())
    own = {"name": "mine", "clean_error": 0.1, "errors": {name: [0.5] * 5 for name in IMAGENET_C}}
    part = summarize(store, baseline=own).corruptions
    assert part.baseline.name == "mine"
    assert part.mce.value == pytest.approx(part.mean_error.value / 0.5)


def test_a_stored_baseline_is_used(make_run):
    own = {"name": "mine", "errors": dict.fromkeys(IMAGENET_C, 0.25)}
    part = summarize(make_run(**custom(baseline=own))).corruptions
    assert part.mce.value == pytest.approx(part.mean_error.value / 0.25)
    assert part.relative_mce is None
    assert "clean error" in part.relative_mce_unavailable


def test_a_baseline_that_lacks_a_corruption_gives_the_other_ces(make_run):
    own = {"name": "mine", "errors": {name: 0.25 for name in IMAGENET_C if name != "snow"}}
    part = summarize(make_run(**custom(baseline=own))).corruptions
    assert [row.name for row in part.rows if row.ce is None] == ["snow"]
    assert part.mce is None
    assert "snow" in part.mce_unavailable


def test_a_partial_run_says_on_how_many_images_it_rests(make_run):
    summary = summarize(make_run(images=40, planned=100))
    assert summary.corruptions.counts.partial
    assert summary.corruptions.clean_error.n == 40
    assert any("40 of the 100 images" in note for note in summary.notes)


def test_skipped_images_are_named_and_do_not_make_a_run_partial(make_run):
    skipped = (Skipped("n1/a.jpg", "truncated"), Skipped("n1/b.jpg", "Cannot read n1/b.jpg: not an image."))
    summary = summarize(make_run(skipped=skipped))
    assert summary.corruptions.counts.skipped == skipped
    assert not summary.corruptions.counts.partial
    (note,) = [note for note in summary.notes if "2 images" in note]
    assert "n1/a.jpg: truncated and Cannot read n1/b.jpg: not an image." in note


def test_renditions_masked_unmasked_and_gap(make_run):
    summary = summarize(make_run(images=120, masked=30, renditions=160))
    part = summary.renditions
    assert part.accuracy.value == pytest.approx(40 / 160)
    assert part.accuracy_unmasked.value < part.accuracy.value
    assert part.clean_accuracy.n == 30
    assert part.gap.value == pytest.approx(part.clean_accuracy.value - part.accuracy.value)
    assert part.counts.classes == 50
    assert part.confidence.n == 160
    assert any("30,000 renditions" in note for note in summary.notes)


def test_renditions_without_clean_images_of_their_classes_have_no_gap(make_run):
    summary = summarize(make_run(renditions=8))
    assert summary.renditions.gap is None
    assert any("no gap" in note for note in summary.notes)


def test_renditions_alone_are_a_run(make_run):
    summary = summarize(make_run(conditions=(), renditions=8))
    assert summary.corruptions is None
    assert summary.renditions.accuracy.n == 8


def test_a_benchmark_that_was_not_begun_is_said(make_run):
    summary = summarize(make_run(images=0, planned=9, renditions=8))
    assert summary.corruptions is None
    assert any("None of the 9 images of imagenet-c" in note for note in summary.notes)


def test_a_run_without_any_image_is_an_error(make_run):
    with pytest.raises(StoreError, match="no image has been measured"):
        summarize(make_run(images=0, planned=9))


def test_confidence_needs_enough_images(make_run):
    assert summarize(make_run(images=99)).corruptions.confidence is None
    assert summarize(make_run(images=100)).corruptions.confidence.n == 100


@pytest.mark.parametrize(("encoding", "said"), [("memory", True), ("jpeg85", False)])
def test_the_encoding_that_is_not_the_published_one_is_said(make_run, encoding, said):
    notes = summarize(make_run(encoding=encoding)).notes
    assert any("from memory" in note for note in notes) == said


@pytest.mark.parametrize(("images", "said"), [(20, True), (5000, False)])
def test_wide_intervals_are_said(make_run, images, said):
    notes = summarize(make_run(images=images, conditions=cells("fog"))).notes
    assert any("intervals are wide" in note for note in notes) == said


def test_pictures_are_in_the_published_order_with_their_verdicts(make_run):
    shuffled = (Condition("fog", 2), Condition("shot_noise", 5), CLEAN, Condition("shot_noise", 1))
    (strip,) = summarize(make_run(pictures=shuffled)).corruption_strips
    assert [str(p.condition) for p in strip.pictures] == ["clean", "shot_noise/1", "shot_noise/5", "fog/2"]
    assert [p.right for p in strip.pictures] == [True, False, False, True]
    assert [p.prediction for p in strip.pictures] == ["class 0", "class 1", "class 1", "class 0"]
    assert [name for name, _ in strip.corrupted] == ["shot_noise", "fog"]


def test_the_words_on_an_mce_follow_its_interval(make_run):
    """From clearly better to clearly worse than AlexNet, with runs between that cannot tell."""
    seen = set()
    for error in (0.5, 0.75, 0.76, 0.77, 0.78, 0.9):
        (line,) = [
            line for line in headlines(summarize(make_run(images=40, error=error))) if line.title.startswith("mCE")
        ]
        low, high = line.estimate.low, line.estimate.high
        words = "Fewer" if high < 1 else "More" if low > 1 else "Not to be told apart from"
        assert line.words.startswith(words)
        seen.add(words)
    assert len(seen) == 3


def test_a_gap_between_unlike_classes_is_said(make_run):
    """The renditions of a synthetic run have the classes 0 to 49."""
    like = " ".join(summarize(make_run(images=50, masked=50, renditions=100)).notes)
    assert "not all the same" not in like
    unlike = " ".join(summarize(make_run(images=50, masked=20, renditions=100)).notes)
    assert "not all the same" in unlike


def test_corruptions_that_were_not_asked_for_are_counted_and_not_listed(make_run):
    part = summarize(make_run(conditions=cells("fog"))).corruptions
    assert part.mce_unavailable == "It is a mean over 15 corruptions, and 1 was measured (14 were not asked for)."


def test_the_steps_of_the_heat_are_the_nearest_tenths():
    assert [step(e) for e in (0, 0.04, 0.06, 0.49, 0.51, 0.94, 0.96, 1)] == [0, 0, 1, 5, 5, 9, 10, 10]
