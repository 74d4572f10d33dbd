"""What `oodometer corrupt` built, against its manifest."""

import shutil

import pytest
import sane

import oodometer
from oodometer.building import FORMATS
from oodometer.outfolder import LOCK

OPTIONS = {"corruptions": "contrast,fog", "severities": "1,3", "preprocess": "none", "edition": "tiny64"}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build small sets from ten photographs, one of them damaged, once for each format."""
    source = sane.folder(tmp_path_factory.mktemp("source") / "val", images=5)
    (source / sane.CLASSES[0] / "broken.JPEG").write_bytes(b"no image")
    made = {}

    def get(kind="jpeg", **options):
        if (kind, *options) not in made:
            out = tmp_path_factory.mktemp(kind) / "out"
            oodometer.build(source, out, format=kind, clean=True, progress=False, **{**OPTIONS, **options})
            made[(kind, *options)] = out
        return made[(kind, *options)]

    return get


@pytest.fixture
def copy(built, tmp_path):
    return shutil.copytree(built(), tmp_path / "out")


def examined(root):
    diagnosis = oodometer.check(root, progress=False)
    return diagnosis, {(finding.severity, finding.code): finding.where for finding in diagnosis.findings}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_build_of_any_format_is_sane(built, kind):
    diagnosis, found = examined(built(kind))
    assert diagnosis.kind == "oodometer-build"
    assert found == {("note", "sources-skipped"): (f"{sane.CLASSES[0]}/broken.JPEG",)}
    assert diagnosis.looked_at["images"] == 50


def test_a_build_is_also_sane_by_its_look(copy):
    shutil.rmtree(copy / "manifest")
    for file in ("manifest.json", LOCK):
        (copy / file).unlink()
    diagnosis, found = examined(copy)
    assert diagnosis.kind == "imagenet-c"
    assert diagnosis.ok
    assert not [code for _, code in found if not code.startswith("part") and code != "other-size"]


PICTURE = f"fog/3/{sane.CLASSES[1]}/2.JPEG"


def lose(root):
    (root / PICTURE).unlink()


def change(root):
    content = bytearray((root / PICTURE).read_bytes())
    content[len(content) // 2] ^= 1
    (root / PICTURE).write_bytes(content)


def lengthen(root):
    (root / PICTURE).write_bytes((root / PICTURE).read_bytes() + b"x")


def add(root):
    shutil.copy(root / PICTURE, root / f"fog/3/{sane.CLASSES[1]}/new.JPEG")


@pytest.mark.parametrize(
    ("damage", "code", "place"),
    [
        (lose, "file-missing", PICTURE),
        (change, "file-changed", PICTURE),
        (lengthen, "file-changed-size", PICTURE),
        (add, "file-unknown", f"fog/3/{sane.CLASSES[1]}/new.JPEG"),
        (lambda root: (root / "manifest/00000.parquet").unlink(), "build-manifest", "manifest"),
        (lambda root: (root / "manifest/00000.parquet").write_bytes(b"PAR1"), "build-manifest", None),
        (lambda root: (root / "manifest.json").write_text('{"kind"'), "build-manifest", "manifest.json"),
    ],
)
def test_damages_of_a_build(copy, damage, code, place):
    damage(copy)
    diagnosis, found = examined(copy)
    assert {code for severity, code in found if severity == "fault"} == {code}
    assert not diagnosis.ok
    assert place is None or found["fault", code] == (place,)


def test_a_build_that_was_stopped(copy):
    text = (copy / "manifest.json").read_text()
    assert '"complete": true' in text
    (copy / "manifest.json").write_text(text.replace('"complete": true', '"complete": false'))
    assert ("fault", "build-unfinished") in examined(copy)[1]


def test_a_corruption_that_does_nothing_is_seen_in_a_build(built, own):
    @oodometer.corruption("nothing", severities=(1, 2, 3, 4, 5), random=False)
    def nothing(image, rng, strength):
        return image.copy()

    diagnosis, found = examined(built(corruptions="nothing"))
    assert set(found["note", "cells-equal"]) == {"clean", "nothing/1", "nothing/3"}
    assert diagnosis.ok
    assert diagnosis.looked_at["cells"] == 3


def test_another_manifest_is_none_of_a_build(tmp_path):
    root = sane.folder(tmp_path / "val")
    (root / "manifest.json").write_text('{"files": []}')
    assert examined(root)[0].kind == "folder"
