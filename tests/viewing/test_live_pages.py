"""The pages about runs: what they say is what the API says, and what is damaged or hostile does no harm."""

import re
import shutil
from dataclasses import replace

import numpy as np
import PIL.Image
import pyarrow.compute as pc
import pytest
from live import run_at, runs_on
from starlette.testclient import TestClient

import oodometer
from oodometer.comparison import compare
from oodometer.report.words import interval, percent
from oodometer.store import Design
from oodometer.types import CLEAN, Condition
from oodometer.viewing.app import make_app
from synthetic_runs import CELLS, write_run

HOSTILE = "<script>alert(1)</script>\"'\u202egpj"


def shown_numbers(row):
    return dict(re.findall(r'data-title="([^"]+)">(?:<b>)?([^<]*?)</b> <span class="ends">', row))


def test_the_index_has_the_numbers_of_the_api(ask, two_runs):
    page = ask(two_runs).get("/")
    assert page.status_code == 200
    assert sorted(runs_on(page).values()) == ["a", "deep/b", "other"]
    rows = re.findall(r"<tr>\n<td class=\"tick\">.*?</tr>", page.text, re.DOTALL)
    assert len(rows) == 3
    for row, name in zip(rows, ("a", "deep/b", "other"), strict=True):
        run = oodometer.Run(two_runs / name)
        part = run.summary().renditions
        expected = {
            "mCE": run.mce(),
            "Clean error": run.clean_error,
            "Mean error": run.summary().corruptions.mean_error,
        }
        if part is not None:
            expected["ImageNet-R accuracy"] = part.accuracy
        assert shown_numbers(row) == {title: percent(one.value) for title, one in expected.items()}
        for one in expected.values():
            assert interval(one) in row
    assert part is None


def test_a_single_run_is_a_folder_of_one(ask, two_runs):
    assert list(runs_on(ask(two_runs / "a").get("/")).values()) == ["a"]


def test_an_empty_folder_says_so(ask, tmp_path):
    assert "There is no run here yet" in ask(tmp_path).get("/").text


def test_partial_runs_are_marked_and_new_predictions_are_seen(ask, tmp_path):
    store = write_run(tmp_path / "a", images=10, planned=20)
    client = ask(tmp_path)
    assert "10 of 20 images" in client.get("/").text
    assert ">partial</span>" in client.get("/").text
    other = write_run(tmp_path.parent / f"{tmp_path.name}-more" / "b", images=10, planned=20, first=10)
    (file,) = other.path.glob("predictions/imagenet-c/*.parquet")
    shutil.copy(file, store.path / "predictions" / "imagenet-c" / "00000010.parquet")
    assert "20 of 20 images" in client.get("/").text
    assert ">partial</span>" not in client.get("/").text


def test_damaged_runs_are_listed_with_the_reason(ask, two_runs):
    (two_runs / "a" / "manifest.json").write_text('{"format": 2')
    (two_runs / "deep" / "b" / "predictions" / "imagenet-c" / "00000000.parquet").write_bytes(b"PAR1 nonsense")
    page = ask(two_runs).get("/")
    assert page.status_code == 200
    assert page.text.count("cannot be shown") == 2
    assert "manifest.json is damaged" in page.text
    assert list(runs_on(page).values()) == ["other"]


def test_other_manifests_are_no_runs_and_links_are_not_followed(ask, two_runs, tmp_path):
    (two_runs / "app").mkdir()
    (two_runs / "app" / "manifest.json").write_text('{"name": "of something else"}')
    (two_runs / "link").symlink_to(two_runs / "a")
    (two_runs / "loop").symlink_to(two_runs)
    page = ask(two_runs).get("/")
    assert sorted(runs_on(page).values()) == ["a", "deep/b", "other"]
    assert "of something else" not in page.text


def test_a_run_says_its_headlines_and_facts(ask, two_runs):
    client = ask(two_runs)
    page = client.get(run_at(client, "a")).text
    run = oodometer.Run(two_runs / "a")
    assert percent(run.relative_mce().value) in page
    assert "oodometer evaluate demo --data val" in page
    assert all(f"/sets/{name}" in page for name in ("imagenet-c", "imagenet-r"))


def test_the_report_is_that_of_the_run_and_runs_its_own_scripts_alone(ask, two_runs):
    client = ask(two_runs)
    answer = client.get(f"{run_at(client, 'a')}/report")
    run = oodometer.Run(two_runs / "a")
    assert answer.text == run.report(two_runs.parent / "a.html").read_text()
    policy = answer.headers["content-security-policy"]
    assert "script-src 'unsafe-inline'" not in policy
    assert "connect-src" not in policy  # so that the default holds, which is nothing
    assert policy.startswith("default-src 'none'")


