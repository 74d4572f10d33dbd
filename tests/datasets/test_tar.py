"""Tar files: what WebDataset writes, archives of class folders, and files that are damaged or packed."""

import gc
import gzip
import io
import json
import tarfile
import warnings

import numpy as np
import pytest
from small_sets import ACORN, FISH, SHARK, encoded, numbered, picture, write_tar

from oodometer.datasets import custom, imagenet1k, open_dataset
from oodometer.errors import DatasetError
from oodometer.types import UNLABELLED

ROUND = numbered(f"{FISH}/a.png", f"{SHARK}/b.png")


def labels_of(dataset):
    return [(sample.id, sample.label) for sample in dataset.samples]


def shard(path, samples):
    """Write a shard by hand: each sample's key, extension and content."""
    return write_tar(path, {f"{key}.{extension}": content for key, extension, content in samples})


# What WebDataset itself writes


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the shards that WebDataset's own writer made of 7 pictures, with indices, and what it reads from them."""
    import webdataset

    root = tmp_path_factory.mktemp("wds")
    with webdataset.ShardWriter(f"{root}/s-%03d.tar", maxcount=3, verbose=0) as writer:
        for number in range(7):
            extra = {"json": {"caption": "none"}, "txt": "none"}
            writer.write({"__key__": f"dir/{number:04d}", "png": picture(number), "cls": number % 3, **extra})
    urls = sorted(str(file) for file in root.glob("*.tar"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # its reader leaves files to the garbage collector
        samples = list(webdataset.WebDataset(urls, shardshuffle=False).decode("rgb8"))
        gc.collect()
    return root, samples


def test_shards_of_webdataset_are_read_as_it_reads_them(written):
    root, samples = written
    dataset = open_dataset(f"webdataset:{root}/s-{{000..002}}.tar")
    assert dataset.label_space.name == "custom-3"
    assert labels_of(dataset) == [(f"dir/{number:04d}.png", number % 3) for number in range(7)]
    for sample, theirs in zip(dataset.samples, samples, strict=True):
        assert sample.label == theirs["cls"]
        assert np.array_equal(dataset.read(sample), theirs["png"])


def test_what_indices_mean(written):
    root, _ = written
    assert open_dataset(root, classes=1000).label_space.width == 1000
    assert open_dataset(root, label_space="cifar-10").label_space.name == "cifar-10"
    with pytest.raises(DatasetError, match="not classes of custom-2: 2"):
        open_dataset(root, label_space=custom(["a", "b"]))
    assert [s.label for s in open_dataset(root, unlabelled=True).samples] == [0, 1, 2, 0, 1, 2, 0]


# Labels


LABELS = {
    "an index": ("cls", b"1", 1),
    "an index on a line": ("cls", b" 1\n", 1),
    "a wnid": ("cls", FISH.encode(), 1),
    "a label in JSON": ("json", b'{"label": 1}', 1),
    "a wnid in JSON": ("json", json.dumps({"label": 999, "wnid": FISH}).encode(), 1),
    "text in JSON": ("json", b'{"cls": "1", "caption": "x"}', 1),
}


@pytest.mark.parametrize("label", LABELS)
def test_where_a_label_stands(tmp_path, label):
    extension, content, index = LABELS[label]
    file = shard(tmp_path / "s.tar", [("k0", extension, content), ("k0", "jpg", encoded(picture(0), "JPEG"))])
    assert labels_of(open_dataset(file, label_space="imagenet-1k")) == [("k0.jpg", index)]


def test_a_name_says_more_than_an_index(tmp_path):
    picture_ = encoded(picture(0))
    samples = [("k", "cls", b"7"), ("k", "png", picture_), ("k", "json", json.dumps({"wnid": SHARK}).encode())]
    for order in (samples, samples[::-1]):
        assert labels_of(open_dataset(shard(tmp_path / "s.tar", order))) == [("k.png", 2)]


def test_i2_known_class_folders_win_over_indices_of_another_numbering(tmp_path):
    images = [(f"{wnid}/x", "png", encoded(picture(0))) for wnid in (ACORN, FISH)]
    indices = [(f"{wnid}/x", "cls", str(index).encode()) for index, wnid in enumerate((ACORN, FISH))]
    file = shard(tmp_path / "s.tar", images + indices)
    assert labels_of(open_dataset(file)) == [(f"{ACORN}/x.png", 988), (f"{FISH}/x.png", 1)]
    assert open_dataset(file).label_space == imagenet1k()


@pytest.mark.parametrize("content", [b"\xff\xfe", b'{"label": '])
def test_a_sidecar_that_cannot_be_read(tmp_path, content):
    extension = "json" if content.startswith(b"{") else "cls"
    file = shard(tmp_path / "s.tar", [("k", "png", encoded(picture(0))), ("k", extension, content)])
    with pytest.raises(DatasetError, match=f"k.{extension} holds no label"):
        open_dataset(file)


def test_some_images_without_a_label(tmp_path):
    files = [("a", "png", encoded(picture(0))), ("a", "cls", b"0"), ("b", "png", encoded(picture(1)))]
    file = shard(tmp_path / "s.tar", files)
    with pytest.raises(DatasetError, match=r"1 of the 2 images in .* have no label: b.png"):
        open_dataset(file)
    assert labels_of(open_dataset(file, unlabelled=True)) == [("a.png", 0), ("b.png", UNLABELLED)]


def test_json_without_labels_is_no_label(tmp_path):
    file = shard(tmp_path / "s.tar", [(f"{FISH}/a", "png", encoded(picture(0))), (f"{FISH}/a", "json", b'{"w": 3}')])
    assert labels_of(open_dataset(file)) == [(f"{FISH}/a.png", 1)]


def test_two_images_for_one_key(tmp_path):
    files = [("a", "png", encoded(picture(0))), ("a", "seg.png", encoded(picture(1))), ("a", "cls", b"0")]
    with pytest.raises(DatasetError, match=r"more than one image for the key\(s\) a"):
        open_dataset(shard(tmp_path / "s.tar", files))


def test_shards_that_use_the_same_keys(tmp_path):
    for number in range(2):
        files = [("0", "png", encoded(picture(number))), ("0", "cls", str(number).encode())]
        shard(tmp_path / f"s{number}.tar", files)
    dataset = open_dataset(tmp_path)
    assert labels_of(dataset) == [("s0/0.png", 0), ("s1/0.png", 1)]
    assert [dataset.read(sample).getpixel((0, 0))[0] for sample in dataset.samples] == [0, 1]


def test_two_archives_with_the_same_image(tmp_path):
    for number in range(2):
        write_tar(tmp_path / f"s{number}.tar", ROUND)
    with pytest.raises(DatasetError, match=f"2 image.s. are in more than one of the tar files: {FISH}/a.png"):
        open_dataset(tmp_path)


# Archives


@pytest.mark.parametrize("above", ["", "val/", "a/b/", "./", "/"])
def test_parent_folders_of_an_archive(tmp_path, above):
    file = write_tar(tmp_path / "val.tar", {above + name: content for name, content in ROUND.items()})
    assert labels_of(open_dataset(file)) == [(f"{FISH}/a.png", 1), (f"{SHARK}/b.png", 2)]


def test_k5_names_that_windows_wrote(tmp_path):
    file = write_tar(tmp_path / "val.tar", {f"val\\{name}".replace("/", "\\"): c for name, c in ROUND.items()})
    assert labels_of(open_dataset(file)) == [(f"{FISH}/a.png", 1), (f"{SHARK}/b.png", 2)]


def test_the_folder_itself_as_a_member(tmp_path):
    with tarfile.open(tmp_path / "val.tar", "w") as tar:  # as of `tar -cf val.tar .`
        for name in (".", f"./{FISH}"):
            folder = tarfile.TarInfo(name)
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
        member = tarfile.TarInfo(f"./{FISH}/a.png")
        member.size = len(content := encoded(picture(0)))
        tar.addfile(member, io.BytesIO(content))
    assert labels_of(open_dataset(tmp_path / "val.tar")) == [(f"{FISH}/a.png", 1)]


def test_one_class_is_not_taken_for_a_parent(tmp_path):
    file = write_tar(tmp_path / "val.tar", {f"{FISH}/deep/a.png": encoded(picture(0))})
    assert labels_of(open_dataset(file)) == [(f"{FISH}/deep/a.png", 1)]


def test_dots_in_names_are_no_keys_without_sidecars(tmp_path):
    names = [f"{FISH}/0.001_digital clock _ x_{number}.jpg" for number in range(3)]
    file = write_tar(tmp_path / "a.tar", dict.fromkeys(names, encoded(picture(0), "JPEG")))
    assert labels_of(open_dataset(file)) == [(name, 1) for name in names]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_forms_links_and_long_names(tmp_path, form):
    long = f"{FISH}/{'d' * 90}/{'é' * 60 if form != tarfile.USTAR_FORMAT else 'e' * 60}.png"
    with tarfile.open(tmp_path / "val.tar", "w", format=form) as tar:
        folder = tarfile.TarInfo(FISH)
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        for number, name in enumerate((long, f"{SHARK}/a.png")):
            member = tarfile.TarInfo(name)
            content = encoded(picture(number))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for kind, name, target in (
            (tarfile.LNKTYPE, f"{SHARK}/hard.png", f"{SHARK}/a.png"),
            (tarfile.SYMTYPE, f"{FISH}/soft.png", f"../{SHARK}/hard.png"),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    dataset = open_dataset(tmp_path / "val.tar")
    read = {sample.id: dataset.read(sample).getpixel((0, 0))[0] for sample in dataset.samples}
    assert read == {long: 0, f"{SHARK}/a.png": 1, f"{SHARK}/hard.png": 1, f"{FISH}/soft.png": 1}


@pytest.mark.parametrize("target", ["gone.png", "soft.png", "../../../etc/passwd"])
def test_links_to_nowhere(tmp_path, target):
    with tarfile.open(tmp_path / "val.tar", "w") as tar:
        member = tarfile.TarInfo(f"{FISH}/soft.png")
        member.type, member.linkname = tarfile.SYMTYPE, target
        tar.addfile(member)
    with pytest.raises(DatasetError, match=f"soft.png is a link to .*{target.rpartition('/')[2]}, which is not in it"):
        open_dataset(tmp_path / "val.tar")


def test_a_name_that_leads_out(tmp_path):
    with pytest.raises(DatasetError, match="leads out of the data set"):
        open_dataset(write_tar(tmp_path / "val.tar", {f"../{FISH}/a.png": b"x"}))


def test_a_name_twice(tmp_path):
    with tarfile.open(tmp_path / "val.tar", "w") as tar:
        for _ in range(2):
            tar.addfile(tarfile.TarInfo(f"{FISH}/a.png"))
    with pytest.raises(DatasetError, match=f"holds {FISH}/a.png more than once"):
        open_dataset(tmp_path / "val.tar")


# Damage


@pytest.mark.parametrize(("suffix", "mode"), [("gz", "gzip -d"), ("bz2", "bzip2 -d"), ("xz", "xz -d")])
def test_compressed_files_are_refused_with_the_fix(tmp_path, suffix, mode):
    file = tmp_path / f"val.tar.{suffix}"
    with tarfile.open(file, f"w:{suffix}") as tar:
        tar.addfile(tarfile.TarInfo("a.png"))
    with pytest.raises(DatasetError, match=f"is compressed.*Unpack it first: {mode} {file}"):
        open_dataset(file)
    misnamed = file.rename(tmp_path / "val.tar")
    with pytest.raises(DatasetError, match="is compressed"):
        open_dataset(misnamed)


def test_j1_a_cut_file_is_refused_wherever_it_is_cut(tmp_path):
    content = write_tar(tmp_path / "val.tar", numbered(*(f"{FISH}/{n}.png" for n in range(3)))).read_bytes()
    ends = [1024 * number for number in range(1, 4)]  # each picture has a block, after that of its header
    assert content[ends[-1] : ends[-1] + 512] == bytes(512)
    for length in range(1, ends[-1], 101):
        assert _outcome(tmp_path / "cut.tar", content[:length]) == "refused"
    for end in ends:  # a whole number of members is no damage, but it is said
        assert _outcome(tmp_path / "cut.tar", content[:end]) == "noted"
    assert _outcome(tmp_path / "cut.tar", content) == "taken"


def _outcome(path, content):
    path.write_bytes(content)
    try:
        dataset = open_dataset(path)
    except DatasetError as error:
        return "refused" if str(path) in str(error) else "refused without its name"
    return "noted" if any("no end mark" in note for note in dataset.notes) else "taken"


def test_a_damaged_header_in_the_middle_is_not_the_end(tmp_path):
    file = write_tar(tmp_path / "val.tar", numbered(*(f"{FISH}/{n}.png" for n in range(3))))
    content = bytearray(file.read_bytes())
    content[1024 + 3] ^= 1  # in the second header
    file.write_bytes(content)
    with pytest.raises(DatasetError, match=r"val.tar is damaged: what stands at byte 1024 is no header"):
        open_dataset(file)


@pytest.mark.parametrize("content", [b"", b"junk", b"junk" * 1000, encoded(picture(0))])
def test_no_tar_file(tmp_path, content):
    (tmp_path / "val.tar").write_bytes(content)
    with pytest.raises(DatasetError, match=r"val.tar is damaged, cut or no tar file"):
        open_dataset(tmp_path / "val.tar")


def test_no_images(tmp_path):
    with pytest.raises(DatasetError, match="There are no images in"):
        open_dataset(write_tar(tmp_path / "val.tar", {"README.txt": b"x"}))


def test_a_file_that_is_cut_or_gone_later(tmp_path):
    file = write_tar(tmp_path / "val.tar", ROUND)
    dataset = open_dataset(file)
    file.write_bytes(file.read_bytes()[:1100])
    assert dataset.read(dataset.samples[0]).size == (8, 6)
    with pytest.raises(DatasetError, match=r"val.tar is shorter than it was"):
        dataset.read(dataset.samples[1])
    file.unlink()
    with pytest.raises(DatasetError, match=r"val.tar: No such file"):
        dataset.read(dataset.samples[0])


def test_gzip_alone_is_no_image_archive(tmp_path):
    (tmp_path / "val.tar").write_bytes(gzip.compress(b"x"))
    with pytest.raises(DatasetError, match="gzip -d"):
        open_dataset(tmp_path / "val.tar")
