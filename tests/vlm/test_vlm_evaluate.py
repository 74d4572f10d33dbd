"""A vision-language model behind an endpoint, from the command to the report."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import PIL.Image
import pytest
from endpoint import NAMES, ONE, by_content, shown

import oodometer
from oodometer.cli import main
from oodometer.corruptions import corrupt
from oodometer.datasets import imagenet1k, imagenet_r
from oodometer.errors import ArgumentError, MetricError, ModelError, StoreError
from oodometer.store import RunStore
from oodometer.types import CLEAN, Condition

Options = oodometer.ModelOptions


def evaluate(endpoint, data, out=None, **options):
    root, labels = data
    given = {name: options.pop(name) for name in ("candidates", "requests", "per_minute") if name in options}
    model = f"vlm:{endpoint.url}#some/model:1"
    return oodometer.evaluate(model, root, out, labels=labels, model_options=Options(**given), **ONE | options)


def expected(root, seed=0):
    """Apply the endpoint's own rule to every picture: by image and condition, the class that it shows or -1."""
    found = {}
    for file in sorted(root.rglob("*.png")):
        image, id_ = np.asarray(PIL.Image.open(file)), file.relative_to(root).as_posix()
        for severity in range(6):
            condition = Condition("brightness", severity) if severity else CLEAN
            # Severity 0 is the clean picture.
            name = shown(corrupt(image, "brightness", severity, seed=seed, image_id=id_, edition="tiny64"))
            found[id_, condition] = NAMES.index(name) if name in NAMES else -1
    return found


def test_every_number_is_what_the_answers_say(serve, five_classes, tmp_path):
    """Against the endpoint's rule, applied to pictures that are corrupted here."""
    data, endpoint = five_classes(15), serve(by_content)
    run = evaluate(endpoint, data, tmp_path / "run")
    truth = expected(data[0])
    table = run.store.table("imagenet-c", "custom-5")
    assert {
        (image, condition): int(table.top[i, k, 0])
        for i, image in enumerate(table.images)
        for k, condition in enumerate(table.conditions)
    } == truth
    assert len(set(truth.values())) > 3  # or the rule would test nothing
    assert np.isnan([table.confidence, table.nll, table.brier]).all()
    assert 0.1 < np.mean([k == -1 for k in truth.values()]) < 0.9
    wrong = {key: k == -1 or NAMES[k] != key[0].partition("/")[0] for key, k in truth.items()}
    for severity in range(1, 6):
        at = [key for key in truth if key[1].severity == severity]
        assert run.errors["brightness"][severity - 1] == pytest.approx(np.mean([wrong[key] for key in at]))
        share = run.summary().unmapped.rows[0].shares[severity - 1].value
        assert share == pytest.approx(np.mean([truth[key] == -1 for key in at]))
    clean = [key for key in truth if key[1] == CLEAN]
    assert run.clean_error.value == pytest.approx(np.mean([wrong[key] for key in clean]))
    assert run.summary().unmapped.clean.value == pytest.approx(np.mean([truth[key] == -1 for key in clean]))


def test_an_unmapped_answer_is_wrong_even_of_the_last_class(serve, five_classes):
    run = evaluate(serve(lambda request: "I cannot tell."), five_classes(10))
    assert run.clean_error.value == 1
    assert run.errors["brightness"] == (1,) * 5
    assert run.summary().unmapped.mean.value == 1


def said_on(page):
    """Return a page without the letters that its pictures and its script are made of."""
    return re.sub(r"base64,[^\"]*|<script>.*?</script>|sha256-[^\"']*", "", page, flags=re.DOTALL)


