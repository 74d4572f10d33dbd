"""A model that can be counted by hand, evaluated on videos: numbers, continuing, refusals."""

import json
import shutil
import signal
import subprocess
import sys
import time

import msgspec
import numpy as np
import pytest
from made_sequences import Levels, frame, write_mp4, write_set

import oodometer
from oodometer import SequenceRun, evaluate_sequences
from oodometer.errors import ArgumentError, DatasetError, MetricError, StoreError
from oodometer.families import IMAGENET_P
from oodometer.running import RunningFlips
from oodometer.scoring import Scores
from oodometer.store import Block, Table

OPTIONS = {"classes": 10, "progress": False}

# Classes of frames. Against the frame before: a 1 of 3 flips, b 3 of 3. Against the first: a 3 of 3, b 2 of 3.
A, B = [2, 5, 5, 5], [3, 4, 3, 4]
VIDEOS = {"n0/a": A, "n1/b": B}
BEFORE, FIRST = (1 / 3 + 1) / 2, (1 + 2 / 3) / 2


def evaluate(model, data, out=None, **options):
    return evaluate_sequences(model, data, out, **(OPTIONS | options))


def drawn(perturbations, videos=6, frames=5, seed=0):
    rng = np.random.default_rng(seed)
    return {
        name: {f"n{v % 2}/v{v}": rng.integers(0, 10, frames).tolist() for v in range(videos)} for name in perturbations
    }


