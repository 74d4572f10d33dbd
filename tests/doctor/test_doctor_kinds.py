"""The faults of particular kinds of sets: class folders, arrays, containers."""

import io
import json
import shutil
import tarfile

import numpy as np
import PIL.Image
import pytest
import sane

import oodometer
from oodometer.datasets import imagenet1k, imagenet_r
from oodometer.datasets.layout import positions
from oodometer.doctor.classes import check_classes, check_total
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.labels import check_repeated
from oodometer.doctor.norms import RENDITIONS, known_as
from oodometer.errors import ArgumentError, DatasetError

FIRST, SECOND = sane.CLASSES


def examined(root, **options):
    diagnosis = oodometer.check(root, progress=False, **options)
    return diagnosis, {(finding.severity, finding.code) for finding in diagnosis.findings}


def faults(root):
    return {fault.code for fault in examined(root)[0].faults}


# Class folders


def test_unknown_classes(tmp_path):
    root = sane.folder(tmp_path / "val")
    (root / SECOND).rename(root / "n00000001")
    diagnosis, found = examined(root)
    assert found == {("fault", "unknown-class")}
    assert diagnosis.faults[0].where == ("n00000001",)


def test_a_class_that_is_none_of_the_200_of_imagenet_r(tmp_path):
    root = sane.renditions(tmp_path / "set")
    sane.write(root / FIRST / "art_0.jpg", sane.picture("tench"))  # a class of ImageNet, but not of ImageNet-R
    diagnosis, found = examined(root)
    assert found == {("fault", "unknown-class"), ("note", "part")}
    assert "200" in diagnosis.faults[0].message


def test_own_classes_are_not_compared_with_imagenet(tmp_path):
    assert not examined(sane.own(tmp_path / "pets"))[1]


def test_i4_flat_validation_images_are_a_fault(tmp_path):
    sane.write(tmp_path / "val/ILSVRC2012_val_00000001.JPEG", sane.picture("a"))
    sane.write(tmp_path / "val/ILSVRC2012_val_00000002.JPEG", sane.picture("b"))
    assert examined(tmp_path / "val")[1] == {("fault", "no-class-folders")}
    sane.flat(tmp_path / "other/images")
    assert examined(tmp_path / "other")[1] == {("fault", "no-class-folders")}