def test_what_the_result_says_and_does_not_say(serve, five_classes, tmp_path):
    endpoint = serve(lambda request: "?" if request.picture.sum() % 2 else by_content(request))
    run = evaluate(endpoint, five_classes(10), tmp_path / "run", candidates=3)
    text = " ".join(str(run.table()).split())
    page, results = said_on(run.report().read_text()), json.loads((tmp_path / "run" / "results.json").read_text())
    protocol = "no resize, memory, free-text answers among 3 classes drawn for each image, the true one among them"
    for said in (text, page, results["corruptions"]["protocol"]["label"]):
        assert protocol in said
    for said in (text, page):
        assert "What is the main object in the picture?" in said
        assert "Unmapped answers" in said
        assert "there is no top-5 error" in said
        assert "nan" not in said.lower().replace("unanswered", "")
    assert "% sure" not in page
    assert "ECE" not in page.replace("no calibration error", "")
    table = run.store.table("imagenet-c", "custom-5")
    for strip in run.summary().corruption_strips:
        shown_as = {picture.condition: picture.prediction for picture in strip.pictures}
        row = table.images.index(strip.image)
        for condition, k in zip(table.conditions, table.top[row, :, 0], strict=True):
            assert shown_as[condition] == ("no class" if k == -1 else NAMES[k])
    pictures = [picture for strip in run.summary().corruption_strips for picture in strip.pictures]
    assert "no class" in {picture.prediction for picture in pictures}
    part = results["corruptions"]
    assert part["losses"] == {"top5_error": None, "nll": None, "brier": None}
    assert part["confidence"] is None
    assert all(at["ece"] is None and at["losses"]["top5_error"] is None for at in part["by_severity"])
    assert [len(row["shares"]) for row in results["unmapped"]["rows"]] == [5]
    record = run.manifest.model
    assert record.name == "some/model:1 at 127.0.0.1"
    assert record.settings["Endpoint"] == "127.0.0.1"
    for number in (run.top5_error, run.nll, run.brier, run.ece, run.reliability, run.selective_risk):
        with pytest.raises(MetricError, match="asked in words"):
            number()


def test_the_image_and_the_question_are_sent(serve, five_classes):
    data, endpoint = five_classes(5), serve(by_content)
    evaluate(endpoint, data, corruptions=())
    sent = {request.picture.tobytes() for request in endpoint.requests}
    assert sent == {np.asarray(PIL.Image.open(file)).tobytes() for file in data[0].rglob("*.png")}
    for request in endpoint.requests:
        assert request.names == ["cat", "tiger cat", "sea lion", "T-shirt", "owl"]
        assert request.body["model"] == "some/model:1"
        assert request.body["temperature"] == 0


def test_an_image_has_the_same_candidates_under_all_conditions(serve, five_classes):
    data, endpoint = five_classes(15), serve(by_content)
    evaluate(endpoint, data, candidates=3, seed=4)
    questions = [tuple(request.names) for request in endpoint.requests]
    assert len(questions) == 15 * 6
    assert all(questions.count(names) % 6 == 0 for names in questions)
    assert len(set(questions)) > 10  # of 36 that there can be
    clean = {np.asarray(PIL.Image.open(file)).tobytes(): file.parent.name for file in data[0].rglob("*.png")}
    for request in endpoint.requests:
        if request.picture.tobytes() in clean:
            assert clean[request.picture.tobytes()].replace("_", " ") in request.names


def test_questions_are_under_way_at_once(serve, five_classes):
    """The endpoint answers nobody before four have asked; alone, a fifth would wait in vain."""
    barrier = threading.Barrier(4)
    endpoint = serve(lambda request: f"owl {barrier.wait(30) * 0}")
    evaluate(endpoint, five_classes(8), corruptions=(), requests=4)
    assert len(endpoint.requests) == 8


def test_no_more_are_under_way_than_was_said(serve, five_classes):
    lock, under_way, most = threading.Lock(), [0], [0]

    def say(request):
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.002)
        with lock:
            under_way[0] -= 1
        return "owl"

    evaluate(serve(say), five_classes(10), requests=3)
    assert most[0] <= 3


class Told:
    """Stands in for the progress bar."""

    def __init__(self):
        self.said, self.seen = [], 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def begin(self, title, total, done):
        pass

    def advance(self, steps):
        pass

    def expect(self, total):
        pass

    def note(self, text):
        pass

    def say(self, text):
        self.said.append(text)


@pytest.fixture
def told(monkeypatch):
    """Listen to what an evaluation says."""
    found = Told()
    monkeypatch.setattr("oodometer.evaluation.ProgressBar", lambda: found)
    return found


def announced(told):
    (line,) = [line for line in told.said if " requests" in line]
    return int(re.search(r"at most ([\d,]+) requests", line)[1].replace(",", "")), line


