"""Npy files: an array with its labels, and CIFAR-C with its rows of severities."""

import pickle

import numpy as np
import pytest
from small_sets import write_npy

from oodometer.datasets import cifar10, cifar100, custom, open_dataset
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import UNLABELLED, Condition

RNG = np.random.default_rng(0)


def pixels(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def cifar(tmp_path):
    """Return a CIFAR-10-C of 10 images and two corruptions, and its arrays."""
    arrays = {name: pixels(50, 32, 32, 3) for name in ("fog", "gaussian_noise")}
    for name, array in arrays.items():
        write_npy(tmp_path / "CIFAR-10-C", array, names=(f"{name}.npy", ""))
    np.save(tmp_path / "CIFAR-10-C" / "labels.npy", np.tile(np.arange(10)[::-1], 5))
    return tmp_path / "CIFAR-10-C", arrays


# CIFAR-C


def test_j3_severity_s_is_rows_10_s_minus_10_to_10_s_minus_1(cifar):
    root, arrays = cifar
    dataset = open_dataset(f"cifar10-c:{root}")
    assert (len(dataset.samples), dataset.label_space, dataset.name) == (10, cifar10(), "CIFAR-10-C")
    assert dataset.conditions == tuple(Condition(c, s) for c in ("gaussian_noise", "fog") for s in range(1, 6))
    assert [(s.id, s.label, s.size) for s in dataset.samples] == [(str(n), 9 - n, 3072) for n in range(10)]
    for condition in dataset.conditions:
        first = 10 * (condition.severity - 1)
        for number, sample in enumerate(dataset.samples):
            expected = arrays[condition.corruption][first + number]
            assert np.array_equal(dataset.read(sample, condition), expected)
            assert np.array_equal(dataset.cell(condition.corruption, condition.severity).read(sample), expected)


def test_it_is_recognised_below_a_parent_and_survives_pickling(cifar):
    root, arrays = cifar
    dataset = pickle.loads(pickle.dumps(open_dataset(root.parent)))
    assert dataset.notes == (f"{root} was taken for CIFAR-10-C (cifar10-c).",)
    assert np.array_equal(dataset.read(dataset.samples[3], Condition("fog", 5)), arrays["fog"][43])
    assert len(pickle.dumps(dataset)) < 10_000  # no pixels


def test_cifar_100(cifar):
    root, _ = cifar
    np.save(root / "labels.npy", np.tile(np.arange(90, 100), 5))
    dataset = open_dataset(root)
    assert dataset.label_space == cifar100()
    assert [dataset.label_space.classes[s.label] for s in dataset.samples][:3] == ["train", "trout", "tulip"]
    with pytest.raises(DatasetError, match="not classes of cifar-10: 90, 91"):
        open_dataset(f"cifar10-c:{root}")


def test_the_names_of_tensorflow_datasets(cifar):
    root, arrays = cifar
    np.save(root / "frosted_glass_blur.npy", arrays["fog"])
    np.save(root / "elastic.npy", arrays["fog"])
    dataset = open_dataset(root)
    assert [c.corruption for c in dataset.conditions[::5]] == [
        "gaussian_noise",
        "glass_blur",
        "fog",
        "elastic_transform",
    ]
    assert "elastic is elastic_transform, frosted_glass_blur is glass_blur" in dataset.notes[1]
    np.save(root / "glass_blur.npy", arrays["fog"])
    with pytest.raises(DatasetError, match="twice, under two names: frosted_glass_blur is glass_blur"):
        open_dataset(root)


@pytest.mark.parametrize("rows", [49, 51, 4])
def test_j3_rows_that_are_not_five_times_the_images(cifar, rows):
    root, _ = cifar
    np.save(root / "fog.npy", pixels(rows, 32, 32, 3))
    with pytest.raises(DatasetError, match=f"fog.npy has {rows} rows, which are not five times"):
        open_dataset(f"cifar10-c:{root}")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(10), r"labels.npy holds int64 of the shape \(10,\).*must hold 50 whole numbers"),
        (np.arange(50) % 7, "five times, once a severity"),
        (np.tile(np.arange(10.0), 5), "labels.npy holds float64"),
        (np.tile(np.arange(10), 5) - 1, "not classes of cifar-10: -1"),
    ],
)
def test_labels_that_do_not_fit(cifar, labels, message):
    root, _ = cifar
    np.save(root / "labels.npy", labels)
    with pytest.raises(DatasetError, match=message):
        open_dataset(f"cifar10-c:{root}")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pixels(45, 32, 32, 3), "all corruptions must hold the same images"),
        (pixels(50, 32, 30, 3), "all corruptions must hold the same images"),
        (pixels(50, 3, 32, 32), "must be uint8, N x height x width x 3"),
        (np.zeros((50, 32, 32, 3)), "holds float64"),
        (np.asfortranarray(pixels(50, 32, 32, 3)), "order of Fortran"),
        (np.array([None] * 50), "no npy file of numbers|damaged"),
        (pixels(0, 32, 32, 3), "must be uint8"),
    ],
)
def test_arrays_that_are_no_images(cifar, array, message):
    root, _ = cifar
    np.save(root / "fog.npy", array, allow_pickle=True)
    with pytest.raises(DatasetError, match=message) as caught:
        open_dataset(f"cifar10-c:{root}")
    assert "fog.npy" in str(caught.value)


