"""The table of published sets: complete, and well formed."""

import re
from urllib.parse import urlsplit

import pytest

from oodometer.published import PUBLISHED

NAMED = {
    *("imagenet-c", "imagenet-c-noise", "imagenet-c-blur", "imagenet-c-weather", "imagenet-c-digital"),
    *("imagenet-c-extra", "imagenet-r", "imagenet-a", "imagenet-o", "imagenet-sketch"),
    *("imagenet-v2-matched-frequency", "imagenet-v2-threshold0.7", "imagenet-v2-top-images"),
    *("cifar10-c", "cifar100-c", "tiny-imagenet-c", "tiny-imagenet-c-extra"),
}


def test_the_sets_are_those_that_are_promised():
    assert set(PUBLISHED) == NAMED
    assert all(name == published.name for name, published in PUBLISHED.items())


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_archive_has_a_checksum_a_safe_place_and_a_name(name):
    for archive in PUBLISHED[name].archives:
        algorithm, _, digest = archive.digest.partition(":")
        assert re.fullmatch({"md5": "[0-9a-f]{32}", "sha256": "[0-9a-f]{64}"}[algorithm], digest)
        assert urlsplit(archive.url).scheme == "https"
        assert re.fullmatch(r"[A-Za-z0-9.-]+\.(tar|tar\.gz|zip)", archive.file)
        assert re.fullmatch(r"[a-z0-9.-]+(/[a-z]+)?", archive.folder)
        assert archive.size is None or archive.size > 500_000_000
        assert archive.files >= 20


def test_no_two_archives_share_a_place_or_a_checksum():
    archives = {archive for published in PUBLISHED.values() for archive in published.archives}
    assert len({a.folder for a in archives}) == len({a.digest for a in archives}) == len(archives) == 16


def test_imagenet_c_is_four_groups_with_750_images_for_each_of_5000():
    groups = PUBLISHED["imagenet-c"]
    assert [a.file for a in groups.archives] == ["noise.tar", "blur.tar", "weather.tar", "digital.tar"]
    assert groups.files == 15 * 5 * 50_000
    assert groups.folder == "imagenet-c"
    assert PUBLISHED["imagenet-c-noise"].folder == "imagenet-c/noise"
    # 21, 7, 12 and 7 GiB, as torch-uncertainty's documentation rounds them down.
    assert [a.size // 2**30 for a in groups.archives] == [21, 6, 11, 7]
    assert groups.size == sum(a.size for a in groups.archives)
    assert PUBLISHED["imagenet-o"].size is None


def test_the_room_that_files_take_is_that_of_their_blocks():
    """A million files of 7 kB fill two blocks of 4096 bytes each, not 7 kB."""
    blur = PUBLISHED["imagenet-c"].archives[1]
    assert 2 * 4096 * blur.files < blur.unpacked < 3 * 4096 * blur.files
