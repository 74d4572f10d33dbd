"""What is behind the accuracy on shifted images: by hand, in words, on the page, and of runs of few images."""

import json
from html.parser import HTMLParser

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.datasets.recognise import STYLES
from oodometer.errors import MetricError
from oodometer.metrics.reference_lines import NO_REFERENCE_LINE
from oodometer.report import ResultTable, results, summarize
from oodometer.report.html import page_html, table_html
from oodometer.report.shift_details import styles_of
from oodometer.report.words import interval, percent
from oodometer.run import Run
from oodometer.scoring import Scores
from oodometer.store import FORMAT, BenchmarkRecord, Block, Manifest, ModelRecord, RunStore
from oodometer.types import CLEAN, Preprocess, Protocol

NAMES = tuple(f"class {k}" for k in range(8))


def write(path, shifted, clean=(), name="imagenet-r", names=NAMES):
    """Write a run of two sets; an image is (its path, its class, the class named) or that and the confidence."""
    store = RunStore(path)
    protocol = Protocol(Preprocess("imagenet224", "256->224", 256, 224), "memory", "imagenet224", "fast", (), 0)
    records, blocks = [], {}
    for benchmark, rows, spaces in (("imagenet-c", clean, ("own", "masked")), (name, shifted, ("masked",))):
        if rows:
            wnids = tuple(f"n{k:08d}" for k in range(len(names)))
            record = BenchmarkRecord(benchmark, f"the {benchmark} set", "0", len(rows), wnids, names, spaces, protocol)
            records.append(record)
            blocks[benchmark] = block(rows, spaces)
    model = ModelRecord("a model", "abc", None)
    store.write_manifest(Manifest(FORMAT, model, tuple(records), None, "2026-01-01T00:00:00+00:00", "", {}))
    for benchmark, found in blocks.items():
        store.write_block(benchmark, 0, found)
    return store


def block(rows, spaces):
    images, labels, named, sure = zip(*[(*row, 0.5)[:4] for row in rows], strict=True)
    empty = np.zeros(len(rows), np.float32)
    scores = Scores(np.array(named, np.int32)[:, None], np.array(sure, np.float32), empty, empty)
    return Block(images, np.array(labels, np.int32), tuple((CLEAN, space, scores, None) for space in spaces))


def details(store):
    return summarize(store).renditions.details


# Two styles of three classes, and one of a single image; class 3 has no clean image, class 4 no rendition.
RENDITIONS = (
    ("a/art_0.jpg", 0, 0),
    ("a/art_1.jpg", 0, 5),
    ("a/art_2.jpg", 0, 5),
    ("b/art_0.jpg", 1, 1),
    ("a/toy_0.jpg", 0, 0),
    ("b/toy_0.jpg", 1, 1),
    ("b/toy_1.jpg", 1, 2),
    ("d/toy_0.jpg", 3, 3),
    ("b/glass-work_0.jpg", 1, 2),
)
PHOTOGRAPHS = (
    *((f"a/{k}.jpg", 0, 0) for k in range(3)),
    ("a/3.jpg", 0, 5),
    *((f"b/{k}.jpg", 1, 1) for k in range(2)),
    ("e/0.jpg", 4, 0),
)


@pytest.fixture
def small(tmp_path):
    return write(tmp_path / "run", RENDITIONS, PHOTOGRAPHS)


def test_the_numbers_by_hand(small):
    found = details(small)
    assert found.balanced_accuracy.value == pytest.approx((2 / 4 + 2 / 4 + 1) / 3)
    assert found.balanced.classes == 2
    assert found.balanced.accuracy.value == pytest.approx(1 / 2)
    assert found.balanced.clean.value == pytest.approx((3 / 4 + 1) / 2)
    assert found.balanced.gap.value == pytest.approx((3 / 4 + 1) / 2 - 1 / 2)
    toy, art, glass = found.styles
    assert [one.name for one in found.styles] == ["toy", "art", "glass-work"]
    assert [(one.n, one.classes, one.compared) for one in found.styles] == [(4, 3, 2), (4, 2, 2), (1, 1, 1)]
    assert toy.accuracy == metrics.wilson(3, 4)
    assert art.accuracy == metrics.wilson(2, 4)
    assert art.clean.value == pytest.approx(3 / 4 * 3 / 4 + 1 / 4 * 1)
    assert art.gap.value == pytest.approx(art.clean.value - 2 / 4)
    assert toy.clean.value == pytest.approx(1 / 3 * 3 / 4 + 2 / 3 * 1)
    assert toy.gap.value == pytest.approx(toy.clean.value - 2 / 3)  # without the image of class 3
    assert glass.gap.value == pytest.approx(1)
    assert all(0 < one.adjusted.low < one.adjusted.value < one.adjusted.high < 1 for one in found.styles)
    assert toy.rms_calibration_error is toy.aurra is None


