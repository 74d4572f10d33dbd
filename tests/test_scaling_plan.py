"""The plan of ``docs/scaling.md`` is arithmetic on what was measured; here on figures that are easy to reckon with."""

import importlib
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "scaling.md"


@pytest.fixture
def scaling(monkeypatch):
    """Load the benchmark, which sets variables of its own."""
    monkeypatch.syspath_prepend(str(CHECKOUT / "benchmarks"))
    for name in ("OMP_NUM_THREADS", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "1")
    return importlib.import_module("scaling")


@pytest.fixture
def figures(scaling):
    """Make figures: a core does 1,500 pictures a second, a block costs 10 ms, a photograph has 76,000 bytes."""
    by_workers = {1: 1500.0, 2: 3000.0}
    ratios = {1: 1.0, 2: 1.25}
    return scaling.Figures(
        *(by_workers, {1: 1500.0, 2: 2400.0}, ratios) * 2,
        handing_out=0.004,
        keeping=0.006,
        photograph=76_000.0,
        prediction=30.0,
        picture=10_000.0,
    )


def test_the_plan_adds_up(scaling, figures):
    plan = scaling.plan(figures, 10)
    assert plan.pictures == 30_000  # ten times the 3,000 assumed
    assert plan.cores == 20
    assert plan.read == 30_000 * 1000
    assert plan.written == 30_000 * 30
    assert plan.blocks == pytest.approx(30_000 / (64 * 76))
    assert plan.driver == pytest.approx(0.01 * plan.blocks)
    assert plan.minutes == pytest.approx(50_000 * 76 / 30_000 / 60)
    assert plan.models == pytest.approx(100 * 50_000 * 76 / 30_000 / 3600)
    many = scaling.plan(figures, 1000)
    assert many.minutes == pytest.approx(50_000 * 76 / (782 * 3000) / 60)  # 782 blocks of 64 images


def test_what_is_full_first_stands_first(scaling, figures):
    lines = [line for line in scaling.limits_table(figures).splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[1].rstrip(" |") for line in lines] == [
        "162",  # 64 * 76 / 3000 / 0.01
        "782",
        "1,667",  # 5e9 / (3000 * 1000)
        "never: 2.0 are needed of 16",
    ]


def test_too_few_cores_are_full_from_the_first_on(scaling, figures, monkeypatch):
    monkeypatch.setitem(scaling.ASSUMED, "processor cores beside a graphics processor", 1.0)
    assert "| from the first on: 2.0 are needed of 1 |" in scaling.limits_table(figures)


def test_what_was_measured_goes_between_the_marks(scaling, figures):
    text = PAGE.read_text(encoding="utf-8")
    once = scaling.written(text, scaling.page(figures))
    assert "| evaluation | 2 | 3000 | 2400 | 1.25 | 1.60 |" in once
    assert scaling.written(once, scaling.page(figures)) == once
    start, end = scaling.MARKS
    assert once.partition(start)[0] == text.partition(start)[0]
    assert once.partition(end)[2] == text.partition(end)[2]
    with pytest.raises(ValueError, match="lacks the marks"):
        scaling.written("no marks", "x")


def test_a_rate_leaves_the_first_blocks_out(scaling, tmp_path):
    import os

    for number, second in enumerate((0, 100, 101, 102, 104)):
        path = tmp_path / f"{number}.parquet"
        path.touch()
        os.utime(path, (second, second))
    assert scaling.rate(tmp_path, 1) == pytest.approx(3 * scaling.BATCH * 76 / 4)
