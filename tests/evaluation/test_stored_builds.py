"""A build is known as one, whatever its severities are and whatever became of it: never as something else."""

import json
import shutil

import PIL.Image
import pytest
from probes import FAST, Probe

import oodometer
from oodometer.datasets import ImageFolder, open_folder
from oodometer.errors import ArgumentError, DatasetError, OodometerError, StoreError

FORMS = ("png", "webdataset", "parquet", "npy")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    root = tmp_path_factory.mktemp("source") / "val"
    for wnid, value in (("n01440764", 40), ("n12267677", 200)):
        (root / wnid).mkdir(parents=True)
        PIL.Image.new("RGB", (64, 64), (value, 90, 255 - value)).save(root / wnid / f"{value}.png")
    return root


@pytest.fixture(scope="module")
def made(source, tmp_path_factory):
    """Return a function that gives a new copy of a small build."""
    whole = {}

    def get(form="png", severities="1,2,3,4,5"):
        if (form, severities) not in whole:
            out = whole[form, severities] = tmp_path_factory.mktemp("whole") / "b"
            options = FAST | {"corruptions": "fog,contrast", "severities": severities}
            oodometer.build(source, out, format=form, clean=True, **options)
        return shutil.copytree(whole[form, severities], tmp_path_factory.mktemp("copy") / "b")

    return get


def untouched():
    def fail(images):
        raise AssertionError("a prediction was made")

    return Probe(fail)


@pytest.mark.parametrize("form", FORMS)
def test_severities_beyond_five_are_evaluated_in_any_format(made, form):
    run = oodometer.evaluate("fake", made(form, "7,10"), corruptions="fog,contrast", progress=False)
    cells = {(cell.corruption, cell.severity) for cell in run.summary().corruptions.other_cells}
    assert cells == {(c, s) for c in ("fog", "contrast") for s in (7, 10)}
    assert run.manifest.benchmarks[0].protocol.stored.kind == "build"
    assert run.clean_error.n == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("severities", ["0.5,2.5", "7,10"])
def test_a_build_is_never_corrupted_again(made, form, severities, tmp_path):
    root = made(form, severities)
    specs = [root, root.parent, *(f"{kind}:{root}" for kind in ("folder", "webdataset", "parquet", "imagenet-c"))]
    for spec in specs:
        with pytest.raises(OodometerError, match=r"no severity that|corrupted already|no clean images"):
            oodometer.build(spec, tmp_path / "again", **FAST)
        with pytest.raises(OodometerError, match=r"no severity that|holds corrupted|no clean images"):
            oodometer.evaluate(untouched(), spec, unlabelled=True, progress=False)
    if severities == "0.5,2.5":
        with pytest.raises(DatasetError, match="no severity that is a whole number"):
            oodometer.evaluate(untouched(), root, progress=False)
    with pytest.raises(DatasetError, match="no clean images"):
        open_folder(root, unlabelled=True)
    assert not (tmp_path / "again").exists()


def test_folders_of_builds_are_no_classes(made, tmp_path):
    for seed in ("a", "b"):
        shutil.copytree(made("png", "7,10"), tmp_path / "builds" / seed)
    with pytest.raises(DatasetError, match="no clean images"):
        oodometer.build(tmp_path / "builds", tmp_path / "again", **FAST)


