"""What stands between any model and the road: the size of its input, its memory, and what its outputs mean."""

import numpy as np
import PIL.Image
import pytest

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import AdaptedModel, ModelOptions, load_model
from oodometer.models.sizing import InputSize
from oodometer.types import LabelSpace

SPACE = LabelSpace("custom-3", ("cat", "red fox", "dog"), ("cat", "red fox", "dog"))
IMAGES = np.random.default_rng(0).integers(0, 256, (5, 12, 16, 3)).astype(np.uint8)


class Network:
    """Gives a function of the pictures, and remembers them."""

    def __init__(self, outputs, input_size=None):
        self.outputs_of, self.input_size, self.seen = outputs, input_size, []

    def predict(self, images):
        self.seen.append(images)
        return self.outputs_of(images)


def sums(images):
    return images.sum((1, 2)).astype(np.float64)


def test_pictures_of_another_size_are_refused():
    """Case G3."""
    network = Network(sums, InputSize(((299, 299),), "bicubic"))
    with pytest.raises(ModelError, match=r"299x299 .* 16x12.*--resize-to-model"):
        AdaptedModel(network, ModelOptions(), None).predict(IMAGES)
    assert network.seen == []


def test_pictures_are_resized_if_that_is_asked_for():
    network = Network(sums, InputSize(((20, 30), (40, 40)), "bicubic"))
    model = AdaptedModel(network, ModelOptions(resize=True), None)
    model.predict(IMAGES)
    expected = [PIL.Image.fromarray(image).resize((30, 20), PIL.Image.Resampling.BICUBIC) for image in IMAGES]
    np.testing.assert_array_equal(network.seen[0], np.stack([np.asarray(image) for image in expected]))
    assert model.resized == "30x20 bicubic"


@pytest.mark.parametrize("size", [(12, 16), (99, 99)])
def test_pictures_of_any_declared_size_stay_as_they_are(size):
    network = Network(sums, InputSize((size, (12, 16))))
    AdaptedModel(network, ModelOptions(resize=True), None).predict(IMAGES)
    np.testing.assert_array_equal(network.seen[0], IMAGES)


def test_a_model_of_no_size_cannot_be_resized_to():
    with pytest.raises(ArgumentError, match="declares no input size"):
        load_model(Network(sums), ModelOptions(resize=True))


@pytest.mark.parametrize("fits", [1, 2, 3])
@pytest.mark.parametrize("words", ["CUDA out of memory. Tried", "DefaultCPUAllocator: can't allocate memory", ""])
def test_a_batch_that_the_memory_does_not_hold_is_halved(fits, words):
    def hungry(images):
        if len(images) > fits:
            raise MemoryError if not words else RuntimeError(words)
        return sums(images)

    network = Network(hungry)
    model = AdaptedModel(network, ModelOptions(), None)
    np.testing.assert_array_equal(model.predict(IMAGES), sums(IMAGES))
    network.seen.clear()
    np.testing.assert_array_equal(model.predict(IMAGES), sums(IMAGES))
    assert max(map(len, network.seen)) <= fits  # it has learnt


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), ValueError("no")])
def test_what_halving_does_not_mend_is_raised(error):
    def failing(images):
        raise error

    network = Network(failing)
    with pytest.raises(type(error), match=str(error)):
        AdaptedModel(network, ModelOptions(), None).predict(IMAGES)
    assert len(network.seen) == (4 if "memory" in str(error) else 1)  # 5, 3, 2, 1


def softmax(images):
    return np.exp(sums(images) / 1e4) / np.exp(sums(images) / 1e4).sum(axis=1, keepdims=True)


def test_probabilities_are_refused_or_their_logarithm_is_taken():
    with pytest.raises(ModelError, match="--outputs probabilities"):
        AdaptedModel(Network(softmax), ModelOptions(), None).predict(IMAGES)
    model = AdaptedModel(Network(softmax), ModelOptions(outputs="probabilities"), None)
    found = model.predict(IMAGES)
    np.testing.assert_allclose(np.exp(found), softmax(IMAGES))
    assert "Outputs" in model.settings


