"""The reference kernels equal the published code: against its golden images, and against frozen digests."""

import dataclasses
import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden_cases(exactness, golden):
    return exactness.cases(golden)


def test_equals_the_golden_images_at_every_value_after_the_same_draws(
    exactness, golden, golden_cases, corruption, edition
):
    cases = [case for case in golden_cases if (case.corruption, case.edition) == (corruption, edition)]
    assert len(cases) == (15 if edition == "imagenet224" else 5)
    for case in cases:
        difference = exactness.compare(golden, case)
        assert (difference.values, difference.largest) == (0, 0), case
        assert difference.same_draws, case


def test_equals_the_frozen_digests(exactness, corruption, edition):
    # Frozen with `tools/exactness.py GOLDEN --freeze`, which refuses while any golden value is off.
    frozen = json.loads(Path(__file__).with_name("digests.json").read_text(encoding="utf-8"))
    assert exactness.digests(corruption, edition) == frozen[edition][corruption]


def test_while_a_value_is_off_nothing_is_frozen(exactness, golden, golden_cases, monkeypatch, tmp_path, capsys):
    brightness, contrast = (
        next(case for case in golden_cases if case.corruption == name) for name in ("brightness", "contrast")
    )
    swapped = dataclasses.replace(brightness, picture=contrast.picture)
    monkeypatch.setattr(exactness, "cases", lambda folder: [swapped, contrast])
    monkeypatch.setattr("sys.argv", ["exactness.py", str(golden), "--freeze", str(tmp_path / "digests.json")])
    assert exactness.main() == 1
    assert not list(tmp_path.iterdir())
    printed = capsys.readouterr()
    assert "| contrast | imagenet224 |  | 1 | 100 % | 0 | 0 | 0 |" in printed.out
    assert "nothing is frozen" in printed.err
