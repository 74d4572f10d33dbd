"""Photographs redrawn by filters: what each filter must do to pictures for which that is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer.corruptions import registry
from oodometer.corruptions.renditions import canvas, painted, printed
from oodometer.families import GROUPS, RENDITIONS
from oodometer.testing import check_corruption


@pytest.fixture
def disk():
    """Make a red disk of radius 60 on a blue ground, and the mask of it."""
    y, x = np.indices((224, 224))
    inside = np.hypot(y - 112, x - 112) < 60
    return np.where(inside[..., None], (200, 40, 30), (60, 90, 160)).astype(np.uint8), inside


@pytest.fixture
def scene():
    """Make a picture with structure of several sizes."""
    rng = np.random.default_rng(0)
    waves = sum(canvas.grain(np.random.RandomState(k), (224, 224), 2.0**k) for k in range(5))
    return canvas.finished(0.5 + 0.1 * (waves[..., None] + 0.3 * rng.standard_normal((1, 1, 3))))


@pytest.mark.parametrize("name", RENDITIONS)
def test_each_keeps_the_promises_of_a_corruption(name):
    check_corruption(name)


def test_they_are_a_group_of_their_own_and_in_no_mean():
    assert registry.list_corruptions("renditions") == RENDITIONS
    assert not set(RENDITIONS) & set(GROUPS["all"])
    assert not set(RENDITIONS) & set(registry.list_corruptions("own"))


def test_no_mean_counts_them(tmp_path, scene):
    import PIL.Image

    (tmp_path / "n01440764").mkdir()
    PIL.Image.fromarray(scene).save(tmp_path / "n01440764" / "a.png")
    run = oodometer.evaluate("fake", tmp_path, corruptions="renditions", preprocess="none", progress=False)
    part = run.summary().corruptions
    assert (part.rows, part.mean_error) == ((), None)
    assert [row.name for row in part.extra] == list(RENDITIONS)


@pytest.mark.parametrize("name", RENDITIONS)
def test_stronger_ones_are_further_from_the_photograph(name, scene):
    """Of the filters that end at a drawing without colour the last step may be the coarser drawing only."""
    away = [np.abs(oodometer.corrupt(scene, name, s).astype(float) - scene).mean() for s in (0.25, 0.5, 1, 5)]
    assert away[0] < away[1] < away[2] <= 1.05 * away[3]


@pytest.mark.parametrize("name", ["pencil", "ink"])
def test_a_sheet_without_anything_on_it_has_no_line(name):
    made = oodometer.corrupt(np.full((96, 96, 3), 200, np.uint8), name, 5)
    assert made.min() > 150
    assert made.max(axis=2).std() < 25


def test_ink_draws_the_outline_and_nothing_else():
    """A dark disk, though not so dark as to be filled: white inside and outside, black at its edge."""
    y, x = np.indices((224, 224))
    distance = np.hypot(y - 112, x - 112)
    picture = np.where(distance < 60, 110, 200)[..., None].repeat(3, axis=2).astype(np.uint8)
    made = oodometer.corrupt(picture, "ink", 4)
    assert made[np.abs(distance - 58) < 2].mean() < 90
    assert made[distance < 40].mean() > 245
    assert made[distance > 75].mean() > 245


def test_a_cartoon_has_few_tones():
    ramp = np.linspace(0, 255, 224).astype(np.uint8)[None, :, None].repeat(224, axis=0).repeat(3, axis=2)
    made = oodometer.corrupt(ramp, "cartoon", 5)
    assert len(np.unique(made[100, :, 0])) <= 8
    assert len(np.unique(ramp)) > 200


def test_a_stroke_is_the_calmest_of_four_boxes():
    rng = np.random.default_rng(1)
    picture = rng.random((20, 17, 3), dtype=np.float32)
    reach, tones = 2, canvas.gray(picture)
    found = painted._brushed(picture, reach)
    for y in range(reach, 20 - reach):
        for x in range(reach, 17 - reach):
            boxes = [np.s_[y - a : y - a + 3, x - b : x - b + 3] for a in (2, 0) for b in (2, 0)]
            best = min(boxes, key=lambda box: tones[box].var())
            np.testing.assert_allclose(found[y, x], picture[best].mean(axis=(0, 1)), atol=1e-5)


def test_oil_keeps_an_edge_where_it_is(disk):
    picture, inside = disk
    made = oodometer.corrupt(picture, "oil", 2).astype(float)
    assert made[inside].mean(axis=0) == pytest.approx(picture[inside].mean(axis=0), abs=6)
    assert made[~inside].mean(axis=0) == pytest.approx(picture[~inside].mean(axis=0), abs=6)


@given(st.integers(16, 60), st.integers(16, 60), st.floats(2, 9), st.integers(0, 99))
@settings(max_examples=20)
def test_tiles_belong_to_the_nearest_of_all_points(height, width, side, seed):
    number, nearest, further = printed._tiles((height, width), np.random.RandomState(seed), side)
    rows, columns = int(np.ceil(height / side)) + 2, int(np.ceil(width / side)) + 2
    place = np.random.RandomState(seed).random_sample((rows, columns, 2)) * 0.7 + 0.15
    points = ((np.indices((rows, columns)).transpose(1, 2, 0) - 1 + place) * side).reshape(-1, 2)
    y, x = np.indices((height, width))
    apart = np.hypot(y[..., None] - points[:, 0], x[..., None] - points[:, 1])
    order = np.sort(apart, axis=2)
    # Points two cells away may be nearer than one of the nine only if that one is hardly nearer than a cell and a half.
    close = order[..., 1] < side
    np.testing.assert_array_equal(number[close], apart.argmin(axis=2)[close])
    np.testing.assert_allclose(nearest[close], order[..., 0][close])
    np.testing.assert_allclose(further[close], order[..., 1][close])


def test_a_mosaic_has_the_colours_of_the_picture(disk):
    picture, inside = disk
    made = oodometer.corrupt(picture, "mosaic", 3).astype(float)
    deep = np.hypot(*(np.indices((224, 224)) - 112)) < 45
    assert made[deep][:, 0].mean() > made[deep][:, 2].mean() + 50
    assert made[~inside][:, 2].mean() > made[~inside][:, 0].mean() + 30


@pytest.mark.parametrize("level", [40, 128, 215])
def test_a_halftone_has_as_much_ink_as_the_tone_wants(level):
    made = oodometer.corrupt(np.full((224, 224, 3), level, np.uint8), "halftone", 4)
    assert (made < 128).mean() == pytest.approx(1 - level / 255, abs=0.12)


def test_a_silhouette_is_the_thing_in_the_middle(disk):
    picture, inside = disk
    dark = oodometer.corrupt(picture, "silhouette", 5).mean(axis=2) < 128
    assert (dark & inside).sum() / (dark | inside).sum() > 0.95


def test_a_picture_without_a_thing_has_no_silhouette():
    made = oodometer.corrupt(np.full((64, 64, 3), 90, np.uint8), "silhouette", 5)
    assert np.unique(made.reshape(-1, 3), axis=0).shape == (1, 3)


@pytest.mark.parametrize("name", RENDITIONS)
def test_a_larger_picture_gets_a_rendition_that_looks_the_same(name, disk):
    """Twice the size, halved again: nearly what the small one becomes, but for chance in its details."""
    picture, _ = disk
    small = oodometer.corrupt(picture, name, 2).astype(float)
    large = oodometer.corrupt(picture.repeat(2, axis=0).repeat(2, axis=1), name, 2).astype(float)
    halved = large.reshape(224, 2, 224, 2, 3).mean(axis=(1, 3))
    coarse = [p.reshape(14, 16, 14, 16, 3).mean(axis=(1, 3)) for p in (small, halved)]
    assert np.abs(coarse[0] - coarse[1]).mean() < 12
