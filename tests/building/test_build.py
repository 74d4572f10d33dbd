"""A built data set: which files there are, and which pixels they hold."""

import io
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageFile
import pytest
from built import FAST, QUICK, files, pixels
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import oodometer
from oodometer.building import Options, estimate, settle, verify
from oodometer.building.encodings import JPEG85, PNG, WEBP
from oodometer.errors import ArgumentError, DatasetError, MissingDataError
from oodometer.families import IMAGENET_C, SEVERITIES


@pytest.fixture(autouse=True)
def _with_frost(frost):
    """Have the textures: without them a build of all corruptions is refused."""


def by_pillow(image, **options):
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, **options)
    return buffer.getvalue()


PICTURES = arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3)))


@settings(max_examples=60)
@given(PICTURES)
def test_jpeg_files_are_those_of_pillow(image):
    assert JPEG85.encode(image) == by_pillow(image, format="JPEG", quality=85, optimize=True)


@settings(max_examples=40)
@given(PICTURES, st.sampled_from([PNG, WEBP]))
def test_lossless_files_give_the_pixels_back(image, encoding):
    with PIL.Image.open(io.BytesIO(encoding.encode(image))) as decoded:
        np.testing.assert_array_equal(np.asarray(decoded), image)


def test_the_published_layout(photographs, tmp_path):
    root, out = photographs(3), tmp_path / "out"
    built = oodometer.build(root, out, **FAST)
    assert (built.images, built.pictures, built.made, built.skipped) == (3, 225, 225, ())
    ids = [path.relative_to(root).with_suffix(".JPEG").as_posix() for path in root.rglob("*.png")]
    expected = {f"{c}/{s}/{id_}" for c in IMAGENET_C for s in SEVERITIES for id_ in ids}
    made = files(out)
    assert set(made) == expected | {"manifest.json", "manifest/00000.parquet"}
    for path in expected:
        corruption, severity, *name = path.split("/")
        source = (root / "/".join(name)).with_suffix(".png")
        options = {"severity": int(severity), "edition": "tiny64", "image_id": source.relative_to(root).as_posix()}
        image = oodometer.corrupt(pixels(source), corruption, **options)
        assert made[path] == by_pillow(image, format="JPEG", quality=85, optimize=True), path


def test_what_was_made_is_what_an_evaluation_shows_its_model(photographs, tmp_path):
    """Case F1: lossless files hold the pixels of the memory protocol, JPEG files those of the jpeg85 protocol."""
    root = photographs(6)
    for kind, ending, encoding in (("png", "png", "memory"), ("webp", "webp", "memory"), ("jpeg", "JPEG", "jpeg85")):
        out, seen = tmp_path / kind, []

        class Model:
            def predict(self, images, seen=seen):
                seen.append(images.copy())
                return np.zeros((len(images), 1000), np.float32)

        names = ("gaussian_noise", "fog", "jpeg_compression")
        oodometer.evaluate(Model(), root, corruptions=names, encoding=encoding, seed=4, **FAST)
        oodometer.build(root, out, corruptions=names, format=kind, seed=4, **FAST)
        order = oodometer.open_folder(root).samples
        conditions = list(itertools.product(names, SEVERITIES))
        assert len(seen) == 1 + len(conditions)  # one batch each, clean first
        for (corruption, severity), batch in zip(conditions, seen[1:], strict=True):
            stored = [
                pixels((out / corruption / str(severity) / sample.id).with_suffix(f".{ending}")) for sample in order
            ]
            assert {image.tobytes() for image in stored} == {image.tobytes() for image in batch}


