"""The command line: what it prints, what it writes, and how it says no."""

import subprocess
import sys

import numpy as np
import PIL.Image
import pytest

import oodometer
from oodometer.cli import cli, main
from oodometer.families import EXTRA, IMAGENET_C

OPTIONS = ["--preprocess", "none", "--edition", "tiny64", "--corruptions", "contrast,fog"]


@pytest.fixture
def call(capsys):
    """Return a function that runs a command and gives its exit status, output and errors."""

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        output = capsys.readouterr()
        return end.value.code or 0, output.out, output.err

    return run


@pytest.fixture
def val(tmp_path):
    """Write four textured pictures in folders named by wnid."""
    rng = np.random.default_rng(0)
    for wnid in ("n01440764", "n01443537"):
        (tmp_path / "val" / wnid).mkdir(parents=True)
        for i in range(2):
            pixels = rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)
            PIL.Image.fromarray(pixels).save(tmp_path / "val" / wnid / f"{i}.png")
    return tmp_path / "val"


def test_list_names_everything(call):
    status, out, _ = call("list")
    assert status == 0
    for name in (*IMAGENET_C, *EXTRA, "imagenet224", "cifar32", "alexnet", "demo", "torch:PACKAGE.MODULE:FACTORY"):
        assert name in out


def test_corruptions_are_named_by_the_same_letter_everywhere():
    options = {name: {p.name: p.opts for p in command.params} for name, command in cli.commands.items()}
    named = {name: found["corruptions"] for name, found in options.items() if "corruptions" in found}
    assert {"evaluate", "corrupt", "show"} <= set(named)
    assert all("-c" in opts for opts in named.values())


def test_corrupt_writes_what_the_function_gives(call, tmp_path, val):
    source, made = val / "n01440764" / "0.png", tmp_path / "out.png"
    status, _, _ = call("corrupt", source, made, "-c", "fog", "-s", "2.5", "--seed", 7, "--edition", "tiny64")
    assert status == 0
    expected = oodometer.corrupt(
        np.asarray(PIL.Image.open(source)), "fog", severity=2.5, seed=7, edition="tiny64", method="fast"
    )
    np.testing.assert_array_equal(np.asarray(PIL.Image.open(made)), expected)


OWN = """
import numpy as np
import oodometer

@oodometer.corruption("darkness", severities=(20, 40, 60, 80, 100), random=False)
def darkness(image, rng, levels):
    return np.maximum(image, levels) - np.uint8(levels)
"""