def test_a_comparison_has_the_numbers_of_the_api(ask, two_runs):
    client = ask(two_runs)
    tokens = [run_at(client, name).rpartition("/")[2] for name in ("deep/b", "a")]
    page = client.get("/compare", params={"run": tokens}).text
    found = compare([two_runs / "deep" / "b", two_runs / "a"])
    for side in found.runs:
        for one in (side.clean_error, side.mean_error, side.mce):
            assert f"95 % interval {interval(one)}" in page
            assert f"{percent(one.value)} <span" in page
    (pair,) = found.pairs
    rows = {row.name.replace("_", " "): row.difference for row in pair.corruptions} | {"mCE": pair.mce}
    for name, difference in rows.items():
        cells = f'<td>{percent(difference.value)}</td><td class="ends">{interval(difference)}</td>'
        assert f'<th scope="row"><bdi>{name}</bdi></th>{cells}' in page


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a", "other"], "their images differ"), (["a"], "at least two runs"), ([], "at least two runs")],
)
def test_what_cannot_be_compared_is_said_in_words(ask, two_runs, names, said):
    client = ask(two_runs)
    tokens = [run_at(client, name).rpartition("/")[2] for name in names]
    answer = client.get("/compare", params={"run": tokens})
    assert answer.status_code == 200
    assert said in answer.text


def test_runs_over_sequences_have_their_table(ask, tmp_path):
    rng = np.random.default_rng(1)
    videos = tmp_path / "videos"
    place = tmp_path / "photos" / "n01440764"
    place.mkdir(parents=True)
    for number in range(2):
        PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(place / f"{number}.png")
    oodometer.build_sequences(place.parent, videos, perturbations="brightness", preprocess="none", progress=False)
    run = oodometer.evaluate_sequences("fake", videos, tmp_path / "runs" / "p", progress=False)
    client = ask(tmp_path / "runs")
    page = client.get("/")
    assert "brightness" in page.text
    shown = client.get(run_at(client, "p")).text
    for line in str(run.table()).splitlines():
        assert line.strip().replace(">", "&gt;").replace("'", "&#39;") in shown
    assert client.get(f"{run_at(client, 'p')}/sets/imagenet-p/brightness").status_code == 404


def test_hostile_names_are_inert(ask, tmp_path):
    names = tuple(f"{HOSTILE} {k}" for k in range(1000))
    folder = tmp_path / HOSTILE.replace("/", "_")
    write_run(folder, model=f"{HOSTILE} {'x' * 300}", names=names, prefix=HOSTILE, pictures=(CLEAN,))
    client = ask(tmp_path)
    address = next(iter(runs_on(client.get("/"))))
    for place in ("/", address, f"{address}/sets/imagenet-c", f"{address}/sets/imagenet-c?outcome={HOSTILE}", "/nope"):
        text = client.get(place).text
        assert "<script>alert" not in text
        assert "\u202e" not in text
    assert "\\u202egpj" in client.get("/").text


@pytest.fixture
def outcomes(ask, tmp_path):
    """Make a run of which it is known what it gets right, and ask for its outcomes."""
    conditions = (CLEAN, *(Condition(name, s) for name in ("fog", "snow") for s in (1, 2, 3, 4, 5)))
    rng = np.random.default_rng(4)
    hits = {condition: rng.random(30) < 0.5 for condition in conditions}
    store = write_run(
        tmp_path / "a",
        images=30,
        conditions=conditions,
        hits=hits,
        classes=tuple(map(str, range(6))),
        names=tuple(f"class {k}" for k in range(6)),
        space="own",
        baseline=None,
        pictures=(CLEAN, Condition("fog", 2)),
    )
    client = ask(tmp_path)
    return client, f"{run_at(client, 'a')}/sets/imagenet-c", hits, store


def count(answer):
    return int(re.search(r"<span>([\d,]+) outcomes?, page", answer.text)[1].replace(",", ""))


@pytest.mark.parametrize("outcome", ["", "right", "wrong", "broken", "mended", "changed"])
@pytest.mark.parametrize("corruption", ["", "clean", "fog"])
@pytest.mark.parametrize("severity", ["", "4"])
@pytest.mark.parametrize("label", ["", "2"])
def test_filters_find_what_a_loop_over_all_finds(outcomes, outcome, corruption, severity, label):
    client, address, hits, _ = outcomes
    query = {"outcome": outcome, "corruption": corruption, "severity": severity, "class": label}
    expected = 0
    for condition, right in hits.items():
        for image in range(30):
            if corruption and condition.corruption != corruption:
                continue
            if severity and condition.severity != int(severity) and corruption != "clean":
                continue
            if label and image % 6 != int(label):
                continue
            now, before = right[image], hits[CLEAN][image]
            expected += {
                "": True,
                "right": now,
                "wrong": not now,
                "broken": before and not now,
                "mended": now and not before,
                "changed": now != before,  # a wrong answer about an image is always the same here
            }[outcome]
    assert count(client.get(address, params=query)) == expected


