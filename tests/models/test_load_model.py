"""From whatever a user has to something with ``predict``, or an error that says what is wanted."""

import numpy as np
import pytest

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import FakeModel, ModelOptions, Normalization, load_model, parse_normalization


def test_the_fake_is_a_function_of_each_picture_alone():
    images = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3)).astype(np.uint8)
    model = FakeModel(5)
    together = model.predict(images)
    assert together.shape == (6, 5)
    np.testing.assert_array_equal(together, np.concatenate([model.predict(images[i : i + 1]) for i in range(6)]))
    images[3, 0, 0, 0] ^= 1
    assert (model.predict(images)[3] != together[3]).all()


def test_an_object_with_predict_is_taken_as_it_is():
    fake = FakeModel()
    assert load_model(fake) is fake


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dmeo", "'demo'"),
        ("resnet50", "Known: demo"),
        ("missing.pt2", "no model file"),
        ("torch:", "package.module:object"),
        ("torch:os", "package.module:object"),
        ("torch:no_such_module_here:make", "PYTHONPATH"),
        ("torch:os:no_such_name", "no_such_name"),
        ("torch:os:getcwd", "returned str"),
        ("torch:math:sqrt", "TypeError"),
    ],
)
def test_a_bad_specification_says_what_is_wrong(spec, message):
    with pytest.raises((ModelError, ArgumentError), match=message):
        load_model(spec)


def test_a_normalization_is_refused_where_the_model_has_its_own():
    with pytest.raises(ArgumentError, match="its own normalization"):
        load_model("fake", ModelOptions(normalization="0.5/0.5"))


@pytest.mark.parametrize(
    ("text", "mean", "std"),
    [
        ("none", (0, 0, 0), (1, 1, 1)),
        ("0.5/0.25", (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
        ("0.1,0.2,0.3/0.4,0.5,0.6", (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)),
        ("imagenet", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ],
)
def test_normalizations_as_a_user_writes_them(text, mean, std):
    assert parse_normalization(text) == Normalization(mean, std)


@pytest.mark.parametrize("text", ["", "coffee", "0.5", "0.5/0", "0.5/-1", "1,2/3", "nan/1", "123/58", "0.5/0.5/0.5"])
def test_a_bad_normalization_is_refused(text):
    with pytest.raises(ArgumentError, match="normalization"):
        parse_normalization(text)
