"""Keras files and SavedModels against Keras itself."""

import keras
import numpy as np
import pytest

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, load_model

pytestmark = [
    pytest.mark.frameworks,
    # TensorFlow's own, of its way with NumPy and its protocol buffers.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


def _network(*first, activation=None, shape=(224, 224, 3)):
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Conv2D(16, 7, strides=4, activation="relu"), keras.layers.GlobalAveragePooling2D()]
    return keras.Sequential([keras.Input(shape), *first, *layers, keras.layers.Dense(20, activation=activation)])


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
@pytest.mark.parametrize(
    ("normalization", "mode"), [("imagenet", "torch"), ("0.5/0.5", "tf"), ("caffe", "caffe"), ("raw", None)]
)
def test_a_file_gives_the_logits_of_keras(tmp_path, pictures, agree, suffix, normalization, mode):
    model, path = _network(), tmp_path / f"m{suffix}"
    model.save(path)
    pixels = pictures.astype(np.float32)
    inputs = keras.applications.imagenet_utils.preprocess_input(pixels.copy(), mode=mode) if mode else pixels
    found = load_model(f"keras:{path}", ModelOptions(normalization=normalization)).predict(pictures)
    agree(found, model(inputs, training=False))


def test_a_model_of_keras_applications(tmp_path, pictures, agree):
    """It rescales by itself and ends in a softmax; both are read off its layers."""
    keras.utils.set_random_seed(1)
    model, path = keras.applications.MobileNetV3Small(weights=None, input_shape=(224, 224, 3)), tmp_path / "m.keras"
    model.save(path)
    loaded = load_model(str(path))
    assert loaded.normalization.std == (1 / 255,) * 3
    assert loaded.settings["Outputs"].startswith("probabilities")
    expected = np.asarray(model(pictures.astype(np.float32), training=False))
    np.testing.assert_allclose(np.exp(loaded.predict(pictures)), expected, atol=1e-6)
    assert loaded.predict(pictures).shape == (4, 1000)


@pytest.mark.parametrize(
    "layer", [keras.layers.Rescaling(1 / 127.5, -1), keras.layers.Normalization(mean=[99.0] * 3, variance=[3e3] * 3)]
)
def test_a_model_that_rescales_gets_the_pixels_and_no_normalization(tmp_path, pictures, agree, layer):
    """Case G2."""
    model, path = _network(layer), tmp_path / "m.keras"
    model.save(path)
    agree(load_model(f"keras:{path}").predict(pictures), model(pictures.astype(np.float32), training=False))
    with pytest.raises(ArgumentError, match="its own normalization"):
        load_model(f"keras:{path}", ModelOptions(normalization="imagenet"))


def test_a_model_that_says_nothing_of_its_pixels_is_refused(tmp_path):
    path = tmp_path / "m.keras"
    _network().save(path)
    with pytest.raises(ModelError, match="--normalization"):
        load_model(f"keras:{path}")


def test_a_saved_model(tmp_path, pictures, agree):
    model = _network()
    model.export(tmp_path / "saved", verbose=False)
    loaded = load_model(f"keras:{tmp_path / 'saved'}", ModelOptions(normalization="none"))
    agree(loaded.predict(pictures), model(pictures.astype(np.float32) / 255, training=False))
    assert "tensorflow" in loaded.environment
    (tmp_path / "saved" / "note.txt").write_text("another file")
    again = load_model(f"keras:{tmp_path / 'saved'}", ModelOptions(normalization="none"))
    assert again.fingerprint != loaded.fingerprint


def test_channels_first_and_another_size(tmp_path, pictures, resize, agree):
    """Case G3."""
    import PIL.Image

    keras.utils.set_random_seed(0)
    # TensorFlow has no convolution with the channels first on the CPU.
    moved = [keras.layers.Permute((2, 3, 1)), keras.layers.AveragePooling2D(16), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((3, 96, 96)), *moved, keras.layers.Dense(5)])
    path = tmp_path / "m.keras"
    model.save(path)
    with pytest.raises(ModelError, match=r"96x96 .* 224x224"):
        load_model(f"keras:{path}", ModelOptions(normalization="none")).predict(pictures)
    loaded = load_model(f"keras:{path}", ModelOptions(normalization="none", resize=True))
    small = resize(pictures, 96, PIL.Image.Resampling.BILINEAR).astype(np.float32) / 255
    agree(loaded.predict(pictures), model(small.transpose(0, 3, 1, 2), training=False))


def test_code_in_a_file_is_not_run(tmp_path):
    path = tmp_path / "m.keras"
    _network(keras.layers.Lambda(lambda x: x)).save(path)
    with pytest.raises(ModelError, match=r"cannot be loaded.*[Ll]ambda"):
        load_model(f"keras:{path}", ModelOptions(normalization="none"))


@pytest.mark.parametrize("shape", [(10,), (8, 8, 4)])
def test_a_model_of_something_else_than_pictures_is_refused(tmp_path, shape):
    path = tmp_path / "m.keras"
    keras.Sequential([keras.Input(shape), keras.layers.Flatten(), keras.layers.Dense(3)]).save(path)
    with pytest.raises(ModelError, match="must take pictures"):
        load_model(f"keras:{path}", ModelOptions(normalization="none"))


@pytest.mark.parametrize("content", [b"no model", None])
def test_what_is_no_keras_file_is_named(tmp_path, content):
    path = tmp_path / "m.keras"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=str(path)):
        load_model(f"keras:{path}")