def test_the_cost_is_told_before_the_first_request(serve, five_classes, told):
    before = []
    endpoint = serve(lambda request: before.append(list(told.said)) or by_content(request))
    evaluate(endpoint, five_classes(7), progress=True, per_minute=60_000)
    requests, line = announced(told)
    assert requests == len(endpoint.requests) == 7 * 6
    assert line in before[0]
    # 255 tokens a picture; the question has 141 letters and the five names 33, with their line ends.
    text = len(endpoint.requests[0].body["messages"][0]["content"][0]["text"])
    about = int(re.search(r"about ([\d,]+) tokens of text", line)[1].replace(",", ""))
    assert about == pytest.approx(42 * text / 4, rel=0.05)
    assert f"{42 * 255:,} of pictures" in line
    assert f"{42 * 64:,} tokens out" in line
    sent = sum(len(r.body["messages"][0]["content"][1]["image_url"]["url"]) for r in endpoint.requests) / 1e6
    assert sent <= float(re.search(r"([\d.]+) MB", line)[1]) + 0.05
    assert "1 minute at least" in line


def test_the_cost_counts_every_label_space(serve, of_imagenet, told):
    """Three clean images, one of a class of ImageNet-R, and four renditions: among the 1000, and among the 200."""
    members = imagenet_r().columns
    others = [k for k in range(1000) if k not in members]
    clean = of_imagenet("val", [members[0], others[0], others[1]])
    shifted = of_imagenet("renditions", members[:4])
    endpoint = serve(lambda request: request.names[0])
    run = oodometer.evaluate(
        f"vlm:{endpoint.url}#m", clean, imagenet_r=shifted, **ONE | {"progress": True, "preprocess": "none"}
    )
    assert announced(told)[0] == len(endpoint.requests) == 3 * 6 + 1 + 4 + 4
    asked = [len(request.names) for request in endpoint.requests]
    assert (asked.count(1000), asked.count(200)) == (3 * 6 + 4, 1 + 4)
    first = imagenet_r().names[members[0]].replace("_", " ")
    assert all(request.names[0] == first for request in endpoint.requests if len(request.names) == 200)
    found = run.summary().renditions
    assert found.accuracy.value == 0.25  # the first of the 200 is the class of the first of four
    assert found.clean_accuracy.value == 1
    assert found.unmapped.value == 0
    assert found.accuracy_unmasked is not None
    assert "Unmapped answers, renditions" in str(run.table())
    assert run.summary().corruptions.baseline is None
    assert "nan" not in said_on(run.report().read_text()).replace("banan", "").lower()


SCRIPT = """
import sys, oodometer
root, out, url, labels, options = sys.argv[1:]
oodometer.evaluate(f"vlm:{url}#some/model:1", root, out, labels=labels, **eval(options))
"""


def lines(out):
    return sum(file.read_bytes().count(b"\n") for file in out.glob("answers/*.jsonl"))


@pytest.mark.parametrize("enough", [3, pytest.param(40, marks=pytest.mark.long)])
def test_a_killed_run_pays_for_no_answer_twice(serve, five_classes, tmp_path, told, enough):
    """Killed within the first block, and after blocks: what was answered is never asked again."""
    data, out, gate = five_classes(12), tmp_path / "run", threading.Semaphore(enough)
    endpoint = serve(lambda request: by_content(request) if gate.acquire() else "")
    options = repr(ONE | {"batch_size": 4})
    arguments = [str(data[0]), str(out), endpoint.url, str(data[1]), options]
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments])
    while lines(out) < enough:  # all others wait at the gate
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    asked = len(endpoint.requests)
    gate.release(1000)
    run = evaluate(endpoint, data, out, batch_size=4, progress=True)
    assert len(endpoint.requests) - asked == 12 * 6 - enough
    assert announced(told)[0] == 12 * 6 - enough
    table = run.store.table("imagenet-c", "custom-5")
    whole = evaluate(serve(by_content), data)
    np.testing.assert_array_equal(table.top, whole.store.table("imagenet-c", "custom-5").top)


def test_a_finished_run_asks_nothing_more(serve, five_classes, tmp_path, told):
    data, endpoint = five_classes(5), serve(by_content)
    evaluate(endpoint, data, tmp_path / "run")
    asked = len(endpoint.requests)
    evaluate(endpoint, data, tmp_path / "run", progress=True)
    assert len(endpoint.requests) == asked
    assert not [line for line in told.said if " requests" in line]


def test_lost_predictions_are_made_again_from_the_answers(serve, five_classes, tmp_path):
    data, endpoint = five_classes(6), serve(by_content)
    before = evaluate(endpoint, data, tmp_path / "run").store.table("imagenet-c", "custom-5")
    for file in (tmp_path / "run" / "predictions").rglob("*.parquet"):
        file.unlink()
    asked = len(endpoint.requests)
    after = evaluate(endpoint, data, tmp_path / "run").store.table("imagenet-c", "custom-5")
    assert len(endpoint.requests) == asked
    np.testing.assert_array_equal(before.top, after.top)