def test_an_imported_module_brings_its_corruptions(call, own, monkeypatch, tmp_path, val):
    (tmp_path / "my_own_corruptions.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    assert "darkness" not in call("list")[1]
    made = tmp_path / "out.png"
    options = ["--import", "my_own_corruptions"]
    source = val / "n01440764" / "0.png"
    assert call(*options, "corrupt", source, made, "-c", "darkness", "-s", 2)[0] == 0
    clean = np.asarray(PIL.Image.open(source)).astype(int)
    np.testing.assert_array_equal(np.asarray(PIL.Image.open(made)), np.maximum(clean - 40, 0))
    assert "own        darkness" in call(*options, "list")[1]
    status, out, _ = call(*options, "evaluate", "fake", "--data", val, *OPTIONS[:-1], "contrast,own")
    assert status == 0
    assert "darkness" in out


def test_a_module_that_cannot_be_imported_is_an_error(call, monkeypatch, tmp_path):
    (tmp_path / "my_broken_corruptions.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    for module, reason in (("my_broken_corruptions", "ZeroDivisionError"), ("not.there", "No module named 'not'")):
        status, out, err = call("--import", module, "list")
        assert (status, out) == (2, "")
        assert f"--import {module} failed" in err
        assert reason in err


def test_evaluate_then_report_from_the_store_alone(call, tmp_path, val):
    run = tmp_path / "run"
    status, out, _ = call("evaluate", "fake", "--data", val, "-o", run, *OPTIONS)
    assert status == 0
    assert str(run / "report.html") in out
    page, numbers = (run / "report.html").read_text(), (run / "results.json").read_text()
    (run / "report.html").unlink()
    (run / "results.json").unlink()
    val.rename(tmp_path / "gone")
    status, again, _ = call("report", run)
    assert (status, again) == (0, out)
    assert (run / "report.html").read_text() == page
    assert (run / "results.json").read_text() == numbers


def test_evaluate_without_an_output_folder_prints_the_table(call, val):
    """Case K4."""
    status, out, _ = call("evaluate", "fake", "--data", val, *OPTIONS)
    assert status == 0
    assert "contrast" in out
    assert "Nothing was saved" in out


def test_skipped_images_show_in_the_exit_status(call, tmp_path, val):
    """Case C4."""
    (val / "n01440764" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    status, out, err = call("evaluate", "fake", "--data", val, "-o", tmp_path / "run", *OPTIONS)
    assert status == 3
    assert "broken.png" in out
    assert "broken.png" in err
    assert call("report", tmp_path / "run")[0] == 3


BAD_INPUT = {
    "an unknown corruption": (["corrupt", "{image}", "{new}.png", "-c", "fogg", "-s", "1"], "'fog'"),
    "a severity out of range": (["corrupt", "{image}", "{new}.png", "-c", "fog", "-s", "10.5"], "10"),
    "a severity that is no number": (["corrupt", "{image}", "{new}.png", "-c", "fog", "-s", "three"], "three"),
    "a severity of NaN": (["corrupt", "{image}", "{new}.png", "-c", "fog", "-s", "nan"], "nan"),
    "an unknown format": (["corrupt", "{image}", "{new}.xyz", "-c", "fog", "-s", "1"], ".xyz"),
    "many conditions in one file": (["corrupt", "{image}", "{new}.png", "-c", "fog"], "one corruption"),
    "one file in a format of sets": (
        ["corrupt", "{image}", "{new}.png", "-c", "fog", "-s", "1", "--format", "jpeg", "--workers", "2"],
        "format, workers",
    ),
    "an image that is not there": (["corrupt", "{gone}.png", "{new}.png", "-c", "fog", "-s", "1"], "{gone}.png"),
    "an image that is none": (["corrupt", "{text}", "{new}.png", "-c", "fog", "-s", "1"], "{text}"),
    "an output below a file": (["corrupt", "{image}", "{text}/out.png", "-c", "fog", "-s", "1"], "{text}"),
    "a set into a file": (["corrupt", "{val}", "{text}", "-c", "fog", "--edition", "tiny64"], "{text}"),
    "a set into itself": (["corrupt", "{val}", "{val}/out", "-c", "fog"], "lies within"),
    "an unknown corruption of a set": (["corrupt", "{val}", "{new}", "-c", "fogg"], "'fog'"),
    "a source that is not there": (["corrupt", "{gone}", "{new}", "-c", "fog"], "{gone}"),
    "a config that is not there": (["corrupt", "{val}", "{new}", "--config", "{gone}.toml"], "{gone}.toml"),
    "a config that is none": (["corrupt", "{val}", "{new}", "--config", "{text}"], "{text}"),
    "an unknown model": (["evaluate", "dmeo", "--data", "{val}", "-o", "{new}"], "'demo'"),
    "an unknown corruption to evaluate": (
        ["evaluate", "fake", "--data", "{val}", "-o", "{new}", "--corruptions", "fog,snwo"],
        "'snow'",
    ),
    "data that are not there": (["evaluate", "fake", "--data", "{gone}", "-o", "{new}"], "{gone}"),
    "data that are a file": (["evaluate", "fake", "--data", "{text}", "-o", "{new}"], "{text}"),
    "an empty folder": (["evaluate", "fake", "--data", "{empty}", "-o", "{new}"], "{empty}"),
    "a flat folder": (["evaluate", "fake", "--data", "{val}/n01440764", "-o", "{new}"], "class"),
    "an unknown class": (["evaluate", "fake", "--data", "{unknown}", "-o", "{new}"], "poodle"),
    "an unknown baseline": (
        ["evaluate", "fake", "--data", "{val}", "-o", "{new}", "--baseline", "alexnett"],
        "alexnet",
    ),
    "a baseline file that is none": (
        ["evaluate", "fake", "--data", "{val}", "-o", "{new}", "--baseline", "{text}"],
        "{text}",
    ),
    "an output that is a file": (["evaluate", "fake", "--data", "{val}", "-o", "{text}"], "{text}"),
    "a labels file that is not there": (
        ["evaluate", "fake", "--data", "{val}", "-o", "{new}", "--labels", "{gone}.csv"],
        "{gone}.csv",
    ),
    "a run that is none": (["report", "{empty}"], "{empty}"),
    "a command that is none": (["evalute"], "evalute"),
    "an option that is none": (["evaluate", "fake", "--data", "{val}", "--sed", "1"], "--sed"),
    "something else to fetch": (["fetch", "snow"], "snow"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_message_and_status_two(call, tmp_path, val, case):
    arguments, named = BAD_INPUT[case]
    text = tmp_path / "text.txt"
    text.write_text("no image, no folder, no JSON")
    (tmp_path / "empty").mkdir()
    (tmp_path / "unknown" / "poodle").mkdir(parents=True)
    PIL.Image.new("RGB", (64, 64)).save(tmp_path / "unknown" / "poodle" / "a.png")
    places = {
        "image": val / "n01440764" / "0.png",
        "val": val,
        "text": text,
        "empty": tmp_path / "empty",
        "unknown": tmp_path / "unknown",
        "gone": tmp_path / "gone",
        "new": tmp_path / "new",
    }
    before = sorted(tmp_path.rglob("*"))
    status, out, err = call(*(a.format(**places) for a in arguments))
    assert status == 2
    assert out == ""
    assert "Traceback" not in err
    assert named.format(**places) in err
    assert sorted(tmp_path.rglob("*")) == before


def test_debug_shows_where_an_error_came_from(tmp_path):
    with pytest.raises(oodometer.errors.StoreError):
        main(["--debug", "report", str(tmp_path)])


@pytest.mark.parametrize("command", ["", "demo", "evaluate", "report", "corrupt", "list", "fetch"])
def test_every_command_explains_itself(call, command):
    status, out, _ = call(*command.split(), "--help")
    assert status == 0
    assert len(out.splitlines()) > 4
    assert all(len(line) <= 100 for line in out.splitlines())


NO_FRAMEWORK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "torchvision", "tensorflow", "jax", "foolbox", "skimage", "wand"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from oodometer.cli import main
main(sys.argv[1:])
"""


def test_generation_needs_no_framework_and_no_model(tmp_path, val):
    """Cases A3 and K4: motion blur and snow without ImageMagick or Wand, nothing of deep learning installed."""
    for corruption in ("motion_blur", "snow"):
        made = tmp_path / f"{corruption}.png"
        arguments = ["corrupt", val / "n01440764" / "0.png", made, "-c", corruption, "-s", 1, "--edition", "tiny64"]
        subprocess.run([sys.executable, "-c", NO_FRAMEWORK, *map(str, arguments)], check=True, timeout=120)
        with PIL.Image.open(made) as image:
            assert image.size == (64, 64)


def test_a_warning_is_a_sentence_without_a_place_in_our_code(tmp_path, val):
    command = ["-m", "oodometer", "corrupt", str(val / "n01440764" / "0.png"), str(tmp_path / "a.png"), "-c", "fog"]
    small = PIL.Image.open(val / "n01440764" / "0.png").resize((40, 40))
    small.save(val / "n01440764" / "0.png")
    done = subprocess.run(
        [sys.executable, *command, "-s", "1"], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr.startswith("Warning: The edition 'imagenet224' is meant for larger images")
    assert ".py:" not in done.stderr


def test_a_model_of_a_framework_that_is_missing_says_what_to_install(tmp_path, val):
    for model in ("torch:a:b", "demo"):
        done = subprocess.run(
            [sys.executable, "-c", NO_FRAMEWORK, "evaluate", model, "--data", str(val), "-o", str(tmp_path / "run")],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 2
        assert "pip install 'oodometer[" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_module_is_a_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "oodometer", "--version"], capture_output=True, text=True, check=True, timeout=120
    )
    assert oodometer.__version__ in done.stdout
