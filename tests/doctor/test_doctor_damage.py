"""One damage, one finding: whatever is done to a sane set is found, and nothing else is said."""

import errno
import os
import shutil

import numpy as np
import PIL.Image
import pytest
import sane
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oodometer

FIRST, SECOND = sane.CLASSES


def examined(root, **options):
    """Return the diagnosis, and its findings as a set of (severity, code)."""
    diagnosis = oodometer.check(root, progress=False, **options)
    return diagnosis, {(finding.severity, finding.code) for finding in diagnosis.findings}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Write the sane sets once, with what is said of them."""
    made = {}

    def get(kind):
        if kind not in made:
            root = tmp_path_factory.mktemp(kind) / "set"
            sane.KINDS[kind](root)
            made[kind] = root, examined(root)[1]
        return made[kind]

    return get


# Damages of one image file


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_at_the_end(path):
    path.write_bytes(path.read_bytes()[:-2] if path.suffix == ".png" else path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


def web_page(path):
    path.write_text("<!DOCTYPE html><html>404</html>")


def pointer(path):
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def zeros(path):
    path.write_bytes(bytes(path.stat().st_size))


def dead_link(path):
    path.unlink()
    path.symlink_to("nowhere.JPEG")


def circle(path):
    path.unlink()
    path.symlink_to(path.name)


OF_A_FILE = {
    cut: "damaged-image",
    cut_at_the_end: "damaged-image",
    empty: "empty-file",
    web_page: "not-an-image",
    pointer: "not-an-image",
    zeros: "not-an-image",
    dead_link: "dead-link",
    circle: "dead-link",
}
TREES = ("folder", "flat", "imagenet-r", "imagenet-a", "imagenet-v2", "imagenet-sketch", "imagenet-c")


@pytest.mark.parametrize("kind", TREES)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=st.sampled_from([*OF_A_FILE]), place=st.integers(0, 10**6))
def test_one_damaged_file_is_found_and_nothing_else(kind, whole, damage, place):
    root, said = whole(kind)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    path = files[place % len(files)]
    content = path.read_bytes()
    damage(path)
    diagnosis, found = examined(root)
    path.unlink()
    path.write_bytes(content)
    assert not diagnosis.ok
    assert found - said == {("fault", OF_A_FILE[damage])}
    assert found >= said
    (finding,) = diagnosis.faults
    assert [f"{diagnosis.root}/{where}" for where in finding.where] == [str(path)]
    assert finding.fix


# Damages of corruption trees


def copy_over(source, target):
    shutil.rmtree(target)
    shutil.copytree(source, target)


def swap(first, second):
    first.rename(first.with_name("0"))
    second.rename(first)
    first.with_name("0").rename(second)


def each_cell(root):
    return [root / "clean", *(p for p in root.glob("*/*") if p.name.isdecimal())]


def lose_image(root):
    (root / "fog/4" / SECOND / "1.JPEG").unlink()


def lose_class(root):
    shutil.rmtree(root / "fog/4" / SECOND)


def empty_class(root):
    for path in (root / "fog/4" / SECOND).iterdir():
        path.unlink()


def lose_clean_image(root):
    (root / "clean" / FIRST / "0.JPEG").unlink()


def add_image(root):
    shutil.copy(root / "fog/4" / SECOND / "1.JPEG", root / "fog/4" / SECOND / "9.JPEG")


def lose_severity(root):
    shutil.rmtree(root / "fog/2")


def copy_severity(root):
    copy_over(root / "fog/3", root / "fog/4")


def copy_corruption(root):
    copy_over(root / "fog/3", root / "gaussian_noise/3")


def copy_clean(root):
    copy_over(root / "clean", root / "gaussian_noise/1")


def copy_half(root):
    copy_over(root / "fog/3" / FIRST, root / "fog/4" / FIRST)


def copy_half_of_clean(root):
    copy_over(root / "clean" / FIRST, root / "fog/1" / FIRST)


def copy_one(root):
    shutil.copy(root / "fog/3" / FIRST / "0.JPEG", root / "fog/4" / FIRST / "0.JPEG")


def swap_severities(root):
    swap(root / "gaussian_noise/2", root / "gaussian_noise/5")


def other_size(root):
    sane.write(root / "fog/4" / FIRST / "0.JPEG", sane.picture("large", side=30))


def smaller_size(root):
    sane.write(root / "fog/4" / FIRST / "0.JPEG", sane.picture("small", side=20))


def other_format(root):
    path = root / "fog/4" / FIRST / "0.JPEG"
    path.write_bytes(sane.encoded(np.asarray(PIL.Image.open(path)), "PNG"))


def unknown_class(root):
    for cell in each_cell(root):
        shutil.copytree(cell / FIRST, cell / "n00000001")


def unknown_class_in_one_cell(root):
    (root / "fog/4" / FIRST).rename(root / "fog/4/n00000001")


def unknown_severity(root):
    shutil.copytree(root / "fog/4", root / "fog/4 copy")


def other_folder(root):
    shutil.copytree(root / "clean", root / "old/stuff")


def image_between(root):
    shutil.copy(root / "fog/4" / SECOND / "1.JPEG", root / "fog/4.JPEG")


def loose_image(root):
    for cell in each_cell(root):
        (cell / FIRST / "0.JPEG").rename(cell / "0.JPEG")


def hidden(root):
    (root / "fog/4" / FIRST / "._0.JPEG").write_bytes(b"Mac OS X")
    (root / "fog/.DS_Store").write_bytes(b"")
    (root / "__MACOSX").mkdir()
    (root / "fog/4/.ipynb_checkpoints").mkdir()


def stray(root):
    (root / "fog/4" / FIRST / "Thumbs.db").write_bytes(b"x")


def pipe(root):
    os.mkfifo(root / "fog/4" / FIRST / "pipe.JPEG")


def loop(root):
    (root / "fog/4" / FIRST / "loop").symlink_to(root / "fog/4")


def case(root):
    for cell in each_cell(root):
        (cell / FIRST / "1.JPEG").rename(cell / FIRST / "x.JPEG")
        (cell / FIRST / "2.JPEG").rename(cell / FIRST / "X.JPEG")


def accents(root):
    for cell in each_cell(root):
        (cell / FIRST / "1.JPEG").rename(cell / FIRST / "\u00e9.JPEG")
        (cell / FIRST / "2.JPEG").rename(cell / FIRST / "e\u0301.JPEG")


def illegal(root):
    for cell in each_cell(root):
        (cell / FIRST / "1.JPEG").rename(cell / FIRST / "what?.JPEG")


def not_utf8(root):
    for cell in each_cell(root):
        (cell / FIRST / "1.JPEG").rename(cell / FIRST / os.fsdecode(b"\xff.JPEG"))


def parents(root):
    (root / "weather").mkdir()
    (root / "fog").rename(root / "weather/fog")


def misspelt(root):
    (root / "gaussian_noise").rename(root / "gausian_noise")


def part_of_the_severities(root):
    for corruption in sane.CORRUPTIONS:
        shutil.rmtree(root / corruption / "5")


def validation_image_twice(root):
    for cell in each_cell(root):
        (cell / FIRST / "1.JPEG").rename(cell / FIRST / "ILSVRC2012_val_00000001.JPEG")
        (cell / SECOND / "1.JPEG").rename(cell / SECOND / "ILSVRC2012_val_00000001.JPEG")


FAULTS_OF_CELLS = [
    (lose_image, {"cell-lacks-images"}, f"fog/4/{SECOND}/1.JPEG"),
    (lose_class, {"cell-lacks-images"}, f"fog/4/{SECOND}/1.JPEG"),
    (empty_class, {"cell-lacks-images", "empty-folder"}, f"fog/4/{SECOND}/1.JPEG"),
    (lose_clean_image, {"cell-lacks-images"}, f"clean/{FIRST}/0.JPEG"),
    (add_image, {"cell-has-extra-images"}, f"fog/4/{SECOND}/9.JPEG"),
    (lose_severity, {"missing-cell"}, "fog/2"),
    (copy_severity, {"cells-equal"}, "fog/3"),
    (copy_corruption, {"cells-equal"}, "gaussian_noise/3"),
    (copy_clean, {"cell-equals-clean"}, "gaussian_noise/1"),
    (copy_half, {"images-copied"}, f"fog/4/{FIRST}/0.JPEG"),
    (copy_half_of_clean, {"images-equal-clean"}, f"fog/1/{FIRST}/0.JPEG"),
    (swap_severities, {"severity-order"}, "gaussian_noise/2"),
    (other_size, {"size-differs"}, f"fog/4/{FIRST}/0.JPEG"),
    (smaller_size, {"size-differs"}, f"fog/4/{FIRST}/0.JPEG"),
    (unknown_class, {"unknown-class"}, "clean/n00000001"),
    (
        unknown_class_in_one_cell,
        {"unknown-class", "cell-lacks-images", "cell-has-extra-images"},
        "fog/4/n00000001",
    ),
    (unknown_severity, {"unknown-folder"}, "fog/4 copy"),
    (other_folder, {"unknown-folder"}, "old"),
    (image_between, {"loose-images"}, "fog/4.JPEG"),
    (loose_image, {"loose-images"}, "clean/0.JPEG"),
    (loop, {"link-loop"}, f"fog/4/{FIRST}/loop"),
    (not_utf8, {"name-not-utf8"}, f"{FIRST}/\\udcff.JPEG"),
    (validation_image_twice, {"image-in-two-classes"}, f"{FIRST}/ILSVRC2012_val_00000001.JPEG"),
]
NOTES_OF_CELLS = [
    (copy_one, {"images-copied"}, f"fog/4/{FIRST}/0.JPEG"),
    (other_format, {"other-format"}, f"fog/4/{FIRST}/0.JPEG"),
    (hidden, {"hidden-files"}, f"fog/4/{FIRST}/._0.JPEG"),
    (stray, {"stray-files"}, f"fog/4/{FIRST}/Thumbs.db"),
    (pipe, {"special-file"}, f"fog/4/{FIRST}/pipe.JPEG"),
    (case, {"names-differ-by-case"}, f"{FIRST}/x.JPEG"),
    (accents, {"names-differ-by-case"}, f"{FIRST}/\u00e9.JPEG"),
    (illegal, {"name-not-portable"}, f"{FIRST}/what?.JPEG"),
    (parents, {"archive-folders"}, "weather"),
    (misspelt, {"unknown-corruption"}, "gausian_noise"),
    (part_of_the_severities, {"part-severities"}, None),
]


def check_cells(whole, tmp_path, damage, severity, codes, place):
    root, said = whole("imagenet-c")
    shutil.copytree(root, tmp_path / "set")
    damage(tmp_path / "set")
    diagnosis, found = examined(tmp_path / "set")
    assert found - said == {(severity, code) for code in codes}
    assert diagnosis.ok == (severity == "note")
    assert place is None or place in {where for finding in diagnosis.findings for where in finding.where}
    return {finding.code: finding.where for finding in diagnosis.findings}


@pytest.mark.parametrize("damage", [lose_image, other_size, smaller_size, add_image, copy_one, other_format])
def test_only_the_file_itself_is_named(whole, tmp_path, damage):
    cases = {case[0]: ("fault", *case[1:]) for case in FAULTS_OF_CELLS}
    cases |= {case[0]: ("note", *case[1:]) for case in NOTES_OF_CELLS}
    severity, codes, place = cases[damage]
    found = check_cells(whole, tmp_path, damage, severity, codes, place)
    assert {code: found[code] for code in codes} == dict.fromkeys(codes, (place,))


def test_the_size_of_a_single_cell_is_that_of_the_published_images(tmp_path):
    root = tmp_path / "set/fog/1" / FIRST
    for number in range(20):
        sane.write(root / f"{number}.JPEG", sane.picture(number, side=224))
    sane.write(root / "20.JPEG", sane.picture("other", side=225))
    (fault,) = examined(tmp_path / "set")[0].faults
    assert (fault.code, fault.where) == ("size-differs", (f"fog/1/{FIRST}/20.JPEG",))


def test_images_that_were_not_cropped_may_have_any_size(tmp_path):
    for corruption in ("fog", "snow"):
        for number in range(3):
            pixels = sane.picture(number, side=30 + number, strength=len(corruption))
            sane.write(tmp_path / "set" / corruption / "1" / FIRST / f"{number}.JPEG", pixels)
    diagnosis, found = examined(tmp_path / "set")
    assert diagnosis.ok
    assert ("note", "other-size") in found


@pytest.mark.parametrize(("damage", "codes", "place"), FAULTS_OF_CELLS, ids=[f[0].__name__ for f in FAULTS_OF_CELLS])
def test_faults_of_corruption_trees(whole, tmp_path, damage, codes, place):
    check_cells(whole, tmp_path, damage, "fault", codes, place)


@pytest.mark.parametrize(("damage", "codes", "place"), NOTES_OF_CELLS, ids=[n[0].__name__ for n in NOTES_OF_CELLS])
def test_notes_on_corruption_trees(whole, tmp_path, damage, codes, place):
    check_cells(whole, tmp_path, damage, "note", codes, place)


def test_a_cell_that_is_there_twice(whole, tmp_path):
    root, said = whole("imagenet-c")
    shutil.copytree(root, tmp_path / "set")
    shutil.copytree(root / "fog/3", tmp_path / "set/weather/fog/3")
    _, found = examined(tmp_path / "set")
    assert found - said == {("fault", "cell-twice"), ("fault", "cells-equal"), ("note", "archive-folders")}


def test_cells_without_any_image(tmp_path):
    for cell in ("fog/1", "fog/2"):
        (tmp_path / "set" / cell).mkdir(parents=True)
    assert {fault.code for fault in examined(tmp_path / "set")[0].faults} == {"no-images"}
    (tmp_path / "set/fog/1" / FIRST).mkdir()
    assert {fault.code for fault in examined(tmp_path / "set")[0].faults} == {"empty-folder"}


def test_a_folder_that_may_not_be_read(whole, monkeypatch):
    root, said = whole("imagenet-c")
    scandir = os.scandir

    def forbid(path):  # the tests may run as root, whom no file mode stops
        if str(path).endswith(f"fog/4/{SECOND}"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbid)
    diagnosis, found = examined(root)
    assert found - said == {("fault", "unreadable-folder"), ("fault", "cell-lacks-images")}
    assert (f"fog/4/{SECOND}",) in {fault.where for fault in diagnosis.faults}


# What no corruption changes is no copy


def gray(pixels):
    return np.repeat(pixels[:, :, :1], 3, axis=2)


def test_gray_pictures_that_saturate_leaves_alone_are_no_copies(tmp_path):
    root = sane.cells(tmp_path / "set", ("saturate",))
    for path in root.rglob("*.JPEG"):
        sane.write(path, gray(sane.picture(path.parent.name, int(path.stem))))
    diagnosis, _ = examined(root)
    assert diagnosis.ok
    (root / "saturate").rename(root / "fog")  # which would have changed them
    diagnosis, _ = examined(root)
    assert {fault.code for fault in diagnosis.faults} == {"cell-equals-clean"}


def test_blank_pictures_are_no_copies(tmp_path):
    root = sane.cells(tmp_path / "set", ("motion_blur",))
    for path in root.rglob("*.JPEG"):
        sane.write(path, np.full((24, 24, 3), 30 + int(path.stem), np.uint8))
    diagnosis, _ = examined(root)
    assert diagnosis.ok


# The clean images elsewhere


def test_clean_images_elsewhere(whole, tmp_path):
    root, said = whole("imagenet-c")
    shutil.copytree(root, tmp_path / "set")
    (tmp_path / "set/clean").rename(tmp_path / "val")
    _, found = examined(tmp_path / "set", clean=tmp_path / "val")
    assert found == said
    copy_over(tmp_path / "val", tmp_path / "set/fog/1")
    swap_severities(tmp_path / "set")
    _, found = examined(tmp_path / "set", clean=tmp_path / "val")
    assert found - said == {("fault", "cell-equals-clean"), ("fault", "severity-order")}


def test_clean_images_of_another_size_and_format(whole, tmp_path):
    root, said = whole("imagenet-c")
    for path in (root / "clean").rglob("*.JPEG"):
        pixels = sane.picture("large", path.parent.name, int(path.stem), side=40)
        sane.write(tmp_path / "val" / path.parent.name / f"{path.stem}.png", pixels, "PNG")
    sane.write(tmp_path / "val" / FIRST / "only here.png", sane.picture("more"), "PNG")
    diagnosis, found = examined(root, clean=tmp_path / "val")
    assert found == said
    assert diagnosis.looked_at["images"] == 10 * 10 + 10
    (tmp_path / "val" / FIRST / "3.png").unlink()
    diagnosis, found = examined(root, clean=tmp_path / "val")
    assert found - said == {("fault", "no-clean-image")}
    assert [finding.where for finding in diagnosis.faults] == [(f"gaussian_noise/1/{FIRST}/3.JPEG",)]


# Tiny-ImageNet-C


def test_the_frost_of_the_first_release_of_tiny_imagenet_c(tmp_path):
    root = sane.tiny(tmp_path / "set", ("fog",))
    said = examined(root)[1]
    content = sane.encoded(sane.picture("tiny", side=64))
    for wnid in [f"n{number:08d}" for number in range(1000)]:
        path = root / "frost/1" / wnid / "test_0.JPEG"
        path.parent.mkdir(parents=True)
        path.write_bytes(content + wnid.encode())
    diagnosis, found = examined(root)
    assert diagnosis.kind == "tiny-imagenet-c"
    assert found - said == {("fault", "tiny-frost"), ("fault", "missing-cell")}
    (fault,) = (fault for fault in diagnosis.faults if fault.code == "tiny-frost")
    assert "8206060" in fault.fix
