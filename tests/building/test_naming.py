"""What pictures are called: by class and name, once each, on any system."""

import pytest
from built import QUICK
from hypothesis import given
from hypothesis import strategies as st

import oodometer
from oodometer.building.naming import check_names, class_folders, stem
from oodometer.datasets import custom
from oodometer.errors import DatasetError
from oodometer.types import UNLABELLED, Sample

FOLDERS = ("n01440764", "n01443537")


@pytest.mark.parametrize(
    ("id_", "label", "name"),
    [
        ("n01440764/x.JPEG", 0, "n01440764/x"),
        ("n01440764/x.y.png", 0, "n01440764/x.y"),
        ("n01440764/part/x.JPEG", 0, "n01440764/part/x"),
        ("val/n01440764/x.JPEG", 0, "n01440764/x"),
        ("x.JPEG", 1, "n01443537/x"),
        ("flat/x.JPEG", 1, "n01443537/flat/x"),
        ("images/x.JPEG", 1, "n01443537/x"),
        ("images", 1, "n01443537/images"),
        ("0017", 1, "n01443537/0017"),
        ("a.5", 1, "n01443537/a.5"),
        ("flat/x.JPEG", UNLABELLED, "flat/x"),
        ("n01440764\\x.JPEG", 0, "n01440764/x"),
        ("C:\\val\\n01440764\\x.JPEG", 0, "n01440764/x"),
        ("/n01440764/./x.JPEG", 0, "n01440764/x"),
    ],
)
def test_pictures_are_called_by_class_and_name(id_, label, name):
    """Case K5: paths of Windows give class and file name too."""
    assert stem(Sample(id_, label, 1), FOLDERS) == name


@pytest.mark.parametrize(
    "id_", ["../x.png", "n01440764/../../x.png", "..", "a/.hidden.png", ".n/x.png", "", "a\udce4.png"]
)
def test_names_that_lead_out_or_hide_are_refused(id_):
    with pytest.raises(DatasetError):
        stem(Sample(id_, 0, 1), FOLDERS)


@given(st.lists(st.text("aAbBéÉ", min_size=1, max_size=3), unique=True, max_size=6))
def test_names_pass_if_no_two_are_one_anywhere(names):
    distinct = len({name.lower() for name in names}) == len(names)
    if distinct:
        check_names(names, [f"{name}.png" for name in names])
    else:
        with pytest.raises(DatasetError, match="would have pictures of one name"):
            check_names(names, [f"{name}.png" for name in names])


@pytest.mark.parametrize(
    "names",
    [("a", "a/b"), ("A/b", "a"), ("x/a/b/c", "X/a"), ("e\u0301", "\u00e9")],
    ids=["below", "case", "deep", "accent"],
)
def test_a_name_is_no_folder_of_another(names):
    with pytest.raises(DatasetError, match=r"id\d"):
        check_names(names, [f"id{i}" for i in range(len(names))])


def test_classes_are_folders_of_their_own():
    space = custom(["cat", "dog/wolf", "..", ".hidden", "a:b?"])
    assert class_folders(space) == ("cat", "dog_wolf", "_.", "_hidden", "a_b_")
    for clash in (["a/b", "a_b"], ["Cat", "cat"]):
        with pytest.raises(DatasetError, match="would share one folder"):
            class_folders(custom(clash))


@pytest.mark.parametrize("other", ["0000.JPEG", "0000.PNG", "0000.bmp"])
def test_two_sources_of_one_name_stop_before_anything_is_written(photographs, tmp_path, textured, other):
    root = photographs(2)
    textured(9).save(root / "n01440764" / other, "PNG")
    with pytest.raises(DatasetError, match=r"n01440764/0000.*n01440764/0000"):
        oodometer.build(root, tmp_path / "out", **QUICK)
    assert not (tmp_path / "out").exists()


def test_keys_of_tar_members_have_no_dots(tmp_path, textured):
    for name in ("a.b.png", "a_b.png"):
        (tmp_path / "val").mkdir(exist_ok=True)
        textured(1).save(tmp_path / "val" / name)
    oodometer.build(tmp_path / "val", tmp_path / "out", **QUICK)
    with pytest.raises(DatasetError, match=r"a.b.png.*a_b.png"):
        oodometer.build(tmp_path / "val", tmp_path / "shards", format="webdataset", **QUICK)