@pytest.mark.parametrize("kind", ["jpeg", "webdataset", "npy"])
def test_workers_change_no_file(photographs, tmp_path, kind):
    """Case E1: the same seed gives the same files on any number of threads, another seed others."""
    root = photographs(20)
    options = FAST | {"corruptions": "all", "severities": [3], "format": kind}
    trees = []
    for workers in (1, 2, 4):
        oodometer.build(root, tmp_path / f"{workers}", workers=workers, **options)
        trees.append(files(tmp_path / f"{workers}"))
    assert trees[0] == trees[1] == trees[2]
    if kind == "jpeg":
        oodometer.build(root, tmp_path / "other", seed=1, **options)
        other = files(tmp_path / "other")
        assert {path.split("/")[0] for path in other if other[path] != trees[0][path]} == {
            *("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "glass_blur", "motion_blur", "snow"),
            *("frost", "fog", "elastic_transform", "spatter", "manifest", "manifest.json"),
        }


def test_no_two_pictures_share_their_noise(tmp_path):
    """Case E2: images, severities and corruptions have noise of their own."""
    for i in range(8):
        (tmp_path / "gray").mkdir(exist_ok=True)
        PIL.Image.new("RGB", (64, 64), (128, 128, 128)).save(tmp_path / "gray" / f"{i}.png")
    options = FAST | {"corruptions": "gaussian_noise,speckle_noise", "severities": "2,3", "format": "png"}
    oodometer.build(tmp_path / "gray", tmp_path / "out", workers=4, **options)
    made = [pixels(path).ravel().astype(float) for path in sorted((tmp_path / "out").rglob("*.png"))]
    assert len(made) == 32
    correlation = np.corrcoef(made) - np.eye(32)
    assert np.abs(correlation).max() < 0.05


def test_clean_copies_lie_where_the_corrupted_ones_do(photographs, tmp_path):
    """Case F2."""
    names = ("brightness", "contrast", "gaussian_noise", "impulse_noise", "jpeg_compression")
    root = photographs(2, 500, 375)
    oodometer.build(root, tmp_path / "out", corruptions=names, severities=[1], clean=True, format="png", progress=False)
    cells = [tmp_path / "out" / name / "1" for name in names]
    clean = sorted((tmp_path / "out" / "clean").rglob("*.png"))
    assert len(clean) == 2
    for path in clean:
        crop = pixels(path)
        assert crop.shape == (224, 224, 3)
        with PIL.Image.open(root / path.relative_to(tmp_path / "out" / "clean")) as source:
            expected = oodometer.preprocess.apply(source.convert("RGB"), oodometer.preprocess.PREPROCESS["imagenet224"])
        np.testing.assert_array_equal(crop, expected)
        inner = crop[8:-8, 8:-8].ravel().astype(float)
        for cell in cells:
            other = pixels(cell / path.relative_to(tmp_path / "out" / "clean")).astype(float)
            found = {
                (y, x): np.corrcoef(inner, other[8 + y : 216 + y, 8 + x : 216 + x].ravel())[0, 1]
                for y, x in itertools.product((-2, -1, 0, 1, 2), repeat=2)
            }
            assert max(found, key=found.get) == (0, 0)
            assert found[0, 0] > 0.8


SIZES = {"cmyk": (32, 32), "png": (64, 64), "turned": (40, 20), "alpha": (32, 32), "gray": (64, 64)}


def test_odd_sources_become_three_channel_files_of_their_name(tmp_path, textured):
    """Cases C1, C2, C3 and C5: CMYK, a PNG named JPEG, a tag of orientation, alpha; gray too (B3)."""
    root, out = tmp_path / "odd", tmp_path / "out"
    root.mkdir()
    PIL.Image.new("CMYK", (32, 32), (0, 255, 255, 0)).save(root / "cmyk.jpg")
    textured(1).save(root / "png.JPEG", "PNG")
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    textured(2, 40, 20).save(root / "turned.jpg", exif=exif)
    PIL.Image.new("RGBA", (32, 32), (255, 0, 0, 0)).save(root / "alpha.png")
    textured(3).convert("L").save(root / "gray.png")
    oodometer.build(root, out, clean=True, **QUICK)
    made = {path: content for path, content in files(out).items() if "manifest" not in path}
    assert set(made) == {
        f"{cell}/{name}.JPEG" for cell in ("clean", "contrast/1", "contrast/3", "fog/1", "fog/3") for name in SIZES
    }
    for path, content in made.items():
        assert content.startswith(b"\xff\xd8\xff")
        with PIL.Image.open(io.BytesIO(content)) as image:
            assert image.mode == "RGB"
            assert image.size == SIZES[Path(path).stem]
            assert image.getexif().get(0x0112, 1) == 1
    for name in ("cmyk", "alpha"):
        assert np.abs(pixels(out / "clean" / f"{name}.JPEG").astype(int) - (255, 0, 0)).max() < 10
    oodometer.build(root, tmp_path / "turned", orientation="apply", **QUICK)
    assert pixels(tmp_path / "turned" / "fog" / "1" / "turned.JPEG").shape == (40, 20, 3)


@pytest.mark.parametrize("kind", ["jpeg", "parquet", "npy"])
def test_a_damaged_source_is_left_out_everywhere(photographs, tmp_path, kind):
    """Case C4."""
    root, out = photographs(10), tmp_path / "out"
    bad = sorted(root.rglob("*.png"))[4]
    bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2])
    before = PIL.ImageFile.LOAD_TRUNCATED_IMAGES
    built = oodometer.build(root, out, clean=True, format=kind, **QUICK)
    assert before == PIL.ImageFile.LOAD_TRUNCATED_IMAGES
    name = bad.relative_to(root).as_posix()
    assert (built.images, built.pictures, [s.image for s in built.skipped]) == (9, 45, [name])
    assert name in built.skipped[0].reason
    if kind == "jpeg":
        for cell in ("clean", "contrast/1", "contrast/3", "fog/1", "fog/3"):
            assert len(list((out / cell).rglob("*.JPEG"))) == 9
    if kind == "npy":
        assert [len(np.load(out / f"{n}.npy")) for n in ("clean", "contrast", "fog", "labels")] == [9, 18, 18, 18]
    assert verify(out) == []
    again = oodometer.build(root, out, clean=True, format=kind, **QUICK)
    assert (again.made, again.skipped) == (0, built.skipped)


