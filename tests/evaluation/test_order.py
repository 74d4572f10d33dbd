"""The order of the images: seeded, the same for everyone, and each beginning of it in the classes' proportions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oodometer.plan import seeded_order
from oodometer.types import Sample

samples = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(
    lambda labels: [Sample(f"{label}/{i}.png", label, 1) for i, label in enumerate(labels)]
)


@given(samples, st.integers(0, 1000))
def test_it_is_a_permutation(images, seed):
    assert sorted(seeded_order(images, seed), key=lambda s: s.id) == sorted(images, key=lambda s: s.id)


@given(samples, st.integers(0, 1000), st.randoms())
def test_the_order_of_the_listing_does_not_matter(images, seed, random):
    shuffled = images.copy()
    random.shuffle(shuffled)
    assert seeded_order(images, seed) == seeded_order(shuffled, seed)


@given(samples, st.integers(0, 1000))
def test_every_beginning_holds_each_class_in_its_share(images, seed):
    """Within one image of the class's own, and its share of one image of each class."""
    order = [s.label for s in seeded_order(images, seed)]
    counts = np.bincount(order, minlength=5)
    for n in range(1, len(order) + 1):
        so_far = np.bincount(order[:n], minlength=5)
        share = counts / len(order)
        assert (np.abs(so_far - share * n) <= 1 + (counts > 0).sum() * share).all()


def test_any_image_may_be_first():
    images = [Sample(f"{label}/{i}.png", label, 1) for label in range(2) for i in range(3)]
    firsts = {seeded_order(images, seed)[0].id for seed in range(200)}
    assert len(firsts) == 6


def test_a_prefix_is_an_unbiased_sample():
    """Over many seeds each image is among the first third equally often (chi-square, 29 degrees of freedom)."""
    images = [Sample(f"{label}/{i}.png", label, 1) for label in range(3) for i in range(10)]
    seen = dict.fromkeys((s.id for s in images), 0)
    for seed in range(2000):
        for sample in seeded_order(images, seed)[:10]:
            seen[sample.id] += 1
    expected = 2000 / 3
    statistic = sum((count - expected) ** 2 / (expected * 2 / 3) for count in seen.values())
    assert statistic < 59  # exceeded by chance once in a thousand
