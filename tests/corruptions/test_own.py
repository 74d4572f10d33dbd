"""Own corruptions: a user's function is listed, applied, evaluated and held to its promises."""

import numpy as np
import PIL.Image
import pytest
from pictures import textured

import oodometer
from oodometer.corruptions import METHODS, corrupt, corruption, list_corruptions, strength
from oodometer.errors import ArgumentError

IMAGE = textured(64, 80)

pytestmark = pytest.mark.usefixtures("own")


def darken(image, rng, levels):
    return np.clip(image - np.float64(levels), 0, 255).astype(np.uint8)


def register(function=darken, name="darkness", severities=(20, 40, 60, 80, 100), **options):
    return corruption(name, severities=severities, **options)(function)


def test_the_function_is_returned_untouched():
    assert register() is darken


def test_it_is_listed_apart_from_the_published_ones():
    published = {group: list_corruptions(group) for group in ("all", "imagenet-c", "extra", "noise")}
    assert list_corruptions("own") == ()
    register()
    register(name="dimness", family="light")
    assert list_corruptions("own") == ("darkness", "dimness")
    assert list_corruptions("light") == ("dimness",)
    assert published == {group: list_corruptions(group) for group in published}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("severity", [1, 3, 5])
def test_a_whole_severity_has_its_constant(method, severity):
    register()
    expected = np.maximum(IMAGE.astype(int) - 20 * severity, 0)
    assert np.array_equal(corrupt(IMAGE, "darkness", severity, method=method), expected)


def test_between_two_severities_numbers_are_mixed_and_the_rest_is_the_nearer_one():
    seen = []

    def watch(image, rng, *constants):
        seen.append(constants)
        return image.copy()

    rows = [(1, 2, "a", True), (3, 2, "b", False), (5, 2, "c", True), (7.0, 2, "d", True), (9, 2, "e", True)]
    register(watch, severities=rows)
    for severity in (2, 1.25, 1.5, 4.75, 0.5):
        corrupt(IMAGE, "darkness", severity)
    assert seen == [(3, 2, "b", False), (1.5, 2, "a", True), (2, 2, "b", False), (8.5, 2, "e", True), (1, 2, "a", True)]
    assert [type(constants[1]) for constants in seen] == [int] * 5


def test_below_1_the_pixels_are_mixed_with_the_image():
    register()
    white = np.full((64, 64, 3), 200, np.uint8)
    assert [corrupt(white, "darkness", severity)[0, 0, 0] for severity in (0, 0.25, 0.5, 0.75, 1)] == [
        200,
        195,
        190,
        185,
        180,
    ]


def test_above_5_is_an_error():
    register()
    with pytest.raises(ArgumentError, match=r"darkness has no severity above 5, so not 5\.5: its author gave five"):
        corrupt(IMAGE, "darkness", 5.5)


def test_the_edition_changes_nothing_and_small_images_do_not_warn():
    register()
    small = textured(20, 30)
    expected = corrupt(small, "darkness", 2)
    for edition in oodometer.corruptions.EDITIONS:
        assert np.array_equal(corrupt(small, "darkness", 2, edition=edition), expected)


def test_chance_comes_from_the_stream_of_the_image():
    def sprinkle(image, rng, deviation):
        return np.clip(image + rng.normal(0, deviation, image.shape), 0, 255).astype(np.uint8)

    register(sprinkle)
    made = [corrupt(IMAGE, "darkness", 2, image_id=name, seed=seed).tobytes() for name in "ab" for seed in (0, 1)]
    assert len(set(made)) == 4
    assert corrupt(IMAGE, "darkness", 2, image_id="b", seed=1).tobytes() == made[3]


def test_every_kind_of_image_works():
    register()
    assert corrupt(PIL.Image.fromarray(IMAGE), "darkness", 2).mode == "RGB"
    assert corrupt(IMAGE[np.newaxis, :, :, :1] / 255, "darkness", 2).shape == (1, 64, 80, 3)


