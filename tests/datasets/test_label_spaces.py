"""The label spaces."""

import numpy as np
import pytest

from oodometer.datasets import custom, imagenet1k, imagenet_r
from oodometer.datasets.layout import positions
from oodometer.errors import ArgumentError


def test_the_1000_classes_are_wnids_in_sorted_order():
    space = imagenet1k()
    assert (space.name, space.width, space.columns) == ("imagenet-1k", 1000, None)
    assert list(space.classes) == sorted(set(space.classes))
    assert (space.classes[0], space.classes[999]) == ("n01440764", "n15075141")
    assert imagenet1k() is space


def test_names_tell_all_classes_apart_even_without_case():
    names = imagenet1k().names
    assert len({name.casefold() for name in names}) == 1000
    assert all(name == name.strip() and name for name in names)
    assert names[134] == "crane (n02012849)"
    assert names[517] == "crane (n03126707)"
    assert names[638:640] == ("maillot (n03710637)", "maillot, tank suit")
    assert (names[1], names[264], names[474]) == ("goldfish", "Cardigan, Cardigan Welsh corgi", "cardigan (n02963159)")


def test_i2_the_200_classes_of_imagenet_r():
    space = imagenet_r()
    known = positions(space)
    assert (space.name, space.width, len(set(space.columns))) == ("imagenet-r", 1000, 200)
    assert list(space.columns) == sorted(space.columns)
    assert (known["n01443537"], known["n12267677"]) == (1, 988)
    assert (space.columns[0], space.columns[-1]) == (1, 988)
    assert space.classes == imagenet1k().classes


def test_i1_the_mask_decides_what_is_right():
    logits = np.full(1000, -20.0)
    logits[:3] = 5, 4, 3
    columns = np.array(imagenet_r().columns)
    assert columns[logits[columns].argmax()] == 1
    assert logits.argmax() == 0


def test_the_lists_agree_with_the_source(shared):
    for file, space in (("imagenet1k.csv", imagenet1k()), ("imagenet_r.csv", imagenet_r())):
        rows = [line.split(",")[:2] for line in (shared / "data/labels" / file).read_text().splitlines()[1:]]
        assert {wnid: int(index) for index, wnid in rows} == positions(space)


def test_custom():
    space = custom(["cat", "dog"])
    assert (space.name, space.classes, space.names, space.columns) == ("custom-2", ("cat", "dog"), ("cat", "dog"), None)


@pytest.mark.parametrize(("names", "found"), [([], "none"), (["a", "b", "a"], "'a'")])
def test_custom_names_must_be_distinct(names, found):
    with pytest.raises(ArgumentError, match=found):
        custom(names)
