"""`oodometer show`: the grid holds the very pixels of `corrupt`, words fit, hostile names are inert."""

import re

import numpy as np
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oodometer
from oodometer import cli
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError, DatasetError, ImageError, ModelError, StoreError
from oodometer.showing.lettering import fitted, font


@pytest.fixture(scope="module")
def photograph():
    coarse = np.random.default_rng(5).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    return PIL.Image.fromarray(coarse).resize((300, 260), PIL.Image.Resampling.BICUBIC)


def test_each_cell_is_what_corrupt_makes(photograph):
    grid = oodometer.show(photograph, corruptions="contrast,fog", severities=(0, 2.5, 5), seed=4)
    assert (grid.corruptions, grid.severities) == (("fog", "contrast"), (0, 2.5, 5))
    clean = grid.cells[0][0].image
    assert clean.shape == (224, 224, 3)
    for name, cells in zip(grid.corruptions, grid.cells, strict=True):
        for severity, cell in zip(grid.severities, cells, strict=True):
            np.testing.assert_array_equal(cell.image, oodometer.corrupt(clean, name, severity, seed=4))
    assert (grid.cells[0][0].image == grid.cells[1][0].image).all()


def test_the_picture_shows_the_cells_where_they_belong(photograph):
    image = np.zeros((64, 64, 3), np.uint8) + np.array([200, 30, 60], np.uint8)
    grid = oodometer.show(image, corruptions="contrast", severities=(0, 1), preprocess="none")
    page = np.asarray(grid.picture())
    red = (page == np.array([200, 30, 60])).all(axis=2)
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert (len(rows), rows[-1] - rows[0] + 1) == (64, 64)
    assert columns[-1] - columns[0] + 1 == 64 + 4 + 64  # a plain picture keeps its mean under contrast


def test_predictions_stand_under_the_pictures(photograph):
    class Sure:
        def predict(self, images):
            logits = np.zeros((len(images), 1000), np.float32)
            logits[:, 283] = np.log(999.0)  # half of the probability
            return logits

    grid = oodometer.show(photograph, corruptions="fog", severities=(1,), model=Sure())
    (cell,) = grid.cells[0]
    assert (cell.prediction, round(cell.confidence, 3)) == (imagenet1k().names[283], 0.5)
    assert cell.said == f"50 % {imagenet1k().names[283]}"
    assert cell.said in grid.page()


@pytest.mark.parametrize("ending", ["png", "jpg", "webp"])
def test_saved_as_a_picture(photograph, tmp_path, ending):
    grid = oodometer.show(photograph, corruptions="contrast", severities=(1,))
    grid.save(tmp_path / f"grid.{ending}")
    with PIL.Image.open(tmp_path / f"grid.{ending}") as image:
        assert image.size == grid.picture().size


def test_a_page_stands_alone_and_hostile_names_are_inert(photograph, tmp_path):
    name = "<script>alert(1)</script>\"'.png"
    name = name.replace("/", "_")
    photograph.save(tmp_path / name)
    page = oodometer.show(tmp_path / name, corruptions="contrast", severities=(0, 1)).page()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    assert page.count("<img") == 2


def test_a_notebook_gets_a_table_and_a_picture(photograph):
    grid = oodometer.show(photograph, corruptions="contrast", severities=(1,))
    assert grid._repr_html_().startswith("<table")
    assert grid._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("ending", ["gif", "webp", "png"])
def test_an_animation_goes_up_and_down(photograph, tmp_path, ending):
    oodometer.animate(photograph, "contrast", tmp_path / f"it.{ending}")
    with PIL.Image.open(tmp_path / f"it.{ending}") as image:
        assert image.n_frames == 21 + 19
        spread = []
        for k in range(image.n_frames):
            image.seek(k)
            spread.append(np.asarray(image.convert("RGB"))[30:].std())
    assert np.argmin(spread) == 20
    assert spread[0] > 2 * spread[20]


@given(st.text(max_size=60), st.integers(0, 300))
def test_words_fit(text, width):
    using = font(12)
    found = fitted(text, using, width)
    assert using.getlength(found) <= max(width, using.getlength("…"))
    assert found == text or found.endswith("…")