def test_what_fails_at_first_leaves_a_folder_that_can_be_used(serve, five_classes, tmp_path):
    """Another model, after answers were kept of one that then failed, is a run of its own."""
    data = five_classes(6)
    endpoint = serve(lambda request: "owl" if len(endpoint.requests) < 5 else (404, {}, b""))
    with pytest.raises(ModelError, match="404"):
        evaluate(endpoint, data, tmp_path / "run", requests=1)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["answers"]
    run = evaluate(serve(lambda request: "cat"), data, tmp_path / "run", candidates=2)
    assert run.clean_error.value < 1
    assert set(run.store.table("imagenet-c", "custom-5").top.ravel()) <= {0, -1}


def test_the_first_failure_stops_the_others(serve, five_classes):
    """And it is the one that is told, not that the others were stopped."""
    endpoint = serve(lambda request: (401, {}, b"") if len(endpoint.requests) > 3 else "owl")
    with pytest.raises(ModelError, match="401"):
        evaluate(endpoint, five_classes(20), requests=2)
    assert len(endpoint.requests) < 10


def test_another_question_is_another_plan(serve, five_classes, tmp_path):
    data, endpoint = five_classes(5), serve(by_content)
    evaluate(endpoint, data, tmp_path / "a")
    with pytest.raises(StoreError, match=r"protocol\.answers"):
        evaluate(endpoint, data, tmp_path / "a", candidates=4)
    evaluate(endpoint, data, tmp_path / "b", candidates=4)
    with pytest.raises(StoreError, match=r"different plans.*protocol\.answers"):
        oodometer.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    with pytest.raises(MetricError, match=r"protocols differ.*answers"):
        oodometer.compare([tmp_path / "a", tmp_path / "b"])


def test_another_template_is_another_plan(serve, five_classes, tmp_path, monkeypatch):
    data, endpoint = five_classes(5), serve(by_content)
    evaluate(endpoint, data, tmp_path / "a")
    monkeypatch.setattr("oodometer.models.vlm.question.TEMPLATE", "Which of these?\n\n{names}")
    with pytest.raises(StoreError, match=r"protocol\.answers"):
        evaluate(endpoint, data, tmp_path / "a")


def test_it_is_compared_with_its_kind_alone(five_classes, tmp_path):
    root, labels = five_classes(5)

    def run(folder, model, **options):
        return oodometer.evaluate(model, root, tmp_path / folder, labels=labels, **ONE | options)

    class Five:
        def predict(self, images):
            return np.tile(np.arange(5.0), (len(images), 1))

    run("a", Own())
    run("b", Own(lambda n, space: np.arange(n) % 5))
    logits = run("c", Five())
    assert oodometer.compare([tmp_path / "a", tmp_path / "b"]).pairs[0].clean_error.difference.n == 5
    with pytest.raises(MetricError, match=r"protocols differ.*answers"):
        oodometer.compare([tmp_path / "a", tmp_path / "c"])
    with pytest.raises(MetricError, match=r"another protocol.*answers"):
        logits.mce(baseline=str(tmp_path / "a"))
    with pytest.raises(StoreError, match="another protocol"):
        run("d", Own(), paired=tmp_path / "c")
    assert run("d", Own(), paired=tmp_path / "a").clean_error.n == 5


def test_partial_runs_of_one_plan_are_merged(five_classes, tmp_path):
    """Though their confidences are no numbers, which differ from themselves; other answers are refused all the same."""
    root, labels = five_classes(9)
    for folder, gone, said in (("a", 0, -1), ("b", 2, -1), ("c", 2, 1)):
        own = Own(lambda n, space, said=said: np.full(n, said))
        oodometer.evaluate(own, root, tmp_path / folder, labels=labels, **ONE | {"batch_size": 3})
        sorted((tmp_path / folder / "predictions" / "imagenet-c").glob("*.parquet"))[gone].unlink()
    merged = oodometer.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "ab")
    assert merged.clean_error.n == merged.summary().unmapped.clean.n == 9
    with pytest.raises(StoreError, match="different predictions"):
        oodometer.merge([tmp_path / "a", tmp_path / "c"], tmp_path / "ac")