def test_classes_and_confusions_by_hand(small):
    found = details(small)
    assert [(row.identifier, row.name, row.n, row.right) for row in found.by_style] == [
        ("n00000000", "class 0", (1, 3, 0), (1, 1, 0)),
        ("n00000001", "class 1", (2, 1, 1), (1, 1, 0)),
        ("n00000003", "class 3", (1, 0, 0), (1, 0, 0)),
    ]
    assert [(w.name, w.n, w.classes, w.share.n) for w in found.wrong] == [("class 2", 2, 1, 4), ("class 5", 2, 1, 4)]
    assert [(p.name, p.called, p.n) for p in found.pairs] == [("class 0", "class 5", 2), ("class 1", "class 2", 2)]
    assert {(p.name, p.called, p.clean_rate.value) for p in found.new_pairs} == {
        ("class 0", "class 5", 0.25),
        ("class 1", "class 2", 0.0),
    }


def many(each=40, styles=STYLES[:4], classes=range(8)):
    """Lay out a set in which every class has images of every style; a part of them is wrong."""
    return [
        (
            f"{k}/{style}_{i}.jpg",
            k,
            k if (i * 7 + j * 3 + k) % 10 > j + 2 else (k + 1) % len(classes),
            0.3 + 0.1 * (i % 7),
        )
        for j, style in enumerate(styles)
        for k in classes
        for i in range(each)
    ]


def photographs(classes=range(8), each=12, wrong=2):
    return [
        (f"{k}/ILSVRC2012_val_{i:08d}.JPEG", k, (k + (i < wrong)) % len(classes)) for k in classes for i in range(each)
    ]


def test_calibration_by_style_has_its_counts(tmp_path):
    rows = many(25, STYLES[:2]) + many(15, STYLES[2:3]) + many(10, STYLES[3:4])
    found = {one.name: one for one in details(write(tmp_path / "run", rows)).styles}
    for name, one in found.items():
        # The store sorts by name, keeps 32 bits, and images that are equally sure keep their order.
        mine = [(sure, label == named) for image, label, named, sure in sorted(rows) if f"/{name}_" in image]
        sure, hits = (np.array(column) for column in zip(*mine, strict=True))
        assert one.n == len(hits)
        assert (one.aurra is None) == (len(hits) < 100)
        if one.aurra is not None:
            sure = sure.astype(np.float32)
            assert one.aurra.value == pytest.approx(metrics.aurra(sure, hits))
            assert one.rms_calibration_error.value == pytest.approx(metrics.rms_calibration_error(sure, hits))
        assert (one.rms_calibration_error_published is None) == (len(hits) < 200)


ALL = {"names": tuple(f"class {k}" for k in range(200))}
"""What writes a run of as many classes as ImageNet-R has."""


def test_the_line_needs_all_classes_on_both_sides(tmp_path):
    rows, photos = many(1, classes=range(200)), photographs(range(200), 3, 1)
    same = details(write(tmp_path / "same", rows, photos, **ALL))
    accuracy, clean = (metrics.accuracy(np.array([k == n for _, k, n, *_ in images])) for images in (rows, photos))
    expected = metrics.beyond_line(clean, accuracy, metrics.REFERENCE_LINES["imagenet-r"])
    assert same.beyond_line.difference == expected
    assert same.beyond_line.expected == pytest.approx(accuracy.value - expected.value)
    assert same.beyond_line_unavailable is None
    for name, images, pictures, said in (
        ("fewer", many(), photographs(), "all 200 classes of the set, and these images are of 8"),
        ("others", rows, photographs(range(3)), "of others, or not of all"),
        ("none", rows, (), "the run has none"),
    ):
        found = details(write(tmp_path / name, images, pictures, **ALL))
        assert found.beyond_line is None
        assert said in found.beyond_line_unavailable