@pytest.mark.parametrize("outputs", [[[0.2, 0.3, 0.4]], [[1.2, -0.1, -0.1]], [[0.5, 0.5, -0.0]], [[0.0, 1.0, 0.0]]])
def test_what_is_said_to_be_probabilities_must_be_some(outputs):
    model = AdaptedModel(Network(lambda _: np.array(outputs)), ModelOptions(outputs="probabilities"), None)
    if np.min(outputs) >= 0 and np.sum(outputs) == 1:
        assert np.isfinite(model.predict(IMAGES[:1])).all()
    else:
        with pytest.raises(ModelError, match="does not give probabilities"):
            model.predict(IMAGES[:1])


def test_a_background_class_is_dropped():
    model = load_model(Network(sums), ModelOptions(logits_offset=1))
    np.testing.assert_array_equal(model.predict(IMAGES), sums(IMAGES)[:, 1:])
    assert model.settings == {"Outputs left out": "the first 1"}


def named(tmp_path, text):
    path = tmp_path / "names.txt"
    path.write_text(text, encoding="utf-8")
    return ModelOptions(classes=path)


def wide(images):
    return np.concatenate([sums(images), -sums(images)], axis=1)


def test_outputs_are_picked_by_name(tmp_path):
    text = "\ufeffbackground\ndog\tCanis familiaris\nbird\nred fox\n\ncat\n"
    model = load_model(Network(wide), named(tmp_path, text), SPACE)
    np.testing.assert_array_equal(model.predict(IMAGES), wide(IMAGES)[:, [5, 3, 1]])
    assert model.settings["Outputs picked by name"].startswith("3 of 6, by names.txt (SHA-256 ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat\nred fox\ndog\n", "names 3 outputs, and .* has 6"),
        ("cat\nred fox\nwolf\na\nb\nc\n", r"does not name 1 of the 3 .* 'dog'"),
        ("cat\nred fox\ndog\na\nb\ndog\n", r"names more than once 1 .* 'dog'"),
        ("", "does not name 3"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        load_model(Network(wide), named(tmp_path, text), SPACE).predict(IMAGES)


def test_a_class_that_a_large_model_lacks_is_never_its_answer(tmp_path):
    names = tuple(f"c{i}" for i in range(100))
    space = LabelSpace("custom-100", names, names)
    there = [name for name in names if name != "c7"]
    network = Network(lambda images: np.tile(np.arange(99.0), (len(images), 1)))
    model = load_model(network, named(tmp_path, "\n".join(there)), space)
    found = model.predict(IMAGES)
    np.testing.assert_array_equal(np.delete(found, 7, axis=1), network.outputs_of(IMAGES))
    assert (found[:, 7] < -15).all()
    assert np.isfinite(found).all()
    assert model.settings["Outputs picked by name"].endswith("lacks: c7")
    with pytest.raises(ModelError, match="does not name 2"):
        load_model(network, named(tmp_path, "\n".join(there[1:])), space)


def test_names_need_a_file_and_classes(tmp_path):
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(Network(wide), ModelOptions(classes=tmp_path / "none.txt"), SPACE)
    with pytest.raises(ArgumentError, match="no label space"):
        load_model(Network(wide), named(tmp_path, "cat\n"))


def test_lists_are_taken_and_masked_arrays_are_left_for_the_road_to_refuse():
    lists = AdaptedModel(Network(lambda images: sums(images).tolist()), ModelOptions(logits_offset=1))
    np.testing.assert_array_equal(lists.predict(IMAGES), sums(IMAGES)[:, 1:])
    masked = AdaptedModel(Network(lambda images: np.ma.masked_less(sums(images), 0)), ModelOptions(logits_offset=1))
    assert np.ma.isMaskedArray(masked.predict(IMAGES))


def test_a_strangers_throughput_is_not_measured():
    network = Network(sums)
    assert load_model(network, ModelOptions(logits_offset=1)).find_batch_size(IMAGES[0], 64) is None
    assert network.seen == []
    assert load_model("fake").find_batch_size(IMAGES[0], 16) == 16


@pytest.mark.filterwarnings("error")
def test_logits_in_half_precision_may_sum_to_more_than_it_holds():
    outputs = np.full((2, 1000), 6e4, np.float16)
    model = AdaptedModel(Network(lambda images: outputs), ModelOptions(logits_offset=1))
    assert model.predict(IMAGES[:2]).shape == (2, 999)


def test_an_interpolation_that_pillow_has_not_is_named():
    network = Network(sums, InputSize(((20, 30),), "random"))
    with pytest.raises(ArgumentError, match="interpolation 'random'"):
        AdaptedModel(network, ModelOptions(resize=True)).predict(IMAGES)
