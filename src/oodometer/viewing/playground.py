"""One image to play with: picked or uploaded, under any corruption at any severity, and what a model says of it."""

from __future__ import annotations

import bisect
import contextlib
import functools
import io
import itertools
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import PIL.Image

from oodometer.corruptions import corrupt
from oodometer.corruptions.registry import REGISTRY
from oodometer.datasets import demo_photographs
from oodometer.datasets.decode import decode
from oodometer.errors import ArgumentError, MissingDataError, OodometerError
from oodometer.families import SEVERITIES
from oodometer.showing import Asker
from oodometer.showing.source import clean_image
from oodometer.types import UNLABELLED, Dataset, Image, Sample

__all__ = ["MOST_BYTES", "MOST_PIXELS", "Offered", "Playground", "Said", "png"]

MOST_BYTES = 20_000_000
"""How large a file may be that is uploaded."""

MOST_PIXELS = 50_000_000
"""How many pixels it may have."""

_UPLOADS, _DECODED = 16, 64
"""How many images are kept, as the small arrays that they are played with."""

_PREPROCESS = "imagenet224"

_UPLOADED = re.compile(r"u[0-9a-f]{32}")
_PICKED = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Offered:
    """An image that can be picked, known by ``token``; ``label`` is ``None`` if it has none."""

    token: str
    image: str
    label: str | None


@dataclass(frozen=True, slots=True)
class Said:
    """What a model says of a picture: the best class with its confidence, 0..1, and the classes that come next."""

    best: str
    confidence: float
    others: tuple[str, ...]


class Playground:
    """The images that can be played with, and the model that is asked about them; may be used from several threads.

    Parameters
    ----------
    sets
        Clean images to pick from; without any those of the demo, if they are installed.
    asker
        The model, if there is one.
    """

    def __init__(self, sets: Sequence[Dataset], asker: Asker | None = None) -> None:
        self._sets = tuple(sets) or _of_the_demo()
        self._places = [{sample.id: place for place, sample in enumerate(one.samples)} for one in self._sets]
        self._ends = list(itertools.accumulate(len(one.samples) for one in self._sets))
        self._asker = asker
        self._uploads: OrderedDict[str, Image] = OrderedDict()
        self._keeping, self._asking = threading.Lock(), threading.Lock()
        self._clean = functools.lru_cache(maxsize=_DECODED)(self._decoded)
        if asker is not None:
            self._ask(
                np.full((224, 224, 3), 128, np.uint8), "clean"
            )  # it fails now, or never for want of what it needs

    @property
    def asks(self) -> bool:
        """Whether there is a model to ask."""
        return self._asker is not None

    @property
    def count(self) -> int:
        """How many images can be picked."""
        return self._ends[-1] if self._ends else 0

    def offer(self, start: int, stop: int) -> list[Offered]:
        """List the images that can be picked, from one position to before another."""
        return [self.picked(str(position)) for position in range(start, min(stop, self.count))]

    def picked(self, token: str) -> Offered:
        """Return an image that can be picked, by its token; raises ``ArgumentError`` if there is none."""
        dataset, sample = self._sample(token)
        label = None if sample.label == UNLABELLED else dataset.label_space.names[sample.label]
        return Offered(token, sample.id, label)

    def token_of(self, dataset: object, image: str) -> str | None:
        """Return the token of an image of one of the sets; ``None`` if it cannot be picked."""
        starts = (0, *self._ends)
        for one, places, start in zip(self._sets, self._places, starts, strict=False):
            if one is dataset and image in places:
                return str(start + places[image])
        return None

    def upload(self, content: bytes) -> str:
        """Take an image, which is kept in memory alone until others push it out; returns its token.

        Parameters
        ----------
        content
            The bytes of a file; the content decides its format. The picture is turned upright, as its tags ask for.

        Raises
        ------
        ArgumentError
            If there are more than ``MOST_BYTES``.
        ImageError
            If they are no image, a damaged one, or one of more than ``MOST_PIXELS``.
        """
        if len(content) > MOST_BYTES:
            raise ArgumentError(f"The file is larger than {MOST_BYTES // 10**6} MB.")
        picture = decode(content, "that was uploaded", orientation="apply", most=MOST_PIXELS)
        image = clean_image(picture, _PREPROCESS)
        token = f"u{secrets.token_hex(16)}"
        with self._keeping:
            self._uploads[token] = image
            while len(self._uploads) > _UPLOADS:
                self._uploads.popitem(last=False)
        return token

    def picture(self, token: str, corruption: str, severity: float) -> Image:
        """Corrupt an image by the fast method with the seed 0, at 224 x 224 pixels.

        Parameters
        ----------
        token
            The image.
        corruption
            Its name.
        severity
            From 0, the clean image, to 5.

        Raises
        ------
        OodometerError
            If there is no such image, or no such corruption, or the image cannot be read.
        """
        if not 0 <= severity <= SEVERITIES[-1]:  # NaN fails
            raise ArgumentError(f"The severity must be from 0 to {SEVERITIES[-1]}, not {severity}.")
        uploaded = _UPLOADED.fullmatch(token) is not None
        clean = self._uploaded(token) if uploaded else self._clean(token)
        return corrupt(clean, corruption, severity, image_id=None if uploaded else self._sample(token)[1].id)

    def say(self, token: str, corruption: str, severity: float) -> Said:
        """Ask the model about such a picture; raises ``ArgumentError`` if there is none, and as ``picture`` does."""
        return self._ask(self.picture(token, corruption, severity), corruption)

    def warm_up(self, stop: threading.Event) -> None:
        """Load every kernel, or compile it, before the first hand is on the slider; ends early when told to."""
        # Twice, since a weak corruption may go another way than a strong one, which has imports of its own.
        for name, severity in itertools.product(REGISTRY, (2.5, 0.1)):
            if stop.is_set():
                return
            with contextlib.suppress(OodometerError):  # it will say so when it is asked for
                corrupt(_gray(), name, severity)

    def _ask(self, picture: Image, corruption: str) -> Said:
        if self._asker is None:
            raise ArgumentError("There is no model to ask: start with --model.")
        with self._asking:  # models need not be made for several threads
            scores = self._asker(picture[None], corruption)
        best, *others = (self._asker.space.names[position] for position in scores.top[0])
        return Said(best, float(scores.confidence[0]), tuple(others))

    def _uploaded(self, token: str) -> Image:
        with self._keeping:
            if token not in self._uploads:
                raise ArgumentError("This upload is not kept any more: upload it again.")
            self._uploads.move_to_end(token)
            return self._uploads[token]

    def _decoded(self, token: str) -> Image:
        dataset, sample = self._sample(token)
        return clean_image(dataset.read(sample), _PREPROCESS)

    def _sample(self, token: str) -> tuple[Dataset, Sample]:
        if not _PICKED.fullmatch(token) or int(token) >= self.count:
            raise ArgumentError("There is no such image to play with.")
        which = bisect.bisect_right(self._ends, int(token))
        return self._sets[which], self._sets[which].samples[int(token) - (0, *self._ends)[which]]


def png(image: Image) -> bytes:
    """Encode a picture without loss, quickly rather than small."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _gray() -> Image:
    return np.full((224, 224, 3), 128, np.uint8)


def _of_the_demo() -> tuple[Dataset, ...]:
    try:
        return (demo_photographs(),)
    except MissingDataError:
        return ()
