"""Where the frost textures are looked for, and what is said when they are not there."""

import hashlib
import subprocess
import sys
import zipfile

import numpy as np
import PIL.Image
import pytest

from oodometer import textures
from oodometer.errors import MissingDataError


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Make this a machine without the textures, whose cache is a folder of the test."""
    textures.frost_textures.cache_clear()
    monkeypatch.delenv("OODOMETER_FROST", raising=False)
    monkeypatch.setattr(textures.platformdirs, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    monkeypatch.setattr(textures, "_CARRIERS", {})
    yield
    textures.frost_textures.cache_clear()


@pytest.fixture
def textures_in(monkeypatch):
    """Write five small pictures into a folder and take them for the published ones."""

    def write(folder):
        folder.mkdir(parents=True)
        hashes = {}
        for number, name in enumerate(textures.FROST_SHA256):
            mode, color = ("RGBA", (number, 7, 9, 255)) if name.endswith("png") else ("RGB", (number, 7, 9))
            PIL.Image.new(mode, (30, 20), color).save(folder / name)
            hashes[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setattr(textures, "FROST_SHA256", hashes)
        return folder

    return write


@pytest.fixture
def pip(monkeypatch):
    """Stand in for pip: the function given gets the folder to download to."""

    def install(download, code=0, stderr=""):
        def run(command, **options):
            assert command[:4] == [sys.executable, "-m", "pip", "download"]
            download(command[command.index("--dest") + 1])
            return subprocess.CompletedProcess(command, code, "", stderr)

        monkeypatch.setattr(textures.subprocess, "run", run)

    return install


def test_nowhere_is_an_error_that_says_what_to_do():
    assert textures.find_frost() is None
    with pytest.raises(MissingDataError, match=r"(?s)oodometer fetch frost.*OODOMETER_FROST.*frost1\.png.*frost5\.jpg"):
        textures.frost_textures()


def test_the_folder_that_the_environment_names_comes_first(monkeypatch, tmp_path, textures_in):
    textures_in(tmp_path / "cache" / "oodometer" / "frost")
    named = textures_in(tmp_path / "named")
    monkeypatch.setenv("OODOMETER_FROST", str(named))
    assert textures.find_frost() == named


def test_a_named_folder_that_lacks_a_file_is_an_error_even_if_the_cache_has_them(monkeypatch, tmp_path, textures_in):
    named = textures_in(tmp_path / "named")
    textures_in(tmp_path / "cache" / "oodometer" / "frost")
    (named / "frost3.png").unlink()
    monkeypatch.setenv("OODOMETER_FROST", str(named))
    with pytest.raises(MissingDataError, match=r"OODOMETER_FROST names the folder .*named.*has no frost3\.png"):
        textures.find_frost()


def test_a_file_that_is_not_the_published_one_is_named(tmp_path, textures_in):
    folder = textures_in(tmp_path / "cache" / "oodometer" / "frost")
    (folder / "frost4.jpg").write_bytes(b"other")
    with pytest.raises(MissingDataError, match=r"frost4\.jpg is not the published frost texture"):
        textures.find_frost()


def test_a_cache_that_lacks_a_file_counts_as_none(tmp_path, textures_in):
    folder = textures_in(tmp_path / "cache" / "oodometer" / "frost")
    (folder / "frost1.png").unlink()
    assert textures.find_frost() is None


def test_an_installed_package_is_found_without_being_run(monkeypatch, tmp_path, textures_in):
    folder = textures_in(tmp_path / "site" / "carrier" / "frost")
    (folder.parent / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(textures, "_CARRIERS", {"not_installed": "frost", "carrier": "frost"})
    assert textures.find_frost() == folder


def test_textures_are_read_once_as_read_only_rgb(tmp_path, textures_in):
    textures_in(tmp_path / "cache" / "oodometer" / "frost")
    five = textures.frost_textures()
    assert [texture.shape for texture in five] == [(20, 30, 3)] * 5
    assert all(texture.dtype == np.uint8 and not texture.flags.writeable for texture in five)
    assert five[1][0, 0].tolist() == [1, 7, 9]
    assert textures.frost_textures() is five


def test_fetching_unpacks_the_wheel_into_the_cache(tmp_path, textures_in, pip):
    source = textures_in(tmp_path / "source")

    def download(folder):
        with zipfile.ZipFile(f"{folder}/some.whl", "w") as wheel:
            for path in source.iterdir():
                wheel.write(path, f"imagecorruptions/frost/{path.name}")

    pip(download)
    folder = textures.fetch_frost()
    assert folder == tmp_path / "cache" / "oodometer" / "frost" == textures.find_frost()
    assert sorted(path.name for path in folder.iterdir()) == sorted(textures.FROST_SHA256)
    pip(lambda folder: pytest.fail("pip ran again"))
    assert textures.fetch_frost() == folder


def test_a_wheel_with_other_contents_leaves_nothing_behind(tmp_path, textures_in, pip):
    source = textures_in(tmp_path / "source")

    def download(folder):
        with zipfile.ZipFile(f"{folder}/some.whl", "w") as wheel:
            for path in source.iterdir():
                wheel.writestr(f"imagecorruptions/frost/{path.name}", b"other")

    pip(download)
    with pytest.raises(MissingDataError, match=r"frost1\.png in the wheel .* is not the published"):
        textures.fetch_frost()
    assert not (tmp_path / "cache").exists()


def test_when_pip_fails_its_last_line_and_the_way_by_hand_are_told(pip):
    pip(lambda folder: None, code=1, stderr="WARNING: Retrying\nERROR: No matching distribution found\n")
    with pytest.raises(MissingDataError, match=r"(?s)ERROR: No matching distribution found.*By hand:.*OODOMETER_FROST"):
        textures.fetch_frost()


@pytest.mark.long
def test_the_published_textures_can_be_fetched():
    folder = textures.fetch_frost()
    assert textures.find_frost() == folder
    assert [texture.shape for texture in textures.frost_textures()] == [
        (600, 900, 3),
        (315, 560, 3),
        (315, 560, 3),
        (350, 527, 3),
        (495, 660, 3),
    ]
