"""Likeness: every way of copying a drawing is seen, other drawings are not, and the search is exact."""

import io

import imagehash
import numpy as np
import PIL.Image
import PIL.ImageEnhance
import PIL.ImageOps
import pytest
from drawings import drawing, photograph
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL.Image import Transpose

from oodometer.renditions.likeness import ALIKE, BITS, SHAPE, hashes, nearest
from oodometer.renditions.photographs import looks_photographed


def jpeg(image, quality=40):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return PIL.Image.open(file).convert("RGB")


COPIES = {
    "encoded": jpeg,
    "smaller": lambda image: image.resize((48, 38), PIL.Image.Resampling.BICUBIC),
    "larger": lambda image: image.resize((400, 320), PIL.Image.Resampling.BICUBIC),
    "another shape": lambda image: image.resize((200, 100), PIL.Image.Resampling.BICUBIC),
    "mirrored": lambda image: jpeg(PIL.ImageOps.mirror(image), 60),
    "upside down": PIL.ImageOps.flip,
    **{turn.name: lambda image, turn=turn: image.transpose(turn) for turn in Transpose},
    "framed": lambda image: PIL.ImageOps.expand(image, 30, "white"),
    "margin on a side": lambda image: PIL.ImageOps.pad(image, (300, 96), color="white", centering=(0, 0)),
    "gray": lambda image: image.convert("L").convert("RGB"),
    "darker": lambda image: PIL.ImageEnhance.Brightness(image).enhance(0.7),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_alike(name):
    pictures = [drawing(number) for number in range(12)]
    base = np.array([hashes(picture, turns=1) for picture in pictures])
    found = nearest(np.array([hashes(COPIES[name](picture)) for picture in pictures]), base)
    assert found.place.tolist() == list(range(12))
    assert found.distance.max() <= ALIKE


def test_other_pictures_are_not_alike():
    pictures = [*(drawing(number) for number in range(60)), *(photograph(number) for number in range(20))]
    assert (nearest(np.array([hashes(picture) for picture in pictures])).place == -1).all()


def test_the_hash_is_that_of_the_package():
    image = drawing(3, size=(64, 64))
    square = (
        image.convert("L")
        .resize((256, 256), PIL.Image.Resampling.LANCZOS)
        .resize((64, 64), PIL.Image.Resampling.LANCZOS)
    )
    ours = np.unpackbits(hashes(image)[0, 0])
    assert (ours == imagehash.phash(square, hash_size=16).hash.ravel()).all()
    assert hashes(image).shape == SHAPE
    assert (hashes(image, turns=1) == hashes(image)[:, :1]).all()


@given(st.data())
@settings(max_examples=25)
def test_the_search_is_brute_force(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    these = rng.integers(0, 256, (data.draw(st.integers(0, 30)), *SHAPE), dtype=np.uint8)
    others = rng.integers(0, 256, (data.draw(st.integers(0, 12)), SHAPE[0], 1, SHAPE[2]), dtype=np.uint8)
    for place in range(len(these)):  # some are near others, in one view and turn
        view, turn, bits = rng.integers(2), rng.integers(8), rng.integers(50, 90)
        near = others[rng.integers(len(others)), view, 0] if len(others) and rng.random() < 0.5 else these[0, view, 0]
        flipped = np.unpackbits(near)
        flipped[rng.permutation(BITS)[:bits]] ^= 1
        these[place, view, turn] = np.packbits(flipped)
    for those in (others, None):
        found = nearest(these, those, workers=2)
        assert (found.place.tolist(), found.distance.tolist()) == _by_hand(
            these, these if those is None else those, those is None
        )


def test_a_quarter_of_the_bits_is_the_limit():
    these = np.zeros((2, *SHAPE), np.uint8)
    these[0] = np.packbits(np.arange(BITS) < 64)
    these[1] = np.packbits(np.arange(BITS) < 65)
    found = nearest(these, np.zeros((1, SHAPE[0], 1, SHAPE[2]), np.uint8))
    assert (found.place.tolist(), found.distance[0]) == ([0, -1], 64)


def _by_hand(these, those, earlier):
    places, distances = [], []
    for place, one in enumerate(these):
        best = (ALIKE + 1, -1)
        for other, theirs in enumerate(those[:place] if earlier else those):
            differing = np.unpackbits(one ^ theirs[:, :1], axis=-1).sum(axis=-1).min()
            if differing < best[0]:
                best = (int(differing), other)
        places.append(best[1])
        distances.append(best[0])
    return places, distances


def test_photographs_have_a_look_of_their_own():
    assert all(looks_photographed(photograph(number)) for number in range(20))
    assert not any(looks_photographed(drawing(number)) for number in range(20))
    # Cut out and put on white, a photograph is taken for a drawing: what can be said is about the frame.
    assert not looks_photographed(PIL.ImageOps.expand(photograph(1), 20, "white"))
