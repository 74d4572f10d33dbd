"""``--baseline`` with the folder of another run, through the whole road."""

import numpy as np
import pytest
from click.testing import CliRunner
from probes import FAST, Probe

import oodometer
from oodometer.cli import cli
from oodometer.errors import MetricError
from oodometer.types import CLEAN


class Other(oodometer.FakeModel):
    """A second model, whose answers are those of the fake one turned by a class."""

    def __init__(self):
        super().__init__()
        self.name = self.fingerprint = "other"

    def predict(self, images):
        logits = super().predict(images).copy()
        logits[:, ::2] += 0.5
        return logits


def test_another_run_is_divided_by_and_named(photographs, tmp_path):
    root, out = photographs(8), tmp_path / "runs" / "other"
    other = oodometer.evaluate(Other(), root, out, **FAST)
    run = oodometer.evaluate("fake", root, tmp_path / "mine", baseline=str(out), **FAST)
    assert run.mce().value == pytest.approx(
        oodometer.metrics.mce(run.errors, {"name": "plain", "errors": {k: list(v) for k, v in other.errors.items()}})
    )
    assert run.summary().corruptions.baseline.name == "other"
    assert not run.summary().corruptions.baseline.exact
    assert "baseline other" in str(run.table())
    assert oodometer.Run(run.path).mce() == run.mce()
    again = oodometer.evaluate("fake", root, tmp_path / "mine", baseline=str(out), **FAST)
    assert again.mce() == run.mce()
    report = CliRunner().invoke(cli, ["report", str(tmp_path / "mine"), "--baseline", str(out)])
    assert report.exit_code == 0, report.output
    assert "run other: 8 images" in report.output


def test_a_run_of_another_protocol_fails_before_the_first_prediction(photographs, tmp_path):
    root, out = photographs(4), tmp_path / "other"
    oodometer.evaluate("fake", root, out, encoding="jpeg85", **FAST)
    probe = Probe(lambda images: 1 / 0)
    with pytest.raises(MetricError, match=r"another protocol\. encoding: there \"jpeg85\", now \"memory\""):
        oodometer.evaluate(probe, root, baseline=out, **FAST)
    assert probe.seen == []


def test_a_run_to_a_precision_can_be_compared_and_divided_by(photographs, tmp_path):
    """Images that went through some conditions only, with gaps in every table."""
    root = photographs(100, side=32)
    some = oodometer.evaluate(Other(), root, tmp_path / "some", precision=30, **FAST)
    run = oodometer.evaluate("fake", root, tmp_path / "mine", **FAST)
    assert some.store.table("imagenet-c", "imagenet-1k").seen.mean() < 1
    found = oodometer.compare([run, some])
    (pair,) = found.pairs
    assert pair.mce.low < pair.mce.value < pair.mce.high
    assert 0 < pair.corruptions[0].p <= 1
    tables = [r.store.table("imagenet-c", "imagenet-1k") for r in (run, some)]
    wrong = [dict(zip(t.images, t.top[:, t.conditions.index(CLEAN), 0] != t.labels, strict=True)) for t in tables]
    seen = tables[1].under(CLEAN).images
    assert pair.clean_error.difference.n == len(seen) < len(tables[1].images)
    assert pair.clean_error.difference.value == pytest.approx(
        np.mean([wrong[1][image] for image in seen]) - np.mean([wrong[0][image] for image in seen])
    )
    assert run.mce(some.path).low < run.mce(some.path).high
    assert "all runs have" in str(found)