def test_its_strength_can_be_measured():
    register()
    gray = np.full((64, 64, 3), 150, np.uint8)
    assert [s.mean_absolute for s in strength("darkness", images=gray)] == [20, 40, 60, 80, 100]


def test_what_the_function_keeps_is_not_what_it_gave():
    kept = np.zeros((64, 80, 3), np.uint8)
    register(lambda image, rng, levels: kept)
    corrupt(IMAGE, "darkness")[:] = 7
    assert not kept.any()


def in_place(image, rng, levels):
    image[:] = 0
    return image


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda image, rng, levels: None, r"must return a uint8 array of shape 64 x 80 x 3, not NoneType"),
        (lambda image, rng, levels: image / 255, "not float64 of shape 64 x 80 x 3"),
        (lambda image, rng, levels: image[:, :, 0], "not uint8 of shape 64 x 80"),
        (lambda image, rng, levels: image[1:], "not uint8 of shape 63 x 80 x 3"),
        (lambda image, rng, levels: PIL.Image.fromarray(image), "not Image"),
        (in_place, "changed its input; it must return a new image"),
    ],
)
@pytest.mark.parametrize("severity", [0.5, 1])
def test_a_wrong_return_names_the_corruption(function, message, severity):
    register(function)
    before = IMAGE.copy()
    with pytest.raises(ArgumentError, match=f"own corruption 'darkness' .*{message}"):
        corrupt(IMAGE, "darkness", severity)
    assert np.array_equal(IMAGE, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "fog"}, "There is a corruption called 'fog' already"),
        ({"name": "all"}, "name of an own corruption cannot be 'all'"),
        ({"name": "clean"}, "cannot be 'clean'"),
        ({"name": "a,b"}, "name of a corruption must be made of letters.* not 'a,b'"),
        ({"name": ""}, "must be made of letters"),
        ({"name": 3}, "must be made of letters.* not 3"),
        ({"family": "blur"}, "family of an own corruption cannot be 'blur'"),
        ({"family": "my own"}, "family of a corruption must be made of letters"),
        ({"severities": (1, 2, 3, 4)}, "five constants or five tuples of constants, not"),
        ({"severities": "abcde"}, "five constants"),
        ({"severities": 3}, "five constants"),
        ({"severities": (1, 2, (3, 4), 5, 6)}, "as many constants as the others"),
        ({"severities": [(1, 2)] * 5}, "darkness: the function must take an image, a random generator and 2 constants"),
    ],
)
def test_a_wrong_registration_is_an_error(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        register(**arguments)
    assert list_corruptions("own") == ()


def test_a_name_is_registered_once():
    register()
    with pytest.raises(ArgumentError, match="There is a corruption called 'darkness' already"):
        register(lambda image, rng, levels: image.copy())


def test_an_unknown_name_is_told_own_ones_too():
    register()
    with pytest.raises(ArgumentError, match="Did you mean 'darkness'"):
        corrupt(IMAGE, "darknes")


def test_it_is_evaluated_and_reported_beside_the_published_ones(tmp_path):
    register(random=False)
    rng = np.random.default_rng(0)
    for wnid in ("n01440764", "n01443537"):
        (tmp_path / "val" / wnid).mkdir(parents=True)
        for number in range(2):
            pixels = rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)
            PIL.Image.fromarray(pixels).save(tmp_path / "val" / wnid / f"{number}.png")
    options = {"preprocess": "none", "edition": "cifar32", "progress": False}
    run = oodometer.evaluate(
        "fake", str(tmp_path / "val"), str(tmp_path / "run"), corruptions="contrast,darkness", **options
    )
    assert "darkness" in str(run.table())
    page = run.report().read_text()
    assert "darkness" in page
    groups = oodometer.evaluate("fake", str(tmp_path / "val"), corruptions=["own", "contrast"], **options)
    assert "darkness" in str(groups.table())