def test_the_distance_from_the_line_is_said(tmp_path):
    summary = summarize(write(tmp_path / "run", many(1, classes=range(200)), photographs(range(200), 3, 1), **ALL))
    found = summary.renditions.details.beyond_line
    said = f"{percent(found.difference.value)} {interval(found.difference)} points beyond the {percent(found.expected)}"
    assert said in " ".join(str(ResultTable(summary)).split())
    assert said in Page(page_html(summary)).words
    assert results(summary)["renditions"]["details"]["beyond_line"]["models"] == ("AlexNet", "ResNet-50", "ResNet-152")


def test_a_gap_over_few_of_the_classes_is_none(tmp_path):
    for classes, there in ((3, False), (4, True)):
        found = details(write(tmp_path / f"{classes}", many(), photographs(range(classes))))
        assert (found.balanced is not None) == there


@pytest.mark.parametrize(("name", "said"), [*NO_REFERENCE_LINE.items(), ("mine", "No published models are known")])
def test_without_a_line_the_reason_is_said(tmp_path, name, said):
    summary = summarize(write(tmp_path / "run", many(), photographs(), name=name))
    ((_, part),) = summary.shifted_parts
    assert part.details.beyond_line is None
    assert part.details.beyond_line_unavailable.startswith(said[:30])
    assert said[:30] in Page(page_html(summary)).words
    assert "Effective robustness" not in str(ResultTable(summary))


A = [f"n0{k % 3}/0.{(k // 3 + k % 3) * 37:06d}_clock _ bubble_0.86{k}662.jpg" for k in range(30)]


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        (A, np.arange(30) % 3),
        ([f"{k}/{i}.jpeg" for k in range(4) for i in range(9)], np.repeat(range(4), 9)),
        ([f"n{k}/ILSVRC2012_val_{i:08d}.JPEG" for k in range(4) for i in range(9)], np.repeat(range(4), 9)),
        ([f"n0144076{k}/n0144076{k}_{i}.JPEG" for k in range(4) for i in range(9)], np.repeat(range(4), 9)),
        ([f"n{k}/sketch_{i}.JPEG" for k in range(4) for i in range(9)], np.repeat(range(4), 9)),
        (["a/art_0.jpg"], [0]),
        ([], []),
    ],
    ids=["ImageNet-A", "V2", "validation", "training", "Sketch", "one image", "none"],
)
def test_names_that_tell_no_style(images, labels):
    assert styles_of(images, np.array(labels, dtype=np.int32)) is None


def test_unknown_beginnings_are_styles_of_their_own():
    images = ["a/art_0.jpg", "b/art_0.jpg", "a/plush_0.jpg", "b/plush_1.jpg", "a/lego_0.jpg", "b/photo.jpg"]
    labels = np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    assert styles_of(images, labels) == ["art", "art", "plush", "plush", "lego", ""]


