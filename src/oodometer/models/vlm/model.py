"""A vision-language model behind an endpoint, as something that names the class of a picture."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image

from oodometer.models.options import ModelOptions
from oodometer.models.vlm.client import Client, Reply
from oodometer.models.vlm.cost import estimate, left
from oodometer.models.vlm.kept import Answer, Kept
from oodometer.models.vlm.question import TEMPLATE, Candidates, ask_for, check_candidates, draw, protocol
from oodometer.models.vlm.rules import RULES, Reader
from oodometer.types import Answers, Image, Images, LabelSpace, Sample

__all__ = ["VisionLanguageModel"]

MOST_TOKENS = 64
"""How long an answer may be; the longest name takes about 15."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One question about one picture; ``key`` is the SHA-256 of all that its answer depends on."""

    key: str
    space: str
    image: str
    candidates: Candidates
    picture: Image


class VisionLanguageModel:
    """Asks an endpoint what is in a picture, and finds the class that the answer names.

    Parameters
    ----------
    client
        The endpoint.
    model, host
        The name of the model there, and the machine, for the record.
    options
        ``candidates``, ``requests`` and ``per_minute``.
    """

    normalization = None

    def __init__(self, client: Client, model: str, host: str, options: ModelOptions) -> None:
        self._client, self._model, self._options = client, model, options
        self._kept: Kept | None = None
        self.name = f"{model} at {host}"
        self.fingerprint = f"vlm:{host}#{model}"
        self.answers = protocol(options.candidates)
        self.at_once = 4 * options.requests  # of a batch, the last requests leave the other threads idle
        self.settings = {
            "Question": " ".join(TEMPLATE.format(names="(the names, a line each)").split()),
            "Endpoint": host,
            "Answers": f"at temperature 0, of at most {MOST_TOKENS} tokens, read by version {RULES} of the rules",
        }

    def expect(
        self, folder: Path, questions: Sequence[tuple[LabelSpace, Mapping[str, int]]], shape: tuple[int, ...]
    ) -> str:
        """Keep answers in a folder from now on, and say what the questions to come will cost.

        Parameters
        ----------
        folder
            Where answers are, or will be.
        questions
            In each label space, how many questions there will be about each image, at most.
        shape
            Of a picture: height, width, 3.

        Raises
        ------
        ArgumentError
            If more candidates were asked for than a label space has classes.
        """
        for space, _ in questions:
            check_candidates(self._options.candidates, space)
        self._kept = Kept(folder)
        asked, kept = left(questions, self._kept.counted(self._asker))
        found = estimate(
            asked,
            kept,
            candidates=self._options.candidates,
            shape=shape,
            most_tokens=MOST_TOKENS,
            per_minute=self._options.per_minute,
        )
        return f"{self.name}, {self._options.requests} at once: {found}"

    def answer(self, images: Images, samples: Sequence[Sample], space: LabelSpace, seed: int) -> Answers:
        """Name the classes of N pictures; see ``oodometer.types.AnsweringModel``.

        Raises
        ------
        ModelError
            If the endpoint refuses, or cannot be reached.
        """
        asked = [self._question(*pair, space, seed) for pair in zip(images, samples, strict=True)]
        known = {q.key: self._kept.get(q.key, q.image) if self._kept else None for q in asked}
        new = {q.key: q for q in asked if known[q.key] is None}
        replies = {key: reply for key, reply in known.items() if reply} | self._all(list(new.values()))
        found = [_reader(q.candidates).read(replies[q.key].text) for q in asked]
        return np.array(found, dtype=np.int32)

    @property
    def _asker(self) -> str:
        """Tell this model and these questions apart from others."""
        return hashlib.sha256(json.dumps([self._model, self.answers]).encode()).hexdigest()[:16]

    def _question(self, picture: Image, sample: Sample, space: LabelSpace, seed: int) -> _Question:
        candidates = draw(sample, space, self._options.candidates, seed)
        asked = json.dumps([self._model, MOST_TOKENS, ask_for(candidates), picture.shape])
        key = hashlib.sha256(asked.encode() + np.ascontiguousarray(picture).tobytes()).hexdigest()
        return _Question(key, space.name, sample.id, candidates, picture)

    def _all(self, questions: Sequence[_Question]) -> dict[str, Reply]:
        """Put questions, several at once; the first that fails stops the others."""
        stopped = threading.Event()
        with ThreadPoolExecutor(self._options.requests, thread_name_prefix="oodometer-vlm") as pool:
            asked = {pool.submit(self._put, question, stopped): question.key for question in questions}
            try:
                return {asked[done]: done.result() for done in as_completed(asked)}
            except BaseException:  # an interruption, too
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _put(self, question: _Question, stopped: threading.Event) -> Reply:
        """Put one question, and keep the answer before anything else happens."""
        reply = self._client.ask(self._body(question), stopped)
        if self._kept is not None:
            self._kept.put(Answer(question.key, self._asker, question.space, question.image, reply.text, reply.finish))
        return reply

    def _body(self, question: _Question) -> dict[str, Any]:
        # The text first: where it is the same for all pictures, servers need not read it again.
        content = [
            {"type": "text", "text": ask_for(question.candidates)},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_png(question.picture)}"}},
        ]
        return {
            "model": self._model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0,
            "max_tokens": MOST_TOKENS,
        }


@functools.lru_cache(maxsize=256)
def _reader(candidates: Candidates) -> Reader:
    return Reader(candidates.names, candidates.positions)


def _png(picture: Image) -> str:
    sink = io.BytesIO()
    PIL.Image.fromarray(picture).save(sink, "PNG")
    return base64.b64encode(sink.getvalue()).decode()