def test_pages_hold_every_outcome_once(outcomes):
    client, address, _, store = outcomes
    rows, number = [], 1
    while True:
        answer = client.get(address, params={"corruption": "fog", "page": number})
        rows += re.findall(
            r'<th scope="row"><a [^>]*>([^<]*)</a></th>\n<td>(\w+ \d)</td>\n<td>\s*<span class="verdict (\w+)',
            answer.text,
        )
        if 'rel="next"' not in answer.text:
            break
        number += 1
    assert number == 7
    table = store.table("imagenet-c", "own")
    expected = {
        (image, f"fog {condition.severity}", "right" if hit else "wrong")
        for column, condition in enumerate(table.conditions)
        if condition != CLEAN and condition.corruption == "fog"
        for image, hit in zip(table.images, table.hits[:, column], strict=True)
    }
    assert len(rows) == 150
    assert set(rows) == expected
    assert client.get(address, params={"corruption": "fog", "page": 8}).status_code == 404


def test_without_the_images_there_are_those_that_the_run_keeps(outcomes):
    client, address, _, store = outcomes
    answer = client.get(address, params={"corruption": "fog", "severity": "2"})
    assert "--data DATA" in answer.text
    (source,) = re.findall(r'<img src="([^"]+)"', answer.text)
    example = client.get(source)
    assert example.headers["content-type"] == "image/jpeg"
    assert example.content == next(e.jpeg for e in store.examples("imagenet-c") if e.condition == Condition("fog", 2))
    assert client.get(source.replace("examples", "pictures")).status_code == 404
    assert client.get(source.replace("/fog/2", "/fog/3")).status_code == 404


def test_an_image_can_be_looked_at_alone(outcomes):
    client, address, _, _ = outcomes
    answer = client.get(address)
    link = re.search(r'<a href="([^"]+image=\w+)">', answer.text)[1]
    assert count(client.get(link)) == 11


@pytest.mark.parametrize(
    "query",
    [
        {"class": "77"},
        {"class": "-1"},
        {"class": "x"},
        {"class": "9" * 5000},
        {"corruption": "../fog"},
        {"corruption": "snowfall"},
        {"severity": "9"},
        {"severity": "2.5"},
        {"outcome": "lucky"},
        {"image": "0" * 16},
        {"page": "-1"},
        {"page": "1e9"},
    ],
)
def test_queries_for_what_is_not_there_are_refused(outcomes, query):
    client, address, _, _ = outcomes
    answer = client.get(address, params=query)
    assert answer.status_code == 400
    assert "Not to be had" in answer.text


def test_images_without_labels_have_changes_alone(ask, tmp_path, photographs):
    oodometer.evaluate("fake", photographs, tmp_path / "u", unlabelled=True, corruptions="fog", progress=False)
    client = ask(tmp_path, data=[str(photographs)])
    address = f"{run_at(client, 'u')}/sets/imagenet-c"
    answer = client.get(address)
    assert "verdict" not in answer.text
    assert 'value="changed"' in answer.text
    assert 'value="wrong"' not in answer.text
    assert answer.text.count("/pictures/") > 0
    assert client.get(address, params={"outcome": "wrong"}).status_code == 400


def test_designs_show_what_was_seen_alone(ask, tmp_path):
    store = write_run(tmp_path / "a", images=4, conditions=CELLS)
    (part,) = store.parts("imagenet-c")
    gone = pc.and_(pc.equal(part.rows["corruption"], "fog"), pc.equal(part.rows["image"], part.rows["image"][0]))
    manifest = store.read_manifest()
    record = replace(manifest.benchmarks[0], design=Design(0.1))
    store.write_manifest(replace(manifest, benchmarks=(record,)))
    store.write_part("imagenet-c", replace(part, rows=part.rows.filter(pc.invert(gone))))
    client = ask(tmp_path)
    answer = client.get(f"{run_at(client, 'a')}/sets/imagenet-c", params={"corruption": "fog"})
    assert count(answer) == 15


def test_the_client_of_these_tests_is_no_easier_than_a_browser(two_runs):
    assert TestClient(make_app(two_runs)).get("/").status_code == 400  # its own name is testserver
