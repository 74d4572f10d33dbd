"""What a model says of single pictures, asked as an evaluation asks it."""

from __future__ import annotations

from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError
from oodometer.models import ModelOptions, load_model
from oodometer.predicting import ask, scored
from oodometer.scoring import Scores
from oodometer.types import UNLABELLED, AnsweringModel, Condition, Images, Sample

__all__ = ["Asker"]


class Asker:
    """A model of the 1000 classes of ImageNet, ready to be asked about pictures.

    Parameters
    ----------
    model, options
        As for ``evaluate``; the model must give logits.

    Raises
    ------
    ArgumentError
        If it names classes instead, as the answers to single pictures are not worth their price.
    ModelError, MissingDataError
        If it cannot be loaded.
    """

    def __init__(self, model: object, options: ModelOptions | None = None) -> None:
        self.space = imagenet1k()
        self._model = load_model(model, options, self.space)
        if isinstance(self._model, AnsweringModel):
            raise ArgumentError("A picture for each condition is not worth a paid question: give a model of logits.")

    def __call__(self, images: Images, corruption: str) -> Scores:
        """Ask about pictures that went through a corruption, which messages name; raises ``ModelError``."""
        samples = [Sample("the image", UNLABELLED, 0)] * len(images)
        outputs = ask(self._model, images, samples, Condition(corruption, 0), (self.space,), seed=0)
        ((_, _, scores),) = scored(outputs, samples, (self.space,), named=False)
        return scores
