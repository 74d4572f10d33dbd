"""Translate is a shifted crop to the bit; other movements equal SciPy's interpolation at places found by geometry."""

import math

import numpy as np
import pytest
from scipy import ndimage

from oodometer.perturbations import perturb

SIDE = 80


@pytest.fixture(scope="module")
def picture():
    """Return a smooth picture, 96 x 120, in which two levels a pixel are the steepest slope."""
    y, x = np.mgrid[0:96, 0:120].astype(float)
    channels = (128 + 60 * np.sin(x / 35 + k) + 50 * np.cos(y / 30 - k) for k in range(3))
    return np.stack([*channels], axis=2).astype(np.uint8)


def crop(picture, right=0, side=SIDE):
    """Return the central crop of a picture that was moved to the right over black."""
    wide = np.pad(picture, ((0, 0), (40, 40), (0, 0)))
    top, left = round((picture.shape[0] - side) / 2), round((picture.shape[1] - side) / 2) + 40 - right
    return wide[top : top + side, left : left + side]


def interpolated(picture, places):
    """Return the crop whose point (x, y) shows ``places(x, y)``, and where that is inside and outside the picture."""
    height, width = picture.shape[:2]
    top, left = round((height - SIDE) / 2), round((width - SIDE) / 2)
    y, x = np.mgrid[top : top + SIDE, left : left + SIDE].astype(float)
    across, down = places(x, y)
    channels = [
        ndimage.map_coordinates(picture[..., k].astype(float), [down, across], order=1, mode="nearest")
        for k in range(3)
    ]
    inside = (across > 0) & (across < width - 1) & (down > 0) & (down < height - 1)
    outside = (across < -1) | (across > width) | (down < -1) | (down > height)
    return np.stack(channels, axis=2), inside, outside


def check(frame, picture, places, tolerance):
    expected, inside, outside = interpolated(picture, places)
    assert inside.sum() > 0.1 * SIDE**2
    assert np.abs(frame.astype(float) - expected)[inside].max() < tolerance
    assert not frame[outside].any()


def test_translate_is_a_shifted_crop(picture):
    frames = perturb(picture, "translate", side=SIDE)
    assert frames.shape == (41, SIDE, SIDE, 3)
    for i, frame in enumerate(frames):
        np.testing.assert_array_equal(frame, crop(picture, right=i - 20))
    # Where the picture goes far enough beyond the crop, each frame is the one before, a pixel further to the right.
    np.testing.assert_array_equal(frames[1:, :, 1:], frames[:-1, :, :-1])


def test_translate_shows_black_where_the_picture_ends(picture):
    frames = perturb(picture[:, :90], "translate", side=SIDE)  # 5 columns on each side
    for i, frame in enumerate(frames):
        np.testing.assert_array_equal(frame, crop(picture[:, :90], right=i - 20))
    assert not frames[-1, :, :15].any()
    assert frames[-1, :, 15:].any(axis=2).all()


@pytest.mark.parametrize(("name", "frame"), [("translate", 20), ("rotate", 15), ("scale", 24), ("shear", 15)])
def test_each_movement_runs_through_the_unmoved_crop(picture, name, frame):
    np.testing.assert_array_equal(perturb(picture, name, side=SIDE)[frame], crop(picture))


def centred(picture, map_back):
    """Return places by a map of the distances from the published centre, which is the middle of a pixel."""
    height, width = picture.shape[:2]

    def places(x, y):
        across, down = map_back(x - width / 2, y - height / 2)
        return across + width / 2, down + height / 2

    return places


def test_rotate_turns_by_a_degree_a_frame(picture):
    for i, frame in enumerate(perturb(picture, "rotate", side=SIDE)):
        turn = np.exp(-1j * math.radians(i - 15))  # back, with y downwards

        def back(x, y, turn=turn):
            place = (x + 1j * y) * turn
            return place.real, place.imag

        check(frame, picture, centred(picture, back), 1.01)


def test_scale_grows_from_40_to_115_percent(picture):
    for i, frame in enumerate(perturb(picture, "scale", side=SIDE)):
        factor = 0.4 + 0.025 * i
        check(frame, picture, centred(picture, lambda x, y, f=factor: (x / f, y / f)), 1.01)


def test_shear_leans_columns_by_a_degree_a_frame_and_keeps_their_length(picture):
    for i, frame in enumerate(perturb(picture, "shear", side=SIDE)):
        lean = math.radians(i - 15)

        def back(x, y, lean=lean):
            along = y / math.cos(lean)  # a column becomes a line in the direction (-sin, cos)
            return x + along * math.sin(lean), along

        check(frame, picture, centred(picture, back), 1.01)


def test_tilt_is_what_a_camera_sees_of_the_turned_picture(picture):
    height, width = picture.shape[:2]
    corners = [(0, 0), (width, 0), (0, height), (width, height)]
    for i, frame in enumerate(perturb(picture, "tilt", side=SIDE)):
        seen = [_seen(x, y, width, height, math.radians(i - 15)) for x, y in corners]
        back = _through_four_points(seen, corners)

        def places(x, y, h=back):
            depth = h[2, 0] * x + h[2, 1] * y + 1
            return (h[0, 0] * x + h[0, 1] * y + h[0, 2]) / depth, (h[1, 0] * x + h[1, 1] * y + h[1, 2]) / depth

        check(frame, picture, places, 1.6)  # places are rounded to 1/32 pixel, levels to whole ones


def _seen(x, y, width, height, angle):
    """Return where a point is seen: turned about the upright axis, then the level one, then projected."""
    eye, cos, sin = math.sqrt(width**2 + height**2), math.cos(angle), math.sin(angle)
    p = np.array([x - width / 2, y - height / 2, 1.0])
    p = np.array([p[0] * cos - p[2] * sin, p[1], p[0] * sin + p[2] * cos])
    p = np.array([p[0], p[1] * cos - p[2] * sin, p[1] * sin + p[2] * cos])
    return eye * p[0] / (p[2] + eye) + width / 2, eye * p[1] / (p[2] + eye) + height / 2


def _through_four_points(sources, targets):
    rows, right = [], []
    for (x, y), (u, v) in zip(sources, targets, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows, float), np.array(right, float)), 1).reshape(3, 3)