def test_cut_and_foreign_files(cifar):
    root, _ = cifar
    whole = (root / "fog.npy").read_bytes()
    for content in (whole[:-1], whole[:60], b"", b"PK\x03\x04junk"):
        (root / "fog.npy").write_bytes(content)
        with pytest.raises(DatasetError, match=r"fog.npy is damaged, cut, or no npy file"):
            open_dataset(f"cifar10-c:{root}")


def test_a_file_that_is_cut_later(cifar):
    root, _ = cifar
    dataset = open_dataset(root)
    (root / "fog.npy").write_bytes((root / "fog.npy").read_bytes()[:-1])
    assert dataset.read(dataset.samples[8], Condition("fog", 5)).size == (32, 32)
    with pytest.raises(DatasetError, match=r"fog.npy is shorter than it was"):
        dataset.read(dataset.samples[9], Condition("fog", 5))
    (root / "fog.npy").unlink()
    with pytest.raises(DatasetError, match=r"fog.npy: No such file"):
        dataset.read(dataset.samples[0], Condition("fog", 1))


def test_cells_that_are_not_there(cifar):
    dataset = open_dataset(cifar[0])
    for corruption, severity in (("fog", 0), ("fog", 6), ("labels", 1), ("frost", 1)):
        with pytest.raises(DatasetError, match="has severities 1 to 5 of gaussian_noise, fog"):
            dataset.cell(corruption, severity)


def test_cifar_has_its_own_labels(cifar):
    with pytest.raises(ArgumentError, match="do not go with cifar10-c"):
        open_dataset(cifar[0], classes=10)


def test_i3_hidden_files(cifar):
    root, _ = cifar
    (root / "._fog.npy").write_bytes(b"junk")
    (root / "README.txt").write_bytes(b"junk")
    assert len(open_dataset(root).conditions) == 10


# An array and its labels


@pytest.mark.parametrize("shape", [(4, 6, 8, 3), (4, 6, 8, 1), (4, 6, 8)])
def test_b3_colour_and_gray(tmp_path, shape):
    images = pixels(*shape)
    root = write_npy(tmp_path, images, [2, 0, 1, 1])
    for spec in (f"npy:{root}/images.npy,{root}/labels.npy", f"npy:{root}", root):
        dataset = open_dataset(spec)
        assert [(sample.id, sample.label) for sample in dataset.samples] == [("0", 2), ("1", 0), ("2", 1), ("3", 1)]
        for row, sample in enumerate(dataset.samples):
            expected = np.broadcast_to(images[row].reshape(6, 8, -1), (6, 8, 3))
            assert np.array_equal(dataset.read(sample), expected)


