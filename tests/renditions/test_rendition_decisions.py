"""What people decided is read back, held to the collection, and compared by a number with a closed form."""

import json
import math

import numpy as np
import pytest
from drawings import SHARK, drawing, row, table
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import DatasetError, MetricError
from oodometer.renditions import VERDICTS, agreement, collect, described, read_decisions, screen
from oodometer.renditions.decisions import FORMAT


def decisions(place, rows, verdicts, reviewer="Ann", **other):
    """Write a file as the contact sheets save it."""
    judged = [
        {
            "path": path,
            "sha256": rows[path].sha256,
            "label": rows[path].label,
            "style": rows[path].style,
            "decision": said,
        }
        for path, said in verdicts.items()
    ]
    place.write_text(json.dumps({"format": FORMAT, "reviewer": reviewer, "decisions": judged, **other}), "utf-8")
    return place


@pytest.fixture
def three(screened):
    return screened({name: drawing(number) for number, name in enumerate(["a.png", "b.png", "c.png"])})


def test_files_of_one_person_belong_together(three, tmp_path):
    _, rows = three
    folder = tmp_path / "ann"
    folder.mkdir()
    decisions(folder / "1.json", rows, {"a.png": "keep"})
    decisions(folder / "2.json", rows, {"b.png": "drop"}, reviewer=" Ann ")
    bob = decisions(tmp_path / "bob.json", rows, {"a.png": "unsure"}, reviewer="Bob")
    first, second = read_decisions([bob, folder], rows.values())
    assert (first.name, first.verdicts) == ("Ann", {"a.png": "keep", "b.png": "drop"})
    assert (second.name, second.verdicts) == ("Bob", {"a.png": "unsure"})
    decisions(folder / "3.json", rows, {"a.png": "drop"})
    with pytest.raises(DatasetError, match=r"3\.json says 'drop' of a\.png, and .*1\.json.* says 'keep'. Give only"):
        read_decisions([folder], rows.values())


def test_decisions_of_another_collection_are_refused(three, screened, tmp_path):
    _, rows = three
    file = decisions(tmp_path / "ann.json", rows, {"a.png": "keep", "b.png": "keep"})
    _, others = screened({"a.png": drawing(7)}, out="other")
    with pytest.raises(DatasetError, match=r"ann\.json is of another collection.*1 of its 2 decisions.*\(a\.png\)"):
        read_decisions([file], others.values())


def test_a_decision_ends_with_the_class_that_it_was_about(three, pool, tmp_path):
    _, rows = three
    file = decisions(tmp_path / "ann.json", rows, {"a.png": "keep", "b.png": "keep"})
    mended = collect(table(pool, row("a.png", label=SHARK), row("b.png"), row("c.png")), tmp_path / "work")
    (ann,) = read_decisions([file], screen(mended))
    assert (ann.verdicts, ann.outdated) == ({"b.png": "keep"}, ("a.png",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is no file of decisions"),
        ("[]", "is no file of decisions"),
        ('{"format": "x", "reviewer": "A", "decisions": []}', "is of the format 'x'"),
        (f'{{"format": "{FORMAT}", "reviewer": " ", "decisions": []}}', "names no reviewer"),
        (f'{{"format": "{FORMAT}", "reviewer": "A", "decisions": [{{"path": "a.png"}}]}}', "missing required field"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_other_files_are_refused_by_name(three, tmp_path, content, message):
    file = tmp_path / "ann.json"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(DatasetError, match=message) as caught:
        read_decisions([file], three[1].values())
    assert "ann.json" in str(caught.value)
    with pytest.raises(DatasetError, match="Cannot read"):
        read_decisions([tmp_path / "gone.json"], ())
    (tmp_path / "none").mkdir()
    with pytest.raises(DatasetError, match=r"holds no \.json files"):
        read_decisions([tmp_path / "none"], ())


def test_an_unknown_verdict_is_refused(three, tmp_path):
    with pytest.raises(DatasetError, match=r"Invalid enum value 'kept' - at `\$\.decisions\[0\]\.decision`"):
        read_decisions([decisions(tmp_path / "a.json", three[1], {"a.png": "kept"})], three[1].values())


def paired(counts):
    """Return the verdicts of two people from a table: counts by what the first and the second said."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    return ({str(n): pair[place] for n, pair in enumerate(pairs)} for place in (0, 1))


def test_kappa_of_two_verdicts_is_the_closed_form():
    # 20 and 15 agreements of 50: observed 0.7, by chance 0.5 x 0.6 + 0.5 x 0.4 = 0.5, so kappa = 0.2 / 0.5.
    counts = {("keep", "keep"): 20, ("keep", "drop"): 5, ("drop", "keep"): 10, ("drop", "drop"): 15}
    found = agreement(*paired(counts))
    assert (found.pictures, found.observed, len(found.differing)) == (50, 0.7, 15)
    assert found.kappa == pytest.approx(0.4, abs=1e-12)
    half = 1.959964 * math.sqrt(0.7 * 0.3 / (50 * 0.5**2))
    assert (found.low, found.high) == pytest.approx((0.4 - half, 0.4 + half), abs=1e-6)
    assert described(found) == (
        "Cohen's kappa 0.40 (95 % interval 0.15 to 0.65); they agree on 35 of the 50 pictures that both judged."
    )


def test_kappa_at_its_ends():
    same = agreement(*paired({("keep", "keep"): 3, ("drop", "drop"): 4}))
    assert (same.kappa, same.low, same.high) == (1, 1, 1)
    opposite = agreement(*paired({("keep", "drop"): 5, ("drop", "keep"): 5}))
    assert opposite.kappa == pytest.approx(-1)
    one = agreement(*paired({("keep", "keep"): 3}))
    assert math.isnan(one.kappa)
    assert described(one).startswith("Cohen's kappa is not defined, since both said the same of every picture")
    with pytest.raises(MetricError, match="no picture that both"):
        agreement({"a": "keep"}, {"b": "keep"})
    assert agreement({"a": "keep", "b": "drop", "x": "drop"}, {"a": "keep", "b": "drop", "y": "keep"}).pictures == 2


@given(st.lists(st.tuples(st.sampled_from(VERDICTS), st.sampled_from(VERDICTS)), min_size=1, max_size=40))
def test_kappa_is_that_of_the_table(pairs):
    first, second = paired({pair: pairs.count(pair) for pair in pairs})
    table_ = np.array([[pairs.count((a, b)) for b in VERDICTS] for a in VERDICTS]) / len(pairs)
    expected, chance = np.trace(table_), float(table_.sum(axis=1) @ table_.sum(axis=0))
    found = agreement(first, second)
    if chance > 1 - 1e-9:
        assert math.isnan(found.kappa)
    else:
        assert found.kappa == pytest.approx((expected - chance) / (1 - chance), abs=1e-9)
        assert -1 <= found.low <= found.kappa <= found.high <= 1
    assert agreement(second, first).kappa == pytest.approx(found.kappa, nan_ok=True)
