"""From free text to a class, and which classes are offered: by rules that can be applied by hand."""

import re
import unicodedata
from collections import Counter

import numpy as np
import pytest
from endpoint import NAMES
from hypothesis import given
from hypothesis import strategies as st

from oodometer.datasets import imagenet1k, imagenet_r
from oodometer.errors import ArgumentError
from oodometer.models.vlm.question import ask_for, draw, protocol
from oodometer.models.vlm.rules import Reader
from oodometer.types import LabelSpace, Sample

FIVE = LabelSpace("custom-5", NAMES, NAMES)
READER = Reader(NAMES, (7, 3, 5, 1, 9))
"""The five classes at positions that are not their order."""


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("cat", 7),
        ("  Cat.\n", 7),
        ("**owl**", 9),
        ('"Sea Lion"', 5),
        ("sea-lion", 5),
        ("sea\u2010lion", 5),
        ("t shirt", 1),
        ("\uff23\uff21\uff34", 7),  # full-width letters
        ("It is a tiger cat on a sofa.", 3),  # the longest name at a place
        ("The answer is: owl, an owl!", 9),
        ("<think>cat or owl? An owl.</think>\nowl", 9),
        ("<think>cat or owl?", -1),
        ("maybe a cat</think> owl", 9),
        ("", -1),
        ("...", -1),
        ("cats", -1),
        ("scatter", -1),
        ("a cat or an owl", -1),
        ("tiger cat, or cat", -1),
        ("not a cat", 7),  # nothing is guessed, a negation neither
        ("猫", -1),
    ],
)
def test_the_rules_by_example(text, position):
    assert READER.read(text) == position


def test_a_name_that_two_candidates_share_names_neither():
    reader = Reader(("crane", "Crane", "heron"), (0, 1, 2))
    assert [reader.read(text) for text in ("crane", "a Crane", "heron", "crane or heron")] == [-1, -1, 2, -1]


def test_names_that_differ_in_punctuation_alone_are_told_apart():
    reader = Reader(("C", "C++", "C#"), (0, 1, 2))
    assert [reader.read(text) for text in ("C++", "c#", "It is C++.", "C")] == [1, 2, 1, 0]
    assert reader.read("C?") == 0


def test_names_without_a_letter_do_not_catch_empty_answers():
    reader = Reader(("_", "---", "x"), (0, 1, 2))
    assert [reader.read(text) for text in ("", "_", "--", "x")] == [-1, -1, -1, 2]


@pytest.mark.parametrize("space", [imagenet1k(), imagenet_r()], ids=lambda space: space.name)
@pytest.mark.parametrize("form", ["{}", "{}.", "**{}**", "The picture shows a {}.", '"{}"\n', "<think>hm</think>{}"])
def test_every_class_of_imagenet_is_understood(space, form):
    candidates = draw(Sample("x", 0, 1), space, None, 0)
    reader = Reader(candidates.names, candidates.positions)
    for position, name in zip(candidates.positions, candidates.names, strict=True):
        for said in (name, name.upper(), name.replace(" ", "_")):
            assert reader.read(form.format(said)) == position


def alike(text):
    return re.sub(r"[\s_\-\u2010-\u2015]+", " ", unicodedata.normalize("NFKC", text).casefold()).strip()


def by_hand(text, names):
    """Apply the rules literally: go through the text letter by letter, and at each try all names."""
    said = alike(text.rpartition("</think>")[2])
    if "<think>" in text and "</think>" not in text:
        return -1
    whole = [k for k, name in enumerate(names) if alike(name) == said]
    if not whole:
        bare = said.strip("".join(c for c in said if not c.isalnum()))
        whole = [k for k, name in enumerate(names) if alike(name) == bare]
    if len(whole) == 1:
        return whole[0]
    found, place = set(), 0
    while place < len(said):
        fits = [
            name
            for name in map(alike, names)
            if said.startswith(name, place)
            and not (place and said[place - 1].isalnum())
            and not said[place + len(name) : place + len(name) + 1].isalnum()
        ]
        found |= {max(fits, key=len)} if fits else set()
        place += max(map(len, fits), default=1)
    return [alike(name) for name in names].index(found.pop()) if len(found) == 1 else -1


WORDS = st.sampled_from(["cat", "tiger", "cat,", "Owl", "sea", "lion", "sea_lion", "T-shirt", "a", "no", "(owl)", "**"])


@given(st.lists(WORDS, max_size=7), st.sampled_from([" ", "-", "\n", ". "]))
def test_any_sentence_is_read_as_by_hand(words, between):
    text = between.join(words)
    assert Reader(NAMES, tuple(range(5))).read(text) == by_hand(text, NAMES)


@given(st.text())
def test_any_text_is_an_answer_or_none(text):
    assert READER.read(text) in {-1, 7, 3, 5, 1, 9}


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12), st.integers(0, 99))
def test_any_name_alone_is_understood(name, position):
    reader = Reader((name, "another candidate"), (position, 100))
    nothing = not alike(name) or "<think>" in name or "</think>" in name
    assert reader.read(name) == (100 if alike(name) == "another candidate" else -1 if nothing else position)


@given(
    st.integers(2, 200),
    st.integers(0, 199),
    st.integers(-5, 2**40),
    st.text(alphabet=st.characters(codec="utf-8"), max_size=20),
)
def test_drawn_candidates(candidates, place, seed, image):
    space = imagenet_r()
    sample = Sample(image, space.columns[place], 10)
    drawn = draw(sample, space, candidates, seed)
    assert len(set(drawn.positions)) == len(drawn.names) == candidates
    assert sample.label in drawn.positions
    assert set(drawn.positions) <= set(space.columns)
    assert drawn.names == tuple(space.names[k] for k in drawn.positions)
    assert draw(Sample(image, sample.label, 99), space, candidates, seed) == drawn


def test_candidates_are_drawn_evenly_and_the_true_one_has_no_place_of_its_own():
    """Each of the other 4 classes comes with 2 of 3 draws of 3 candidates: binomial, five standard deviations."""
    drawn = [draw(Sample(f"{k}", 2, 1), FIVE, 3, 0) for k in range(900)]
    counts = Counter(position for one in drawn for position in one.positions)
    assert counts.pop(2) == 900
    assert all(abs(count - 450) < 5 * np.sqrt(900 / 4) for count in counts.values())
    places = Counter(one.positions.index(2) for one in drawn)
    assert all(abs(count - 300) < 5 * np.sqrt(900 * 2 / 9) for count in places.values())
    assert [draw(Sample(f"{k}", 2, 1), FIVE, 3, 1) for k in range(900)] != drawn


def test_all_candidates_are_the_classes_in_their_order():
    assert draw(Sample("x", 0, 1), FIVE, None, 3).positions == (0, 1, 2, 3, 4)
    assert draw(Sample("x", 6, 1), imagenet_r(), None, 3).positions == imagenet_r().columns
    assert ask_for(draw(Sample("x", -1, 1), FIVE, None, 3)).endswith("\n\ncat\ntiger cat\nsea lion\nT-shirt\nowl")


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ArgumentError, match=r"6 candidates .* custom-5 has 5 classes"):
        draw(Sample("x", 0, 1), FIVE, 6, 0)
    with pytest.raises(ArgumentError, match="has no label"):
        draw(Sample("x", -1, 1), FIVE, 3, 0)


def test_the_protocol_names_what_makes_two_results_comparable():
    assert protocol(None) != protocol(10) != protocol(11)
    assert "10 classes drawn" in protocol(10)
    assert "rules 1" in protocol(None)
