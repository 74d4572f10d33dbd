"""From logits to classes, confidence and loss, against a plain twin and the cases of the field."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer.datasets import imagenet1k, imagenet_r
from oodometer.scoring import score
from oodometer.types import LabelSpace


def _space(width, columns=None):
    names = tuple(f"c{i}" for i in range(width))
    return LabelSpace("s", names, names, columns)


def test_masking_before_the_argmax_changes_the_verdict():
    """Case I1: class 0 is not in ImageNet-R, class 1 is."""
    logits = np.full((1, 1000), -20.0)
    logits[0, :3] = 5, 4, 3
    labels = np.array([1], dtype=np.int32)
    assert score(logits, labels, imagenet_r()).top[0, 0] == 1
    assert score(logits, labels, imagenet1k()).top[0, 0] == 0


def test_masking_before_the_softmax_renormalises():
    logits = np.full((1, 1000), -20.0)
    logits[0, :3] = 5, 4, 3
    masked = score(logits, np.array([1], dtype=np.int32), imagenet_r())
    # Class 2 is in ImageNet-R too; the other 198 add almost nothing.
    expected = math.exp(4) / (math.exp(4) + math.exp(3) + 198 * math.exp(-20))
    assert math.isclose(masked.confidence[0], expected, rel_tol=1e-6)
    assert math.isclose(masked.nll[0], -math.log(expected), rel_tol=1e-5)


# Equal logits in a row are common among the second kind: they keep the order of the columns.
logits_of_seven = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 6), st.just(7)),
    elements=st.floats(-1e4, 1e4, width=32) | st.sampled_from([0.0, 1.0]),
)


@given(logits_of_seven, st.lists(st.integers(0, 6), min_size=1, unique=True), st.data())
def test_equals_a_plain_twin(logits, columns, data):
    columns = tuple(sorted(columns))
    labels = np.array([data.draw(st.integers(0, 6)) for _ in logits], dtype=np.int32)
    found = score(logits, labels, _space(7, columns))
    for i, row in enumerate(logits.astype(float)):
        ranked = sorted(columns, key=lambda c: (-row[c], c))
        assert found.top[i].tolist() == ranked[:5]
        highest = max(row[c] for c in columns)
        total = math.fsum(math.exp(row[c] - highest) for c in columns)
        assert math.isclose(found.confidence[i], 1 / total, rel_tol=1e-5)
        if labels[i] in columns:
            assert math.isclose(found.nll[i], math.log(total) + highest - row[labels[i]], rel_tol=1e-5, abs_tol=1e-6)
        else:
            assert found.nll[i] == math.inf
        shares = {c: math.exp(row[c] - highest) / total for c in columns}
        brier = math.fsum((shares.get(c, 0) - (c == labels[i])) ** 2 for c in range(7))
        assert math.isclose(found.brier[i], brier, rel_tol=1e-5, abs_tol=1e-12)


def test_the_brier_score_at_its_ends():
    """Sure and right: 0. Sure and wrong: 2. Undecided among k: (1 - 1/k)^2 + (k - 1) / k^2 = 1 - 1/k."""
    sure, undecided = np.array([[900.0, 0, 0, 0]]), np.zeros((1, 4))
    right, wrong = np.array([0], dtype=np.int32), np.array([2], dtype=np.int32)
    assert score(sure, right, _space(4)).brier.tolist() == [0]
    assert score(sure, wrong, _space(4)).brier.tolist() == [2]
    assert score(undecided, wrong, _space(4)).brier.tolist() == [0.75]


@given(logits_of_seven, st.floats(-100, 100))
def test_a_constant_added_to_all_logits_changes_nothing(logits, constant):
    labels = np.zeros(len(logits), dtype=np.int32)
    one, other = (
        score(values, labels, _space(7)) for values in (logits.astype(float), logits.astype(float) + constant)
    )
    np.testing.assert_allclose(one.confidence, other.confidence, rtol=1e-4)
