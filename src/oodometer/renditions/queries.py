"""What to type into the search of a site with openly licensed pictures, by class and style. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterator

from oodometer.datasets.recognise import STYLES
from oodometer.renditions.vocabulary import Vocabulary

__all__ = ["PHRASES", "phrases"]

PHRASES: dict[str, tuple[str, ...]] = {
    "art": ("{} art", "{} digital art"),
    "cartoon": ("{} cartoon", "{} comic"),
    "deviantart": ("{} fan art", "{} illustration"),
    "embroidery": ("{} embroidery", "{} cross stitch"),
    "graffiti": ("{} graffiti", "{} mural"),
    "graphic": ("{} clip art", "{} icon"),
    "misc": ("{} pattern", "{} plush"),
    "origami": ("{} origami", "{} paper craft"),
    "painting": ("{} painting", "{} watercolour"),
    "sculpture": ("{} sculpture", "{} carving"),
    "sketch": ("{} sketch", "{} line drawing"),
    "sticker": ("{} sticker",),
    "tattoo": ("{} tattoo",),
    "toy": ("{} toy", "{} figurine"),
    "videogame": ("{} video game", "{} game sprite"),
}
"""The phrases of each of ImageNet-R's styles, in which ``{}`` stands for the class."""


def phrases(classes: Vocabulary) -> Iterator[tuple[str, str, str]]:
    """Yield (class, style, phrase), class by class in the order of the vocabulary and style by style."""
    for identifier, words in zip(classes.classes, classes.names, strict=True):
        for style in STYLES:
            for phrase in PHRASES[style]:
                yield identifier, style, phrase.format(words.replace("_", " "))
