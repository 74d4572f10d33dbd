"""Explicit vectors: each operation against NumPy, lane by lane."""

import operator
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from oodometer.corruptions.fast import vectors
from oodometer.corruptions.fast.vectors import (
    bits,
    convert,
    fill,
    high_product,
    larger,
    load,
    select,
    shuffler,
    smaller,
    store,
)

KINDS = [np.uint8, np.uint16, np.int16, np.uint32, np.int32, np.float32]
WHOLE = KINDS[:-1]
LANES = 16


def numbers(kind, seed):
    rng = np.random.RandomState(seed)
    if kind is np.float32:
        return rng.normal(0, 100, LANES).astype(kind)
    limits = np.iinfo(kind)
    drawn = rng.randint(limits.min, limits.max, LANES, dtype=np.int64).astype(kind)
    drawn[:2] = limits.min, limits.max
    return drawn


def applied(function, kind, result=None):
    """Apply a compiled function of two vectors; return what went in and what came out."""

    @numba.njit
    def run(a, b, out):
        store(out, 0, function(load(a, 0, 16), load(b, 0, 16)))

    a, b = numbers(kind, 0), numbers(kind, 1)
    out = np.zeros(LANES, result or kind)
    run(a, b, out)
    return a, b, out


OPERATORS = [operator.add, operator.sub, operator.mul]
BITWISE = [operator.and_, operator.or_, operator.xor]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize(
    ("operation", "kind"), [(o, k) for o in OPERATORS for k in KINDS] + [(o, k) for o in BITWISE for k in WHOLE]
)
def test_operators_work_lane_by_lane(operation, kind):
    a, b, out = applied(operation, kind)
    assert np.array_equal(out, operation(a, b))


@pytest.mark.parametrize("kind", WHOLE)
def test_shifts_keep_the_sign(kind):
    @numba.njit
    def shifted(a, b):
        return (a >> fill(kind(3), 16)) ^ (a << fill(kind(2), 16))

    a, _, out = applied(shifted, kind)
    assert np.array_equal(out, (a >> kind(3)) ^ (a << kind(2)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compare", COMPARISONS)
def test_select_follows_a_comparison(compare, kind):
    a, b, out = applied(numba.njit(lambda a, b: select(compare(a, b), a + b, a - b)), kind)
    assert np.array_equal(out, np.where(compare(a, b), a + b, a - b))


@pytest.mark.parametrize("kind", KINDS)
def test_smaller_and_larger(kind):
    a, b, out = applied(numba.njit(lambda a, b: larger(a, b) - smaller(a, b)), kind)
    assert np.array_equal(out, np.maximum(a, b) - np.minimum(a, b))


@pytest.mark.parametrize("kind", WHOLE)
def test_the_high_product_is_the_upper_half(kind):
    a, b, out = applied(high_product, kind)
    exact = [(int(x) * int(y)) >> (8 * out.itemsize) for x, y in zip(a, b, strict=True)]
    assert out.tolist() == exact


@pytest.mark.parametrize("new", KINDS)
@pytest.mark.parametrize("old", WHOLE)
def test_convert_extends_or_cuts_as_numpy_does(old, new):
    a, _, out = applied(numba.njit(lambda a, b: convert(a, new)), old, new)
    assert np.array_equal(out, a.astype(new))


def test_floats_are_truncated_towards_0():
    a, _, out = applied(numba.njit(lambda a, b: convert(a, np.int32)), np.float32, np.int32)
    assert np.array_equal(out, np.trunc(a))


def test_bits_stay_when_lanes_merge():
    @numba.njit
    def merged(a, b):
        return bits(bits(a, np.uint32) + bits(b, np.uint32), np.uint8)

    a, b, out = applied(merged, np.uint8)
    assert np.array_equal(out, (a.view(np.uint32) + b.view(np.uint32)).view(np.uint8))


def test_a_shuffle_picks_from_both():
    chosen = [3, 17, 0, 31, 16, 15, 2, 2, 30, 1, 9, 8, 7, 20, 21, 22]
    shuffle = shuffler(*chosen)
    a, b, out = applied(shuffle, np.uint16)
    assert np.array_equal(out, np.concatenate([a, b])[chosen])


def test_any_place_of_an_array_will_do():
    source, target = np.arange(100, dtype=np.uint16), np.zeros(100, np.uint16)

    @numba.njit
    def copy(source, target):
        store(target, np.uint32(7), load(source, np.int64(33), 32))

    copy(source, target)
    assert np.array_equal(target[7:39], np.arange(33, 65))
    assert target.sum() == np.arange(33, 65).sum()


def test_vectors_of_different_types_do_not_mix():
    with pytest.raises(numba.core.errors.TypingError):
        applied(numba.njit(lambda a, b: a + convert(b, np.int16)), np.uint16)


def test_plain_loops_are_chosen_by_the_environment_and_after_a_failure(monkeypatch):
    def refuse(*_):
        raise numba.core.errors.NumbaError("no such instruction")

    script = "from oodometer.corruptions.fast import vectors; print(vectors.explicit())"
    for value, expected in (("0", "None"), ("1", "True")):
        environment = {**os.environ, "OODOMETER_VECTORS": value}
        printed = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        assert printed.stdout.strip() == expected
    monkeypatch.delenv("OODOMETER_VECTORS", raising=False)
    monkeypatch.setattr(vectors, "_halve", refuse)
    assert vectors.explicit.__wrapped__() is None