class Page(HTMLParser):
    """The tags and the words of a page; its tags must be balanced."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def test_text_and_page_say_the_numbers(tmp_path):
    summary = summarize(write(tmp_path / "run", many(), photographs()))
    found, text = summary.renditions.details, str(ResultTable(summary))
    page, piece = Page(page_html(summary)).words, Page(table_html(summary)).words
    assert len(found.styles) == 4
    for one in found.styles:
        (line,) = [line for line in text.splitlines() if line.startswith(one.name)]
        for estimate in (one.accuracy, one.clean, one.gap, one.adjusted):
            said = f"{percent(estimate.value)} {interval(estimate)}"
            assert said in " ".join(line.split())
            assert said in page
            assert said in piece
        assert f"{percent(one.aurra.value)} {interval(one.aurra)}" in page
    for estimate in (found.balanced_accuracy, found.balanced.gap):
        assert f"{percent(estimate.value)} {interval(estimate)}" in page
        assert f"{percent(estimate.value)} {interval(estimate)}" in text
    assert f"{found.wrong[0].name} {found.wrong[0].n} times" in " ".join(text.split())
    for row in found.by_style:
        for n, right in zip(row.n, row.right, strict=True):
            assert f"{right}/{n}" in page
    for pair in found.pairs[:10]:
        assert f"{percent(pair.rate.value)} {interval(pair.rate)}" in page
    assert max(map(len, text.splitlines())) <= 100


def test_results_hold_it_all(tmp_path):
    summary = summarize(write(tmp_path / "run", many(), photographs()))
    plain = json.loads(json.dumps(results(summary)))["renditions"]["details"]
    found = summary.renditions.details
    assert [one["name"] for one in plain["styles"]] == [one.name for one in found.styles]
    assert plain["styles"][0]["gap"]["value"] == found.styles[0].gap.value
    assert plain["by_style"][3]["right"] == list(found.by_style[3].right)
    assert plain["beyond_line"] is None
    assert plain["new_pairs"][0]["called_identifier"] == found.new_pairs[0].called_identifier


def test_a_run_gives_them_by_the_name_of_the_set(tmp_path):
    run = Run(write(tmp_path / "run", many(), photographs()).path)
    assert run.shift() == run.shift("imagenet-r") == run.summary().renditions.details
    with pytest.raises(MetricError, match=r"named 'imagenet-a'. It has imagenet-r\."):
        run.shift("imagenet-a")
    other = Run(write(tmp_path / "other", many(), name="mine").path)
    assert other.shift("mine").balanced is None


HOSTILE = ["<script>alert(1)</script>", "{{ 7 * 7 }}", "\x1b[2J", "\u202egpj exe", "x" * 200]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_styles_and_classes_can_do_nothing(tmp_path, name):
    styles = ("art", name.replace("/", ""))
    plain = summarize(write(tmp_path / "plain", many(9, ("art", "zzz")), photographs()))
    store = write(tmp_path / "run", many(9, styles), photographs(), names=(name,) * 8)
    summary = summarize(store)
    assert {one.name for one in summary.renditions.details.styles} == set(styles)
    assert Page(page_html(summary)).tags == Page(page_html(plain)).tags
    assert "\u202e" not in page_html(summary)
    text = str(ResultTable(summary))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("shifted", "clean"),
    [
        ([("a/art_0.jpg", 0, 0)], []),
        ([("a/art_0.jpg", 0, 1)], [("a/0.jpg", 0, 0)]),
        ([("a/art_0.jpg", 0, 1)], [("b/0.jpg", 1, 1)]),
        ([(image, k, k) for image, k, *_ in many(5)], photographs(wrong=0)),
        ([(image, k, (k + 3) % 8) for image, k, *_ in many(5)], photographs(wrong=12)),
        ([(image, k, -1) for image, k, *_ in many(5)], photographs()),
        ([(*row[:3], float("nan")) for row in many(30)], [(*row, float("nan")) for row in photographs()]),
    ],
    ids=["one image", "one of each", "no class in common", "all right", "all wrong", "all unmapped", "no confidence"],
)
def test_runs_that_hardly_say_anything(tmp_path, shifted, clean):
    summary = summarize(write(tmp_path / "run", shifted, clean))
    found = summary.renditions.details
    assert found.balanced_accuracy.n == len(shifted)
    assert len(found.pairs) == min(len({(k, named) for _, k, named, *_ in shifted if k != named >= 0}), 20)
    text = str(ResultTable(summary))
    assert "Class-balanced accuracy" in text
    assert "nan" not in text
    assert "nan" not in Page(page_html(summary)).words.split()
    Page(table_html(summary))
    assert msgspec.json.encode(results(summary))


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["art", "toy", "odd", ""]), st.integers(-1, 4)),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), max_size=10),
)
def test_any_few_images_give_a_result(tmp_path_factory, shifted, clean):
    """Counts add up, and every interval holds its number and stays within its bounds."""
    rows = [(f"{k}/{style}_{i}.jpg", k, named) for i, (k, style, named) in enumerate(shifted)]
    photos = [(f"{k}/{i}.jpg", k, named) for i, (k, named) in enumerate(clean)]
    summary = summarize(write(tmp_path_factory.mktemp("run"), rows, photos))
    found = summary.renditions.details
    if found.styles:
        assert sum(one.n for one in found.styles) == len(rows)
        assert sum(sum(row.n) for row in found.by_style) == len(rows)
        assert sum(sum(row.right) for row in found.by_style) == sum(k == named for _, k, named in rows)
    for one in found.styles:
        for estimate in (one.accuracy, one.clean, one.adjusted):
            assert estimate is None or 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert one.gap is None or -1 <= one.gap.low <= one.gap.value <= one.gap.high <= 1
    str(ResultTable(summary))
    Page(page_html(summary))
