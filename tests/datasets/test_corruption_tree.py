"""Trees of corrupted images: which cells there are, that all hold the same images, and what is refused."""

import pickle
import shutil

import numpy as np
import PIL.Image
import pytest
from small_sets import FISH, SHARK, encoded, picture, write_cells, write_folder

from oodometer.datasets import custom, imagenet1k, open_dataset
from oodometer.errors import ArgumentError, DatasetError, ImageError
from oodometer.families import EXTRA, IMAGENET_C
from oodometer.types import UNLABELLED, Condition

NAMES = [f"{SHARK}/b.JPEG", f"{FISH}/z.JPEG", f"{FISH}/a.JPEG"]
CELLS = ["fog/1", "fog/2", "snow/1", "snow/2"]


@pytest.fixture
def tree(tmp_path):
    return write_cells(tmp_path / "c", CELLS, NAMES)


def test_every_cell_has_its_own_pictures_of_the_same_images(tree):
    dataset = open_dataset(f"imagenet-c:{tree}")
    assert (dataset.name, dataset.label_space, dataset.notes[0][:29]) == (
        "c",
        imagenet1k(),
        "Not all of the five severitie",
    )
    assert dataset.conditions == tuple(Condition(c, s) for c in ("snow", "fog") for s in (1, 2))
    assert [(sample.id, sample.label) for sample in dataset.samples] == [
        (n, 1 + n.startswith(SHARK)) for n in sorted(NAMES)
    ]
    for sample in dataset.samples:
        for condition in dataset.conditions:
            number = 100 * CELLS.index(str(condition)) + NAMES.index(sample.id)
            assert np.array_equal(dataset.read(sample, condition), picture(number))
            cell = dataset.cell(condition.corruption, condition.severity)
            assert np.array_equal(cell.read(sample), picture(number))


def test_a_cell_is_an_ordinary_data_set(tree):
    (tree / "fog/2" / NAMES[0]).write_bytes(encoded(picture(1, (50, 50))))
    cell = open_dataset(f"imagenet-c:{tree}").cell("fog", 2)
    assert (cell.name, cell.root) == ("c/fog/2", tree / "fog/2")
    assert cell.samples == open_dataset(f"folder:{tree}/fog/2").samples
    assert not hasattr(cell, "conditions")


def test_the_guess_is_said(tree):
    assert open_dataset(tree).notes[0] == (
        f"{tree} was taken for ImageNet-C or another tree <corruption>/<severity>/<class>/<image> (imagenet-c)."
    )


@pytest.mark.parametrize("above", ["{family}/{name}", "archive/{family}/{name}", "archive/{name}", "{name}"])
def test_families_and_archives_above(tmp_path, above):
    families = {"fog": "weather", "gaussian_noise": "noise", "spatter": "extra"}
    cells = [above.format(family=family, name=name) + "/3" for name, family in families.items()]
    dataset = open_dataset(f"imagenet-c:{write_cells(tmp_path / 'c', cells, NAMES)}")
    assert dataset.conditions == tuple(Condition(c, 3) for c in ("gaussian_noise", "fog", "spatter"))
    assert np.array_equal(dataset.cell("fog", 3).read(dataset.samples[2]), picture(0))


def test_the_published_order_then_the_alphabet(tmp_path):
    names = [*IMAGENET_C, *EXTRA, "zeta", "caustic_refraction"]
    dataset = open_dataset(write_cells(tmp_path, [f"{c}/{s}" for c in sorted(names) for s in (2, 1)], NAMES[:1]))
    expected = [*IMAGENET_C, *EXTRA, "caustic_refraction", "zeta"]
    assert dataset.conditions == tuple(Condition(c, s) for c in expected for s in (1, 2))


@pytest.mark.parametrize("cell", CELLS[1:])
def test_a_missing_image_is_named_with_its_cell(tree, cell):
    (tree / cell / NAMES[1]).unlink()
    with pytest.raises(
        DatasetError, match=f"The cell .*/(fog|snow)/. lacks 1 of the 3 images.*{NAMES[1]}|has 1 image"
    ) as e:
        open_dataset(tree)
    assert cell in str(e.value)
    assert NAMES[1] in str(e.value)


def test_an_image_more_is_named_with_its_cell(tree):
    shutil.copy(tree / "fog/1" / NAMES[0], tree / "fog/1" / FISH / "more.JPEG")
    with pytest.raises(DatasetError, match=rf"The cell .*fog/1 has 1 image\(s\) that .*snow/1 lacks: {FISH}/more.JPEG"):
        open_dataset(tree)