class Lost:
    def predict(self, images):
        return np.full((len(images), 1000), np.nan)


def test_refusals(photograph, tmp_path):
    small = np.zeros((8, 8, 3), np.uint8)
    for call, error, said in (
        (lambda: oodometer.show(tmp_path / "none.png"), DatasetError, "none.png"),
        (lambda: oodometer.show(small, preprocess="none"), ImageError, "8x8"),
        (lambda: oodometer.show(np.zeros((64, 64)), corruptions="fog"), ArgumentError, "uint8"),
        (lambda: oodometer.show(photograph, corruptions="smoke"), ArgumentError, "smoke"),
        (lambda: oodometer.show(photograph, corruptions="fog", severities=()), ArgumentError, "at least one"),
        (lambda: oodometer.show(photograph, corruptions="fog", severities=(11,)), ArgumentError, "11"),
        (lambda: oodometer.show(photograph, corruptions="fog", severities=("a",)), ArgumentError, "severities are"),
        (lambda: oodometer.show(photograph, corruptions="fog", severities=3), ArgumentError, "severities are"),
        (lambda: oodometer.show(photograph, corruptions="fog", severities=(1,), model=Lost()), ModelError, "NaN"),
        (lambda: oodometer.animate(photograph, "noise", tmp_path / "a.gif"), ArgumentError, "group"),
        (lambda: oodometer.animate(photograph, "fog", tmp_path / "a.mp4"), ArgumentError, "a.mp4"),
    ):
        with pytest.raises(error, match=said):
            call()
    grid = oodometer.show(photograph, corruptions="contrast", severities=(1,))
    with pytest.raises(ArgumentError, match=r"grid\.exe"):
        grid.save(tmp_path / "grid.exe")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        grid.save(tmp_path / "file" / "grid.png")


def test_the_command(photograph, tmp_path, capsys):
    photograph.save(tmp_path / "a.png")
    arguments = ["show", str(tmp_path / "a.png"), "-c", "contrast"]
    for name, more in (("grid.png", ["-s", "0,2.5", "--model", "fake"]), ("it.gif", ["--animate"])):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, *more, "-o", str(tmp_path / name)])
        assert ended.value.code == 0, capsys.readouterr()
        assert (tmp_path / name).is_file()
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "-s", "a", "-o", "x.png"])
    assert ended.value.code == 2
    assert "no numbers" in capsys.readouterr().err


def test_an_image_is_never_written_over(photograph, tmp_path, capsys):
    file = tmp_path / "photo.png"
    photograph.save(file)
    before = file.read_bytes()
    (tmp_path / "link.png").symlink_to(file)
    (tmp_path / "hard.png").hardlink_to(file)
    for name in ("photo.png", "link.png", "hard.png"):
        out = str(tmp_path / name)
        with pytest.raises(ArgumentError, match="is the image itself"):
            oodometer.showing.show(file, corruptions="fog", severities=[0]).save(out)
        with pytest.raises(ArgumentError, match="is the image itself"):
            oodometer.showing.animate(file, "fog", out)
        for more in ([], ["--animate"]):
            with pytest.raises(SystemExit) as ended:
                cli.main(["show", str(file), "-o", out, "-c", "fog", *more])
            assert ended.value.code == 2
            assert "is the image itself" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize("option", [["--model", "fake"], ["-s", "1,2"]])
def test_options_that_an_animation_has_not_are_refused(tmp_path, option, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["show", "photo.png", "-o", str(tmp_path / "a.gif"), "-c", "fog", "--animate", *option])
    assert ended.value.code == 2
    assert "does not go with --animate" in capsys.readouterr().err


def test_a_model_that_fails_is_said_to(photograph):
    class Failing:
        def predict(self, images):
            raise RuntimeError("out of memory")

    with pytest.raises(ModelError, match="under fog: RuntimeError: out of memory"):
        oodometer.show(photograph, corruptions="fog", severities=(1,), model=Failing())