def test_a_cell_is_a_data_set_of_its_own(made):
    assert isinstance(oodometer.open_dataset(made("png", "0.5,2.5") / "fog" / "2.5"), ImageFolder)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", ["[]", "null", "{}", "3", '"x"', '{"protocol":3}', "", "{", "[" * 9999])
def test_a_manifest_of_something_else_is_damaged(made, form, content, tmp_path):
    root = made(form)
    (root / "manifest.json").write_text(content)
    for unlabelled in (False, True):
        with pytest.raises(DatasetError, match=r"manifest\.json is damaged: .* Restore it"):
            oodometer.evaluate(untouched(), root, unlabelled=unlabelled, progress=False)
    with pytest.raises(DatasetError, match=r"manifest\.json is damaged"):
        oodometer.build(root, tmp_path / "again", **FAST)
    with pytest.raises(StoreError, match="damaged"):
        oodometer.building.BuildFolder(root).read_manifest()
    diagnosis = oodometer.check(root, progress=False)
    assert [(fault.code, fault.where) for fault in diagnosis.faults] == [("build-manifest", ("manifest.json",))]
    assert "damaged" in diagnosis.faults[0].message


DAMAGES = {
    "severities": lambda m: m.update(severities="abc"),
    "no severities": lambda m: m.update(severities=[]),
    "a severity below 0": lambda m: m.update(severities=[-1, 2]),
    "class_names": lambda m: m["source"]["class_names"].pop(),
    "classes": lambda m: m["source"]["classes"].__setitem__(0, m["source"]["classes"][1]),
    "quality": lambda m: m.update(quality="abc"),
    "source": lambda m: m.update(source=[]),
    "layout": lambda m: m.update(layout="zip"),
    "protocol": lambda m: m["protocol"].update(seed="x"),
    "no format": lambda m: m.pop("format"),
}


@pytest.mark.parametrize("form", ["png", "npy"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_an_entry_that_cannot_be_is_one_error(made, form, damage):
    root = made(form)
    manifest = json.loads((root / "manifest.json").read_text())
    DAMAGES[damage](manifest)
    (root / "manifest.json").write_text(json.dumps(manifest))
    for spec in (root, f"imagenet-c:{root}"):
        with pytest.raises(DatasetError, match=r"manifest\.json is damaged: .* Restore it"):
            oodometer.evaluate(untouched(), spec, progress=False)
    assert "build-manifest" in {fault.code for fault in oodometer.check(root, progress=False).faults}


@pytest.mark.parametrize("form", FORMS)
def test_a_later_format_is_refused(made, form):
    root = made(form)
    text = (root / "manifest.json").read_text()
    (root / "manifest.json").write_text(text.replace('"format": 1', '"format": 99'))
    with pytest.raises(DatasetError, match=r"has format 99; this version of Oodometer reads format 1"):
        oodometer.evaluate(untouched(), root, progress=False)


def test_a_manifest_of_others_says_nothing(source, made, tmp_path):
    """Class folders, or a tree of corruptions, may have a file of that name."""
    for content in ("[]", '{"kind": 1}', "{", "x"):
        tree = made("png")
        shutil.rmtree(tree / "manifest")
        val = shutil.copytree(source, tmp_path / "val", dirs_exist_ok=True)
        for root in (tree, val):
            (root / "manifest.json").write_text(content)
        assert oodometer.open_dataset(val).samples == oodometer.open_dataset(source).samples
        protocol = oodometer.evaluate("fake", tree, progress=False).manifest.benchmarks[0].protocol
        assert protocol.stored.kind == "imagenet-c"
    shutil.rmtree((tree := made("png")) / "manifest")
    (tree / "manifest.json").write_text((tree / "manifest.json").read_text()[:300])
    with pytest.raises(DatasetError, match="damaged"):
        oodometer.evaluate(untouched(), tree, progress=False)


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_that_was_lost_is_named_before_a_prediction(made, form):
    lost = "contrast" if form == "npy" else "contrast/3"
    for place, given in ((lost, {}), ("clean", {"corruptions": "fog"})):
        root = made(form)
        path = root / (f"{place}.npy" if form == "npy" else place)
        path.unlink() if form == "npy" else shutil.rmtree(path)
        with pytest.raises(DatasetError, match=rf"^Missing from the build .*{place}.*Run its command again"):
            oodometer.evaluate(untouched(), root, progress=False, **given)
    root = made("png")
    shutil.rmtree(root / "contrast")
    assert set(oodometer.evaluate("fake", root, corruptions="fog", progress=False).errors) == {"fog"}
    with pytest.raises(DatasetError, match="contrast/1, contrast/2"):
        oodometer.evaluate(untouched(), root, progress=False)


def test_clean_images_may_stand_in_for_lost_ones(made, source):
    root = made("png")
    shutil.rmtree(root / "clean")
    assert oodometer.evaluate("fake", root, clean=source, progress=False).clean_error.n == 2


def test_doing_without_labels_is_offered_only_where_it_works(made, source, tmp_path):
    flat, build = tmp_path / "flat", made("png")
    flat.mkdir()
    for file in source.rglob("*.png"):
        shutil.copy(file, flat)
    with pytest.raises(DatasetError, match=r"have no labels.*--unlabelled"):
        oodometer.evaluate(untouched(), flat, progress=False)
    cases = [
        lambda: oodometer.evaluate(untouched(), source, imagenet_r=flat, progress=False),
        lambda: oodometer.evaluate(untouched(), build, clean=flat, progress=False),
        lambda: oodometer.evaluate(untouched(), flat, labels={"x.png": 3}, progress=False),
        lambda: oodometer.strength_curve(untouched(), flat, "fog"),
        lambda: oodometer.open_dataset(flat),
    ]
    tree = tmp_path / "tree" / "fog" / "1"
    shutil.copytree(source, tree)
    (tree / "n01440764").rename(tree / "cat")
    cases.append(lambda: oodometer.evaluate(untouched(), tree.parents[1], progress=False))
    for case in cases:
        with pytest.raises((DatasetError, ArgumentError)) as refused:
            case()
        assert "unlabelled" not in str(refused.value)