def test_a_missing_class_folder_is_a_missing_image(tree):
    shutil.rmtree(tree / "fog/2" / SHARK)
    with pytest.raises(DatasetError, match=f"fog/2 lacks 1 of the 3 images of .*: {SHARK}/b.JPEG"):
        open_dataset(tree)


def test_i3_hidden_files_in_some_cells_change_nothing(tree):
    before = open_dataset(tree)
    write_folder(tree, dict.fromkeys([f"fog/2/{FISH}/._a.JPEG", "fog/1/.DS_Store", "snow/2/Thumbs.db"], b"junk"))
    write_folder(tree, dict.fromkeys(["__MACOSX/fog/a.JPEG", f"fog/2/.ipynb_checkpoints/{FISH}.png"], b"junk"))
    assert open_dataset(tree) == before


def test_a_cell_that_lost_an_image_later(tree):
    dataset = open_dataset(tree)
    (tree / "fog/2" / NAMES[0]).unlink()
    with pytest.raises(DatasetError, match="fog/2 lacks 1 of the 3 images of the tree as it was opened"):
        dataset.cell("fog", 2)
    with pytest.raises(DatasetError, match=f"fog/2/{NAMES[0]}.*No such file"):
        dataset.read(next(s for s in dataset.samples if s.id == NAMES[0]), Condition("fog", 2))


def test_a_damaged_image_is_named_with_its_condition(tree):
    (tree / "fog/2" / NAMES[0]).write_bytes(b"junk")
    dataset = open_dataset(tree)
    sample = next(s for s in dataset.samples if s.id == NAMES[0])
    assert dataset.read(sample, Condition("fog", 1)).size == (8, 6)
    with pytest.raises(ImageError, match=f"Cannot read the image fog/2/{NAMES[0]}"):
        dataset.read(sample, Condition("fog", 2))


@pytest.mark.parametrize(
    ("corruption", "severity"), [("fog", 3), ("frost", 1), ("fog", 0), ("clean", 0), ("../fog", 1)]
)
def test_a_cell_that_is_not_there(tree, corruption, severity):
    dataset = open_dataset(tree)
    for ask in (
        lambda: dataset.cell(corruption, severity),
        lambda: dataset.read(dataset.samples[0], Condition(corruption, severity)),
    ):
        with pytest.raises(DatasetError, match=r"c has no .*; it has snow/\{1,2\}, fog/\{1,2\}"):
            ask()


def test_other_folders_are_passed_over_with_a_note(tree):
    others = ["clean", "frosst/clear", "fog2/1/x", "fog2/6/x", "fog/2.5"]
    write_folder(tree, {f"{folder}/{FISH}/a.JPEG": b"" for folder in others})
    dataset = open_dataset(tree)
    assert len(dataset.conditions) == 4
    assert any(note.endswith("were passed over: fog2, frosst, fog/2.5.") for note in dataset.notes)
    assert not any("clean" in note for note in dataset.notes)


def test_one_corruption_twice(tree):
    shutil.copytree(tree / "fog", tree / "weather" / "fog")
    with pytest.raises(DatasetError, match="are one corruption twice"):
        open_dataset(tree)


@pytest.mark.parametrize("names", [[], ["fog/a.JPEG"], [f"{FISH}/a.JPEG"], ["fog/6/a.JPEG"]])
def test_no_tree(tmp_path, names):
    write_folder(tmp_path / "x", dict.fromkeys(["notes.txt", *names], b""))
    with pytest.raises(DatasetError, match="holds no folders of corruptions"):
        open_dataset(f"imagenet-c:{tmp_path / 'x'}")


def test_cells_without_images(tmp_path):
    (tmp_path / "fog" / "1" / FISH).mkdir(parents=True)
    with pytest.raises(DatasetError, match=f"There are no images in {tmp_path}/fog/1"):
        open_dataset(f"imagenet-c:{tmp_path}")


def test_own_classes_and_tables_of_labels(tmp_path):
    tree = write_cells(tmp_path / "own", CELLS, ["cat/a.png", "dog/b.png"])
    with pytest.raises(DatasetError, match="not classes of imagenet-1k: cat, dog"):
        open_dataset(tree)
    assert [s.label for s in open_dataset(tree, label_space=custom(["dog", "cat"])).samples] == [1, 0]
    assert [s.label for s in open_dataset(tree, labels={"cat": FISH, "dog/b.png": SHARK}).samples] == [1, 2]
    assert open_dataset(tree, unlabelled=True).label_space.classes == ("cat", "dog")