def test_i3_hidden_and_stray_files_change_no_number(tmp_path):
    root = sane.folder(tmp_path / "val")
    before = examined(root)[0]
    for path in (".ipynb_checkpoints/x.png", "__MACOSX/x.png", "README.txt", ".DS_Store", f"{FIRST}/._0.JPEG"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(b"x")
    after, found = examined(root)
    assert after.looked_at == before.looked_at
    assert found == {("note", "hidden-files")}
    assert after.findings[0].where == (".DS_Store", ".ipynb_checkpoints", "__MACOSX", f"{FIRST}/._0.JPEG")


def test_parent_folders_of_archives(tmp_path):
    sane.renditions(tmp_path / "here/imagenet-r/imagenet-r")
    diagnosis, found = examined(tmp_path / "here")
    assert found == {("note", "nested"), ("note", "part")}
    assert diagnosis.root == str(tmp_path / "here/imagenet-r/imagenet-r")


def test_a_validation_image_under_two_classes(tmp_path):
    root = sane.folder(tmp_path / "val", name="ILSVRC2012_val_0000000{}.JPEG", classes=(FIRST,))
    sane.write(root / SECOND / "ILSVRC2012_val_00000001.JPEG", sane.picture("other"))
    assert faults(root) == {"image-in-two-classes"}


def test_equal_files(tmp_path):
    root = sane.folder(tmp_path / "val")
    shutil.copy(root / FIRST / "0.JPEG", root / FIRST / "again.JPEG")
    diagnosis, found = examined(root)
    assert found == {("note", "copies")}
    assert diagnosis.notes[0].where == (f"{FIRST}/0.JPEG", f"{FIRST}/again.JPEG")
    (root / FIRST / "again.JPEG").rename(root / SECOND / "again.JPEG")
    assert examined(root)[1] == {("note", "copies-across-classes")}


def test_what_programs_read_differently_is_noted(tmp_path):
    root = sane.folder(tmp_path / "val")
    colour = PIL.Image.fromarray(sane.picture("x"))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    colour.convert("CMYK").save(root / FIRST / "cmyk.JPEG")
    colour.convert("RGBA").save(root / FIRST / "alpha.png")
    colour.save(root / FIRST / "turned.JPEG", exif=exif)
    colour.save(root / FIRST / "png.JPEG", "PNG")
    colour.save(root / FIRST / "two.gif", save_all=True, append_images=[PIL.Image.new("RGB", (24, 24))])
    PIL.Image.fromarray((np.asarray(colour.convert("L")).astype(np.uint16)) * 257).save(root / FIRST / "deep.png")
    colour.convert("L").save(root / FIRST / "gray.JPEG")
    diagnosis, _ = examined(root)
    assert {note.code: [place.rpartition("/")[2] for place in note.where] for note in diagnosis.findings} == {
        "other-format": ["png.JPEG"],
        "cmyk": ["cmyk.JPEG"],
        "orientation": ["turned.JPEG"],
        "alpha": ["alpha.png"],
        "animated": ["two.gif"],
        "deep": ["deep.png"],
    }
    assert diagnosis.ok


# The numbers of the published sets, on names alone


def total(kind, ids):
    findings = Findings()
    norm = known_as(kind, ids)
    check_classes({"": ids}, norm, findings)
    check_total(ids, norm, findings)
    return norm, {(finding.severity, finding.code): finding for finding in findings.found}


def all_of(kind):
    wnids = imagenet1k().classes
    if kind == "imagenet-v2":
        return [f"{label}/{number}.jpeg" for label in range(1000) for number in range(10)]
    if kind == "imagenet-c":
        return [f"{wnid}/ILSVRC2012_val_{50 * i + n:08d}.JPEG" for i, wnid in enumerate(wnids) for n in range(50)]
    if kind == "imagenet-sketch":
        sizes = [51] * 889 + [50] * 111
        return [f"{w}/sketch_{n}.JPEG" for w, size in zip(wnids, sizes, strict=True) for n in range(size)]
    names = [f"{style}_{n}.jpg" for style, size in RENDITIONS.items() for n in range(size)]
    members = [*positions(imagenet_r())]
    return [f"{members[i % 200]}/{name}" for i, name in enumerate(names)]


PUBLISHED = {"imagenet-r": 30_000, "imagenet-v2": 10_000, "imagenet-c": 50_000, "imagenet-sketch": 50_889}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_a_published_set_that_is_whole_and_one_that_is_not(kind):
    ids = all_of(kind)
    norm, found = total(kind, ids)
    assert (len(ids), norm.images, found) == (PUBLISHED[kind], PUBLISHED[kind], {})
    assert total(kind, ids[:-1])[1].keys() == {("fault", "incomplete")}
    assert total(kind, [*ids, ids[0] + "x"])[1].keys() == {("fault", "too-many-images")}
    assert total(kind, ids[:: 10 if kind != "imagenet-v2" else 2])[1].keys() == {("note", "part")}


def test_the_kind_that_damage_hides_is_known_by_the_names():
    ids = all_of("imagenet-r")
    norm, found = total("folder", [*ids[:-1], f"{FIRST}/art_0.jpg"])
    assert norm.name == "ImageNet-R"
    assert found.keys() == {("fault", "unknown-class")}
    assert total("folder", all_of("imagenet-c"))[0].images == 50_000
    assert total("folder", all_of("imagenet-sketch"))[0].images == 50_889


def test_the_style_that_lost_images_is_named():
    ids = [id_ for id_ in all_of("imagenet-r") if "/tattoo_7." not in id_]
    assert "tattoo has 1,946 of 1,947" in total("imagenet-r", ids)[1]["fault", "incomplete"].message


def test_a_balanced_part_with_a_hole_is_a_fault():
    ids = [id_ for id_ in all_of("imagenet-v2") if int(id_.partition("/")[0]) < 100]
    assert total("imagenet-v2", ids)[1].keys() == {("note", "part")}
    found = total("imagenet-v2", ids[1:])[1]
    assert found.keys() == {("fault", "incomplete")}
    assert "0" in found["fault", "incomplete"].where


def test_imagenet_v2_with_padded_names(tmp_path):
    root = sane.folder(tmp_path / "imagenetv2", ("000", "007", "999"))
    assert examined(root)[1] == {("note", "part")}
    (root / "007").rename(root / "7")
    assert ("fault", "unknown-class") in examined(root)[1]


# CIFAR-C and arrays


def spoilt(root, name, change):
    array = np.load(root / f"{name}.npy")
    np.save(root / f"{name}.npy", change(array))


def repeat_block(array):
    array[60:80] = array[40:60]
    return array


def blacken(array):
    array[90:] = 0
    return array


def reorder(labels):
    return np.repeat(labels[:20], 5)


def cut_array(root):
    path = root / "fog.npy"
    path.write_bytes(path.read_bytes()[:-1000])


def archive(root):
    with (root / "fog.npy").open("wb") as file:
        np.savez(file, x=np.zeros(3))


@pytest.mark.parametrize(
    ("damage", "codes"),
    [
        (cut_array, {"damaged-array"}),
        (lambda root: (root / "fog.npy").write_bytes(b""), {"damaged-array"}),
        (lambda root: np.save(root / "fog.npy", np.array([{}])), {"damaged-array"}),
        (archive, {"damaged-array"}),
        (lambda root: (root / "labels.npy").unlink(), {"no-labels"}),
        (lambda root: (root / "labels.npy").write_bytes(b""), {"damaged-array"}),
        (lambda root: spoilt(root, "fog", lambda a: a.astype(np.float32) / 255), {"array-shape"}),
        (lambda root: spoilt(root, "fog", lambda a: a[:-1]), {"array-shape"}),
        (lambda root: spoilt(root, "fog", lambda a: a.transpose(0, 3, 1, 2)), {"array-shape"}),
        (lambda root: spoilt(root, "fog", repeat_block), {"cells-equal"}),
        (lambda root: spoilt(root, "fog", blacken), {"blank-images"}),
        (lambda root: shutil.copy(root / "fog.npy", root / "snow.npy"), {"cells-equal"}),
        (lambda root: spoilt(root, "labels", lambda a: a[:20]), {"labels-length"}),
        (lambda root: spoilt(root, "labels", lambda a: a - 1), {"labels-range"}),
        (lambda root: spoilt(root, "labels", lambda a: a.astype(float)), {"labels-shape"}),
        (lambda root: spoilt(root, "labels", lambda a: a[:, None]), {"labels-shape"}),
        (lambda root: spoilt(root, "labels", reorder), {"labels-order"}),
    ],
)
def test_faults_of_cifar_c(tmp_path, damage, codes):
    root = sane.cifar(tmp_path / "set")
    damage(root)
    assert faults(root) == codes


def test_labels_of_a_whole_cifar_set_are_balanced():
    labels = np.tile(np.arange(10_000) % 10, 5)
    for change, codes in ((0, []), (1, ["labels-balance"])):
        findings = Findings()
        check_repeated((labels.reshape(5, -1) + change * (np.arange(10_000) == 0)).ravel(), 50_000, findings)
        assert [finding.code for finding in findings.found] == codes


def test_black_photographs_are_no_gap(tmp_path):
    root = sane.cifar(tmp_path / "set", corruptions=("fog", "snow", "frost"))
    for name in ("fog", "snow", "frost"):
        spoilt(root, name, blacken)
    assert not faults(root)


def test_clean_images_beside_cifar_c(tmp_path):
    root = sane.cifar(tmp_path / "set")
    clean = np.stack([sane.picture("cifar", number, side=32) for number in range(20)])
    np.save(root / "clean.npy", clean)
    assert not faults(root)
    fog = np.load(root / "fog.npy")
    np.save(root / "fog.npy", np.concatenate([clean, fog[20:]]))
    assert faults(root) == {"cell-equals-clean"}
    np.save(root / "fog.npy", fog)
    spoilt(root, "gaussian_noise", lambda a: a.reshape(5, 20, 32, 32, 3)[[4, 1, 2, 3, 0]].reshape(a.shape))
    assert faults(root) == {"severity-order"}
    spoilt(root, "clean", lambda a: a[1:])
    assert faults(root) == {"array-shape"}


def test_j3_rows_that_are_not_five_severities(tmp_path):
    root = sane.cifar(tmp_path / "set")
    for name in (*sane.CORRUPTIONS, "labels"):
        spoilt(root, name, lambda a: a[:-1])
    assert faults(root) == {"not-five-severities"}


def test_names_of_tensorflow_datasets_are_noted(tmp_path):
    root = sane.cifar(tmp_path / "set", corruptions=("elastic", "frosted_glass_blur"))
    diagnosis, found = examined(root)
    assert found == {("note", "other-names"), ("note", "part"), ("note", "part-corruptions")}
    part = next(note.message for note in diagnosis.notes if note.code == "part-corruptions")
    assert "13 are not here" in part
    assert "glass_blur" not in part


def test_a_pair_of_arrays(tmp_path):
    root = sane.pair(tmp_path / "set")
    spoilt(root, "labels", lambda a: a[:-1])
    assert faults(root) == {"labels-length"}
    (root / "images.npy").write_bytes((root / "images.npy").read_bytes()[:500])
    assert faults(root) == {"damaged-array"}
    np.save(root / "images.npy", np.uint8(3))
    assert faults(root) == {"array-shape", "labels-length"}
    assert examined(sane.pair(tmp_path / "again") / "images.npy")[0].ok


# Containers


def test_j1_a_tar_that_is_cut(tmp_path):
    root = sane.shards(tmp_path / "set")
    tar = root / "000.tar"
    tar.write_bytes(tar.read_bytes()[: tar.stat().st_size // 3])
    diagnosis, found = examined(root)
    assert found == {("fault", "unreadable-set")}
    assert "000.tar" in diagnosis.faults[0].message


def test_a_damaged_image_in_a_tar(tmp_path):
    root = sane.shards(tmp_path / "set")
    with tarfile.open(root / "000.tar") as tar:
        member = tar.getmember("01.jpg")
    content = bytearray((root / "000.tar").read_bytes())
    content[member.offset_data + 100 : member.offset_data + member.size] = bytes(member.size - 100)
    (root / "000.tar").write_bytes(content)
    diagnosis, found = examined(root)
    assert found == {("fault", "damaged-image")}
    assert diagnosis.faults[0].where == ("01.jpg",)


def test_missing_shards(tmp_path):
    root = sane.parquet(tmp_path / "table")
    (root / "data/test-00001-of-00002.parquet").unlink()
    diagnosis, found = examined(root)
    assert found == {("fault", "missing-shard")}
    assert diagnosis.faults[0].where == ("test, 1 of 2",)
    root = sane.shards(tmp_path / "tar")
    (root / "001.tar").rename(root / "002.tar")
    assert examined(root)[1] == {("note", "gap-in-shards")}


def test_a_damaged_table(tmp_path):
    root = sane.parquet(tmp_path / "set")
    path = root / "data/test-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    diagnosis, found = examined(root)
    assert found == {("fault", "unreadable-set")}
    assert diagnosis.looked_at["images"] == 8  # the other split
    root = sane.huggingface(tmp_path / "saved")
    (root / "train/data-00000-of-00001.arrow").write_bytes(b"ARROW")
    assert faults(root) == {"unreadable-set"}
    (root / "dataset_dict.json").write_text("{")
    assert faults(root) == {"unreadable-set"}


def test_labels_that_are_missing(tmp_path):
    root = sane.shards(tmp_path / "set")
    with tarfile.open(root / "000.tar") as tar:
        files = [(member, tar.extractfile(member).read()) for member in tar if member.name != "01.cls"]
    with tarfile.open(root / "000.tar", "w") as tar:
        for member, content in files:
            tar.addfile(member, io.BytesIO(content))
    diagnosis, found = examined(root)
    assert found == {("fault", "missing-labels")}
    assert diagnosis.faults[0].where == ("01.jpg",)


# The path itself


def test_what_is_no_data_set(tmp_path):
    with pytest.raises(DatasetError):
        oodometer.check(tmp_path / "gone", progress=False)
    with pytest.raises(DatasetError):
        oodometer.check(tmp_path, progress=False)
    with pytest.raises(ArgumentError):
        oodometer.check("", progress=False)
    root = sane.folder(tmp_path / "val")
    with pytest.raises(ArgumentError, match="clean"):
        oodometer.check(root, clean=root, progress=False)
    with pytest.raises(ArgumentError, match="workers"):
        oodometer.check(root, workers=0, progress=False)
    with pytest.raises(DatasetError, match="gone"):
        oodometer.check(sane.cells(tmp_path / "c", ("fog",), images=1), clean=tmp_path / "gone", progress=False)


def test_json_holds_everything(tmp_path):
    root = sane.folder(tmp_path / "val", images=9)
    for number in range(8):
        (root / FIRST / f"{number}.JPEG").write_bytes(b"")
    diagnosis, _ = examined(root)
    content = json.loads(diagnosis.to_json())
    assert content["ok"] is False
    assert content["looked_at"] == {"images": 18, "bytes": diagnosis.looked_at["bytes"], "classes": 2}
    (finding,) = content["findings"]
    assert finding["where"] == [f"{FIRST}/{number}.JPEG" for number in range(8)]
    assert finding["code"] == "empty-file"