def test_sources_that_are_too_small_are_named_too(photographs, tmp_path):
    root = photographs(3)
    PIL.Image.new("RGB", (15, 400)).save(root / "n01440764" / "strip.png")
    built = oodometer.build(root, tmp_path / "out", **QUICK)
    assert built.images == 3
    assert "strip.png: it has 15x400 pixels" in built.skipped[0].reason


def test_sources_that_are_too_narrow_are_named_too(photographs, tmp_path):
    source = photographs(2)
    narrow = next(source.iterdir()) / "narrow.png"
    PIL.Image.new("RGB", (1, 60000)).save(narrow)
    built = oodometer.build(source, tmp_path / "out", **QUICK | {"preprocess": "imagenet224"})
    assert built.images == 2
    assert [narrow.name in skipped.reason for skipped in built.skipped] == [True]


@pytest.mark.parametrize(
    ("name", "fits"), [("x" * 250, True), ("x" * 251, False), ("ä" * 125, True), ("ä" * 125 + "x", False)]
)
def test_names_that_no_file_can_have_are_refused_before_anything_is_written(photographs, tmp_path, name, fits):
    source = photographs(2)
    first = next(source.rglob("*.png"))
    first.rename(first.with_name(name + ".png"))  # its pictures end in .JPEG, which is one longer
    if fits:
        assert oodometer.build(source, tmp_path / "out", **QUICK).images == 2
    else:
        with pytest.raises(DatasetError, match="too long for a file"):
            oodometer.build(source, tmp_path / "out", **QUICK)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["webdataset", "parquet"])
def test_a_set_of_shards_says_how_its_cells_are_opened(photographs, tmp_path, kind):
    out = tmp_path / "out"
    oodometer.build(photographs(2), out, **QUICK | {"format": kind})
    (out / "manifest.json").unlink()  # with it the whole is one data set
    with pytest.raises(DatasetError, match=f"such as {kind}:") as refused:
        oodometer.open_dataset(out)
    spec = str(refused.value).split("such as ")[1].removesuffix(".")
    assert len(oodometer.open_dataset(spec).samples) == 2


