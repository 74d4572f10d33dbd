"""The check at the end of an epoch as a callback of Lightning."""

from __future__ import annotations

from oodometer import arguments
from oodometer.errors import ArgumentError
from oodometer.models.importing import needed
from oodometer.training.subset import RobustnessCheck

with needed("lightning", "RobustnessCallback"):
    from lightning.pytorch import Callback, LightningModule, Trainer

__all__ = ["RobustnessCallback"]

_SPREADING = {"DeepSpeedStrategy", "FSDPStrategy", "ModelParallelStrategy"}
"""By name, since the packages ``lightning`` and ``pytorch_lightning`` each have their own; both trainers will do."""


class RobustnessCallback(Callback):  # type: ignore[misc]  # Lightning may not be there to be checked
    """Evaluates a model on a subset at the end of training epochs, and logs the numbers.

    They go by ``log_dict`` to whichever loggers the trainer has, and can be monitored. The model's ``forward`` must map
    normalised pictures to logits. Where several processes train, the first one evaluates while the others wait, and all
    log the same numbers.

    Parameters
    ----------
    check
        What to evaluate on.
    every
        After how many epochs, counted from the beginning of the training; there are no numbers in between.

    Raises
    ------
    ArgumentError
        If an argument is wrong, or, when the training begins, if its strategy spreads a model over processes, none of
        which has it whole.
    """

    def __init__(self, check: RobustnessCheck, every: int = 1) -> None:
        if not isinstance(check, RobustnessCheck):
            raise ArgumentError(f"check must be a RobustnessCheck, not {type(check).__name__}.")
        self.check = check
        self.every = arguments.whole("every", every, lowest=1)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuse, before the training, a strategy with which no process could evaluate the model."""
        if _SPREADING & {kind.__name__ for kind in type(trainer.strategy).__mro__}:
            raise ArgumentError(
                f"{type(trainer.strategy).__name__} spreads the model over processes, so none can evaluate it at the "
                "end of an epoch. Evaluate its checkpoints instead."
            )

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Evaluate and log, if it is time."""
        if (trainer.current_epoch + 1) % self.every:
            return
        numbers = self.check.on_epoch_end(pl_module, trainer.current_epoch) if trainer.is_global_zero else {}
        pl_module.log_dict(trainer.strategy.broadcast(numbers), on_step=False, on_epoch=True, batch_size=1)