def test_a_tree_without_classes(tmp_path):
    tree = write_cells(tmp_path / "flat", CELLS, ["a.png", "b.png"])
    with pytest.raises(DatasetError, match="no labels"):
        open_dataset(tree)
    dataset = open_dataset(tree, unlabelled=True)
    assert [(s.id, s.label) for s in dataset.samples] == [("a.png", UNLABELLED), ("b.png", UNLABELLED)]
    assert np.array_equal(dataset.read(dataset.samples[1], Condition("snow", 1)), picture(201))


def test_orientation_and_pickling(tree):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    (tree / "fog/2" / NAMES[0]).write_bytes(encoded(picture(1, (40, 20)), "JPEG", exif=exif))
    for orientation, size in (("ignore", (40, 20)), ("apply", (20, 40))):
        dataset = pickle.loads(pickle.dumps(open_dataset(tree, orientation=orientation)))
        sample = next(s for s in dataset.samples if s.id == NAMES[0])
        assert dataset.read(sample, Condition("fog", 2)).size == size
        assert dataset.cell("fog", 2).read(sample).size == size


def test_links_between_cells_are_followed(tree):
    shutil.rmtree(tree / "fog/2")
    (tree / "fog/2").symlink_to(tree / "fog/1", target_is_directory=True)
    assert len(open_dataset(tree).conditions) == 4


def test_i2_the_corruptions_are_never_classes(tree):
    with pytest.raises(DatasetError, match="imagenet-c:PATH"):
        open_dataset(f"folder:{tree}", labels=None, label_space="imagenet-1k")


# Tiny-ImageNet-C


@pytest.fixture(scope="module")
def tiny_tree(tmp_path_factory):
    """Return Tiny-ImageNet-C with the fault of its first archive; one of its classes is not of ImageNet-1k."""
    wnids = ["n99999999", *imagenet1k().classes[:199]]
    image = encoded(picture(0, (64, 64)), "JPEG")
    names = [f"{c}/1/{wnid}/x.JPEG" for c in ("fog", "snow") for wnid in wnids]
    names += [f"frost/1/{wnid}/x.JPEG" for wnid in imagenet1k().classes]
    return write_folder(tmp_path_factory.mktemp("tiny") / "Tiny-ImageNet-C", dict.fromkeys(names, image))


def test_the_broken_frost_is_left_out_and_named(tiny_tree):
    for spec in (tiny_tree, f"tiny-imagenet-c:{tiny_tree.parent}"):
        dataset = open_dataset(spec)
        assert dataset.conditions == (Condition("snow", 1), Condition("fog", 1))
        assert any("frost has 1000 class folders" in note and "frost is left out" in note for note in dataset.notes)
        with pytest.raises(DatasetError, match=r"has no frost/1; it has .*frost has 1000 class folders"):
            dataset.cell("frost", 1)


def test_the_200_classes_are_those_found(tiny_tree):
    space = open_dataset(tiny_tree).label_space
    assert (space.name, space.width, space.columns) == ("tiny-imagenet-200", 200, None)
    assert list(space.classes) == sorted(space.classes)
    assert (space.names[0], space.names[199]) == ("tench", "n99999999")
    assert [sample.label for sample in open_dataset(tiny_tree).samples] == list(range(200))


def test_a_good_frost_stays(tiny_tree, tmp_path):
    (tmp_path / "good").mkdir()
    for name in ("fog", "frost"):
        (tmp_path / "good" / name).symlink_to(tiny_tree / "fog", target_is_directory=True)
    dataset = open_dataset(f"tiny-imagenet-c:{tmp_path / 'good'}")
    assert (dataset.conditions, dataset.notes[1:]) == ((Condition("frost", 1), Condition("fog", 1)), ())


def test_other_counts_of_classes_are_not_tiny(tree):
    with pytest.raises(DatasetError, match="has 2 class folders in its first cell; Tiny-ImageNet-C has 200"):
        open_dataset(f"tiny-imagenet-c:{tree}")


def test_severities_must_be_numbers_of_the_five(tree):
    with pytest.raises((ArgumentError, DatasetError)):
        open_dataset(tree).cell("fog", "1")