def test_answers_that_were_paid_for_go_into_a_merged_run(serve, five_classes, tmp_path):
    """Also those of images that are in neither run's predictions."""
    data, endpoint = five_classes(6), serve(by_content)
    for folder, gone in (("a", (0, 1)), ("b", (1, 2))):
        evaluate(endpoint, data, tmp_path / folder, batch_size=2)
        files = sorted((tmp_path / folder / "predictions" / "imagenet-c").glob("*.parquet"))
        for k in gone:
            files[k].unlink()
    oodometer.merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    asked = len(endpoint.requests)
    assert evaluate(endpoint, data, tmp_path / "c").clean_error.n == 6
    assert len(endpoint.requests) == asked


def test_a_run_to_a_precision_tells_unmapped_from_unseen(five_classes, frost):
    """Some conditions only for each image, and answers that name nothing: these are wrong, the others are not there."""
    (root, labels), rng = five_classes(90), np.random.default_rng(0)
    own = Own(lambda n, space: rng.integers(-1, 1, n))
    run = oodometer.evaluate(own, root, labels=labels, **ONE | {"corruptions": "imagenet-c", "precision": 30})
    table = run.store.table("imagenet-c", "custom-5")
    assert sum(own.sizes) == table.seen.sum() < table.seen.size
    assert table.misses[table.seen & (table.top[:, :, 0] == -1)].all()
    found = run.summary()
    assert 0.3 < found.unmapped.mean.value < 0.7
    assert "Unmapped answers" in str(run.table())


def test_a_published_baseline_is_used_only_if_asked_for(serve, of_imagenet, tmp_path, frost):
    endpoint, clean = serve(lambda request: request.names[0]), of_imagenet("val", [0, 1])
    given = ONE | {"corruptions": "imagenet-c"}
    run = oodometer.evaluate(f"vlm:{endpoint.url}#m", clean, tmp_path / "run", **given)
    assert run.summary().corruptions.mce is None
    assert run.summary().corruptions.losses.top5_error is None  # though there are more than five classes
    assert {row.top5_error for row in run.summary().corruptions.rows} == {None}
    assert run.mce(baseline="alexnet").value > 0
    assert "reach across two protocols" in " ".join(str(run.table("alexnet")).split())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("vlm:", "is no address of a server"),
        ("vlm:localhost:8000/v1#m", "is no address of a server. It is written vlm:URL#MODEL"),
        ("vlm:ftp://host/v1#m", "is no address of a server"),
        ("vlm:http://host:99999/v1#m", "no address"),
        ("vlm:http://[host/v1#m", "no address"),
        ("vlm:http://host/v1", "Which model, host must be told: vlm:URL#MODEL"),
        ("vlm:http://host/v1# ", "Which model"),
        ("vlm:http://me:secret@host/v1#m", "OPENAI_API_KEY"),
        ("vlm:http://host/v1?key=secret#m", "OPENAI_API_KEY"),
    ],
)
def test_an_address_that_is_none_is_explained(five_classes, tmp_path, spec, message):
    root, labels = five_classes(5)
    with pytest.raises(ModelError, match=message) as error:
        oodometer.evaluate(spec, root, tmp_path / "run", labels=labels, **ONE)
    assert "secret" not in str(error.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option",
    [{"device": "cpu"}, {"outputs": "probabilities"}, {"logits_offset": 1}, {"resize": True}, {"classes": "x.txt"}],
)
def test_options_that_mean_nothing_to_it_are_refused(five_classes, option):
    root, labels = five_classes(5)
    with pytest.raises(ArgumentError, match=f"takes no {next(iter(option))}"):
        oodometer.evaluate("vlm:http://host/v1#m", root, labels=labels, model_options=Options(**option), **ONE)


@pytest.mark.parametrize("option", [{"candidates": 3}, {"requests": 2}, {"per_minute": 5}])
def test_its_options_are_refused_for_others(five_classes, option):
    root, labels = five_classes(5)
    with pytest.raises(ArgumentError, match=f"fake takes no {next(iter(option))}"):
        oodometer.evaluate("fake", root, labels=labels, model_options=Options(**option), **ONE)


@pytest.mark.parametrize(
    "option", [{"candidates": 1}, {"candidates": 2.5}, {"requests": 0}, {"requests": None}, {"per_minute": 0}]
)
def test_a_wrong_number_is_refused(option):
    with pytest.raises(ArgumentError, match=next(iter(option))):
        Options(**option)


def test_too_many_candidates_are_refused_before_the_first_request(serve, five_classes):
    endpoint = serve(by_content)
    with pytest.raises(ArgumentError, match="6 candidates were asked for"):
        evaluate(endpoint, five_classes(5), candidates=6)
    assert not endpoint.requests


