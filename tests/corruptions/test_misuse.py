"""Arguments of a wrong kind: one ``ArgumentError``, whatever they are, in every door to the corruptions."""

import io

import numpy as np
import PIL.Image
import pytest

import oodometer
from oodometer.compat import imagecorruptions
from oodometer.corruptions import corrupt, list_corruptions, strength
from oodometer.corruptions.strength import natural_like
from oodometer.errors import ArgumentError
from oodometer.transforms import Corrupt, corrupt_batch

X = np.zeros((64, 64, 3), np.uint8)
TWO = np.array(["fog", "snow"])


def truncated():
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(buffer, "PNG")
    return PIL.Image.open(io.BytesIO(buffer.getvalue()[:2000]))


def closed():
    image = PIL.Image.fromarray(X)
    image.close()
    return image


MISUSES = {
    "a list of names": lambda: corrupt(X, ["fog"]),
    "a mapping": lambda: corrupt(X, {}),
    "an array of names": lambda: corrupt(X, TWO),
    "a name in bytes": lambda: corrupt(X, b"fog"),
    "editions": lambda: corrupt(X, "fog", edition=TWO),
    "methods": lambda: corrupt(X, "fog", method=TWO),
    "an array without dimensions": lambda: corrupt(np.array(3, np.uint8), "fog"),
    "a huge seed": lambda: corrupt(X, "fog", seed=10**5000),
    "a huge severity": lambda: corrupt(X, "fog", 10**5000),
    "one name for a batch, as an array": lambda: corrupt(X[None], "fog", image_id=np.array("ab")),
    "a truncated picture": lambda: corrupt(truncated(), "fog"),
    "a closed picture": lambda: corrupt(closed(), "fog"),
    "groups in a list": lambda: list_corruptions(["noise"]),
    "a single severity to measure": lambda: strength("fog", 3),
    "an unknown name and nothing to measure": lambda: strength("fgo", ()),
    "a function without a signature": lambda: oodometer.corruption("own", severities=(1, 2, 3, 4, 5))(max),
    "an option as a name": lambda: oodometer.corruption("-x", severities=(1, 2, 3, 4, 5)),
    "a folder as a name": lambda: oodometer.corruption("..", severities=(1, 2, 3, 4, 5)),
    "nothing to draw from": lambda: Corrupt(None),
    "a number to draw from": lambda: Corrupt(3),
    "bytes to draw from": lambda: Corrupt(b"fog"),
    "a list in a list": lambda: Corrupt([["fog"]]),
    "a probability in words": lambda: Corrupt("fog", p="1"),
    "no probability": lambda: Corrupt("fog", p=None),
    "an image and a mask": lambda: Corrupt("fog")(X, mask=X),
    "a mask alone": lambda: Corrupt("fog")(mask=X),
    "a generator of images": lambda: corrupt_batch((x for x in [X]), "fog", image_ids=["a"]),
    "no names": lambda: corrupt_batch([X], "fog", image_ids=None),
    "an unknown name and no image": lambda: corrupt_batch([], "fgo", image_ids=[]),
    "names for the other package": lambda: imagecorruptions.corrupt(X, 3, ["fog"]),
    "a number that is not whole": lambda: imagecorruptions.corrupt(X, 1, corruption_number=3.0),
    "severities for the other package": lambda: imagecorruptions.corrupt(X, np.array([1, 2]), "fog"),
    "subsets for the other package": lambda: imagecorruptions.get_corruption_names(["all"]),
}


@pytest.mark.parametrize("case", MISUSES)
def test_it_is_one_argument_error(case):
    with pytest.raises(ArgumentError) as refusal:
        MISUSES[case]()
    assert len(str(refusal.value)) < 1000


def test_numpy_may_be_asked_to_raise(corruption, picture):
    """Tables have bells whose ends underflow; that is no reason to stop."""
    expected = [corrupt(picture, corruption, s, method=m) for s in (0.01, 1, 4.5) for m in ("fast", "reference")]
    with np.errstate(all="raise"):
        made = [corrupt(picture, corruption, s, method=m) for s in (0.01, 1, 4.5) for m in ("fast", "reference")]
    for one, other in zip(expected, made, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("edition", ["tiny64", "cifar32"])
def test_snow_does_not_melt_where_its_flakes_begin_to_be_enlarged(edition):
    images = natural_like(64)
    weakest, *between, strongest = (
        s.root_mean_square for s in strength("snow", (2, 2.1, 2.3, 2.49, 2.5, 2.75, 3), edition=edition, images=images)
    )
    assert all(0.93 * weakest < value < 1.15 * strongest for value in between)
