"""The pictures of the live page have the very pixels that the model was given, or are not shown."""

import json
import re
import shutil

import numpy as np
import PIL.Image
import pytest
from live import Recorder, photograph, pixels, run_at

import oodometer
from oodometer.datasets import imagenet1k
from oodometer.preprocess import PREPROCESS, apply
from oodometer.types import CLEAN
from oodometer.viewing.pictures import Given
from synthetic_runs import write_run

CONDITIONS = 1 + 3 * 5


def sources(client, address):
    """Return the addresses of all pictures of a set, page by page: by condition, and then by image."""
    found, number = [], 1
    while True:
        text = client.get(address, params={"page": number}).text
        found += re.findall(r'<img src="([^"]+/pictures/[^"]+)"', text)
        if 'rel="next"' not in text:
            return found
        number += 1


def set_of(client, name="imagenet-c"):
    return f"{run_at(client)}/sets/{name}"


@pytest.mark.parametrize("encoding", ["memory", "jpeg85"])
def test_pictures_are_what_the_model_was_given(ask, photographs, seen, encoding):
    place, given = seen[encoding]
    client = ask(place, data=[str(photographs)])
    found = sources(client, set_of(client))
    assert len(found) == len(given) == 6 * CONDITIONS
    # A batch is the images under one condition, in the seeded order; the page has them in the order of their names.
    shown = [pixels(client.get(address)) for address in found]
    for k in range(CONDITIONS):
        batch, page = ({image.tobytes() for image in one[6 * k : 6 * k + 6]} for one in (given, shown))
        assert len(batch) == 6
        assert page == batch


def test_each_picture_stands_at_its_own_image(ask, photographs, seen):
    """By another road: what the API makes of the file by the name that the page shows."""
    place, _ = seen["memory"]
    client = ask(place, data=[str(photographs)])
    text = client.get(set_of(client), params={"corruption": "glass_blur", "severity": "4"}).text
    figures = re.findall(r'<img src="([^"]+)".*?image=\w+">([^<]+)</a>', text, re.DOTALL)
    assert len(figures) == 6
    for source, name in figures:
        clean = apply(PIL.Image.open(photographs / name).convert("RGB"), PREPROCESS["imagenet224"])
        expected = oodometer.corrupt(clean, "glass_blur", 4, seed=5, image_id=name)
        np.testing.assert_array_equal(pixels(client.get(source)), expected)


def test_stored_pictures_are_read_again_with_their_clean_ones(ask, tmp_path, photographs):
    oodometer.build(photographs, tmp_path / "c", corruptions="fog", progress=False)
    recorder = Recorder()
    oodometer.evaluate(
        recorder, f"imagenet-c:{tmp_path / 'c'}", tmp_path / "run", clean=photographs, batch_size=6, progress=False
    )
    for data in ([str(photographs)], [f"imagenet-c:{tmp_path / 'c'}"]):
        assert "None of the images" in ask(tmp_path / "run", data=data).get(set_of(ask(tmp_path / "run"))).text
    client = ask(tmp_path / "run", data=[f"imagenet-c:{tmp_path / 'c'}", str(photographs)])
    shown = [pixels(client.get(address)).tobytes() for address in sources(client, set_of(client))]
    assert sorted(shown) == sorted(image.tobytes() for image in recorder.seen)


def test_renditions_are_found_by_what_they_are(ask, tmp_path, photographs):
    root = tmp_path / "r"
    for number, column in enumerate((1, 9, 13)):
        place = root / imagenet1k().classes[column]
        place.mkdir(parents=True)
        photograph(20 + number, (240, 256)).save(place / "art_1.jpg")
    oodometer.evaluate("fake", photographs, tmp_path / "run", imagenet_r=root, corruptions="fog", progress=False)
    client = ask(tmp_path / "run", data=[str(photographs), str(root)])
    assert len(sources(client, set_of(client, "imagenet-r"))) == 3
    assert len(sources(client, set_of(client))) == 6 * 6


def test_other_images_are_not_shown_as_if_they_were_the_runs(ask, tmp_path, photographs, seen):
    place, _ = seen["memory"]
    for name, damage in {
        "longer": lambda file: file.write_bytes(file.read_bytes() + b" "),
        "gone": lambda file: file.unlink(),
        "renamed": lambda file: file.rename(file.with_name("x.png")),
    }.items():
        other = shutil.copytree(photographs, tmp_path / name / "val")
        damage(next(other.rglob("*.png")))
        client = ask(place, data=[str(other)])
        address = set_of(client)
        text = client.get(address).text
        assert "None of the images" in text
        assert "/pictures/" not in text
        token = re.search(r"image=(\w+)", text)[1]
        assert client.get(f"{address}/pictures/{token}/clean/0").status_code == 404


def test_labels_of_ones_own_are_needed_as_they_were_given(ask, tmp_path):
    root = tmp_path / "mine"
    for k in range(2):
        (root / f"kind{k}").mkdir(parents=True)
        photograph(k, (224, 224)).save(root / f"kind{k}" / "a.png")
    table = tmp_path / "labels.csv"
    table.write_text("name,label\nkind0,0\nkind1,1\n")
    oodometer.evaluate(oodometer.FakeModel(2), root, tmp_path / "run", labels=table, corruptions="fog", progress=False)
    assert "None of the images" in ask(tmp_path / "run", data=[str(root)]).get(set_of(ask(tmp_path / "run"))).text
    client = ask(tmp_path / "run", data=[str(root)], labels=str(table))
    assert len(sources(client, set_of(client))) == 12


def test_an_image_that_has_become_unreadable_is_said_to_be(ask, tmp_path, photographs, seen):
    place, _ = seen["memory"]
    other = shutil.copytree(photographs, tmp_path / "val")
    file = next(other.rglob("*.png"))
    file.write_bytes(b"x" * file.stat().st_size)
    client = ask(place, data=[str(other)])
    answers = [client.get(address) for address in sources(client, set_of(client))[:6]]
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [422]


def test_other_versions_are_said(ask, tmp_path, photographs, seen):
    place = shutil.copytree(seen["memory"][0], tmp_path / "run")
    address = set_of(ask(place))
    assert "other versions" not in ask(place, data=[str(photographs)]).get(address).text
    manifest = json.loads((place / "manifest.json").read_text())
    manifest["environment"]["numpy"] = "1.0"
    (place / "manifest.json").write_text(json.dumps(manifest))
    text = ask(place, data=[str(photographs)]).get(address).text
    assert "other versions" in text
    assert "numpy" in text


def test_a_picture_leads_to_the_same_one_in_the_playground(ask, photographs, tmp_path):
    oodometer.evaluate("fake", photographs, tmp_path / "run", corruptions="fog", progress=False)
    client = ask(tmp_path / "run", data=[str(photographs)])
    text = client.get(set_of(client), params={"corruption": "fog", "severity": "3"}).text
    (link, source), *_ = re.findall(r'<a href="(/playground\?[^"]+)"><img src="([^"]+)"', text)
    query = link.replace("&amp;", "&").partition("?")[2]
    np.testing.assert_array_equal(pixels(client.get(f"/playground/picture?{query}")), pixels(client.get(source)))


def test_data_that_cannot_be_opened_are_an_error(tmp_path):
    for spec in (str(tmp_path / "nothing"), "imagenot:x"):
        with pytest.raises(oodometer.errors.OodometerError):
            Given([spec])


def test_synthetic_sets_have_no_pictures(ask, tmp_path, photographs):
    write_run(tmp_path / "a", pictures=(CLEAN,))
    client = ask(tmp_path, data=[str(photographs)])
    assert "None of the images" in client.get(set_of(client)).text
