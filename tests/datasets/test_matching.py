"""Which clean image belongs to a picture: one alone, or nobody guesses."""

from dataclasses import dataclass

import pytest

from oodometer.datasets import custom, match
from oodometer.errors import DatasetError
from oodometer.types import Sample


@dataclass
class Names:
    """A data set of which only names and labels count."""

    samples: list[Sample]
    name: str = "val"
    label_space: object = custom(("cat", "dog"))


def of(*ids):
    return [Sample(id_, int("dog" in id_), 1) for id_ in ids]


def matched(samples, clean):
    return {id_: found.id for id_, found in match(of(*samples), Names(of(*clean))).items()}


@pytest.mark.parametrize("clean", [("cat/x.png", "cat/x.webp"), ("cat/x.webp", "cat/x.JPEG", "cat/y.png")])
def test_clean_images_that_only_extensions_tell_apart_are_refused_by_name(clean):
    for names in (clean, clean[::-1]):
        with pytest.raises(DatasetError, match=r"cat/x\.\w+, cat/x\.\w+, and any of them .* 'cat/x\.JPEG'"):
            match(of("cat/x.JPEG"), Names(of(*names)))


def test_they_may_be_there_if_no_picture_needs_them():
    assert matched(["cat/y.JPEG"], ["cat/x.png", "cat/x.webp", "cat/y.png"]) == {"cat/y.JPEG": "cat/y.png"}


def test_a_set_that_tells_them_apart_itself_is_matched_by_whole_names():
    names = ["cat/x.png", "cat/x.webp", "cat/x.png.png"]
    for order in (names, names[::-1]):
        assert matched(order, names) == {name: name for name in names}


@pytest.mark.parametrize(
    ("samples", "clean"), [(("cat/x.png", "cat/x.webp"), "cat/x.JPEG"), (("cat/a/x.png", "cat/b/x.png"), "cat/x.png")]
)
def test_one_clean_image_is_not_that_of_two(samples, clean):
    with pytest.raises(DatasetError, match=f"'{clean}' alone for both '{samples[0]}' and '{samples[1]}'"):
        match(of(*samples), Names(of(clean, "cat/other.png")))


def test_other_extensions_and_layouts_are_matched():
    assert matched(["cat/x.JPEG", "dog/x.JPEG"], ["val/cat/x.png", "dog/x.webp"]) == {
        "cat/x.JPEG": "val/cat/x.png",
        "dog/x.JPEG": "dog/x.webp",
    }
