"""The published sets that can be fetched: where each archive lies, how large it is, and the checksum it must have.

Checksums come from the code of projects that use them: MD5 of Zenodo's files and of ImageNet-O from torch-uncertainty
(shift-happens agrees on four of ImageNet-C's), SHA-256 of ImageNet-R, ImageNet-A and CIFAR-C from TensorFlow Datasets,
those of ImageNetV2 and ImageNet-Sketch from Hugging Face. Sizes are from the same places, ImageNet-C's from Zenodo's
own description of the record. An archive without a known checksum has no place here.
"""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

__all__ = ["PUBLISHED", "Archive", "PublishedSet"]


@dataclass(frozen=True, slots=True)
class Archive:
    """One file as it was published.

    ``digest`` is ``md5:...`` or ``sha256:...``, in lower or upper case; ``size`` is in bytes, ``None`` where it is
    nowhere told; ``files`` is how many images or arrays it holds; ``folder`` is where its contents go, with ``/``.
    """

    url: str
    digest: str
    size: int | None
    files: int
    folder: str

    @property
    def file(self) -> str:
        """The file's name as published, which a mirror must use too."""
        return PurePosixPath(urlsplit(self.url).path).name

    @property
    def algorithm(self) -> str:
        """Which checksum is known: ``"md5"`` or ``"sha256"``."""
        return self.digest.partition(":")[0].lower()

    @property
    def unpacked(self) -> int:
        """About how many bytes of a disk its files take: pictures do not compress, and the last block is half empty."""
        return round(1.1 * (self.size or 0)) + 2048 * self.files


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A published set: its archives, the licence that its page states (``None`` if we have not seen it), its page."""

    name: str
    archives: tuple[Archive, ...]
    licence: str | None
    page: str

    @property
    def folder(self) -> str:
        """The folder that holds all of the set, below the one it is fetched to."""
        return os.path.commonpath([archive.folder for archive in self.archives]).replace(os.sep, "/")

    @property
    def size(self) -> int | None:
        """Bytes to download; ``None`` where that of an archive is not known."""
        sizes = [archive.size for archive in self.archives]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def files(self) -> int:
        """How many images or arrays it has."""
        return sum(archive.files for archive in self.archives)

    @property
    def algorithms(self) -> str:
        """Which checksums its archives are held to."""
        return ", ".join(sorted({archive.algorithm for archive in self.archives}))


def _zenodo(record: int, file: str) -> str:
    return f"https://zenodo.org/records/{record}/files/{file}?download=1"


def _imagenet_c(name: str, *groups: str) -> PublishedSet:
    return PublishedSet(name, tuple(_IMAGENET_C[g] for g in groups), "CC BY 4.0", "https://zenodo.org/records/2235448")


def _single(
    name: str, url: str, digest: str, size: int | None, files: int, licence: str | None, page: str
) -> PublishedSet:
    return PublishedSet(name, (Archive(url, digest, size, files, name),), licence, page)


def _v2(kind: str, sha256: str, size: int) -> PublishedSet:
    page = "https://huggingface.co/datasets/vaishaal/ImageNetV2"
    url = f"{page}/resolve/main/imagenetv2-{kind}.tar.gz"
    return _single(f"imagenet-v2-{kind}", url, f"sha256:{sha256}", size, 10_000, "MIT", page)


_HENDRYCKS = "https://people.eecs.berkeley.edu/~hendrycks"
_IMAGENET_C = {
    group: Archive(_zenodo(2235448, f"{group}.tar"), f"md5:{md5}", size, cells * 50_000, f"imagenet-c/{group}")
    for group, cells, md5, size in (
        ("noise", 3 * 5, "e80562d7f6c3f8834afb1ecf27252745", 22_565_673_785),
        ("blur", 4 * 5, "2d8e81fdd8e07fef67b9334fa635e45c", 7_112_704_951),
        ("weather", 4 * 5, "33ffea4db4d93fe4a428c40a6ce0c25d", 12_797_438_995),
        ("digital", 4 * 5, "89157860d7b10d5797849337ca2e5c03", 7_757_510_705),
        ("extra", 4 * 5, "d492dfba5fc162d8ec2c3cd8ee672984", 15_789_490_144),
    )
}
_SETS = (
    _imagenet_c("imagenet-c", "noise", "blur", "weather", "digital"),
    *(_imagenet_c(f"imagenet-c-{group}", group) for group in _IMAGENET_C),
    _single(
        "imagenet-r",
        f"{_HENDRYCKS}/imagenet-r.tar",
        "sha256:18c6bf493b39a0d975d48e587437f562caab9c52ae6327dcfa9dd8eb54aa1b52",
        2_191_079_936,
        30_000,
        "MIT",
        "https://github.com/hendrycks/imagenet-r",
    ),
    _single(
        "imagenet-a",
        f"{_HENDRYCKS}/imagenet-a.tar",
        "sha256:3bb3632277e6ba6392ea64c02ddbf4dd2266c9caffd6bc09c9656d28f012589e",
        687_552_512,
        7_500,
        "MIT",
        "https://github.com/hendrycks/natural-adv-examples",
    ),
    _single(
        "imagenet-o",
        f"{_HENDRYCKS}/imagenet-o.tar",
        "md5:86bd7a50c1c4074fb18fc5f219d6d50b",
        None,
        2_000,
        "MIT",
        "https://github.com/hendrycks/natural-adv-examples",
    ),
    # Tar files in spite of their names, by their sizes, which are whole blocks of 512.
    _v2("matched-frequency", "f0c37fdf925916b19ea1323cd9a2208cdb6959ba2c32eef2a7fc393835c9ca7c", 1_264_079_360),
    _v2("threshold0.7", "32142bfe998f9cfa4141be691f6a80eeb1e27b24bd532a668eb08c26d98897a2", 1_249_906_176),
    _v2("top-images", "85e4ace30f3f0d660152062254b8759dda66267b27f7ec0fd8d5768f1073a04b", 1_245_927_936),
    _single(
        "imagenet-sketch",
        "https://huggingface.co/datasets/songweig/imagenet_sketch/resolve/main/data/ImageNet-Sketch.zip",
        "sha256:4d3ce6b82a7c48aabf14aeac105eb533e75707f152cc858f55bfc022031a72ed",
        7_593_573_012,
        50_889,
        "MIT",
        "https://github.com/HaohanWang/ImageNet-Sketch",
    ),
    _single(
        "cifar10-c",
        _zenodo(2535967, "CIFAR-10-C.tar"),
        "sha256:c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
        2_918_471_680,
        19 + 1,
        "CC BY 4.0",
        "https://zenodo.org/records/2535967",
    ),
    _single(
        "cifar100-c",
        _zenodo(3555552, "CIFAR-100-C.tar"),
        "sha256:30ee6543a1bfd049fa33834b7c1ada301e7064b7fbe8fc38340eb8b62ced4b33",
        2_918_473_216,
        19 + 1,
        None,
        "https://zenodo.org/records/3555552",
    ),
    # Not of the first record, 2536630, whose frost is broken.
    _single(
        "tiny-imagenet-c",
        _zenodo(8206060, "Tiny-ImageNet-C.tar"),
        "md5:f9c9a9dbdc11469f0b850190f7ad8be1",
        1_794_775_040,
        15 * 5 * 10_000,
        None,
        "https://zenodo.org/records/8206060",
    ),
    _single(
        "tiny-imagenet-c-extra",
        _zenodo(8206060, "Tiny-ImageNet-C-extra.tar"),
        "md5:0db0588d243cf403ef93449ec52b70eb",
        None,
        4 * 5 * 10_000,
        None,
        "https://zenodo.org/records/8206060",
    ),
)
PUBLISHED: dict[str, PublishedSet] = {published.name: published for published in _SETS}
"""Every set that can be fetched, by name. The textures of frost have their own way, ``oodometer.fetch_frost``."""
