"""What is asked of a model and its inputs, from the call to the record and the report."""

import hashlib
import json

import msgspec
import numpy as np
import PIL.Image
import pyarrow.parquet as pq
import pytest
from probes import FAST, Probe

import oodometer
from oodometer.errors import ArgumentError, ModelError, StoreError
from oodometer.models import InputSize
from oodometer.models import adapted as adapted_models
from oodometer.store import Manifest, ModelRecord, RunStore

ONE = FAST | {"corruptions": "contrast"}


def sized(side):
    """Make a model that declares a size, and answers by the mean of each third of the picture."""
    probe = Probe(lambda images: np.tile(images.mean((1, 2)), (1, 334))[:, :1000])
    probe.input_size = InputSize(((side, side),), "bicubic")
    return probe


def test_a_model_of_another_size_is_refused_and_nothing_is_left(photographs, tmp_path):
    """Case G3."""
    with pytest.raises(ModelError, match=r"96x96 .* 64x64"):
        oodometer.evaluate(sized(96), photographs(2), tmp_path / "run", **ONE)
    assert not (tmp_path / "run").exists()


def test_a_resized_result_is_marked_and_is_another_plan(photographs, tmp_path):
    """Case G3."""
    root, probe, resize = photographs(2), sized(96), oodometer.ModelOptions(resize=True)
    run = oodometer.evaluate(probe, root, tmp_path / "run", model_options=resize, **ONE)
    assert {images.shape[1:] for images in probe.seen} == {(96, 96, 3)}
    assert run.manifest.model.resized == "96x96 bicubic"
    text = str(run.table())
    assert "Model input" in text
    assert "96x96 bicubic" in text
    assert "Do not compare this result" in " ".join(text.split())
    assert "Do not compare this result" in run.report().read_text()
    with pytest.raises(StoreError, match=r"model\.resized"):
        oodometer.evaluate(sized(64), root, tmp_path / "run", **ONE)
    same = oodometer.evaluate(sized(64), root, **ONE)
    assert "Do not compare" not in " ".join(str(same.table()).split())


def test_a_size_that_the_crop_has_is_not_marked(photographs):
    run = oodometer.evaluate(
        sized(224),
        photographs(2, side=240),
        model_options=oodometer.ModelOptions(resize=True),
        **ONE | {"preprocess": "imagenet224"},
    )
    assert run.manifest.model.resized == "224x224 bicubic"
    assert "Do not compare this result" not in " ".join(str(run.table()).split())


class Spy:
    """Make a network that remembers what it was given, normalised."""

    def __init__(self):
        import torch

        seen = self.seen = []

        class Network(torch.nn.Module):
            def forward(self, x):
                seen.append(x.numpy().copy())
                return torch.zeros(len(x), 1000)

        self.module = Network()


@pytest.mark.parametrize(
    ("normalization", "mean", "std"),
    [
        (None, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ("none", (0, 0, 0), (1, 1, 1)),
        ("0.5/0.5", (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    ],
)
def test_clean_and_corrupted_pictures_go_through_one_normalization(photographs, normalization, mean, std):
    """Cases G1 and G2: files of the final size are not resampled, and every condition is normalised alike."""
    root, spy = photographs(2), Spy()
    given = oodometer.ModelOptions(normalization=normalization)
    run = oodometer.evaluate(spy.module, root, model_options=given, **ONE)
    clean, *corrupted = (batch.transpose(0, 2, 3, 1) * std + mean for batch in spy.seen)
    files = sorted(root.rglob("*.png"))
    by_bytes = {np.asarray(PIL.Image.open(file)).tobytes() for file in files}
    assert {np.rint(picture * 255).astype(np.uint8).tobytes() for picture in clean} == by_bytes
    assert len(corrupted) == 5
    for batch in (clean, *corrupted):
        np.testing.assert_allclose(batch * 255, np.rint(batch * 255), atol=1e-3)
    recorded = run.manifest.model.normalization
    assert (tuple(recorded["mean"]), tuple(recorded["std"])) == (mean, std)
    assert str(list(map(float, mean))) in " ".join(str(run.table()).split())


def test_what_the_outputs_mean_is_recorded(photographs):
    background = Probe(lambda images: np.tile(np.arange(1001.0), (len(images), 1)))
    with pytest.raises(ModelError, match=r"1001 outputs .*--logits-offset 1"):
        oodometer.evaluate(background, photographs(2), **ONE)
    options = oodometer.ModelOptions(logits_offset=1)
    run = oodometer.evaluate(background, photographs(2), model_options=options, **ONE)
    assert set(run.store.table("imagenet-c", "imagenet-1k").top[:, 0, 0]) == {999}
    assert "the first 1" in str(run.table())


def test_an_automatic_batch_size_is_kept_with_the_run(photographs, tmp_path, monkeypatch):
    """What was stopped ends the same to the last digit, though the machine may be busier then."""
    asked = []
    for found in (7, 5):
        monkeypatch.setattr(
            adapted_models, "find_batch_size", lambda *args, found=found: asked.append(args[1].shape) or found
        )
        run = oodometer.evaluate("fake", photographs(80, side=16), tmp_path / "run", **ONE)
        assert run.manifest.batch_size == 7
        some = max((tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet"))
        assert some.name == "00000077.parquet"
        some.unlink()
    assert asked == [(16, 16, 3)]


def test_an_automatic_batch_size_asks_a_stranger_nothing(photographs):
    """A model of the user's own may count, or cost; it gets 16 pictures at a time."""
    probe = Probe(lambda images: np.zeros((len(images), 1000)))
    run = oodometer.evaluate(probe, photographs(80, side=16), **FAST | {"corruptions": ()})
    assert [len(images) for images in probe.seen] == [16] * 5
    assert run.manifest.batch_size == 16


def test_a_run_of_an_earlier_version_is_read(photographs, tmp_path):
    """Its manifest has no word of what came later, and its predictions name the plan without it."""
    oodometer.evaluate("fake", photographs(2), tmp_path / "run", **ONE)
    place = tmp_path / "run" / "manifest.json"
    manifest = json.loads(place.read_text())
    del manifest["batch_size"], manifest["model"]["resized"], manifest["model"]["settings"]
    for record in manifest["benchmarks"]:
        del record["labelled"], record["protocol"]["stored"], record["protocol"]["answers"]
    place.write_text(json.dumps(manifest))
    records = [dict(record) for record in manifest["benchmarks"]]
    for record in records:
        del record["dataset"], record["design"]
    plan = {"model": manifest["model"], "benchmarks": {record.pop("name"): record for record in records}}
    (file,) = (tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet")
    found = pq.read_schema(file).metadata[b"oodometer.plan"].decode()
    assert found == hashlib.sha256(msgspec.json.encode(plan)).hexdigest()
    assert isinstance(RunStore(tmp_path / "run").read_manifest(), Manifest)
    assert RunStore(tmp_path / "run").read_manifest().model == ModelRecord("fake-1000", "fake-1000", None)
    assert oodometer.Run(tmp_path / "run").clean_error.n == 2
    oodometer.evaluate("fake", photographs(2), tmp_path / "run", **ONE)


def test_options_must_be_options(photographs):
    with pytest.raises(ArgumentError, match="are ModelOptions"):
        oodometer.evaluate("fake", photographs(2), model_options={"device": "cpu"}, **ONE)