def test_images_without_labels_can_be_asked_about(serve, five_classes):
    data, endpoint = five_classes(10), serve(by_content)
    truth = expected(data[0])
    root, given = data[0], ONE | {"unlabelled": True, "classes": 5}
    run = oodometer.evaluate(f"vlm:{endpoint.url}#m", root, **given)
    assert run.summary().unmapped is not None
    assert "Unmapped answers" in str(run.table())
    assert len(endpoint.requests) == len(truth)
    with pytest.raises(ArgumentError, match="has no label"):
        oodometer.evaluate(f"vlm:{endpoint.url}#m", root, model_options=Options(candidates=3), **given)


def test_a_strength_curve_is_refused(five_classes):
    root, labels = five_classes(5)
    with pytest.raises(ArgumentError, match="asked in words"):
        oodometer.strength_curve("vlm:http://host/v1#m", root, "fog", labels=labels)


class Own:
    """A model of the user's own that names classes."""

    name, fingerprint, normalization = "own", "own", None
    answers, at_once = "answers of my own", 7

    def __init__(self, give=None):
        self.give, self.sizes = give or (lambda n, space: np.zeros(n, np.int64)), []

    def expect(self, folder, questions, shape):
        return f"{sum(sum(each.values()) for _, each in questions)} free requests"

    def answer(self, images, samples, space, seed):
        self.sizes.append(len(images))
        assert [sample.id for sample in samples]
        return self.give(len(images), space)


def test_any_object_may_name_classes(five_classes):
    (root, labels), own = five_classes(10), Own()
    run = oodometer.evaluate(own, root, labels=labels, **ONE)
    assert run.clean_error.value == pytest.approx(0.8)
    assert run.manifest.benchmarks[0].protocol.answers == "answers of my own"
    assert own.sizes == [7] * 6 + [3] * 6


@pytest.mark.parametrize(
    "give",
    [
        lambda n, space: np.full(n, 5),
        lambda n, space: np.full(n, -2),
        lambda n, space: np.zeros(n),
        lambda n, space: np.zeros((n, 5), np.int64),
        lambda n, space: np.zeros(n + 1, np.int64),
        lambda n, space: np.ma.masked_equal(np.zeros(n, np.int64), 0),
        lambda n, space: 1 / 0,
    ],
)
def test_what_would_make_a_wrong_number_is_refused(five_classes, tmp_path, give):
    root, labels = five_classes(5)
    with pytest.raises(ModelError, match=r"The model (gave|named|failed)"):
        oodometer.evaluate(Own(give), root, tmp_path / "run", labels=labels, **ONE)
    assert not (tmp_path / "run").exists()


def test_the_command_and_its_record_hold_no_secret(serve, five_classes, tmp_path, monkeypatch, capsys):
    """The command line, with a key in the environment that nothing of the run repeats."""
    (root, labels), endpoint = five_classes(5), serve(by_content)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    command = ["evaluate", f"vlm:{endpoint.url}#m", "--data", str(root), "--labels", str(labels)]
    command += ["-o", str(tmp_path / "run"), "--preprocess", "none", "--edition", "tiny64"]
    command += ["--corruptions", "brightness", "--candidates", "4", "--requests", "2", "--per-minute", "60000"]
    monkeypatch.setattr(sys, "argv", ["oodometer", *command])
    with pytest.raises(SystemExit) as status:
        main()
    said = capsys.readouterr()
    assert status.value.code == 0
    assert "at most 30 requests" in said.err.replace("\n", " ")
    assert "Unmapped answers" in said.out
    assert {request.headers["Authorization"] for request in endpoint.requests} == {"Bearer sk-very-secret"}
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"very-secret" not in file.read_bytes()
    assert "very-secret" not in said.out + said.err
    assert RunStore(tmp_path / "run").read_manifest().benchmarks[0].protocol.answers.startswith("free-text answers")


def test_it_is_listed(capsys):
    with pytest.raises(SystemExit):
        main(["list"])
    assert "vlm:URL#MODEL" in capsys.readouterr().out


def test_the_names_of_the_thousand_are_those_of_the_label_space(serve, of_imagenet):
    endpoint = serve(lambda request: "tench")
    run = oodometer.evaluate(f"vlm:{endpoint.url}#m", of_imagenet("val", [0, 1]), **ONE | {"corruptions": ()})
    assert endpoint.requests[0].names == [name.replace("_", " ") for name in imagenet1k().names]
    assert run.clean_error.value == 0.5