def test_what_indices_mean(tmp_path):
    root = write_npy(tmp_path, pixels(3, 4, 4, 3), [1, 3, 1])
    with pytest.raises(DatasetError, match=r"2 different class indices from 1 to 3.*without a gap"):
        open_dataset(root)
    assert open_dataset(root, classes=10).label_space.width == 10
    assert open_dataset(root, label_space="cifar-10").label_space == cifar10()
    assert [s.label for s in open_dataset(root, label_space=custom(list("abcd"))).samples] == [1, 3, 1]
    assert [s.label for s in open_dataset(root, labels={"0": 0, "1": 1, "2": 0}).samples] == [0, 1, 0]
    with pytest.raises(DatasetError, match="not classes of custom-2: 3"):
        open_dataset(root, label_space=custom(["a", "b"]))
    with pytest.raises(ArgumentError, match="classes goes only with"):
        open_dataset(root, classes=10, label_space="cifar-10")


def test_an_array_alone(tmp_path):
    file = write_npy(tmp_path, pixels(2, 4, 4, 3)) / "images.npy"
    with pytest.raises(ArgumentError, match="has no labels: give npy:IMAGES,LABELS"):
        open_dataset(file)
    assert [s.label for s in open_dataset(file, unlabelled=True).samples] == [UNLABELLED] * 2
    assert [s.label for s in open_dataset(f"npy:{file}", labels={"0": 1, "1": 0}).samples] == [1, 0]


def test_commas_in_names(tmp_path):
    root = write_npy(tmp_path / "a,b", pixels(2, 4, 4, 3), [0, 1])
    assert len(open_dataset(f"npy:{root}/images.npy,{root}/labels.npy").samples) == 2


def test_j3_labels_that_repeat_five_times_are_told(tmp_path):
    root = write_npy(tmp_path, pixels(50, 4, 4, 3), np.tile(np.arange(10), 5))
    assert "repeat five times" in open_dataset(root, label_space="cifar-10").notes[1]
    for labels in (np.repeat(np.arange(10), 5), np.zeros(5, int)):
        write_npy(root, pixels(len(labels), 4, 4, 3), labels)
        assert len(open_dataset(root, label_space="cifar-10").notes) == 1


def test_indices_without_names_are_told(tmp_path):
    root = write_npy(tmp_path, pixels(3, 4, 4, 3), [1, 0, 1])
    assert "class indices without names, taken for 2 classes of your own" in open_dataset(root).notes[1]
    assert open_dataset(f"npy:{root}", classes=2).notes == ()
    assert open_dataset(f"npy:{root}", label_space="cifar-10").notes == ()


def test_labels_and_images_of_different_lengths(tmp_path):
    root = write_npy(tmp_path, pixels(5, 4, 4, 3), [0, 1])
    with pytest.raises(DatasetError, match=r"labels.npy holds int64 of the shape \(2,\).*must hold 5"):
        open_dataset(root)


def test_the_classes_of_cifar_against_labelled_images():
    """What the pictures with these labels show, in the samples of CIFAR that the package foolbox carries."""
    seen = {0: "airplane", 1: "automobile", 3: "cat", 5: "dog", 6: "frog", 7: "horse", 8: "ship", 9: "truck"}
    assert {index: cifar10().classes[index] for index in seen} == seen
    seen = {0: "apple", 14: "butterfly", 15: "camel", 23: "cloud", 33: "forest", 40: "lamp", 43: "lion", 49: "mountain"}
    seen |= {51: "mushroom", 53: "orange", 69: "rocket", 70: "rose", 71: "sea", 72: "seal", 75: "skunk"}
    seen |= {81: "streetcar", 92: "tulip", 97: "wolf"}
    assert {index: cifar100().classes[index] for index in seen} == seen
    assert list(cifar100().classes) == sorted(set(cifar100().classes))
    assert (cifar10().width, cifar100().width) == (10, 100)


@pytest.mark.parametrize(
    "shape", ["(-1, 4, 4, 3)", "(10**2, 4, 4, 3)", f"({10**25}, 4, 4, 3)", "(True, 4, 4, 3)", "('a',)"]
)
def test_headers_that_claim_anything_are_refused_by_name(tmp_path, shape):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    file = tmp_path / "images.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(48))
    np.save(tmp_path / "labels.npy", np.zeros(1, int))
    with pytest.raises(DatasetError, match=r"images\.npy is damaged"):
        open_dataset(f"npy:{file},{tmp_path / 'labels.npy'}")