def same(one, other):
    assert [record.name for record in one.manifest.benchmarks] == [record.name for record in other.manifest.benchmarks]
    for record in one.manifest.benchmarks:
        a, b = (run.store.table(record.name, record.label_spaces[0]) for run in (one, other))
        assert (a.images, a.conditions) == (b.images, b.conditions)
        for field in ("top", "confidence", "labels"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert one.summary().rows == other.summary().rows


def test_flip_rates_by_hand(tmp_path):
    write_set(tmp_path / "p", {"tilt": VIDEOS, "gaussian_noise": VIDEOS})
    run = evaluate(Levels(), tmp_path / "p")
    rates = {name: estimate.value for name, estimate in run.flip_rates.items()}
    assert rates == {"gaussian_noise": pytest.approx(FIRST), "tilt": pytest.approx(BEFORE)}
    summary = run.summary()
    assert summary.mean_flip_rate.estimate.value == pytest.approx((BEFORE + FIRST) / 2)
    assert [(row.step, row.frames, row.counts.measured) for row in summary.rows] == [(None, 4, 2), (1, 4, 2)]
    for row in summary.rows:
        assert 0 <= row.flip_rate.low < row.flip_rate.value < row.flip_rate.high <= 1
        assert row.flip_rate.n == 2


def test_top5_distances_by_hand(tmp_path):
    """Class 5 has the five best 5 4 6 3 7; class 4 has 4 3 5 2 6; they are compared as the definition says."""
    write_set(tmp_path / "p", {"tilt": {"n0/a": [5, 4], "n0/b": [4, 4]}})
    run = evaluate(Levels(), tmp_path / "p")
    # 5: place 0 -> 2. 4: 1 -> 0. 6: 2 -> 4. 3: 3 -> 1. 7: 4 -> out, 5. In all 2 + 1 + 2 + 2 + 1 = 8, and 0 for b.
    assert run.top5_distances["tilt"].value == pytest.approx(4.0)


def test_greater_difficulties_are_steps_of_movements_and_videos_of_noises(tmp_path):
    videos = {"tilt": {"n0/b": B}, "shot_noise": {"n0/b": A}, "shot_noise_2": {"n0/b": B}}
    run = evaluate(Levels(), write_set(tmp_path / "p", videos))
    rows = {row.name: row for row in run.summary(difficulty=2).rows}
    assert rows["tilt"].flip_rate.value == 0.0  # 3 4 3 4: every second one is the same
    assert (rows["tilt"].step, rows["tilt"].difficulty) == (2, 2)
    assert rows["shot_noise"].flip_rate.value == 1.0  # the first frame serves all, whatever the difficulty
    assert rows["shot_noise_2"].flip_rate.value == pytest.approx(2 / 3)
    assert [name for name, row in rows.items() if row.counted] == ["shot_noise_2", "tilt"]
    assert run.summary(difficulty=1).counted == ("shot_noise", "tilt")
    with pytest.raises(ArgumentError, match="difficulty must be a whole number from 1 to 3"):
        run.summary(difficulty=4)


def test_the_model_sees_each_frame_once_and_as_it_is(tmp_path):
    model = Levels()
    evaluate(model, write_set(tmp_path / "p", {"tilt": VIDEOS}), batch_size=2)
    seen = np.concatenate(model.seen)
    assert seen.shape == (8, 8, 8, 3)
    assert sorted(seen[:, 0, 0, 0] // 20) == sorted(A + B)
    # A batch holds one frame of all videos, in the order of the frames.
    assert [sorted(batch[:, 0, 0, 0] // 20) for batch in model.seen] == [
        sorted(pair) for pair in zip(A, B, strict=True)
    ]


def test_files_give_what_folders_give(tmp_path):
    levels = {"n0/a": [1, 4, 4, 4, 7], "n1/b": [3, 8, 3, 8, 3]}
    write_set(tmp_path / "p", {"tilt": levels}, side=32)
    for name, of_video in levels.items():
        write_mp4(tmp_path / "q" / "tilt" / f"{name}.mp4", [frame(level, 32) for level in of_video])
    folders, files = (evaluate(Levels(), tmp_path / part) for part in "pq")
    assert folders.flip_rates == files.flip_rates
    assert files.flip_rates["tilt"].value == pytest.approx((0.5 + 1) / 2)
    assert folders.top5_distances == files.top5_distances
    assert "av" in files.manifest.environment  # its version decides over pixels
    assert "av" not in folders.manifest.environment


def test_a_preprocessing_is_of_every_frame(tmp_path):
    model = Levels()
    evaluate(model, write_set(tmp_path / "p", {"tilt": VIDEOS}, side=80), preprocess="tiny64")
    assert {batch.shape[1:] for batch in model.seen} == {(64, 64, 3)}


def test_frames_of_another_size_are_refused_by_name(tmp_path):
    write_set(tmp_path / "p", {"tilt": {"n0/a": A}})
    write_set(tmp_path / "p", {"tilt": {"n0/b": B}}, side=9)
    with pytest.raises(DatasetError, match=r"n0/. is \dx\d pixels where others are \dx\d"):
        evaluate(Levels(), tmp_path / "p")


def test_few_classes_have_no_top5_distance(tmp_path):
    run = evaluate(Levels(4), write_set(tmp_path / "p", {"tilt": {"n0/a": [1, 3, 3]}}), classes=4)
    assert run.flip_rates["tilt"].value == 0.5
    assert run.top5_distances == {}
    assert "five best" in run.summary().mean_top5_distance.words
    assert run.summary().mean_top5_distance.words in run.summary().notes


def test_classes_are_those_of_imagenet_unless_said(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": VIDEOS})
    run = evaluate_sequences(Levels(1000), data, progress=False)
    assert run.summary().label_space == "imagenet-1k"
    assert run.flip_rates["tilt"].value == pytest.approx(BEFORE)


def test_a_limit_takes_the_same_images_under_every_perturbation(tmp_path):
    data = write_set(tmp_path / "p", drawn(("tilt", "snow", "shot_noise"), videos=9))
    run = evaluate(Levels(), data, limit=4)
    tables = [run.store.table(record.name, record.label_spaces[0]) for record in run.manifest.benchmarks]
    assert len({table.images for table in tables}) == 1
    assert len(tables[0].images) == 4
    with pytest.raises(DatasetError, match="10 images were asked for"):
        evaluate(Levels(), data, limit=10)


class _Stops(Levels):
    """Is stopped at a batch."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def predict(self, images):
        if len(self.seen) == self.after:
            raise KeyboardInterrupt
        return super().predict(images)


@pytest.mark.parametrize("after", [3, 11, 22, 37])
def test_a_stopped_run_continues_to_the_same_result(tmp_path, after):
    """Each perturbation has 3 blocks of 5 batches."""
    data = write_set(tmp_path / "p", drawn(("tilt", "snow", "shot_noise")))
    with pytest.raises(KeyboardInterrupt):
        evaluate(_Stops(after), data, tmp_path / "run", batch_size=2)
    second = Levels()
    resumed = evaluate(second, data, tmp_path / "run", batch_size=2)
    whole = evaluate(Levels(), data, batch_size=2)
    same(resumed, whole)
    # What was finished is not made again; a batch is asked about again for each perturbation that was begun.
    assert len(second.seen) <= 45 - 5 * (after // 5) + 3


SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv[3])
from made_sequences import Levels
import oodometer
class Slow(Levels):
    def predict(self, images):
        time.sleep(0.02)
        return super().predict(images)
oodometer.evaluate_sequences(Slow(), sys.argv[1], sys.argv[2], classes=10, batch_size=2, progress=False)
"""


def test_a_killed_run_continues_to_the_same_result(tmp_path):
    data, out = write_set(tmp_path / "p", drawn(("tilt", "snow"), videos=12)), tmp_path / "run"
    here = __file__.rpartition("/")[0]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(data), str(out), here])
    deadline = time.monotonic() + 60
    while len(list(out.glob("predictions/imagenet-p/*/*.parquet"))) < 4:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run makes no progress"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    partial = SequenceRun(out)
    assert any("is not finished" in note for note in partial.summary().notes)
    done = {p: p.stat().st_mtime_ns for p in out.glob("predictions/imagenet-p/*/*.parquet")}
    resumed = evaluate(Levels(), data, out, batch_size=2)
    assert done.items() <= {p: p.stat().st_mtime_ns for p in out.glob("predictions/imagenet-p/*/*.parquet")}.items()
    same(resumed, evaluate(Levels(), data, batch_size=2))


def test_other_batches_and_threads_change_nothing(tmp_path):
    data = write_set(tmp_path / "p", drawn(("tilt",), videos=7))
    same(evaluate(Levels(), data, batch_size=1, workers=1), evaluate(Levels(), data, batch_size=5, workers=3))


def test_another_plan_in_the_same_folder_is_refused(tmp_path):
    data, out = write_set(tmp_path / "p", {"tilt": VIDEOS}, side=64), tmp_path / "run"
    evaluate(Levels(), data, out)
    evaluate(Levels(), data, out)  # the same again is welcome
    with pytest.raises(StoreError, match="another run"):
        evaluate(Levels(name="another"), data, out)
    with pytest.raises(StoreError, match=r"preprocess"):
        evaluate(Levels(), data, out, preprocess="tiny64")
    with pytest.raises(StoreError, match="images"):
        evaluate(Levels(), data, out, limit=1)
    write_set(data, {"snow": VIDEOS}, side=64)
    with pytest.raises(StoreError, match="snow"):
        evaluate(Levels(), data, out)


def test_changed_videos_are_refused(tmp_path):
    data, out = write_set(tmp_path / "p", {"tilt": VIDEOS}), tmp_path / "run"
    evaluate(Levels(), data, out)
    file = data / "tilt" / "n0" / "a" / "0.png"
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(StoreError, match="digest"):
        evaluate(Levels(), data, out)


def test_the_run_lies_apart_from_the_data(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": VIDEOS})
    with pytest.raises(ArgumentError, match="lies within the data"):
        evaluate(Levels(), data, data / "run")


def test_a_damaged_video_is_left_out_and_named(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": VIDEOS | {"n0/c": A}})
    file = data / "tilt" / "n0" / "c" / "2.png"
    file.write_bytes(file.read_bytes()[:-30])
    run = evaluate(Levels(), data, tmp_path / "run")
    assert run.flip_rates["tilt"].value == pytest.approx(BEFORE)
    assert [skipped.image for skipped in run.skipped] == ["n0/c"]
    assert "tilt/n0/c/2.png" in run.skipped[0].reason
    assert any("1 video could not be read" in note for note in run.summary().notes)
    assert evaluate(Levels(), data, tmp_path / "run").skipped == run.skipped


def test_where_no_video_can_be_read_the_others_count(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": VIDEOS, "snow": VIDEOS})
    for video in VIDEOS:
        (data / "tilt" / video / "0.png").write_bytes(b"x")
    run = evaluate(Levels(), data)
    assert list(run.flip_rates) == ["snow"]
    assert run.summary().counted == ("snow",)
    for video in VIDEOS:
        (data / "snow" / video / "0.png").write_bytes(b"x")
    with pytest.raises(DatasetError, match=r"None of the 2 .*snow/n"):
        evaluate(Levels(), data)


@pytest.fixture
def ten(tmp_path):
    return write_set(tmp_path / "ten", drawn(IMAGENET_P))


def test_a_mean_flip_rate_is_over_the_ten(ten):
    run = evaluate(Levels(), write_set(ten, drawn(("shear",))))
    rates = [run.flip_rates[name].value for name in IMAGENET_P]
    found = run.mean_flip_rate()
    assert found.value == pytest.approx(np.mean(rates))
    assert found.low < found.value < found.high
    assert run.summary().over == "the 10"
    assert "shear" not in run.summary().counted
    assert str(run.table()).index("in no mean:") < str(run.table()).index("shear")


def test_fewer_than_ten_are_no_mean_flip_rate(tmp_path):
    run = evaluate(Levels(), write_set(tmp_path / "p", {"tilt": VIDEOS, "snow": VIDEOS}))
    with pytest.raises(MetricError, match=r"mean over 10 perturbations.* no gaussian_noise"):
        run.mean_flip_rate()
    text = " ".join(str(run.table(baseline={"name": "x", "flip_rates": {"tilt": 0.5, "snow": 1.0}})).split())
    assert "Mean flip rate over 2 of 10 66.7" in text
    assert "Relative flip rate over 2 of 10 (baseline x) 100.0" in text  # of 133.3 and 66.7
    assert "mFR" not in text


def test_notes_say_in_what_videos_are_not_those_of_imagenet_p(ten):
    def said(run):
        return " ".join(run.summary().notes)

    few = said(evaluate(Levels(), ten))
    assert "frames as the published ones, so" in few
    assert "gaussian_noise 5 in place of 31, shot_noise 5 in place of 31" in few
    assert "same images" not in few
    (ten / "tilt" / "n0" / "v0" / "0.png").write_bytes(b"x")  # what cannot be read is there all the same
    assert "same images" not in said(evaluate(Levels(), ten))
    shutil.rmtree(ten / "tilt" / "n0" / "v0")
    write_set(ten, {"snow": {"n0/new": [1, 2, 3, 4, 5]}})
    whole = said(evaluate(Levels(), ten))
    assert "not of the same images: of 7 images, 5 have a video under each of 10" in whole


def test_videos_as_published_are_not_noted(tmp_path):
    data = write_set(
        tmp_path / "p", {**drawn(["snow"], 2, 31), **drawn(["translate"], 2, 41), **drawn(["shear"], 2, 5)}
    )
    notes = " ".join(evaluate(Levels(), data).summary().notes)
    assert "published ones: at difficulty 1 there is no" in notes
    assert "in place of" not in notes


def test_notes_say_why_a_number_of_a_baseline_is_missing(ten, tmp_path):
    content = {"name": "mine", "flip_rates": dict.fromkeys(IMAGENET_P[1:], 0.5)}
    notes = evaluate(Levels(), ten, baseline=content).summary().notes
    assert "There is no mFR. The baseline has no number for gaussian_noise." in notes
    assert "There is no mT5D. The baseline mine has no top-5 distances." in notes


def test_names_from_outside_do_nothing_to_a_page_or_a_terminal(tmp_path):
    run = evaluate(Levels(name="<b>\x1b[2J"), write_set(tmp_path / "p", {"tilt": VIDEOS}))
    assert "\x1b" not in str(run.table())
    assert "<b>" not in run._repr_html_()
    assert "&lt;b&gt;" in run._repr_html_()


def test_without_a_baseline_there_is_no_mfr(ten):
    run = evaluate(Levels(), ten)
    with pytest.raises(MetricError, match="AlexNet, whose flip rates were published in no file"):
        run.mfr()
    assert run.summary().mfr.estimate is None


def test_a_run_as_its_own_baseline_gives_one(ten, tmp_path):
    run = evaluate(Levels(), ten, tmp_path / "run")
    again = evaluate(Levels(), ten, tmp_path / "again", baseline=tmp_path / "run")
    assert again.mfr().value == pytest.approx(1.0)
    assert again.mt5d().value == pytest.approx(1.0)
    assert not again.summary().baseline.exact
    assert run.mfr(baseline=tmp_path / "again", difficulty=1).value == pytest.approx(1.0)
    read = SequenceRun(tmp_path / "again")
    assert read.mfr() == again.mfr()
    assert evaluate(Levels(), ten, tmp_path / "again").mfr() == again.mfr()  # continued: the baseline stays
    with pytest.raises(MetricError, match="There is no mFR"):
        evaluate(Levels(), ten, tmp_path / "again", baseline="none").mfr()


class _Coarse(Levels):
    """Tells no neighbours apart."""

    def predict(self, images):
        return super().predict(images // 40 * 40)


def test_a_run_as_the_baseline_lends_its_own_error(ten, tmp_path):
    evaluate(_Coarse(name="coarse"), ten, tmp_path / "coarse")
    run = evaluate(Levels(), ten)
    other = SequenceRun(tmp_path / "coarse")
    expected = np.mean([run.flip_rates[name].value / other.flip_rates[name].value for name in IMAGENET_P])
    measured = run.mfr(tmp_path / "coarse")
    assert measured.value == pytest.approx(expected)
    numbers = {
        "name": "coarse",
        "flip_rates": {name: rate.value for name, rate in other.flip_rates.items()},
        "top5_distances": {name: distance.value for name, distance in other.top5_distances.items()},
    }
    exact = run.mfr(numbers)
    assert exact.value == pytest.approx(expected)
    assert exact.se != pytest.approx(measured.se)
    distances = np.mean([run.top5_distances[name].value / other.top5_distances[name].value for name in IMAGENET_P])
    assert run.mt5d(numbers).value == pytest.approx(distances)


def test_the_numbers_of_a_baseline_outlive_its_folder(ten, tmp_path):
    evaluate(_Coarse(name="coarse"), ten, tmp_path / "coarse")
    run = evaluate(Levels(), ten, tmp_path / "run", baseline=tmp_path / "coarse")
    before = run.mfr()
    (tmp_path / "coarse").rename(tmp_path / "moved")
    after = SequenceRun(tmp_path / "run")
    assert after.mfr().value == pytest.approx(before.value)
    assert after.summary().baseline.exact
    assert after.summary(difficulty=2).baseline is None
    assert any("does not serve here" in note for note in after.summary(difficulty=2).notes)


def test_a_baseline_that_is_not_finished_is_said_to_be_so(tmp_path):
    data = write_set(tmp_path / "p", drawn(("tilt", "snow")))
    with pytest.raises(KeyboardInterrupt):
        evaluate(_Stops(8), data, tmp_path / "part", batch_size=2)
    run = evaluate(Levels(), data, tmp_path / "run", baseline=tmp_path / "part")
    assert "run part: 2 of 12 videos of p (not finished)" in run.summary().baseline.source
    whole = SequenceRun(tmp_path / "run").summary(baseline=tmp_path / "run")
    assert "run run: 12 videos of p, " in whole.baseline.source


def test_a_baseline_file(ten, tmp_path):
    file = tmp_path / "alexnet.json"
    file.write_text(json.dumps({"name": "mine", "flip_rates": dict.fromkeys(IMAGENET_P, 0.5)}))
    run = evaluate(Levels(), ten, tmp_path / "run", baseline=file)
    assert run.mfr().value == pytest.approx(run.mean_flip_rate().value / 0.5)
    with pytest.raises(MetricError, match=r"no mT5D\. The baseline mine has no top-5 distances"):
        run.mt5d()
    file.unlink()
    assert SequenceRun(tmp_path / "run").mfr() == run.mfr()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ({"flip_rates": {"tilt": 0.5}}, ArgumentError, "expected {"),
        ({"name": "x"}, ArgumentError, "at least one of the two"),
        (
            {"name": "x", "flip_rates": {"tilt": 5.0}},
            MetricError,
            "from 0 to 1 for 'tilt', not 5.0.*divide percentages",
        ),
        ({"name": "x", "flip_rates": {"tilt": True}}, MetricError, "'tilt', not True"),
        ({"name": "x", "top5_distances": {"tilt": 19}}, MetricError, "from 0 to 18"),
        ({"name": "x", "flip_rates": {"tilt": 0.5}, "rate": 1}, ArgumentError, "expected {"),
        ({"name": "x", "flip_rates": {"tilt": 0.5}, "difficulty": 9}, ArgumentError, "1, 2 or 3, not 9"),
        ("nowhere.json", ArgumentError, "There is no baseline nowhere.json.*AlexNet"),
        ("alexnet", ArgumentError, "No baseline is built in"),
        (7, ArgumentError, "Expected a baseline"),
    ],
)
def test_a_baseline_of_another_form_is_refused_before_any_work(tmp_path, content, error, message):
    model = Levels()
    with pytest.raises(error, match=message):
        evaluate(model, write_set(tmp_path / "p", {"tilt": VIDEOS}), tmp_path / "run", baseline=content)
    assert not model.seen
    assert not (tmp_path / "run").exists()


def test_the_numbers_of_a_baseline_are_of_one_difficulty(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": {"n0/a": [1, 1, 2, 2]}})
    run = evaluate(Levels(), data, baseline={"name": "x", "flip_rates": {"tilt": 0.5}, "difficulty": 2})
    assert run.summary(difficulty=2).rows[0].relative_flip_rate.value == pytest.approx(1 / 0.5)
    assert run.summary().baseline is None
    with pytest.raises(MetricError, match="of difficulty 1, and these results are of difficulty 3"):
        run.summary({"name": "x", "flip_rates": {"tilt": 0.5}}, difficulty=3)


def test_a_run_that_does_not_fit_is_no_baseline(tmp_path):
    data = write_set(tmp_path / "p", {"tilt": VIDEOS}, side=64)
    evaluate(Levels(), data, tmp_path / "run")
    with pytest.raises(MetricError, match=r"another protocol.*preprocess"):
        evaluate(Levels(), data, baseline=tmp_path / "run", preprocess="tiny64")
    with pytest.raises(MetricError, match="label space"):
        evaluate(Levels(9), data, baseline=tmp_path / "run", classes=9)
    with pytest.raises(MetricError, match="videos of 4 frames for tilt, and these have 3"):
        evaluate(Levels(), write_set(tmp_path / "q", {"tilt": {"n0/a": [1, 2, 3]}}), baseline=tmp_path / "run")
    with pytest.raises(MetricError, match="none of the perturbations"):
        evaluate(Levels(), write_set(tmp_path / "r", {"snow": VIDEOS}), baseline=tmp_path / "run")


def test_results_are_made_from_the_store_alone(ten, tmp_path):
    run = evaluate(Levels(), ten, tmp_path / "run")
    file = run.write_results()
    assert file == tmp_path / "run" / "sequences.json"
    content = msgspec.json.decode(file.read_bytes())
    assert content == msgspec.json.decode(msgspec.json.encode(SequenceRun(tmp_path / "run").results()))
    assert content["mean_flip_rate"]["estimate"]["value"] == pytest.approx(run.mean_flip_rate().value)
    assert {row["name"] for row in content["rows"]} == set(IMAGENET_P)
    assert content["protocol"]["label"] == "no resize, files"
    record = run.manifest.benchmarks[0]
    assert (record.name, record.labelled, record.images) == ("imagenet-p/gaussian_noise", False, 6)
    assert record.protocol.stored.severities == {"frame": (1, 2, 3, 4, 5)}
    assert run.manifest.model.name == "levels"
    assert "numpy" in run.manifest.environment


def test_runs_over_sequences_and_others_are_told_apart(tmp_path):
    evaluate(Levels(), write_set(tmp_path / "p", {"tilt": VIDEOS}), tmp_path / "run")
    with pytest.raises(StoreError, match=r"oodometer\.SequenceRun"):
        oodometer.Run(tmp_path / "run").table()
    with pytest.raises(StoreError, match="is not a run"):
        SequenceRun(tmp_path / "nowhere")
    with pytest.raises(MetricError, match="One such is measured by another with"):
        oodometer.compare([tmp_path / "run", tmp_path / "run"])


def test_partial_runs_are_merged(tmp_path):
    data = write_set(tmp_path / "p", drawn(("tilt", "snow")))
    for name, after in (("one", 8), ("two", 23)):
        with pytest.raises(KeyboardInterrupt):
            evaluate(_Stops(after), data, tmp_path / name, batch_size=2)
    oodometer.merge([tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert SequenceRun(tmp_path / "both").summary().rows == SequenceRun(tmp_path / "two").summary().rows


def test_a_run_without_a_folder_lives_as_long_as_its_object(tmp_path):
    run = evaluate(Levels(), write_set(tmp_path / "p", {"tilt": VIDEOS}))
    path = run.path
    assert path.is_dir()
    del run
    assert not path.exists()


@pytest.mark.parametrize("perturbation", ["tilt", "shot_noise"])
@pytest.mark.parametrize("halves", [1, 2])
def test_the_live_line_says_what_the_finished_run_says(tmp_path, perturbation, halves):
    run = evaluate(Levels(), write_set(tmp_path / "p", drawn((perturbation,))))
    record = run.manifest.benchmarks[0]
    table = run.store.table(record.name, record.label_spaces[0])
    parts = np.array_split(np.arange(len(table.images)), halves)
    pieces = [
        Table(tuple(table.images[i] for i in rows), table.labels[rows], table.conditions, table.top[rows], *[None] * 3)
        for rows in parts
    ]
    nothing = Table((), table.labels[:0], (), table.top[:0, :0], *[None] * 3)
    line = RunningFlips(table.conditions, pieces[0] if halves == 2 else nothing, noise=perturbation == "shot_noise")
    last = pieces[-1]
    scores = [Scores(last.top[:, k], *[None] * 3) for k in range(len(table.conditions))]
    entries = tuple((c, "x", scores[k], None) for k, c in reversed(list(enumerate(table.conditions))))
    line.add(Block(last.images, last.labels, entries))
    assert str(line).startswith(f"flip rate {100 * run.flip_rates[perturbation].value:.1f} [")
    assert str(line).endswith("on 6 videos")