def test_a_built_tree_is_not_said_to_hold_anything_unused(photographs, tmp_path):
    oodometer.build(photographs(2), tmp_path / "out", **QUICK)
    assert not [note for note in oodometer.open_dataset(tmp_path / "out").notes if "passed over" in note]


def test_nothing_is_left_if_nothing_can_be_read(tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(DatasetError, match=r"None of the 1 images can be read: .*a\.png"):
        oodometer.build(tmp_path / "bad", tmp_path / "out", **QUICK)
    assert not (tmp_path / "out").exists()


def test_a_limit_takes_the_images_of_an_evaluation(photographs, tmp_path):
    """Case J2."""
    root = photographs(12)
    built = oodometer.build(root, tmp_path / "out", limit=5, seed=3, **QUICK)
    run = oodometer.evaluate("fake", root, limit=5, seed=3, corruptions="fog", **FAST)
    evaluated = {image.removesuffix(".png") for image in run.store.table("imagenet-c", "imagenet-1k").images}
    cell = tmp_path / "out" / "fog" / "1"
    assert {p.relative_to(cell).with_suffix("").as_posix() for p in cell.rglob("*.JPEG")} == evaluated
    assert built.images == 5
    with pytest.raises(DatasetError, match=r"13 images were asked for, and val has 12"):
        oodometer.build(root, tmp_path / "other", limit=13, **QUICK)


def test_labels_sort_flat_images_into_class_folders(tmp_path, textured):
    (tmp_path / "flat").mkdir()
    for name in ("a.png", "b.x.png"):
        textured(1).save(tmp_path / "flat" / name)
    labels = {"a.png": "n01443537", "b.x.png": "n01440764"}
    oodometer.build(tmp_path / "flat", tmp_path / "out", labels=labels, **QUICK)
    assert {path[6:] for path in files(tmp_path / "out") if path.startswith("fog/1/")} == {
        "n01443537/a.JPEG",
        "n01440764/b.x.JPEG",
    }


def test_real_severities_have_folders_of_their_own(photographs, tmp_path):
    root, out = photographs(1), tmp_path / "out"
    oodometer.build(root, out, corruptions="contrast", severities=[2.5, 1, np.float32(7)], format="png", **FAST)
    assert sorted(path.name for path in (out / "contrast").iterdir()) == ["1", "2.5", "7"]
    (made,) = (out / "contrast" / "2.5").rglob("*.png")
    expected = oodometer.corrupt(pixels(next(root.rglob("*.png"))), "contrast", 2.5, edition="tiny64")
    np.testing.assert_array_equal(pixels(made), expected)


BAD = {
    "an unknown format": ({"format": "jpg"}, ArgumentError, "'jpeg'"),
    "an unknown corruption": ({"corruptions": "fogg"}, ArgumentError, "'fog'"),
    "an unknown preprocessing": ({"preprocess": "imagenet"}, ArgumentError, "imagenet224"),
    "no severity": ({"severities": ()}, ArgumentError, "severities"),
    "severity 0": ({"severities": "0"}, ArgumentError, "severities"),
    "severity 11": ({"severities": [11]}, ArgumentError, "severities"),
    "severity NaN": ({"severities": "nan"}, ArgumentError, "severities"),
    "a severity in words": ({"severities": "one"}, ArgumentError, "severities"),
    "a severity that is none": ({"severities": [True]}, ArgumentError, "severities"),
    "a severity that one has not": ({"corruptions": "saturate", "severities": "6"}, ArgumentError, "saturate"),
    "a huge seed": ({"seed": 2**64}, ArgumentError, "seed"),
    "no worker": ({"workers": 0}, ArgumentError, "workers"),
    "a limit of none": ({"limit": 0}, ArgumentError, "limit"),
    "an unknown orientation": ({"orientation": "upright"}, ArgumentError, "orientation"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_options_are_refused_before_anything_is_written(photographs, tmp_path, case):
    options, error, words = BAD[case]
    root = photographs(1)
    with pytest.raises(error, match=words):
        oodometer.build(root, tmp_path / "out", **(QUICK | options))
    assert not (tmp_path / "out").exists()


def test_frost_without_textures_is_refused(photographs, tmp_path, monkeypatch):
    monkeypatch.setattr("oodometer.textures.find_frost", lambda: None)
    root = photographs(1)
    with pytest.raises(MissingDataError, match="fetch frost"):
        oodometer.build(root, tmp_path / "out", **FAST)
    assert oodometer.build(root, tmp_path / "out", **QUICK).images == 1


def test_arrays_need_one_size(photographs, tmp_path, textured):
    root = photographs(2)
    textured(5, 64, 48).save(root / "n01440764" / "z.png")
    with pytest.raises(DatasetError, match=r"n01440764/z.png is 64x48 pixels where others are 64x64"):
        oodometer.build(root, tmp_path / "out", format="npy", **QUICK)


def test_a_corrupted_set_is_no_source(photographs, tmp_path):
    root = photographs(2)
    oodometer.build(root, tmp_path / "out", **QUICK)
    with pytest.raises(ArgumentError, match="corrupted already"):
        oodometer.build(tmp_path / "out", tmp_path / "again", **QUICK)


def test_a_data_set_of_any_kind_is_a_source(tmp_path, textured):
    class Mine:
        name = "mine"
        label_space = oodometer.datasets.custom(["cat", "dog/wolf"])
        samples = (oodometer.types.Sample("a", 0, 1), oodometer.types.Sample("b", 1, 1))

        def read(self, sample):
            return textured(1)

    oodometer.build(Mine(), tmp_path / "out", **QUICK)
    assert (tmp_path / "out" / "fog" / "1" / "dog_wolf" / "b.JPEG").is_file()
    with pytest.raises(ArgumentError, match="belong to a path"):
        oodometer.build(Mine(), tmp_path / "out", labels={"a": 0}, **QUICK)
    with pytest.raises(ArgumentError, match="must be a path or a Dataset"):
        oodometer.build(3, tmp_path / "out", **QUICK)


def test_an_estimate_counts_and_writes_nothing(photographs, tmp_path):
    root = photographs(40)
    options = {name: value for name, value in QUICK.items() if name != "progress"} | {"clean": True}
    for kind, count in (("png", 200), ("parquet", 5), ("npy", 4)):
        recipe = settle(root, tmp_path / "out", Options(format=kind, **options))
        found = estimate(recipe, tmp_path / "out")
        assert (found.images, found.conditions, found.files) == (40, 5, count)
        assert not (tmp_path / "out").exists()
        assert found.seconds > 0
    oodometer.build(root, tmp_path / "made", format="png", clean=True, **QUICK)
    made = sum(len(content) for path, content in files(tmp_path / "made").items() if "manifest" not in path)
    recipe = settle(root, tmp_path / "out", Options(format="png", **options))
    assert 0.8 < estimate(recipe, tmp_path / "out").bytes / made < 1.2


SPAWNED = """
import multiprocessing, sys
multiprocessing.set_start_method("spawn")
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "torchvision", "tensorflow", "jax", "skimage", "wand"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from oodometer.cli import main
main(sys.argv[1:])
"""


def test_generation_needs_no_framework_and_no_way_to_start_processes(photographs, tmp_path):
    """Cases K4 and K5."""
    root = photographs(4)
    arguments = [str(root), str(tmp_path / "two"), "-c", "contrast,fog", "-s", "1,3", "--workers", "2"]
    arguments += ["--preprocess", "none", "--edition", "tiny64"]
    subprocess.run([sys.executable, "-c", SPAWNED, "corrupt", *arguments], check=True, timeout=300, capture_output=True)
    oodometer.build(root, tmp_path / "one", workers=1, **QUICK)
    assert files(tmp_path / "two") == files(tmp_path / "one")
