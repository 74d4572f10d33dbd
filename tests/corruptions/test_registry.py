"""The registry: which corruptions there are, and how they are found."""

import inspect

import pytest

from oodometer.corruptions import EDITIONS, list_corruptions, registry
from oodometer.errors import ArgumentError
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, RENDITIONS


def test_names_and_order_are_the_published_ones():
    assert tuple(registry.REGISTRY) == IMAGENET_C + EXTRA + RENDITIONS


def test_families_are_the_published_ones():
    for family, names in FAMILIES.items():
        assert tuple(n for n in IMAGENET_C if registry.find(n).family == family) == names
    assert sorted(registry.find(name).family for name in EXTRA) == sorted(FAMILIES)


def test_groups():
    assert list_corruptions() == list_corruptions("imagenet-c") == IMAGENET_C
    assert list_corruptions("extra") == EXTRA
    assert list_corruptions("all") == IMAGENET_C + EXTRA
    assert list_corruptions("blur") == FAMILIES["blur"]


def test_an_unknown_group_names_the_groups():
    with pytest.raises(ArgumentError, match="imagenet-c, extra, all, noise, blur, weather, digital, renditions, own"):
        list_corruptions("imagenet")


def test_two_corruptions_of_one_name_are_an_error():
    fog = registry.find("fog")
    with pytest.raises(ArgumentError, match="There is a corruption called 'fog' already"):
        registry.register(fog)


def test_each_row_has_one_constant_per_parameter_of_each_kernel(corruption):
    chosen = registry.find(corruption)
    for kernel in filter(None, (chosen.reference, chosen.fast_kernel())):
        constants = [p for p in list(inspect.signature(kernel).parameters.values())[2:] if p.default is p.empty]
        assert len(chosen.table.clean) == len(constants)
        for edition in EDITIONS:
            for severity in range(1, 6):
                assert len(chosen.table.row(edition, severity)) == len(constants)
